"""How many scores a page takes to rank models by; the command line takes more."""

from __future__ import annotations

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _

MOST_METRICS = 10
_MOST_MODELS, _MOST_SCORES = 30, 400_000


def check_size(scores: RiskScores) -> None:
    """Raise ScoreError where there are more scores than a page takes."""
    total = sum(values.size for values in scores.values)
    if (
        len(scores.metrics) > MOST_METRICS
        or len(scores.models) > _MOST_MODELS
        or total > _MOST_SCORES
    ):
        text = _(
            "A page takes {models} models, {metrics} metrics and {scores:,} scores at most; the "
            "command line takes more: coupled-arena risk."
        )
        raise ScoreError(
            text.format(models=_MOST_MODELS, metrics=MOST_METRICS, scores=_MOST_SCORES)
        )
