"""Comparisons with a vote that several judges have all judged, from a store."""

from __future__ import annotations

import numpy as np

from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.simulation.shared import SharedComparisons
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Cursor, Selection
from coupled_arena.store.queries.rewordings import reworded
from coupled_arena.store.queries.shared_rows import (
    SharedRows,
    shared_prompts,
    shared_rows,
    verdict_prompts,
)


def judges_of(source: PaperSource) -> tuple[str, ...]:
    """Return the judges that were asked for, or all that the store knows."""
    if source.settings.judges:
        return source.settings.judges
    with source.store.cursor() as cursor:
        return tuple(comparisons.judges(cursor))


def read_shared(source: PaperSource) -> SharedComparisons:
    """Read what people said, and each of the judges of the same comparisons.

    Without judges, what people said alone. Models that were not compared with another one are left
    out, unless they were asked for.

    Raises
    ------
    ArenaError
        There are no such comparisons.
    """
    judges = judges_of(source)
    with source.store.cursor() as cursor:
        rows = shared_rows(cursor, _selection(source, judges))
        if not len(rows.times):
            raise ArenaError(_nothing(source, cursor, judges))
    found = _counted(rows, judges)
    return found if source.settings.models else found.of(found.votes.compared)


def _selection(source: PaperSource, judges: tuple[str, ...]) -> Selection:
    first = judges[0] if judges else None
    chosen = source.settings
    return Selection(
        judge=first, more_judges=judges[1:], models=chosen.models, category=chosen.category
    )


def _counted(rows: SharedRows, judges: tuple[str, ...]) -> SharedComparisons:
    k, outcomes = len(rows.models), len(OUTCOMES)
    # All of one judge, so that draws are those of `resample`; of several, those that there are.
    codes = np.arange(outcomes) if len(judges) == 1 else np.unique(rows.verdict)
    labelled = np.zeros((k, k, outcomes, len(codes)), dtype=np.int64)
    place = np.searchsorted(codes, rows.verdict)
    np.add.at(labelled, (rows.first, rows.second, rows.human, place), rows.times)
    digits = [codes // outcomes**power % outcomes for power in reversed(range(len(judges)))]
    said = np.array(digits, dtype=np.int64).reshape(len(judges), len(codes))
    return SharedComparisons(rows.models, judges, labelled, said)


def _nothing(source: PaperSource, cursor: Cursor, judges: tuple[str, ...]) -> str:
    if len(judges) < 2:
        beside = f" and a verdict of {judges[0]}" if judges else ""
        return f"No comparison has a vote{beside}: give --votes, or vote."
    alone = [
        f"{judge} {shared_rows(cursor, _selection(source, (judge,))).times.sum():,}"
        for judge in judges
    ]
    return (
        "No comparison has a vote and a verdict of each judge: choose with --judge. "
        f"Votes beside verdicts of: {', '.join(alone)}."
    )


def prompts_of(source: PaperSource) -> int:
    """Return how many prompts the comparisons of `read_shared` are on."""
    with source.store.cursor() as cursor:
        return shared_prompts(cursor, _selection(source, judges_of(source)))


def judged_prompts(source: PaperSource, judge: str | None) -> int:
    """Return how many prompts a judge's verdicts are on; none without a judge."""
    if judge is None:
        return 0
    with source.store.cursor() as cursor:
        return verdict_prompts(cursor, _selection(source, (judge,)), judge)


def pooled_notes(source: PaperSource) -> tuple[str, ...]:
    """Return what is to be said where votes on questions in several wordings count together."""
    selection = _selection(source, judges_of(source))
    with source.store.cursor() as cursor:
        return tuple(pooled_words(reworded(cursor, selection, compared=True)))
