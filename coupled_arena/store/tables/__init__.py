"""Writing and reading the rows of each table."""
