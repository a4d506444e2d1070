"""Scores on the same prompts as comparisons: whoever scores higher on a prompt wins it."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.comparison_rows import store_of_rows

if TYPE_CHECKING:
    import pandas as pd

# By the sign of the first model's score less the second's, and one.
_OUTCOMES = np.array([Outcome.SECOND.value, Outcome.TIE.value, Outcome.FIRST.value], dtype=object)


def store_of_scores(scores: RiskScores) -> Store:
    """Return an in-memory store in which a metric judges each pair of models on each prompt.

    Of several replies to a prompt a model's mean counts. The comparisons are verdicts of a judge
    of the metric's name.

    Parameters
    ----------
    scores : RiskScores
        One metric, of the same prompts for all models.

    Raises
    ------
    ScoreError
        There are several metrics, or the models were scored on other prompts.
    """
    metric, *others = scores.metrics
    if others:
        names = ", ".join(scores.metrics)
        raise ScoreError(f"One metric tells who wins: choose with --metric, of {names}.")
    if missing := scores.missing_prompt():
        raise ScoreError(
            f"{missing[0]} has no score on {missing[1]!r}: models are compared prompt by prompt."
        )
    return store_of_rows(_rows(scores), metric)


def _rows(scores: RiskScores) -> pd.DataFrame:
    """Return a row for each pair of models on each prompt, as `store_of_rows` takes them."""
    import pandas as pd

    replies = np.stack([s.reshape(-1, scores.repetitions) for s in scores.oriented()])
    means = replies.mean(axis=2)
    # Means that differ by no more are equal: they may by their rounding alone.
    rounding = np.abs(replies).max(axis=(0, 2)) * 2.0**-40
    found = []
    for first, second in combinations(range(len(scores.models)), 2):
        ahead = means[first] - means[second]
        sign = np.where(np.abs(ahead) > rounding, np.sign(ahead), 0).astype(np.int64)
        pair = {"model_a": scores.models[first], "model_b": scores.models[second]}
        found.append(
            pd.DataFrame({"prompt": scores.prompts[0], **pair, "verdict": _OUTCOMES[sign + 1]})
        )
    rows = pd.concat(found, ignore_index=True)
    nobody = pd.Series(None, index=rows.index, dtype=object)
    return rows.assign(n=np.arange(len(rows)), human=nobody, voter=nobody, mode=Mode.UNKNOWN.value)
