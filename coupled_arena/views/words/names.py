"""Names and numbers as people list them."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 3
"""Names that are said; of others only how many they are."""


def named(names: Sequence[str], most: int = MOST) -> str:
    """Return names as people list them, those beyond the first few only counted."""
    shown, others = names[:most], len(names) - most
    if others > 0:
        return f"{', '.join(shown)} and {others} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def without_data(names: Sequence[str], what: str = "data") -> str:
    """Return a line for all models of which nothing is known."""
    models = "model" if len(names) == 1 else "models"
    return f"{len(names)} {models} without {what}: {named(names)}."


def rounded(number: float) -> int:
    """Return a number with two digits: an estimate of votes or prompts has no more."""
    return int(float(f"{number:.2g}"))
