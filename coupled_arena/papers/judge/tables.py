"""Judges beside each other, and how each ranks models, as the figures of a paper have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter, itemgetter

from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.papers.judge.answers import JudgeRanking, Ranked
from coupled_arena.stats.judges.soft import SoftMean
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of

Worth = tuple[str, str, ModelAudit | SoftMean]
"""A judge, what is taken from it, and what it is worth on one model."""
_OF = itemgetter(2)


def _of(name: str) -> Column[Worth]:
    meaning, heading, text = _MEANINGS[name]
    return Column(name, float, meaning, lambda row: getattr(_OF(row), name), heading, text)


_MEANINGS = {
    "b": ("True score of the model: how often it is right, or people prefer it", "b", ".1%"),
    "judge_score": ("The same by the judge", "by the judge", ".1%"),
    "rho_squared": (
        "Share of the variance of the truth that the judge explains",
        "\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}",
        ".3f",
    ),
    "tau_max": ("What one label is worth with the judge at most", "at most", ".2f"),
    "tau_max_high": ("Upper bound of tau_max", "", ""),
}
WORTHS: tuple[Column[Worth], ...] = (
    Column("judge", str, "Name of the judge", itemgetter(0), "judge"),
    Column("proxy", str, "`verdict`, or the `probability` of one", itemgetter(1)),
    Column("model", str, "Name of the model", lambda row: _OF(row).model, "model"),
    Column("n", int, "Labels with a verdict", lambda row: _OF(row).n, "both"),
    _of("b"),
    _of("judge_score"),
    Column(
        "agreement",
        float,
        "How often judge and truth are the same; none of probabilities",
        lambda row: getattr(_OF(row), "agreement", None),
        "agrees",
        ".1%",
    ),
    _of("rho_squared"),
    _of("tau_max"),
    Column(
        "tau_max_low",
        float,
        "Lower bound of tau_max",
        lambda row: _OF(row).tau_max_low,
        LEVEL,
        lambda row: span(_OF(row).tau_max_low, _OF(row).tau_max_high, ".2f"),
    ),
    _of("tau_max_high"),
    Column(
        "at_frontier",
        bool,
        "One half <= agreement <= b, so that tau_max cannot exceed two",
        lambda row: getattr(_OF(row), "at_frontier", None),
    ),
)


def judge_worths(audits: Iterable[Audit], *, soft: bool = False) -> Table[Worth]:
    """Return a row for each judge and model that it has said anything of.

    Parameters
    ----------
    soft : bool
        Whether to have another row for the judge's probabilities, where it told them.
    """
    audits = tuple(audits)
    rows = (row for audit in audits for row in _worths(audit, soft=soft))
    return table_of(WORTHS, rows, alpha=audits[0].alpha)


def _worths(audit: Audit, *, soft: bool) -> Iterator[Worth]:
    for row in audit.models:
        if row.n:
            yield audit.judge, "verdict", row
    for mean in audit.soft if soft else ():
        if mean.n:
            yield audit.judge, "probability", mean


RANKED: tuple[Column[Ranked], ...] = (
    Column("judge", str, "Name of the judge", heading="judge"),
    Column("model", str, "Name of the model", heading="model"),
    Column("b", float, "How often the model is right", heading="right", text=".1%"),
    Column("judge_score", float, "How often the judge says so", heading="by the judge", text=".1%"),
    Column("true_rank", int, "Its rank by that, 1 for the best", attrgetter("true_rank"), "rank"),
    Column("judge_rank", int, "Its rank by the judge", heading="rank by the judge"),
)


def judge_ranks(rankings: Iterable[JudgeRanking]) -> Table[Ranked]:
    """Return a row for each judge and model, the truly best first."""
    return table_of(RANKED, (row for ranking in rankings for row in ranking.models))
