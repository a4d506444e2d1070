"""A judge's probability that an answer is right, as the f of prediction-powered means.

As in `coupled_arena.stats.judges.powered_means`, with the probability in place of a verdict. Where
all probabilities are 0 or 1, all numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.judges.agreement import worth
from coupled_arena.stats.judges.powered_means import FEWEST_VERDICTS
from coupled_arena.stats.judges.samples import GradedAnswers


@dataclass(frozen=True)
class ProbabilityMean:
    """One model's right answers with a judge's probabilities; NaN where it cannot be known.

    Attributes
    ----------
    model : str
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
    """Return the interval of `Agreement.tau_max_interval`, by way of artanh ρ."""
    if not abs(rho) < 1:
        return np.nan, np.nan
    u, v = ((x - x.mean()) / x.std() for x in (own.s, own.f))
    error = (u * v - rho * (u**2 + v**2) / 2) / (1 - rho**2) / len(own.s)
    variance = own.squares(error, np.zeros(len(own.alone))) * scale
    half = float(critical_value(alpha, degrees)) * np.sqrt(variance)
    if not np.isfinite(half):
        return np.nan, np.nan
    low, high = np.tanh(np.arctanh(rho) - half) ** 2, np.tanh(np.arctanh(rho) + half) ** 2
    least = 0.0 if abs(np.arctanh(rho)) < half else min(low, high)
    return worth(least, 0.0), worth(max(low, high), 0.0)
