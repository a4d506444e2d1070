"""Battles, votes and verdicts in one DuckDB file, owned by one process, append only."""
