"""Models of this program in the harnesses of others: their runs share noise."""
