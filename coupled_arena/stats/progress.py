"""What long computations take to show how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Track = Callable[[range], Iterable[int]]
"""Passes the numbers of the repeats on: shows a progress bar, or stops early."""
