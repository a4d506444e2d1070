"""What the figures and tables of the papers are made from: a store, files, or a simulation."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.process import Track
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.simulation.subsets import SharedComparisons
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.single_comparisons import (
    SharedRows,
    shared_prompts,
    shared_rows,
    verdict_prompts,
)
from coupled_arena.store.transfer.importing import Imported, import_files

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PaperSettings:
    """What is chosen about a figure or table; each is made with those that concern it.

    Attributes
    ----------
    models : tuple of str or None
        Only these models, in this order.
    judges : tuple of str
        Judges whose verdicts or grades count; without any, all of the data.
    key_from : tuple of str
        Models whose answers to a benchmark are a judge's key.
    metrics, lower_is_better : tuple of str
        Metrics to look at, all of the data if none; those of which less is better.
    category : str or None
        Only prompts of this category, or subject.
    seeds : int
        Answers to each prompt under each protocol, in a table of scores.
    sizes : tuple of int
        Sample sizes, or numbers of votes; without any, the paper's own.
    repeats : int or None
        How often to draw; by default as often as the paper.
    alpha : tuple of float
        Error levels; without any, the paper's own.
    seed : int
        Of what is drawn at random.
    """

    models: tuple[str, ...] | None = None
    judges: tuple[str, ...] = ()
    key_from: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = ()
    category: str | None = None
    seeds: int = 10
    sizes: tuple[int, ...] = ()
    repeats: int | None = None
    alpha: tuple[float, ...] = ()
    seed: int = 0

    def to_json(self) -> Mapping[str, Any]:
        """Return the settings as JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }


@dataclass(frozen=True, eq=False)
class PaperSource:
    """Data and settings that a figure or table is made from.

    Attributes
    ----------
    open_store : callable
        Returns the store, opened for reading when first asked.
    scores : tuple of Path
        Tables of scores, or logs of other tools; without any, the scores are those of the store.
    has_store : bool
        Whether there is a store to open: some items are simulated without one.
    names : tuple of str or None
        What the model of each of the logs is called; None is what they call it.
    track : callable
        Shows how far a loop of repeats is.
    """

    settings: PaperSettings
    open_store: Callable[[], Store]
    scores: tuple[Path, ...] = ()
    has_store: bool = True
    names: tuple[str | None, ...] = ()
    track: Track = iter

    @property
    def store(self) -> Store:
        """The store; opened when first asked for.

        Raises
        ------
        StoreError
            It cannot be opened.
        """
        return self.open_store()

    def one_scores_file(self) -> Path | None:
        """Return the table of scores, or None where the store is to be read.

        Raises
        ------
        ArenaError
            Several were given, or a name for the model of one.
        """
        if any(self.names):
            raise ArenaError(
                "This is made from a table of scores, which names its models itself: NAME=LOG is "
                "for logs of other tools."
            )
        if len(self.scores) > 1:
            raise ArenaError(
                f"This is made from one table of scores, not from {len(self.scores)}: "
                "give --scores once."
            )
        return self.scores[0] if self.scores else None


def store_of_files(votes: Path, verdicts: Mapping[str, Path]) -> Store:
    """Return a store in memory that holds the votes of a file, and judges' verdicts on them.

    Of rows that cannot be taken the log tells.

    Parameters
    ----------
    votes : Path
        In any format that `coupled_arena.store.transfer.importing.import_files` reads.
    verdicts : mapping of str to Path
        By the judge's name; rows meet the votes on their keys.

    Raises
    ------
    StoreError
        A file cannot be read or recognised.
    """
    with ExitStack() as opened:
        store = opened.enter_context(Store.in_memory())
        _tell(import_files(store, [votes]))
        for judge, path in verdicts.items():
            _tell(import_files(store, [path], judge=judge))
        opened.pop_all()  # whoever asked closes it
    return store


def _tell(done: Imported) -> None:
    """Say how many rows nothing was taken from, and why of the first."""
    for row in done.rejected[:1]:
        left_out = f"{len(done.rejected):,} of {done.rows:,} rows are left out"
        _log.warning("%s: %s. The first, line %d: %s.", row.file, left_out, row.line, row.reason)


def fingerprint(paths: Iterable[Path], names: Sequence[str | None] = ()) -> str:
    """Return a text that differs once one of these files was changed; missing ones count, too.

    Of a folder the files in it count. So does what models are called.
    """
    states = [state for path in paths for state in _states(path.resolve())]
    return hashlib.blake2b(repr((states, names)).encode(), digest_size=8).hexdigest()


def _states(path: Path) -> Iterator[tuple[str, tuple[int, int] | None]]:
    inside = (file for file in sorted(path.rglob("*")) if file.is_file())
    for file in inside if path.is_dir() else (path,):
        found = file.stat() if file.exists() else None
        yield str(file), None if found is None else (found.st_size, found.st_mtime_ns)


# Comparisons with a vote that several judges have all judged, from a store.


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
    verdicts = np.array(digits, dtype=np.int64).reshape(len(judges), len(codes))
    return SharedComparisons(rows.models, judges, labelled, verdicts)


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
