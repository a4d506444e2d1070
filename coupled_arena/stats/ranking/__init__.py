"""Win-rates, and the positions they leave possible."""
