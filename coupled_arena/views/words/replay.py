"""What a replay says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coupled_arena.battles.replay import Replay


def replay_words(result: Replay) -> str:
    """Return whether a battle came out the same, and if not, from where on and how clearly."""
    if result.identical:
        return "identical"
    gap = (
        "the stored token cannot be drawn there, or its probabilities are out of reach here"
        if result.score_gap is None
        else f"the token drawn now beats the stored one by {result.score_gap:.3g}"
    )
    return (
        f"differs from token {result.first_difference} of {result.model}, turn {result.turn}; {gap}"
    )
