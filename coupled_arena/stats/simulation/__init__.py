"""Experiments with a known truth."""
