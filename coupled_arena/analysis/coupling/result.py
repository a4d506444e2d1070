"""What coupling saves at one error level: every pair of models, and each category by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from coupled_arena.analysis.coupling.read import StoredScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.error_curves import ErrorCurves, error_curves
from coupled_arena.stats.coupling.published import published_curves
from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable, compare_scores
from coupled_arena.stats.progress import Track

_SIZES = 60  # points of a curve
_FEWEST = 20  # samples at its beginning


@dataclass(frozen=True, eq=False)
class Coupling:
    """What coupled generation saves on a benchmark, with the settings this was made with.

    Attributes
    ----------
    scores : StoredScores
    alpha : float
        Error level of the intervals.
    pairs : tuple of PairSavings
        Of every pair of models, in the order of the scores.
    by_category : mapping of str to tuple of PairSavings, or None
        The same within each category, nothing where it has too few scores; None where nobody
        asked.
    """

    scores: StoredScores
    alpha: float
    pairs: tuple[PairSavings, ...]
    by_category: Mapping[str, tuple[PairSavings, ...]] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self.scores.table.models

    @property
    def metric(self) -> str:
        """What the answers were scored by."""
        return self.scores.metric

    @property
    def left_out(self) -> int:
        """Prompts that lack repetitions under a protocol."""
        return self.scores.left_out


def coupling(
    scores: StoredScores,
    alpha: float = 0.05,
    parts: Mapping[str, ScoreTable | None] | None = None,
) -> Coupling:
    """Compare the protocols on every pair of models.

    Parameters
    ----------
    parts : mapping of str to ScoreTable or None, optional
        The scores of each category, None where it has too few.

    Raises
    ------
    ValueError
        The error level is not between 0 and 1.
    """
    by_category = None
    if parts is not None:
        by_category = {
            name: () if part is None else compare_scores(part, alpha)
            for name, part in parts.items()
        }
    pairs = compare_scores(scores.table, alpha)
    return Coupling(scores, alpha, pairs, by_category)


def prompts_needed(
    pair: PairSavings, error: float, repetitions: int, alpha: float
) -> tuple[int, int]:
    """Return how many prompts a difference with this error takes, coupled and independent.

    Parameters
    ----------
    error : float
        Half the width of the interval for the difference.
    repetitions : int
        Answers to each prompt.

    Raises
    ------
    ScoreError
        A number is out of range.
    """
    try:
        coupled, independent = pair.prompts_needed(error, repetitions, alpha)
    except ValueError as refused:
        raise ScoreError(str(refused)) from refused
    return math.ceil(coupled), math.ceil(independent)


def curves_of(
    table: ScoreTable, repeats: int = 1_000, seed: int = 0, track: Track = iter
) -> ErrorCurves:
    """Return the error curves up to half of the samples, beyond which they meet zero."""
    prompts, seeds, _ = table.coupled.shape
    return error_curves(table, curve_sizes(prompts * seeds, _SIZES), repeats, seed, track)


def published_gains(table: ScoreTable, seed: int = 0, track: Track = iter) -> FloatArray:
    """Return the gain of every pair as the paper reports it, which is biased upwards."""
    curves = published_curves(table, seed, track=track)
    return np.array([curves.gain(at).gain for at in range(len(curves.pairs))])


def curve_sizes(samples: int, points: int) -> IntArray:
    """Return numbers of samples, evenly from the fewest that say anything to a half."""
    half = max(samples // 2, 1)
    return np.unique(np.linspace(min(_FEWEST, half), half, points).astype(np.int64))
