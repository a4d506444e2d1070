"""What a tie counts for: nothing, or half a win for either model."""

from __future__ import annotations

import numpy as np

from coupled_arena.core.choices import TieScore
from coupled_arena.stats.counts import OUTCOMES, FloatArray

_WINS = np.eye(len(OUTCOMES))[:2]


def tie_scores(ties: TieScore) -> FloatArray:
    """Return the score of each outcome, shape (2, 4): of the model shown first, of the other."""
    if ties is TieScore.LOSS:
        return _WINS
    return (1 + _WINS - _WINS[::-1]) / 2
