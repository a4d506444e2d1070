"""How sure an interval is, in percent, as every text and figure has it."""

from __future__ import annotations

from coupled_arena.core.language import _, localised


def level(alpha: float) -> str:
    """Return how sure something is at an error level, in percent."""
    return localised(f"{100 * (1 - alpha):.4g}%")


def interval_at(alpha: float) -> str:
    """Return what an interval at an error level is called."""
    return _("{level} interval").format(level=level(alpha))
