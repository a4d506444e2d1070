r"""Which model dominates which, tested for all pairs at once.

Two kinds of test, each in both orders. The relative one compares models by their violation ratio
against all others, :math:`\Delta_{ij} = \varepsilon_i - \varepsilon_j`: i wins over j where it is
significantly below zero. The absolute one asks whether :math:`\varepsilon_{ij}` is significantly
below a threshold. The wins of each model are counted (Borda), and equal counts are ties.

A p-value is the share of bootstrap samples that contradict the win. By default a win must pass the
exact test of `swap_p_values` too, at the same level. So equal models part as seldom as is promised,
with any number of prompts and any scores. The bootstrap alone finds a win between eight equal
models in a tenth of all tables, at a level of 5 %. So it does with lognormal scores on 200
prompts, and with grades from 1 to 5 on 20.

Algorithm 1 of the paper ([1]_ in `coupled_arena.stats.risk.dominance`) takes a normal law instead.
It divides the bootstrap's standard deviation, already that of the estimate, by the root of n once
more. So half of its tests at the boundary reject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from coupled_arena.core.choices import Correction, PValues
from coupled_arena.core.language import _
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import check_alpha
from coupled_arena.stats.risk.dominance import ROUNDING, Order, one_against_all, violation_ratios
from coupled_arena.stats.risk.dominance_draws import bootstrap_ratios, swap_p_values


@dataclass(frozen=True)
class DominancePlan:
    """Settings of the tests.

    Attributes
    ----------
    paired : bool
        Samples are scores on the same prompts, which are drawn together. At a correlation of .8 and
        a shift of .1, the power is .94; without pairs it is .08.
    repetitions : int
        Scores of each prompt, which stand next to each other and are drawn together.
    alpha : float
        Error level after the correction.
    threshold : float
        Violation ratio below which the absolute test speaks of dominance; at most one half.

    Raises
    ------
    ValueError
        A number is out of range.
    """

    paired: bool = True
    repetitions: int = 1
    bootstraps: int = 10_000
    alpha: float = 0.05
    threshold: float = 0.25
    p_values: PValues = PValues.SWAP
    correction: Correction = Correction.BONFERRONI
    seed: int = 0

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if not 0 < self.threshold <= 0.5:
            raise ValueError(
                f"The threshold must be at most 0.5 and above 0, not {self.threshold}."
            )
        if self.bootstraps < 2 or self.repetitions < 1:
            raise ValueError("There must be two bootstrap samples and one repetition at least.")
        if self.seed < 0:
            raise ValueError("The seed must not be negative.")


@dataclass(frozen=True, eq=False)
class PairTests:
    """One test for each ordered pair of models.

    Attributes
    ----------
    statistic, deviation : ndarray of float64, shape (k, k)
        Δ or ε, and its standard deviation over the bootstrap.
    p_values, adjusted : ndarray of float64, shape (k, k)
        Of "i wins over j", before and after the correction; 1 on the diagonal.
    wins : ndarray of bool, shape (k, k)
    """

    statistic: FloatArray
    deviation: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    wins: NDArray[np.bool_]

    @property
    def borda(self) -> IntArray:
        """Models that each model wins over, shape (k,)."""
        return self.wins.sum(axis=1).astype(np.int64)

    @property
    def ranks(self) -> IntArray:
        """Rank of each model by `borda`, 1 the best, shape (k,); equal counts share the best."""
        return (self.borda[None, :] > self.borda[:, None]).sum(axis=1).astype(np.int64) + 1


@dataclass(frozen=True, eq=False)
class Dominance:
    """What samples say of dominance in one order.

    Attributes
    ----------
    violation : ndarray of float64, shape (k, k)
        See `violation_ratios`.
    one_vs_all : ndarray of float64, shape (k,)
    """

    order: Order
    violation: FloatArray
    one_vs_all: FloatArray
    relative: PairTests
    absolute: PairTests

    @property
    def ranking(self) -> tuple[int, ...]:
        """Models, best first: by wins of the relative test, then by violation ratio."""
        keys = (np.round(self.one_vs_all / ROUNDING), self.relative.ranks)
        return tuple(np.lexsort(keys).tolist())


def compare_models(
    samples: Sequence[FloatArray], plan: DominancePlan, track: Track = iter
) -> dict[Order, Dominance]:
    """Test all pairs of models in both orders.

    Parameters
    ----------
    samples : sequence of k ndarrays of float64, shape (n_i,)
        Scores of each model; higher is better. Under pairing the same place is the same prompt.
    track : callable
        As in `bootstrap_ratios`.

    Raises
    ------
    ValueError
        There are fewer than two models, or a sample has fewer than two prompts or a score that is
        not finite. Or paired samples have different sizes, or the repetitions do not divide a size.
    """
    if len(samples) < 2:
        raise ValueError(_("There must be two models at least."))
    size = min(len(sample) for sample in samples) // plan.repetitions
    if size < 2:
        raise ValueError(_("There must be two prompts of each model at least."))
    exact = violation_ratios(samples)
    drawn = bootstrap_ratios(
        samples,
        plan.bootstraps,
        paired=plan.paired,
        seed=plan.seed,
        repetitions=plan.repetitions,
        track=track,
    )
    found = {
        order: _test(order, ratios, pairs, size, plan)
        for order, ratios, pairs in zip(Order, exact, drawn, strict=True)
    }
    return _swapped(samples, found, plan) if plan.p_values is PValues.SWAP else found


def _test(
    order: Order, exact: FloatArray, pairs: FloatArray, size: int, plan: DominancePlan
) -> Dominance:
    one_vs_all = one_against_all(exact)
    drawn = _drawn_one_against_all(pairs, len(exact))
    gaps = one_vs_all[:, None] - one_vs_all[None, :]
    covariance = np.cov(drawn, rowvar=False)
    variances = np.diag(covariance)
    spread = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 0.0))
    against = np.array([(row >= drawn.T - ROUNDING).sum(axis=1) for row in drawn.T])
    relative = _decide(gaps, spread, against, size, plan, boundary=0.0)
    absolute_spread, absolute_against = np.zeros_like(exact), np.zeros_like(exact)
    for pair, (i, j) in enumerate(combinations(range(len(exact)), 2)):
        ratio = pairs[:, pair]
        absolute_spread[i, j] = absolute_spread[j, i] = ratio.std(ddof=1)
        absolute_against[i, j] = (ratio >= plan.threshold - ROUNDING).sum()
        absolute_against[j, i] = (1 - ratio >= plan.threshold - ROUNDING).sum()
    absolute = _decide(
        exact, absolute_spread, absolute_against, size, plan, boundary=plan.threshold
    )
    return Dominance(order, exact, one_vs_all, relative, absolute)


def _swapped(
    samples: Sequence[FloatArray], found: dict[Order, Dominance], plan: DominancePlan
) -> dict[Order, Dominance]:
    """Raise p-values that could be of a win to those of the exact test."""
    both = [tests for one in found.values() for tests in (one.relative, one.absolute)]
    small = np.any([tests.p_values <= plan.alpha + ROUNDING for tests in both], axis=0)
    swaps = swap_p_values(
        samples,
        [(i, j) for i, j in np.argwhere(small).tolist()],
        plan.bootstraps,
        paired=plan.paired,
        seed=plan.seed,
        repetitions=plan.repetitions,
    )
    raised: dict[Order, Dominance] = {}
    for (order, one), exact in zip(found.items(), swaps, strict=True):
        least = np.zeros(small.shape)
        least[small] = exact
        raised[order] = replace(
            one,
            relative=_raised(one.relative, least, plan),
            absolute=_raised(one.absolute, least, plan),
        )
    return raised


def _raised(tests: PairTests, least: FloatArray, plan: DominancePlan) -> PairTests:
    # What could not win keeps its p-value, whatever the other test and order say.
    small = tests.p_values <= plan.alpha + ROUNDING
    p_values = np.where(small, np.maximum(tests.p_values, least), tests.p_values)
    return _decided(tests.statistic, tests.deviation, p_values, plan)


def _drawn_one_against_all(pairs: FloatArray, k: int) -> FloatArray:
    """Return `one_against_all` of bootstrap samples, shape (B, k), from their pairs."""
    totals = np.zeros((len(pairs), k))
    for pair, (i, j) in enumerate(combinations(range(k), 2)):
        totals[:, i] += pairs[:, pair]
        totals[:, j] += 1 - pairs[:, pair]
    return totals / (k - 1)


def _decide(
    statistic: FloatArray,
    deviation: FloatArray,
    against: FloatArray,
    size: int,
    plan: DominancePlan,
    boundary: float,
) -> PairTests:
    if plan.p_values in (PValues.SWAP, PValues.PERCENTILE):
        p_values = (1 + against) / (plan.bootstraps + 1)
    else:
        shrunk = size**0.5 if plan.p_values is PValues.PUBLISHED else 1.0
        distance = statistic - boundary
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(np.abs(distance) <= ROUNDING, 0.0, distance / (deviation / shrunk))
        # Without any spread a difference is certain, and none is none.
        p_values = np.where((deviation == 0) & (z == 0), 1.0, ndtr(z))
    np.fill_diagonal(p_values, 1.0)
    return _decided(statistic, deviation, p_values, plan)


def _decided(
    statistic: FloatArray, deviation: FloatArray, p_values: FloatArray, plan: DominancePlan
) -> PairTests:
    adjusted = adjust(p_values, plan.correction)
    return PairTests(statistic, deviation, p_values, adjusted, adjusted <= plan.alpha + ROUNDING)


def smallest_factor(k: int, correction: Correction) -> int:
    """Return by how much the smallest p-value of k models is multiplied."""
    tests = k * (k - 1)
    harmonic = (1 / np.arange(1, tests + 1)).sum()
    return {
        Correction.BONFERRONI: k**2,
        Correction.HOLM: tests,
        Correction.FDR: int(np.ceil(tests * harmonic)),
        Correction.NONE: 1,
    }[correction]


def adjust(p_values: FloatArray, correction: Correction) -> FloatArray:
    """Return p-values of all ordered pairs, corrected for being many.

    Parameters
    ----------
    p_values : ndarray of float64, shape (k, k)
        1 on the diagonal, where there is no test.

    Returns
    -------
    ndarray of float64, shape (k, k)
        To be compared with the error level.
    """
    k = len(p_values)
    if correction in (Correction.BONFERRONI, Correction.NONE):
        return np.minimum(p_values * smallest_factor(k, correction), 1.0)
    off = ~np.eye(k, dtype=bool)
    adjusted = np.ones((k, k))
    if correction is Correction.FDR:
        adjusted[off] = false_discovery_control(p_values[off], method="by")
    else:
        adjusted[off] = _holm(p_values[off])
    return adjusted


def _holm(p_values: FloatArray) -> FloatArray:
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def fewest_bootstraps(k: int, plan: DominancePlan) -> int:
    """Return how many bootstrap samples some pair needs to win at all by percentile."""
    return int(np.ceil(smallest_factor(k, plan.correction) / plan.alpha)) - 1


def samples_needed(
    tests: PairTests, size: int, plan: DominancePlan, gap: float = 0.1, power: float = 0.95
) -> FloatArray:
    """Return about how many prompts it takes to find a gap.

    The error of an estimate falls with the root of n. The estimated gap of an undecided pair is
    mostly noise, so the gap is given. Holm's and the false discovery rate's first level stands for
    their others.

    Parameters
    ----------
    size : int
        Prompts there are.
    gap : float
        Difference of violation ratios to be found: 0.1 tells .45 from .55.
    power : float
        Probability to find it.

    Returns
    -------
    ndarray of float64, shape (k, k)
    """
    critical = ndtri(1 - plan.alpha / smallest_factor(len(tests.wins), plan.correction))
    return np.ceil(size * ((critical + ndtri(power)) * tests.deviation / gap) ** 2)
