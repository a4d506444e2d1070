"""What one noise stream changes."""
