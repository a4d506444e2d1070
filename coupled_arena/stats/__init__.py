"""Pure functions of arrays: what the votes say, and how sure one can be of it."""
