"""Coupled beside independent answers on a benchmark, for every pair of models and each subject.

What the panels of [1]_ show: covariances and variances of scores within each question, and errors
by the number of samples. `coupled_arena.stats.coupling.error_curves` draws these.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation",
   AISTATS 2026, arXiv:2502.01754.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.analysis.coupling.savings import (
    StoredScores,
    read_categories,
    read_protocol_scores,
)
from coupled_arena.analysis.coupling.score_tables import SubjectScores, read_subject_scores
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.error_curves import REPEATS, Gain, published_curves
from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable, compare_scores
from coupled_arena.views.tables.coupling import CURVES, PAIRS
from coupled_arena.views.tables.table import BETWEEN, Column, Table, table_of

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


_Row = dict[str, Any]
_POINTS = 60  # of a curve, evenly on a logarithmic axis
_PROTOCOLS = ("coupled", "independent")  # in the order of an array's axis


@dataclass(frozen=True, eq=False)
class GainRow:
    """The gain of a pair at one tolerance."""

    panel: PairPanels
    tolerance: float
    gain: Gain

    @property
    def sizes(self) -> str:
        """Both numbers of samples as people read them."""
        if self.gain.coupled is None:
            return "none"
        return f"{self.gain.coupled:,} against {self.gain.independent:,}"


_SHOWN = {
    "savings": ("samples saved", ".1%"),
    "mean_covariance": ("mean covariance", "+.4f"),
}


def _both(panel: PairPanels) -> str:
    return f"{panel.pair.model_a}{BETWEEN}{panel.pair.model_b}"


PANELS: tuple[Column[PairPanels], ...] = (
    Column("subject", str, "Subject of the prompts; missing where they are all", heading="subject"),
    Column("model_a", str, "Name of model a", lambda row: row.pair.model_a, "pair", _both),
    Column("model_b", str, "Name of model b", lambda row: row.pair.model_b),
    *(
        Column(
            column.name,
            column.kind,
            column.meaning,
            lambda row, of=column: of.of(row.pair),
            *_SHOWN.get(column.name, ("", "")),
        )
        for column in PAIRS[2:]
    ),
    Column(
        "median_variance_coupled",
        float,
        "Of the score difference under coupling, median over prompts",
        lambda row: np.median(row.pair.variances_coupled),
        "median variance, coupled",
        ".4f",
    ),
    Column(
        "median_variance_independent",
        float,
        "Of the score difference, independent, median over prompts",
        lambda row: np.median(row.pair.variances_independent),
        "independent",
        ".4f",
    ),
)


def panel_table(panels: Sequence[PairPanels]) -> Table[PairPanels]:
    """Return a row for each pair: what the panels show in numbers."""
    medians = ("median_variance_coupled", "median_variance_independent")
    names = ("model_a", "savings", "mean_covariance", *medians)
    return table_of(PANELS, panels).showing(*_subject(panels), *names)


GAINS: tuple[Column[GainRow], ...] = (
    Column("subject", str, PANELS[0].meaning, lambda row: row.panel.subject, "subject"),
    Column(
        "model_a",
        str,
        "Name of model a",
        lambda row: row.panel.pair.model_a,
        "pair",
        lambda row: _both(row.panel),
    ),
    Column("model_b", str, "Name of model b", lambda row: row.panel.pair.model_b),
    Column(
        "tolerance",
        float,
        "Errors count as equal that differ by no more than this times the smaller one",
        heading="tolerance",
        text=".3g",
    ),
    Column(
        "gain",
        float,
        "The paper's gain: the largest saving at any size, about 0.1 where nothing is saved",
        lambda row: row.gain.gain,
        "gain",
        ".1%",
    ),
    Column(
        "samples_coupled",
        int,
        "Coupled samples at which it is found; missing without a gain",
        lambda row: row.gain.coupled,
        "coupled against independent",
        lambda row: row.sizes,
    ),
    Column(
        "samples_independent",
        int,
        "Independent samples with the same error",
        lambda row: row.gain.independent,
    ),
    Column("error", float, "That error", lambda row: row.gain.error, "at an error of", ".4f"),
)


def gain_table(panels: Sequence[PairPanels]) -> Table[GainRow]:
    """Return the paper's gain of each pair, by tolerance."""
    rows = (GainRow(each, level, gain) for each in panels for level, gain in each.gains.items())
    names = ("model_a", "tolerance", "gain", "samples_coupled", "error")
    return table_of(GAINS, rows).showing(*_subject(panels), *names)


def _subject(panels: Sequence[PairPanels]) -> tuple[str, ...]:
    """Return the column of subjects, where there are any."""
    return ("subject",) if any(panel.subject for panel in panels) else ()


_NAMES: tuple[Column[_Row], ...] = (
    Column("subject", str, PANELS[0].meaning),
    Column("model_a", str, "Name of model a"),
    Column("model_b", str, "Name of model b"),
)
SPREADS: tuple[Column[_Row], ...] = (
    *_NAMES,
    Column("covariance", float, "Of the two scores under coupling within a prompt"),
    Column("variance_coupled", float, "Of the score difference under coupling within a prompt"),
    Column("variance_independent", float, "Of the score difference, independent, within a prompt"),
    Column("prompts", int, "How many prompts have these three values"),
)


def spread_table(panels: Iterable[PairPanels]) -> Table[_Row]:
    """Return how covariances and variances are spread over prompts: equal ones in one row."""
    rows: list[_Row] = []
    for panel in panels:
        pair = panel.pair
        values = (pair.covariances, pair.variances_coupled, pair.variances_independent)
        # Twelve digits: the same answers in another order are off in the last bits.
        found, counts = np.unique(np.round(np.stack(values), 12), axis=1, return_counts=True)
        names = [column.name for column in SPREADS[3:]]
        rows += [
            {**_named(panel), **dict(zip(names, each, strict=True))}
            for each in zip(*found.tolist(), counts.tolist(), strict=True)
        ]
    return table_of(SPREADS, rows)


PROTOCOL_CURVES: tuple[Column[_Row], ...] = (
    *_NAMES,
    *(
        Column[_Row](each.name, each.kind, each.meaning)
        for each in CURVES
        if each.name in ("samples", "protocol", "mean", "standard_error")
    ),
)


def protocol_curves(panels: Iterable[PairPanels]) -> Table[_Row]:
    """Return the error of each pair by number of samples, as far as it is drawn."""
    rows = (
        {
            **_named(panel),
            "samples": int(panel.sizes[at]),
            "protocol": protocol,
            "mean": float(panel.mean[mode, at]),
            "standard_error": float(panel.mean_error[mode, at]),
        }
        for panel in panels
        for mode, protocol in enumerate(_PROTOCOLS)
        for at in drawn_sizes(panel)
    )
    return table_of(PROTOCOL_CURVES, rows)


def drawn_sizes(panel: PairPanels) -> list[int]:
    """Return the places of the sizes that are drawn: evenly on a logarithmic axis."""
    sizes = panel.sizes
    even = np.geomspace(sizes[0], sizes[-1], _POINTS)
    return np.unique(np.abs(sizes[None, :] - even[:, None]).argmin(axis=1)).tolist()


def _named(panel: PairPanels) -> _Row:
    pair = panel.pair
    return {"subject": panel.subject, "model_a": pair.model_a, "model_b": pair.model_b}
