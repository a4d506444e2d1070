"""One model by itself."""
