"""Coupled beside independent answers on a benchmark, for every pair of models and each subject.

What the panels of [1]_ show: covariances and variances of scores within each question, and errors
by the number of samples, drawn as `coupled_arena.stats.coupling.published` has them.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation",
   AISTATS 2026, arXiv:2502.01754.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from coupled_arena.analysis.coupling.files import SubjectScores, read_subject_scores
from coupled_arena.analysis.coupling.read import (
    StoredScores,
    read_categories,
    read_protocol_scores,
)
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.published import REPEATS, Gain, published_curves
from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable, compare_scores

TOLERANCES = (0.005, 0.01, 0.05)
"""Between which errors count as equal: the paper takes the second, and for some pairs another."""
_ALPHA = 0.05
_MOST = 40  # models, of which each pair is drawn


@dataclass(frozen=True, eq=False)
class PairPanels:
    """Two models on one set of prompts.

    Attributes
    ----------
    subject : str or None
        What these prompts are about, where they are a part of all.
    pair : PairSavings
    sizes : ndarray of int64, shape (sizes,)
    mean, mean_error : ndarray of float64, shape (2, sizes)
        Absolute error of the score difference over the sub-samplings, coupled first.
    gains : mapping of float to Gain
        By tolerance, see `TOLERANCES`.
    """

    subject: str | None
    pair: PairSavings
    sizes: IntArray
    mean: FloatArray
    mean_error: FloatArray
    gains: Mapping[float, Gain]


@dataclass(frozen=True, eq=False)
class Protocols:
    """Every pair of models under both protocols.

    Attributes
    ----------
    scores : StoredScores
    alpha : float
        Error level of the intervals of `PairSavings.savings`.
    panels : tuple of PairPanels
        Of each pair, and in each subject where these were asked for.
    too_few : tuple of str
        Subjects with less than two prompts.
    """

    scores: StoredScores
    alpha: float
    panels: tuple[PairPanels, ...]
    too_few: tuple[str, ...] = ()


def compare_protocols(source: PaperSource) -> Protocols:
    """Compare every pair of models on all prompts.

    Raises
    ------
    ArenaError
        There are no scores under both protocols, or too few.
    """
    scores, _read = _scores(source)
    return Protocols(scores, _alpha(source), _panels(source, scores.table, None))


def compare_subjects(source: PaperSource) -> Protocols:
    """Compare every pair of models on the prompts of each subject.

    Raises
    ------
    ArenaError
        There are no scores under both protocols, too few, or no subjects.
    """
    scores, read = _scores(source)
    if source.settings.category:
        parts: Mapping[str, ScoreTable | None] = {source.settings.category: scores.table}
    elif read is None:
        parts = read_categories(source.store, scores)
    else:
        parts = read.by_subject()
    panels = [
        panel
        for subject, table in parts.items()
        if table is not None
        for panel in _panels(source, table, subject)
    ]
    if not panels:
        raise ArenaError("No subject, or category, has two prompts with scores of both protocols.")
    few = tuple(subject for subject, table in parts.items() if table is None)
    return Protocols(scores, _alpha(source), tuple(panels), few)


def _scores(source: PaperSource) -> tuple[StoredScores, SubjectScores | None]:
    """Return the scores, and the file they are from with its subjects."""
    found, read = _read(source)
    k = len(found.table.models)
    if k > _MOST:
        raise ScoreError(
            f"{k} models make {k * (k - 1) // 2:,} pairs, three panels each: choose up to {_MOST} "
            "with --models."
        )
    return found, read


def _read(source: PaperSource) -> tuple[StoredScores, SubjectScores | None]:
    chosen = source.settings
    path = source.one_scores_file()
    if path is None:
        if len(chosen.metrics) > 1:
            raise ArenaError("This is made of one metric: name one with --metrics.")
        metric = chosen.metrics[0] if chosen.metrics else None
        return read_protocol_scores(source.store, metric, chosen.models, chosen.category), None
    read = read_subject_scores(path, chosen.seeds, chosen.models)
    table = read.of(chosen.category) if chosen.category else read.table
    return StoredScores(path.name, table, chosen.category, read.left_out), read


def _alpha(source: PaperSource) -> float:
    return source.settings.alpha[0] if source.settings.alpha else _ALPHA


def _panels(source: PaperSource, table: ScoreTable, subject: str | None) -> tuple[PairPanels, ...]:
    chosen = source.settings
    sizes = np.array(sorted(set(chosen.sizes)), dtype=np.int64) if chosen.sizes else None
    repeats = REPEATS if chosen.repeats is None else chosen.repeats
    try:
        curves = published_curves(table, chosen.seed, repeats, sizes, source.track)
    except ValueError as error:
        raise ScoreError(str(error)) from error
    pairs = compare_scores(table, _alpha(source))
    return tuple(
        PairPanels(
            subject=subject,
            pair=pair,
            sizes=curves.sizes,
            mean=curves.mean[:, at],
            mean_error=curves.mean_error[:, at],
            gains={tolerance: curves.gain(at, tolerance) for tolerance in TOLERANCES},
        )
        for at, pair in enumerate(pairs)
    )
