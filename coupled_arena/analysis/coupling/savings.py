"""The savings of coupled generation, from the scores in the store.

First the scores, also under each sampling that a benchmark was run with. Then, at one error level,
every pair of models, and each category by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from coupled_arena.core.errors import ScoreError, TooFewScoresError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.process import Track
from coupled_arena.core.records import ANYHOW, Drawn, Mode
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.coupling.error_curves import ErrorCurves, error_curves, published_curves
from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable, compare_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries import benchmark_scores, model_pages
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.benchmark_scores import ScoreCells
from coupled_arena.store.tables import scores


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores of some models on the same prompts under both protocols, as the store has them.

    Attributes
    ----------
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
        known = benchmark_scores.scored_models(cursor, metric)
        names = tuple(models or known)
        if absent := [name for name in names if name not in known]:
            raise ScoreError(
                f"{', '.join(absent)} has no score by {metric} under both protocols; "
                f"who has: {', '.join(known) or 'none'}."
            )
        cells = benchmark_scores.score_cells(cursor, metric, names, category, drawn)
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
            "These {metric} answers were drawn in different ways ({ways}), and a comparison "
            "cannot mix them. Choose one way with --temperature, --top-p or --sampler, or keep "
            "the runs in separate databases. --by-sampling shows all ways side by side."
        )
        raise ScoreError(text.format(metric=metric, ways="; ".join(cells.samplings)))
    if n := cells.reworded:
        text = ngettext(
            "{n:,} question of {metric} was put in different words, with different system prompts "
            "or beginnings of the answer. A comparison cannot mix them: keep the runs in separate "
            "databases.",
            "{n:,} questions of {metric} were put in different words, with different system "
            "prompts or beginnings of the answer. A comparison cannot mix them: keep the runs in "
            "separate databases.",
            n,
        )
        raise ScoreError(text.format(metric=metric, n=n))


def nearest_drawn(
    known: Sequence[Drawn], wanted: Drawn
) -> tuple[Drawn, dict[str, list[float | str]]]:
    """Return one way of drawing that there is, and what may be chosen instead, name by name.

    A wish without data gives way to the first choice with data. Each choice leaves the next one
    only what goes with it.
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
        return model_pages.battles_of_pairs(
            *(cursor, scores.metric, scores.table.models, hidden),
            category=scores.category,
            drawn=scores.drawn,
        )


def read_categories(store: Store, stored: StoredScores) -> dict[str, ScoreTable | None]:
    """Return the scores within each category of the prompts, None where it has too few."""
    with store.cursor() as cursor:
        categories = benchmark_scores.scored_categories(cursor, stored.metric)
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


# What coupling saves under each sampling that a benchmark was run with, side by side.


@dataclass(frozen=True, eq=False)
class SweptPair:
    """What coupling saves for a pair of models under one sampling."""

    drawn: Drawn
    pair: PairSavings


@dataclass(frozen=True, eq=False)
class Sweep:
    """What coupling saves under each sampling.

    Attributes
    ----------
    alpha : float
        Error level of the intervals.
    rows : tuple of SweptPair
        By sampling, and within each in the order of the models.
    left_out : int
        Prompts that lack repetitions under a protocol, in all samplings together.
    too_few : tuple of Drawn
        Samplings with too few scores to compare.
    """

    metric: str
    alpha: float
    rows: tuple[SweptPair, ...]
    left_out: int
    too_few: tuple[Drawn, ...]


def read_sweep(
    store: Store,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    drawn: Drawn = ANYHOW,
    *,
    alpha: float = 0.05,
) -> Sweep:
    """Compare the protocols on every pair of models, under each sampling by itself.

    Parameters are those of `read_protocol_scores` and `coupling`.

    Raises
    ------
    ScoreError
        There are no such scores, or answers of one temperature, top-p and sampler that were asked
        for or drawn in different ways all the same.
    """
    with store.cursor() as cursor:
        name = scores.one_metric(list(scores.metrics(cursor)), metric)
        known = benchmark_scores.drawings(cursor, name, drawn)
    rows: list[SweptPair] = []
    too_few: list[Drawn] = []
    left_out = 0
    for each in known:
        try:
            found = read_protocol_scores(store, name, models, category, each)
        except TooFewScoresError:
            too_few.append(each)
            continue
        pairs = compare_scores(found.table, alpha)
        rows += [SweptPair(each, pair) for pair in pairs]
        left_out += found.left_out
    if not rows:
        raise ScoreError(
            f"No sampling has {name} scores of two models on two prompts, twice or more under each "
            "protocol. Let the benchmark run on, or ask for less."
        )
    return Sweep(name, alpha, tuple(rows), left_out, tuple(too_few))


# What coupling saves at one error level: every pair of models, and each category by itself.


_SIZES = 60  # points of a curve
_FEWEST = 20  # samples at its beginning


@dataclass(frozen=True, eq=False)
class Coupling:
    """What coupled generation saves on a benchmark, with the settings this was made with.

    Attributes
    ----------
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

    @property
    def by_saving(self) -> tuple[PairSavings, ...]:
        """The pairs, the largest estimated saving first, those without an estimate last.

        Faces show the first of them where nobody chose a pair, and say so. The interval of a pair
        does not allow for this choice.
        """
        known = [pair for pair in self.pairs if math.isfinite(pair.savings)]
        unknown = [pair for pair in self.pairs if not math.isfinite(pair.savings)]
        return (*sorted(known, key=lambda pair: -pair.savings), *unknown)


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
