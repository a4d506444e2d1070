"""What a replay says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coupled_arena.core.language import _

if TYPE_CHECKING:
    from coupled_arena.battles.replay import Replay


def replay_words(result: Replay) -> str:
    """Return whether a battle came out the same, and if not, from where on and how clearly."""
    if result.identical:
        return _("identical")
    if result.score_gap is None:
        said = _(
            "differs from token {token} of {model}, turn {turn}; the stored token cannot be drawn "
            "there, or its probabilities are out of reach here"
        )
    else:
        said = _(
            "differs from token {token} of {model}, turn {turn}; the token drawn now beats the "
            "stored one by {gap:.3g}"
        )
    return said.format(
        token=result.first_difference, model=result.model, turn=result.turn, gap=result.score_gap
    )
