"""A model that judges: what it is asked, how its answer is read, and the client that asks."""
