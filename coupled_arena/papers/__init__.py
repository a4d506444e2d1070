"""What the figures and tables of the papers show, computed from anybody's data."""
