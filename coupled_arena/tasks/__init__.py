"""Benchmark tasks: what is asked, and how an answer becomes a score of 0 or 1."""
