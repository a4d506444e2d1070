"""What coupled generation saves, from the scores in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from coupled_arena.core.errors import ScoreError, TooFewScoresError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.records import ANYHOW, Drawn, Mode
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.store.database import Store
from coupled_arena.store.queries import battle_counts, protocol_scores
from coupled_arena.store.queries.protocol_scores import ScoreCells
from coupled_arena.store.queries.visibility import Hidden
from coupled_arena.store.tables import scores


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores of some models on the same prompts under both protocols, as the store has them.

    Attributes
    ----------
    metric : str
    table : ScoreTable
    left_out : int
        Prompts that lack repetitions under a protocol.
    drawn : Drawn
        What was asked for.
    """

    metric: str
    table: ScoreTable
    category: str | None = None
    left_out: int = 0
    drawn: Drawn = ANYHOW


def read_protocol_scores(
    store: Store,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    drawn: Drawn = ANYHOW,
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
    drawn : Drawn, optional
        Only answers drawn in this way.

    Raises
    ------
    ScoreError
        There are no such scores, too few to compare, or answers asked for or drawn in different
        ways.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")
        metric = scores.one_metric(list(scores.metrics(cursor)), metric)
        known = protocol_scores.scored_models(cursor, metric)
        names = tuple(models or known)
        if absent := [name for name in names if name not in known]:
            raise ScoreError(
                f"{', '.join(absent)} has no score by {metric} under both protocols; "
                f"who has: {', '.join(known) or 'none'}."
            )
        cells = protocol_scores.cells(cursor, metric, names, category, drawn)
        cursor.execute("commit")
    _check_alike(cells, metric)
    coupled, independent, left_out = _rectangle(cells, len(names))
    if not coupled.size:
        text = _(
            "No two prompts have {metric} scores of {models} in the same battles, twice or "
            "more under each protocol. Choose other --models, or let the benchmark run on."
        )
        raise TooFewScoresError(text.format(metric=metric, models=", ".join(names)))
    try:
        table = ScoreTable(names, coupled, independent)
    except ValueError as error:
        raise TooFewScoresError(f"{metric}: {error}") from error
    return StoredScores(metric, table, category, left_out, drawn)


def _check_alike(cells: ScoreCells, metric: str) -> None:
    """Refuse to mix what no comparison must mix."""
    if len(cells.samplings) > 1:
        text = _(
            "These {metric} answers were drawn in different ways ({ways}), which a comparison "
            "must not mix: choose one with --temperature, --top-p or --sampler, or keep the runs "
            "in databases of their own. --by-sampling has them side by side."
        )
        raise ScoreError(text.format(metric=metric, ways="; ".join(cells.samplings)))
    if n := cells.reworded:
        text = ngettext(
            "{n:,} question of {metric} was put in different words, with different system prompts "
            "or beginnings of the answer, which a comparison must not mix: keep the runs in "
            "databases of their own.",
            "{n:,} questions of {metric} were put in different words, with different system "
            "prompts or beginnings of the answer, which a comparison must not mix: keep the runs "
            "in databases of their own.",
            n,
        )
        raise ScoreError(text.format(metric=metric, n=n))


def nearest_drawn(
    known: Sequence[Drawn], wanted: Drawn
) -> tuple[Drawn, dict[str, list[float | str]]]:
    """Return one way of drawing that there is, and what may be chosen instead, name by name.

    What is wanted and there is none of gives way to the first there is; each choice leaves the
    next one only what goes with it.
    """
    choices: dict[str, list[float | str]] = {}
    for name, value in asdict(wanted).items():
        choices[name] = sorted({getattr(each, name) for each in known})
        taken = value if value in choices[name] else next(iter(choices[name]), None)
        known = [each for each in known if getattr(each, name) == taken]
    return known[0] if known else ANYHOW, choices


def battles_of_pairs(
    store: Store, scores: StoredScores, hidden: Hidden
) -> dict[tuple[str, str, Mode], int]:
    """Return how many battles lie behind the scores of each pair of models in each mode."""
    with store.cursor() as cursor:
        return battle_counts.of_pairs(
            *(cursor, scores.metric, scores.table.models, hidden),
            category=scores.category,
            drawn=scores.drawn,
        )


def read_categories(store: Store, stored: StoredScores) -> dict[str, ScoreTable | None]:
    """Return the scores within each category of the prompts, None where it has too few."""
    with store.cursor() as cursor:
        categories = protocol_scores.categories(cursor, stored.metric)
    found: dict[str, ScoreTable | None] = {}
    for category in categories:
        try:
            part = read_protocol_scores(
                store, stored.metric, stored.table.models, category, stored.drawn
            )
        except ScoreError:
            found[category] = None  # two prompts are the least, and a category may have one
        else:
            found[category] = part.table
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
