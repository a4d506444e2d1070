"""What a tie counts for: nothing, or half a win for either model."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from coupled_arena.stats.counts import OUTCOMES, FloatArray

_WINS = np.eye(len(OUTCOMES))[:2]


class TieScore(StrEnum):
    """What a tie, or "both bad", counts for in a win rate."""

    LOSS = "loss"  # a win for neither: the probability to be preferred
    HALF = "half"  # half a win for both: another quantity, whose mean over models is one half

    @property
    def scores(self) -> FloatArray:
        """Shape (2, 4): of each outcome, for the model shown first and for the other."""
        if self is TieScore.LOSS:
            return _WINS
        return (1 + _WINS - _WINS[::-1]) / 2
