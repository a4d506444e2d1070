"""Which model fails least badly."""
