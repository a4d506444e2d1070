"""Which model fails least badly: a table of scores, and its rankings by risk."""
