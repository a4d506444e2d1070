"""What coupled generation saves, from the scores in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupled_arena.core.errors import ScoreError
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.error_curves import ErrorCurves, Track, error_curves
from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable, compare_scores
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.tables.scores import ScoreCells

_SIZES = 60  # points of a curve
_FEWEST = 20  # samples at its beginning


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores of some models on the same prompts under both protocols, as the store has them.

    Attributes
    ----------
    metric : str
    table : ScoreTable
    left_out : int
        Prompts that lack repetitions under a protocol.
    """

    metric: str
    table: ScoreTable
    category: str | None = None
    left_out: int = 0


def read_protocol_scores(
    store: Store,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    temperature: float | None = None,
) -> StoredScores:
    """Read the scores of a metric, of battles that all these models are in.

    Parameters
    ----------
    metric : str, optional
        Needed where the store holds several.
    models : sequence of str, optional
        By default all that have scores under both protocols.
    category : str, optional
        Only prompts of this category.
    temperature : float, optional
        Only answers drawn at this temperature.

    Raises
    ------
    ScoreError
        There are no such scores, too few to compare, or answers drawn in different ways.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")
        metric = scores.one_metric(list(scores.metrics(cursor)), metric)
        known = scores.scored_models(cursor, metric)
        names = tuple(models or known)
        if absent := [name for name in names if name not in known]:
            raise ScoreError(
                f"{', '.join(absent)} has no score by {metric} under both protocols; "
                f"who has: {', '.join(known) or 'none'}."
            )
        cells = scores.cells(cursor, metric, names, category, temperature)
        cursor.execute("commit")
    if len(cells.samplings) > 1:
        raise ScoreError(
            f"These {metric} answers were drawn in different ways ({'; '.join(cells.samplings)}), "
            "which a comparison must not mix: choose one with --temperature, or keep the runs in "
            "databases of their own."
        )
    coupled, independent, left_out = _rectangle(cells, len(names))
    if not coupled.size:
        raise ScoreError(
            f"No two prompts have {metric} scores of {', '.join(names)} in the same battles, twice "
            "or more under each protocol. Choose other --models, or let the benchmark run on."
        )
    try:
        table = ScoreTable(names, coupled, independent)
    except ValueError as error:
        raise ScoreError(f"{metric}: {error}") from error
    return StoredScores(metric, table, category, left_out)


def curves_of(
    table: ScoreTable, repeats: int = 1_000, seed: int = 0, track: Track = iter
) -> ErrorCurves:
    """Return the error curves up to half of the samples, beyond which they meet zero."""
    prompts, seeds, _ = table.coupled.shape
    return error_curves(table, curve_sizes(prompts * seeds, _SIZES), repeats, seed, track)


def curve_sizes(samples: int, points: int) -> IntArray:
    """Return numbers of samples, evenly from the fewest that say anything to a half."""
    half = max(samples // 2, 1)
    return np.unique(np.linspace(min(_FEWEST, half), half, points).astype(np.int64))


def savings_by_category(
    store: Store,
    stored: StoredScores,
    temperature: float | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> dict[str, tuple[PairSavings, ...]]:
    """Return the savings within each category of the prompts, none where it has too few scores."""
    with store.cursor() as cursor:
        categories = scores.categories(cursor, stored.metric)
    found: dict[str, tuple[PairSavings, ...]] = {}
    for category in categories:
        try:
            part = read_protocol_scores(
                store, stored.metric, stored.table.models, category, temperature
            )
        except ScoreError:
            found[category] = ()  # two prompts are the least, and a category may have one
        else:
            found[category] = compare_scores(part.table, alpha, seed=seed)
    return found


def _rectangle(cells: ScoreCells, k: int) -> tuple[FloatArray, FloatArray, int]:
    """Return scores (prompts, seeds, models) coupled and independent, and prompts left out.

    A prompt has as many repetitions as it has under both protocols; most prompts have the number
    that counts, and those with fewer are left out.
    """
    prompts, place = np.unique(cells.prompt, return_inverse=True)
    seeds = int(cells.repetition.max(initial=0)) + 1
    grid = np.full((2, len(prompts), seeds, k), np.nan)
    grid[cells.coupled, place, cells.repetition, cells.model] = cells.score
    whole = np.isfinite(grid).all(axis=(0, 3))  # (prompts, seeds)
    repetitions = np.cumprod(whole, axis=1).sum(axis=1)
    some = repetitions[repetitions > 0]
    if not some.size:
        return np.empty((0, 0, k)), np.empty((0, 0, k)), len(prompts)
    kept = int(np.bincount(some).argmax())
    enough = repetitions >= kept
    independent, coupled = grid[:, enough, :kept]
    return coupled, independent, int((~enough).sum())
