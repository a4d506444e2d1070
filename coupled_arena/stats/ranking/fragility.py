"""The fewest comparisons that hold the first place: without them another model has it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from coupled_arena.core.choices import Covariance, TieScore, Weighting
from coupled_arena.stats.counts import FloatArray, IntArray, PairCounts
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR

_MOST_TRIED = 512  # comparisons that are put together in the best way; of more, one pair at a time
_ROUNDING = 16 * float(np.finfo(float).eps)  # of a mean of a few dozen shares
_TRIES = 20  # until a removal that suffices by the pairs' shares suffices on the board


@dataclass(frozen=True)
class Fragility:
    """A removal of comparisons that gives the first place to another model.

    Attributes
    ----------
    first, rival : str
        The model in the first place, and the one that has it without these comparisons.
    removed : int
        How many these are, no pair losing so many that less than `MINIMUM_PER_PAIR` are left.
    comparisons : int
        How many there are.
    rest : PairCounts
        All but those.
    """

    first: str
    rival: str
    removed: int
    comparisons: int
    rest: PairCounts

    @property
    def share(self) -> float:
        """Of all comparisons, those that are removed."""
        return self.removed / self.comparisons


@dataclass(frozen=True)
class _Source:
    """Comparisons of one pair with one outcome; losing m of them changes the lead by a share.

    With n comparisons of the pair, of which the mean score of the better treated model is 1 - r,
    the lead shrinks by m r / (n (n - m)): the more, the more have gone before.
    """

    pair: tuple[int, int]
    outcomes: tuple[int, ...]
    n: int
    r: float
    most: int

    def gain(self, m: IntArray | int) -> Any:
        return m * self.r / (self.n * (self.n - m))

    def needed(self, gain: float) -> float:
        """Return the fewest whose loss gains more than this; infinite if there are too few."""
        fewest = math.floor(gain * self.n**2 / (self.r + gain * self.n)) + 1 if self.r else math.inf
        return fewest if fewest <= self.most else math.inf


def fragility(
    counts: PairCounts,
    asked: PairCounts,
    weighting: Weighting = Weighting.STRATIFIED,
    ties: TieScore = TieScore.LOSS,
) -> Fragility | None:
    """Search for the fewest comparisons whose removal changes the first place.

    Comparisons go where each changes the lead most, and the board without them is estimated again:
    what is returned does change the first place. Whether fewer would, only all subsets could tell;
    on boards small enough to try them, none did.

    Parameters
    ----------
    counts : PairCounts
        All comparisons.
    asked : PairCounts
        Those that a person decided, of the same models: only these are removed.

    Returns
    -------
    Fragility or None
        None with fewer than two models, or where no removal was found that leaves every pair
        enough comparisons to be counted by itself.
    """
    theta = _rates(counts, weighting, ties)
    placed = np.flatnonzero(np.isfinite(theta))
    if len(placed) < 2:
        return None
    order: list[int] = placed[np.argsort(-theta[placed], kind="stable")].tolist()
    first, *rivals = order
    found: Fragility | None = None
    for rival in rivals:
        sources = list(_sources(counts, asked, first, rival, ties))
        target = float(theta[first] - theta[rival]) * (len(placed) - 1)
        for _ in range(_TRIES):
            if found and _out_of_reach(sources, target, found.removed - 1):
                break
            taken = _chosen(sources, target)
            if not taken:
                break
            rest = _without(counts, asked, taken)
            after = _rates(rest, weighting, ties)
            now = int(np.nanargmax(after))
            if after[now] - after[first] > _ROUNDING:
                made = Fragility(
                    first=counts.models[first],
                    rival=counts.models[now],
                    removed=sum(m for _, m in taken),
                    comparisons=int(counts.comparisons.sum()) // 2,
                    rest=rest,
                )
                found = made if found is None or made.removed < found.removed else found
                break
            short = float(after[first] - after[rival]) * (len(placed) - 1)
            target += max(short, _ROUNDING)
    return found


def _out_of_reach(sources: list[_Source], target: float, size: int) -> bool:
    """Return whether so many gain no more than a target wherever they are taken."""
    steps = [max(min(source.most, size), 1) for source in sources]
    best = max((s.gain(m) / m for s, m in zip(sources, steps, strict=True)), default=0.0)
    return bool(size * best <= target)


def _rates(counts: PairCounts, weighting: Weighting, ties: TieScore) -> FloatArray:
    """Return the win rates, NaN of models that nothing was compared with."""
    rates = np.full(len(counts.models), np.nan)
    if counts.comparisons.any():
        found = estimate_from_votes(counts, weighting, Covariance.CORRECTED, ties=ties)
        rates[[counts.models.index(model) for model in found.models]] = found.theta
    return rates


def _sources(
    counts: PairCounts, asked: PairCounts, first: int, rival: int, ties: TieScore
) -> Iterator[_Source]:
    """Yield what can be removed so that the first model falls behind, or the rival comes nearer."""
    n, wins = counts.comparisons, counts.wins
    drawn = (n - wins - wins.T) * (0.5 if ties is TieScore.HALF else 0.0)
    score = wins + drawn
    # A tie is half a win, or as good as a loss.
    lost = (1,) if ties is TieScore.HALF else (1, 2, 3)
    for j in range(len(counts.models)):
        for model, outcomes, r in (
            (first, (0,), n[first, j] - score[first, j]),
            (rival, lost, score[rival, j]),
        ):
            if model == rival and j == first:  # the first model's wins over it, as below
                continue
            if model == first and j == rival:
                r = r + score[rival, first]
            there = sum(int(_outcome(asked, model, j, o).sum()) for o in outcomes)
            most = min(there, int(n[model, j]) - MINIMUM_PER_PAIR)
            if j != model and most > 0:
                yield _Source((model, j), outcomes, int(n[model, j]), float(r), most)


def _outcome(counts: PairCounts, model: int, other: int, outcome: int) -> IntArray:
    """Return how often one thing happened to a model, when it was shown first and second."""
    mirrored = (1, 0, 2, 3)[outcome]
    return np.array([counts.counts[model, other, outcome], counts.counts[other, model, mirrored]])


def _chosen(sources: list[_Source], target: float) -> list[tuple[_Source, int]]:
    """Return how many to take of each source so that the lead shrinks by more than a target."""
    chosen = _one_by_one(sources, target)
    size = sum(m for _, m in chosen)
    return _fewest(sources, target, size) if 1 < size <= _MOST_TRIED else chosen


def _one_by_one(sources: list[_Source], target: float) -> list[tuple[_Source, int]]:
    """Empty the sources that gain most by comparison until one is enough for what is left."""
    left = list(sources)
    chosen: list[tuple[_Source, int]] = []
    while left:
        last = min(left, key=lambda source: source.needed(target))
        if math.isfinite(last.needed(target)):
            return [*chosen, (last, int(last.needed(target)))]
        best = max(left, key=lambda source: source.gain(source.most) / source.most)
        left.remove(best)
        chosen.append((best, best.most))
        target -= best.gain(best.most)
    return []


def _fewest(sources: list[_Source], target: float, size: int) -> list[tuple[_Source, int]]:
    """Return the fewest in all that gain more than a target, which some of this size do."""
    gains = np.zeros(size + 1)  # the greatest of so many
    of_each: list[IntArray] = []  # and how many of these are of each source
    for source in sources:
        own = source.gain(np.arange(min(source.most, size) + 1))
        before = np.concatenate([np.full(len(own) - 1, -np.inf), gains])
        sums = sliding_window_view(before, len(own)) + own[::-1]
        of_each.append(len(own) - 1 - sums.argmax(axis=1))
        gains = sums.max(axis=1)
    left = int(np.argmax(gains > target)) or size
    chosen: list[tuple[_Source, int]] = []
    for source, taken in zip(reversed(sources), reversed(of_each), strict=True):
        if m := int(taken[left]):
            chosen.append((source, m))
            left -= m
    return chosen


def _without(counts: PairCounts, asked: PairCounts, taken: list[tuple[_Source, int]]) -> PairCounts:
    """Return the counts without some, as evenly over both orders of presentation as there are."""
    rest = counts.counts.copy()
    for source, m in taken:
        (model, other), left = source.pair, m
        cells = [
            cell
            for o in source.outcomes
            for cell in ((model, other, o), (other, model, (1, 0, 2, 3)[o]))
        ]
        there = [int(asked.counts[cell]) for cell in cells]
        for cell, size, later in zip(cells, there, _later(there), strict=True):
            gone = max(round(left * size / (size + later)) if size else 0, left - later)
            rest[cell] -= gone
            left -= gone
    return PairCounts(counts.models, rest)


def _later(sizes: list[int]) -> list[int]:
    return [sum(sizes[i + 1 :]) for i in range(len(sizes))]
