"""What waits to be asked of people and judges."""
