"""Texts, names and paths of files in SQL."""

from __future__ import annotations

from pathlib import Path


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return a name as SQL."""
    return '"{}"'.format(name.replace('"', '""'))


def exact_path(path: Path) -> str:
    """Return a path with the characters escaped that DuckDB would expand."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
