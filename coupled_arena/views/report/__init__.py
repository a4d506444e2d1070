"""A report on a store: collected as plain data, then written as one page."""
