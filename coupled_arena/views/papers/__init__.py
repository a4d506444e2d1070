"""The figures and tables of the papers, each made from anybody's data."""
