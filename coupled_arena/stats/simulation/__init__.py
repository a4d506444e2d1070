"""Experiments whose truth is known."""
