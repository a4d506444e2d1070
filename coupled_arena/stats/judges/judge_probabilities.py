"""A judge's probability that an answer is right, as the f of prediction-powered means.

As in `coupled_arena.stats.judges.powered_means`, with the probability in place of a verdict. Where
all probabilities are 0 or 1, all numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.judges.agreement import FEW, HALF, squared_interval, worth
from coupled_arena.stats.judges.powered_means import FEWEST_VERDICTS
from coupled_arena.stats.judges.samples import GradedAnswers


@dataclass(frozen=True)
class ProbabilityMean:
    """One model's right answers with a judge's probabilities; NaN where it cannot be known.

    Attributes
    ----------
    n, judge_only : int
        Answers with the truth and a probability, and with a probability alone.
    b : float
        Share of right answers, by the truth alone.
    judge_score : float
        Mean probability, over the same answers.
    rho, rho_squared : float
        Correlation of truth and probability, and its square.
    power_tuning : float
        Weight of the probabilities there are; 0 ignores the judge.
    tau : float
        What one checked answer is worth with the probabilities there are.
    tau_max, tau_max_low, tau_max_high : float
        The same with probabilities without end.
    powered, powered_low, powered_high : float
        b corrected by the probabilities alone.
    """

    model: str
    n: int
    judge_only: int
    b: float
    judge_score: float
    rho: float
    rho_squared: float
    power_tuning: float
    tau: float
    tau_max: float
    tau_max_low: float
    tau_max_high: float
    powered: float
    powered_low: float
    powered_high: float


def probability_means(answers: GradedAnswers, alpha: float) -> tuple[ProbabilityMean, ...]:
    """Estimate each model's share of right answers with the judge's probabilities.

    Intervals are clustered by prompt.

    Parameters
    ----------
    answers : GradedAnswers
        With probabilities.
    alpha : float
        Error level of the intervals.

    Raises
    ------
    ValueError
        There are no probabilities, or `alpha` is not between 0 and 1.
    """
    if answers.probability is None:
        raise ValueError("The judge has no probabilities.")
    clusters = answers.prompts
    plain = clusters == answers.size
    scale = 1.0 if plain or clusters < 2 else (clusters / (clusters - 1)) ** 2
    degrees = None if plain else clusters - 1
    return tuple(
        _mean_of(_Own.of(answers, place), name, alpha, scale, degrees)
        for place, name in enumerate(answers.models)
    )


@dataclass(frozen=True, eq=False)
class _Own:
    """One model's answers: truth and probability of n, and the probabilities of N others."""

    s: FloatArray
    f: FloatArray
    alone: FloatArray
    prompt: IntArray
    prompt_alone: IntArray

    @classmethod
    def of(cls, answers: GradedAnswers, place: int) -> _Own:
        assert answers.probability is not None
        mine, known = answers.model == place, answers.known
        labelled, alone = mine & known, mine & ~known
        _, prompt = np.unique(answers.prompt, return_inverse=True)
        return cls(
            answers.right[labelled].astype(np.float64),
            answers.probability[labelled],
            answers.probability[alone],
            prompt[labelled],
            prompt[alone],
        )

    def squares(self, labelled: FloatArray, alone: FloatArray) -> float:
        """Return the sum over prompts of the square of what their answers add up to."""
        places = np.concatenate([self.prompt, self.prompt_alone])
        sums = np.bincount(places, np.concatenate([labelled, alone]))
        return float((sums**2).sum())


def _mean_of(
    own: _Own, model: str, alpha: float, scale: float, degrees: int | None
) -> ProbabilityMean:
    n, judge_only = len(own.s), len(own.alone)
    if not n:
        return ProbabilityMean(
            model, 0, judge_only, power_tuning=0.0, **dict.fromkeys(_NUMBERS, np.nan)
        )
    y, f = own.s - own.s.mean(), own.f - own.f.mean()
    f *= np.ptp(own.f) > 0  # a mean of equal numbers need not be that number
    usable = judge_only >= FEWEST_VERDICTS
    variance_y, variance_f, covariance = (
        float((x * z).mean()) for x, z in ((y, y), (f, f), (y, f))
    )
    rho = covariance / np.sqrt(variance_y * variance_f) if variance_y * variance_f else np.nan
    # A judge that always says the same explains nothing, whatever its correlation might be called.
    explained = 0.0 if variance_f == 0 < variance_y else rho**2
    tuning = covariance / (variance_f * (1 + n / judge_only)) if usable and variance_f else 0.0
    tau_low, tau_high = _tau_interval(own, rho, alpha, scale, degrees)
    powered, low, high = _powered(own, tuning, alpha, scale, degrees)
    return ProbabilityMean(
        model,
        n,
        judge_only,
        b=float(own.s.mean()),
        judge_score=float(own.f.mean()),
        rho=float(rho),
        rho_squared=float(rho**2),
        power_tuning=tuning,
        tau=worth(explained, n / judge_only if usable else np.inf),
        tau_max=worth(explained, 0.0),
        tau_max_low=tau_low,
        tau_max_high=tau_high,
        powered=powered,
        powered_low=low,
        powered_high=high,
    )


_NUMBERS = (
    *("b", "judge_score", "rho", "rho_squared", "tau", "tau_max", "tau_max_low", "tau_max_high"),
    *("powered", "powered_low", "powered_high"),
)


def _powered(
    own: _Own, tuning: float, alpha: float, scale: float, degrees: int | None
) -> tuple[float, float, float]:
    """Return b corrected by the judge, and the interval of `PoweredMeans.powered_interval`."""
    n, score = len(own.s), own.f.mean()
    correction = float(own.alone.mean() - score) if tuning else 0.0
    powered = np.array(own.s.mean() + tuning * correction)
    added = (own.s - own.s.mean() - tuning * (own.f - score)) / n
    alone = tuning * (own.alone - score - correction) / max(len(own.alone), 1)
    free = max(n - 2, 0.5)  # the mean and the weight were taken from the same answers
    least = free if degrees is None else min(free, degrees)
    critical = critical_value(alpha, np.array(least) if tuning else degrees)
    variance = own.squares(added, alone) * scale * (n / free if tuning else 1.0)
    low, high = wilson(powered, np.array(variance), np.array(float(n)), critical)
    return float(powered), float(low), float(high)


def _tau_interval(
    own: _Own, rho: float, alpha: float, scale: float, degrees: int | None
) -> tuple[float, float]:
    """Return the interval of `Agreement.tau_max_interval`, by way of artanh ρ.

    The cells of its table are those of a judge that calls right what it holds for likely. What is
    added to them is at its least and at its largest probability.
    """
    n, called = len(own.s), own.f > 0.5
    cells = np.bincount((2 * own.s + called).astype(np.int64), minlength=4)
    few = bool((cells < FEW).any())
    student = critical_value(alpha, np.array(n - 1.0) if few and degrees is None else degrees)
    moves = _moves(own.s, own.f, np.ones(n))
    variance = own.squares(moves, np.zeros(len(own.alone))) * scale
    low, high = squared_interval(np.array(rho), np.array(variance), student)
    if few:
        ends = [own.f.min(), own.f.max()] if np.ptp(own.f) else [0.0, 1.0]
        s, f = np.append(own.s, [0, 0, 1, 1]), np.append(own.f, 2 * ends)
        weights = np.append(np.ones(n), np.full(4, HALF))
        grouped = variance / (moves**2).sum() if (moves**2).sum() > 0 else np.nan
        if not np.isfinite(grouped):
            grouped = 1.0 if degrees is None else max(1.0, n / (degrees + 1))
        padded = (weights * _moves(s, f, weights) ** 2).sum() * grouped
        more = squared_interval(np.array(_correlation(s, f, weights)), np.array(padded), student)
        low, high = np.fmin(low, more[0]), np.fmax(high, more[1])
    idle = np.ptp(own.f) == 0 < np.ptp(own.s)
    if not (high < 1 and (idle or abs(rho) < 1)):
        return np.nan, np.nan
    return worth(float(low), 0.0), worth(float(high), 0.0)


def _correlation(s: FloatArray, f: FloatArray, weights: FloatArray) -> float:
    u, v = (x - np.average(x, weights=weights) for x in (s, f))
    square = np.average(u**2, weights=weights) * np.average(v**2, weights=weights)
    return float(np.average(u * v, weights=weights) / np.sqrt(square)) if square else np.nan


def _moves(s: FloatArray, f: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what each answer adds to the error of artanh ρ."""
    rho = _correlation(s, f, weights)
    if not abs(rho) < 1:
        return np.full(len(s), np.nan)
    u, v = (x - np.average(x, weights=weights) for x in (s, f))
    u, v = (x / np.sqrt(np.average(x**2, weights=weights)) for x in (u, v))
    error: FloatArray = (u * v - rho * (u**2 + v**2) / 2) / (1 - rho**2) / weights.sum()
    return error
