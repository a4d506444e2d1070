"""What coupling saves under each sampling that a benchmark was run with, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.analysis.coupling.read import read_protocol_scores
from coupled_arena.core.errors import ScoreError, TooFewScoresError
from coupled_arena.core.records import ANYHOW, Drawn
from coupled_arena.stats.coupling.score_tables import PairSavings, compare_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries import protocol_scores
from coupled_arena.store.tables import scores


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
    metric : str
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
        known = protocol_scores.drawings(cursor, name, drawn)
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
