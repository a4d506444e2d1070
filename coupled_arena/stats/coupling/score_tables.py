r"""Scores of models on a benchmark: how many samples coupled generation saves.

Each model answers each prompt several times, and each answer gets a score. Where the answers of two
models come from one noise stream their scores R, R' vary together. The difference that a benchmark
is after then varies less:

.. math:: \mathrm{Var}_{ind}(R - R') = \mathrm{Var}_{coup}(R - R')
          + 2\,\mathbb{E}_q[\mathrm{Cov}_{coup}(R, R' \mid q)],

with the covariance taken within a prompt q. Proposition 1 of [1]_ prints the total covariance in
its place, and does not hold. That covariance also has what makes a prompt easy for both models.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation",
   arXiv:2502.01754.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtri, stdtrit

from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.intervals import check_alpha

_LARGEST = 1e150  # its square is still a finite number
_COSTS_MOST = -1.0  # savings of a coupling that doubles the variance


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of k models on the same prompts under both protocols.

    Attributes
    ----------
    coupled, independent : ndarray of float64, shape (prompts, seeds, k)
        ``[q, s, m]``: what model m scored on prompt q in repetition s, where under coupling all
        models of a repetition read one noise stream.

    Raises
    ------
    ValueError
        The shapes disagree, a score is not a finite number, or there are fewer than two models,
        prompts or repetitions.
    """

    models: tuple[str, ...]
    coupled: FloatArray
    independent: FloatArray

    def __post_init__(self) -> None:
        if self.coupled.shape != self.independent.shape:
            raise ValueError(_("Both protocols need the same prompts, repetitions and models."))
        if self.coupled.ndim != 3 or self.coupled.shape[2] != len(self.models):
            raise ValueError(_("Scores have three axes: prompts, repetitions and models."))
        if min(self.coupled.shape) < 2:
            raise ValueError(_("There must be two models, prompts and repetitions at least."))
        if not all(
            (np.abs(scores) <= _LARGEST).all() for scores in (self.coupled, self.independent)
        ):
            text = _("All scores must be numbers, and none beyond {largest:g}.")
            raise ValueError(text.format(largest=_LARGEST))

    def of(self, places: Sequence[int]) -> ScoreTable:
        """Return the scores of the models at some places."""
        chosen = list(places)
        return ScoreTable(
            tuple(self.models[at] for at in chosen),
            self.coupled[..., chosen],
            self.independent[..., chosen],
        )


@dataclass(frozen=True, eq=False)
class PairSavings:
    """What coupling changes in the comparison of two models; variances have ddof 1.

    Attributes
    ----------
    repetitions : int
        Answers of each model to each prompt.
    difference_coupled, difference_independent : float
        Mean score of a minus that of b.
    difference_error_coupled, difference_error_independent : float
        Their standard errors, clustered by prompt.
    covariances : ndarray of float64, shape (prompts,)
        Of the two scores under coupling, within each prompt.
    variances_coupled, variances_independent : ndarray of float64, shape (prompts,)
        Of the score difference within each prompt.
    mean_covariance_independent : float
        Zero but for chance.
    pooled_variance_coupled, pooled_variance_independent : float
        Of the score difference over all answers.
    total_covariance : float
        Of the two scores under coupling over all answers: what Proposition 1 prints.
    identity_gap, identity_gap_error : float
        Mean over prompts of independent variance less coupled variance less twice the covariance,
        and its standard error: zero but for chance.
    savings, savings_low, savings_high : float
        1 - coupled/independent pooled variance: the share of samples that coupling saves for the
        same error. Its interval is from what each prompt adds to both variances. It is Student's of
        the logarithm of their ratio; of scores with more than two values it holds Fieller's, too.
        NaN where the independent difference never varies.
    savings_within : float
        Likewise from the mean variances within prompts: for a fixed set of prompts.
    """

    model_a: str
    model_b: str
    repetitions: int
    difference_coupled: float
    difference_independent: float
    difference_error_coupled: float
    difference_error_independent: float
    covariances: FloatArray
    variances_coupled: FloatArray
    variances_independent: FloatArray
    mean_covariance: float
    mean_covariance_error: float
    mean_covariance_independent: float
    pooled_variance_coupled: float
    pooled_variance_independent: float
    total_covariance: float
    identity_gap: float
    identity_gap_error: float
    savings: float
    savings_low: float
    savings_high: float
    savings_within: float

    @property
    def too_few_prompts(self) -> bool:
        """Whether the scores do not tell that coupling costs less than it can cost at most."""
        return self.savings_low <= _COSTS_MOST

    def prompts_needed(
        self, error: float, repetitions: int = 1, alpha: float = 0.05
    ) -> tuple[float, float]:
        """Return how many prompts a score difference takes, coupled and independent.

        A prompt's mean over r repetitions has the variance between prompts plus 1/r of the one
        within; both are taken from these scores.

        Parameters
        ----------
        error : float
            Half the width of the interval for the difference.
        repetitions : int
            Answers to each prompt.

        Raises
        ------
        ValueError
            A number is out of range.
        """
        if not (1e-9 <= error < np.inf and repetitions >= 1 and 0 < alpha < 1):
            raise ValueError(
                _("The error must be positive, 1e-9 or more, the repetitions too; alpha in (0, 1).")
            )
        z = float(ndtri(1 - alpha / 2))
        prompts, seeds = len(self.covariances), self.repetitions
        needed: list[float] = []
        for standard_error, variances in (
            (self.difference_error_coupled, self.variances_coupled),
            (self.difference_error_independent, self.variances_independent),
        ):
            within = float(variances.mean())
            between = max(prompts * standard_error**2 - within / seeds, 0.0)
            needed.append((z / error) ** 2 * (between + within / repetitions))
        return needed[0], needed[1]


def compare_scores(table: ScoreTable, alpha: float = 0.05) -> tuple[PairSavings, ...]:
    """Compare the protocols on every pair of models, in the table's order.

    Parameters
    ----------
    alpha : float
        The intervals of `PairSavings.savings` cover with probability 1 - alpha.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    check_alpha(alpha)
    return tuple(_compare(table, i, j, alpha) for i, j in combinations(range(len(table.models)), 2))


def _compare(table: ScoreTable, i: int, j: int, alpha: float) -> PairSavings:
    coupled, independent = (
        scores[..., i] - scores[..., j] for scores in (table.coupled, table.independent)
    )
    covariances = _covariances(table.coupled[..., i], table.coupled[..., j])
    by_chance = _covariances(table.independent[..., i], table.independent[..., j])
    within_coupled, within_independent = (d.var(axis=1, ddof=1) for d in (coupled, independent))
    gap = within_independent - within_coupled - 2 * covariances
    pooled_coupled, pooled_independent = (float(d.var(ddof=1)) for d in (coupled, independent))
    pair = np.stack([table.coupled[..., [i, j]], table.independent[..., [i, j]]])
    low, high = _interval(coupled, independent, pair, alpha)
    return PairSavings(
        model_a=table.models[i],
        model_b=table.models[j],
        repetitions=table.coupled.shape[1],
        difference_coupled=float(coupled.mean()),
        difference_independent=float(independent.mean()),
        difference_error_coupled=_error(coupled.mean(axis=1)),
        difference_error_independent=_error(independent.mean(axis=1)),
        covariances=covariances,
        variances_coupled=within_coupled,
        variances_independent=within_independent,
        mean_covariance=float(covariances.mean()),
        mean_covariance_error=_error(covariances),
        mean_covariance_independent=float(by_chance.mean()),
        pooled_variance_coupled=pooled_coupled,
        pooled_variance_independent=pooled_independent,
        total_covariance=_total_covariance(table.coupled[..., i], table.coupled[..., j]),
        identity_gap=float(gap.mean()),
        identity_gap_error=_error(gap),
        savings=float(_savings(np.array(pooled_coupled), np.array(pooled_independent))),
        savings_low=low,
        savings_high=high,
        savings_within=float(_savings(within_coupled.mean(), within_independent.mean())),
    )


def _covariances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the covariance within each prompt, shape (prompts,)."""
    centred = (a - a.mean(axis=1, keepdims=True)) * (b - b.mean(axis=1, keepdims=True))
    return centred.sum(axis=1) / (a.shape[1] - 1)


def _total_covariance(a: FloatArray, b: FloatArray) -> float:
    return float(((a - a.mean()) * (b - b.mean())).sum() / (a.size - 1))


def _error(by_prompt: FloatArray) -> float:
    """Return the standard error of a mean over prompts."""
    return float(by_prompt.std(ddof=1) / len(by_prompt) ** 0.5)


def _interval(
    coupled: FloatArray, independent: FloatArray, scores: FloatArray, alpha: float
) -> tuple[float, float]:
    """Return the bounds of the savings, from differences of shape (prompts, repetitions).

    Of binary scores they are Student's of the ratio's logarithm. Of others they are the widest of
    these and of `_fieller`, for a delta method misses the tails: for lognormal scores it held in
    .80 at 30 prompts, and a bootstrap of t in .88.
    """
    prompts = len(coupled)
    # From the first on, so that differences that are all the same are nothing but zeros.
    moved = [d - d[0, 0] for d in (coupled, independent)]
    one, two = (((d - d.mean()) ** 2).mean(axis=1) for d in moved)
    if not two.any():
        return np.nan, np.nan
    if not one.any():
        # So many prompts could differ, by as much as without coupling, and none would be here.
        share = 1 - (alpha / 2) ** (1 / prompts)
        return float(1 - share * np.abs(independent).max() ** 2 / two.mean()), 1.0
    ratio = coupled.var(ddof=1) / independent.var(ddof=1)
    t = float(stdtrit(prompts - 1, 1 - alpha / 2))
    one, two = one / one.mean(), two / two.mean()
    half = t * _error(one - two)  # of the ratio's logarithm
    least, most = np.exp(-half), np.exp(half)
    if len(np.unique(scores)) > 2:
        lowest, highest = _fieller(one, two, t)
        least, most = min(least, lowest), max(most, highest)
    # Two models with laws of their own at most double the variance: (a + b)² <= 2 (a² + b²).
    low = max(1 - ratio * most, min(_COSTS_MOST, 1 - ratio))
    return float(low), float(1 - ratio * least)


def _fieller(one: FloatArray, two: FloatArray, t: float) -> tuple[float, float]:
    """Return Fieller's bounds [1]_ of a ratio of two means that are 1, from paired parts.

    These are the ratios r that Student's test of E(one - r two) = 0 does not refuse, no less than
    0; infinite above where the denominator may be 0. Both parts have long tails where scores have,
    and so has a plain interval; but at the true ratio the tails of their difference are on both
    sides, where the test errs on the safe side.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16, 175-185
       (1954).
    """
    (v_one, v_both), (_, v_two) = np.cov(one, two) * t**2 / len(one)
    a, b, c = 1 - v_two, 1 - v_both, 1 - v_one  # refused where a r² - 2 b r + c > 0
    root = np.sqrt(max(b**2 - a * c, 0.0))
    if a > 0:
        return max((b - root) / a, 0.0), (b + root) / a
    return (0.0 if c <= 0 or a == 0 else (b - root) / a), np.inf


def _savings(coupled: FloatArray, independent: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(independent > 0, 1 - coupled / independent, np.nan)


_FEWEST_STEPS = 20  # steps behind a mean
_FAR = 5.0  # standard errors: a false alarm in three million tables by a normal law
_MOST_TIMES = 10  # times too few repetitions


def other_blocks(table: ScoreTable) -> bool:
    """Return whether rows betray that prompts begin elsewhere than every so many rows.

    Scores change more from one prompt to the next than among the repetitions of one. Where too many
    repetitions are given, or none that fit, one step among them is larger than the others. Where
    too few are, only every second, third, … step between prompts is large.
    """
    inside: list[FloatArray] = []
    between: list[FloatArray] = []
    for scores in (table.coupled, table.independent):
        inside.append((np.diff(scores, axis=1) ** 2).sum(axis=2))
        between.append(((scores[1:, 0] - scores[:-1, -1]) ** 2).sum(axis=1))
    steps = np.concatenate(inside)
    found = [
        _larger(steps[:, at], np.delete(steps, at, axis=1).ravel()) for at in range(steps.shape[1])
    ]
    for times in range(2, _MOST_TIMES + 1):
        last = np.arange(1, len(between[0]) + 1) % times == 0
        found.append(
            _larger(
                np.concatenate([step[last] for step in between]),
                np.concatenate([step[~last] for step in between]),
            )
        )
    return any(found)


def _larger(some: FloatArray, others: FloatArray) -> bool:
    if min(len(some), len(others)) < _FEWEST_STEPS:
        return False
    error = (some.var(ddof=1) / len(some) + others.var(ddof=1) / len(others)) ** 0.5
    return bool(some.mean() - others.mean() > _FAR * error)
