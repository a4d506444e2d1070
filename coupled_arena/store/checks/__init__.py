"""What must hold in every store, and what to do where it does not."""
