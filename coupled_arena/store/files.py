"""Files in SQL, and what went wrong with one."""

from __future__ import annotations


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def reason(error: Exception) -> str:
    """Return why a file could not be used, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return next(iter(str(error).splitlines()), type(error).__name__)
