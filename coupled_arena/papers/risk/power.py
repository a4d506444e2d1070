"""What is simulated: which risks agree with dominance, and the power of the tests.

Agreement is looked for in pairs of small samples, not proved. Power is that between two laws of
which one is nearer to dominating, though their quantiles cross. Each repeat draws scores of both,
independently, and runs the tests at one error level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from coupled_arena.core.process import Track
from coupled_arena.papers.risk.violation_ratios import limit_deviations
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.risk.dominance import ROUNDING, Order, violation_ratios
from coupled_arena.stats.risk.dominance_tests import (
    DominancePlan,
    PairTests,
    compare_models,
    smallest_factor,
)
from coupled_arena.stats.risk.mean_risk import Risk, mean_risk

_MOST = 6  # scores of a sample


@dataclass(frozen=True)
class Consistency:
    """Pairs of samples of which one dominates, and those that a mean-risk model ranks otherwise.

    Attributes
    ----------
    worst : float
        The largest lead of the dominated sample by mean less risk, 0 if there is none.
    """

    risk: Risk
    pairs: int
    contradictions: int
    worst: float


def consistencies(repeats: int, seed: int = 0, track: Track = iter) -> list[Consistency]:
    """Draw pairs of small lognormal samples, and compare those of which one dominates.

    The share of a tail is drawn anew for each pair.

    Parameters
    ----------
    repeats : int
        Pairs drawn; about a third have one that dominates.
    track : callable
        Goes through the pairs.
    """
    rng = np.random.default_rng(seed)
    leads: dict[Risk, list[float]] = {risk: [] for risk in Risk}
    for _ in track(range(repeats)):
        size = int(rng.integers(2, _MOST + 1))
        means = rng.normal(size=2) / 2
        pair = [np.exp(rng.normal(mean, 1.0, size)) for mean in means]
        tail_p = 1 - float(rng.random())
        ratio = float(violation_ratios(pair)[1, 0, 1])
        if 0 < ratio < 1:
            continue
        better, worse = pair if ratio == 0 else pair[::-1]
        ahead, behind = mean_risk(better, tail_p), mean_risk(worse, tail_p)
        for risk in Risk:
            leads[risk].append(behind.score(risk) - ahead.score(risk))
    return [_consistency(risk, each) for risk, each in leads.items()]


def _consistency(risk: Risk, leads: list[float]) -> Consistency:
    wrong = [lead for lead in leads if lead > ROUNDING]
    return Consistency(risk, len(leads), len(wrong), max(wrong, default=0.0))


_REACH = 14.0  # standard deviations within which a law is integrated


@dataclass(frozen=True)
class Law:
    """A normal law, or the one of its exponential.

    Attributes
    ----------
    mean, deviation : float
        Of the normal law.
    """

    mean: float
    deviation: float
    exponential: bool = False

    def quantile(self, z: float) -> float:
        """Return the quantile at the place Φ(z)."""
        value = self.mean + self.deviation * z
        return float(np.exp(value)) if self.exponential else value

    def integral(self, z: float) -> float:
        """Return the integral of the quantiles up to the place Φ(z)."""
        if self.exponential:
            whole = np.exp(self.mean + self.deviation**2 / 2)
            return float(whole * ndtr(z - self.deviation))
        return float(self.mean * ndtr(z) - self.deviation * norm.pdf(z))

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return scores."""
        values = rng.normal(self.mean, self.deviation, size)
        return np.exp(values) if self.exponential else values


def law_ratios(one: Law, other: Law) -> tuple[float, float]:
    """Return the violation ratios of "one dominates other" in both orders."""
    return (
        _ratio(lambda z: one.quantile(z) - other.quantile(z)),
        _ratio(lambda z: one.integral(z) - other.integral(z)),
    )


def _ratio(gap: Callable[[float], float]) -> float:
    def square(z: float) -> float:
        return gap(z) ** 2 * float(norm.pdf(z))

    def violation(z: float) -> float:
        return square(z) if gap(z) < 0 else 0.0

    # In pieces of one deviation, so that no bend is missed.
    ends = np.arange(-_REACH, _REACH + 0.5)
    parts = [
        sum(quad(each, low, low + 1, limit=200)[0] for low in ends[:-1])
        for each in (violation, square)
    ]
    return float(parts[0] / parts[1])


@dataclass(frozen=True)
class SizePower:
    """What a test says of so many scores.

    Attributes
    ----------
    size : int
        Scores of each law.
    relative : bool
        Whether the models' means are compared, else the ratio with the threshold.
    statistic : float
        Mean over the repeats.
    deviation : float
        Standard deviation of the statistic over the repeats.
    bootstrap, limit : float
        Square root of the mean variance that the bootstrap and theory say it has.
    percentile, normal, published : float
        Shares of repeats in which the test finds dominance: by percentiles of the bootstrap, by the
        limit law, and as the paper prints it.
    """

    size: int
    order: Order
    relative: bool
    statistic: float
    deviation: float
    bootstrap: float
    limit: float
    percentile: float
    normal: float
    published: float


def powers(
    laws: tuple[Law, Law],
    sizes: Sequence[int],
    repeats: int,
    plan: DominancePlan,
    track: Track = iter,
) -> list[SizePower]:
    """Return what each test finds of "the first law dominates", for each number of scores.

    Parameters
    ----------
    laws : tuple of two Laws
    sizes : sequence of int
        Scores of each.
    plan : DominancePlan
        Its seed is that of all draws.
    track : callable
        Goes through all repeats of all sizes.
    """
    rng = np.random.default_rng(plan.seed)
    found: dict[tuple[int, Order, bool], list[tuple[float, ...]]] = {}
    for number in track(range(len(sizes) * repeats)):
        size = sizes[number // repeats]
        samples = [law.draw(rng, size) for law in laws]
        limits = limit_deviations(samples, paired=False)
        for order, each in compare_models(samples, plan).items():
            for relative in (True, False):
                tests = each.relative if relative else each.absolute
                kind = limits.relative if relative else limits.absolute
                row = _decisions(tests, float(kind[order - 1, 0, 1]), size, plan, relative)
                found.setdefault((size, order, relative), []).append(row)
    return [_power(key, np.array(rows)) for key, rows in found.items()]


def _decisions(
    tests: PairTests, limit: float, size: int, plan: DominancePlan, relative: bool
) -> tuple[float, ...]:
    level = plan.alpha / smallest_factor(2, plan.correction)
    statistic, bootstrap = float(tests.statistic[0, 1]), float(tests.deviation[0, 1])
    ahead = statistic - (0.0 if relative else plan.threshold)
    margin = float(norm.ppf(level))
    return (
        statistic,
        bootstrap,
        limit,
        tests.p_values[0, 1] <= level,
        ahead <= limit * margin,
        ahead <= bootstrap / size**0.5 * margin,
    )


def _power(key: tuple[int, Order, bool], rows: FloatArray) -> SizePower:
    statistic, bootstrap, limit, *decisions = rows.T
    return SizePower(
        *key,
        float(statistic.mean()),
        float(statistic.std(ddof=1)) if len(rows) > 1 else float("nan"),
        float(np.sqrt((bootstrap**2).mean())),
        float(np.sqrt((limit**2).mean())),
        *(float(each.mean()) for each in decisions),
    )
