"""Rankings by risk that many visitors open: the same scores are ranked once."""

from __future__ import annotations

import hashlib
from typing import Any

from coupled_arena.analysis.risk.result import RiskReport, RiskSettings, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.stats.progress import Track

_MOST = 8


class KeptReports:
    """The rankings by one metric or portfolio that were asked for last."""

    def __init__(self) -> None:
        self._kept: dict[Any, RiskReport] = {}

    def get(self, scores: RiskScores, settings: RiskSettings, track: Track = iter) -> RiskReport:
        """Return what `risk_report` returns of equal scores with these settings.

        Raises
        ------
        ScoreError
            As there.
        """
        key = (_digest(scores), settings)
        found = self._kept.pop(key, None)
        if found is None:
            found = risk_report(scores, settings, by_metric=False, track=track)
        self._kept[key] = found
        while len(self._kept) > _MOST:
            self._kept.pop(next(iter(self._kept)))
        return found


def _digest(scores: RiskScores) -> tuple[Any, ...]:
    numbers = hashlib.sha256()
    for values in scores.values:
        numbers.update(f"{values.shape} {values.dtype}".encode())
        numbers.update(values.tobytes())
    named = scores.models, scores.metrics, scores.prompts, scores.notes, scores.repetitions
    return (*named, scores.lower_is_better, scores.unjudged, numbers.digest())
