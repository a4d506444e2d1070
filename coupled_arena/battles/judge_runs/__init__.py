"""Judges at work on the stored battles: in bulk, and live in the background."""
