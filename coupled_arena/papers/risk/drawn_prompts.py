"""How soon rankings stand still as prompts become more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupled_arena.core.errors import ScoreError
from coupled_arena.papers.risk.scores import JudgedScores
from coupled_arena.papers.risk.ways import kendall, named, rankings_by_estimates
from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.progress import Track

JUDGE_WAY = "R-SSD @judge"


@dataclass(frozen=True)
class Stability:
    """How far a ranking from some prompts agrees with those from all.

    Attributes
    ----------
    ranking : str
        By the name of its `coupled_arena.papers.risk.ways.Way`.
    size : int
        Prompts drawn.
    tau, tau_deviation : float
        Kendall's tau with the same way's ranking from all prompts: mean and standard deviation
        over the repeats that have one; NaN where none has.
    judge_tau, judge_deviation : float
        With the judge's ranking from all prompts; NaN without a judge.
    tied : int
        Repeats whose ranking ties all models, of which there is no tau.
    """

    ranking: str
    size: int
    tau: float
    tau_deviation: float
    judge_tau: float
    judge_deviation: float
    tied: int = 0


def stabilities(
    given: JudgedScores, sizes: Sequence[int], repeats: int, seed: int, track: Track = iter
) -> list[Stability]:
    """Return how stable each ranking is, on subsets of the prompts drawn without replacement.

    All prompts are the last size. Rankings are those of estimates: tests of few prompts tie most
    models, which says something of their power and nothing of the ranking.

    Parameters
    ----------
    sizes : sequence of int
        Prompts of each model; those it has not got are left out.
    track : callable
        Goes through the repeats of all sizes.

    Raises
    ------
    ScoreError
        There is no size between 2 and the number of prompts.
    """
    most = given.scores.size
    fitting = sorted({size for size in sizes if 2 <= size < most})
    if not fitting:
        raise ScoreError(
            f"There are {most:,} prompts: give --sizes of 2 at least and fewer than that."
        )
    rng = np.random.default_rng(seed)
    whole = _rankings(given)
    found: dict[tuple[int, str], list[IntArray]] = {}
    for number in track(range(len(fitting) * repeats)):
        size = fitting[number // repeats]
        for way, ranks in _rankings(given.drawn(size, rng)).items():
            found.setdefault((size, way), []).append(ranks)
    for way, ranks in whole.items():
        found[most, way] = [ranks]
    return [_stability(way, size, drawn, whole) for (size, way), drawn in found.items()]


def _stability(way: str, size: int, drawn: list[IntArray], whole: dict[str, IntArray]) -> Stability:
    untied = [ranks for ranks in drawn if len(set(ranks.tolist())) > 1]
    own = _over(untied, whole[way])
    judge = _over(untied, whole.get(JUDGE_WAY))
    return Stability(way, size, *own, *judge, tied=len(drawn) - len(untied))


def _over(drawn: list[IntArray], other: IntArray | None) -> tuple[float, float]:
    """Return the mean and standard deviation of the rankings' taus with another."""
    if other is None or not drawn:
        return float("nan"), float("nan")
    taus = [kendall(ranks, other) for ranks in drawn]
    return float(np.mean(taus)), float(np.std(taus))


def _rankings(given: JudgedScores) -> dict[str, IntArray]:
    judge = None if given.judge is None else [sample[:, 0] for sample in given.judge.oriented()]
    return named(rankings_by_estimates(given.scores.oriented(), judge))
