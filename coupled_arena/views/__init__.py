"""How results are said and drawn, the same on every face."""
