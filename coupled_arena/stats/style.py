r"""Bradley-Terry with covariates: a logistic regression on models and on how replies differ.

.. math:: P(a\ \text{beats}\ b) = \sigma(s_a - s_b + \gamma^\top x_{ab})

A tie is half a win for both. Strengths s add up to zero. First the fit and its clustered errors;
then scores, win rates and coefficients, each with its error.

References
----------
.. [1] F. Bach, "Self-concordant analysis for logistic regression", Electron. J. Stat. 4, 384-414
   (2010).
.. [2] T. Sun & Q. Tran-Dinh, "Generalized self-concordant functions: a recipe for Newton-type
   methods", Math. Program. 178, 145-213 (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value

_STEPS = 100
_SMALL = 1e-9  # of a log-odds: what a last step may still change
_KNOWN = 1e-9
"""Share of a covariate's information that must be left beside models and other covariates: rounding
leaves about 1e-16 of it times the number of parameters, real replies more than a thousandth."""


@dataclass(frozen=True, eq=False)
class PairRows:
    """Comparisons, a row each.

    Attributes
    ----------
    k : int
        How many models there are.
    first, second : ndarray of int64, shape (n,)
        Their places; never the same.
    outcome : ndarray of float64, shape (n,)
        1 where the first wins, 0 where the second does, ½ where neither.
    covariates : ndarray of float64, shape (n, p)
        By how much more of something the first has; the opposite where the two change sides.
    clusters : ndarray of int64, shape (n,)
        Comparisons of one number depend on each other.
    voters : ndarray of int64, shape (n,), or None
        Who decided each, -1 where nobody knows; None where tastes do not count.
    """

    k: int
    first: IntArray
    second: IntArray
    outcome: FloatArray
    covariates: FloatArray
    clusters: IntArray
    voters: IntArray | None = None

    @property
    def p(self) -> int:
        """How many covariates there are."""
        return self.covariates.shape[1]

    def predicted(self, by: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """Return z·by of each row z, shape (n,) or (n, q); `by` has k + p numbers, or rows."""
        of_covariates = self.covariates[rows] @ by[self.k :]
        return by[self.first[rows]] - by[self.second[rows]] + of_covariates


@dataclass(frozen=True, eq=False)
class PairFit:
    """Where the likelihood is largest.

    Attributes
    ----------
    estimate : ndarray of float64, shape (k + p,)
        Strengths, then coefficients, in log-odds.
    bread : ndarray of float64, shape (k + p, k + p)
        Inverse of the information, among strengths that add up to zero.
    """

    rows: PairRows
    estimate: FloatArray
    bread: FloatArray


class UnboundedError(Exception):
    """The likelihood grows without end in one direction."""

    def __init__(self, direction: FloatArray) -> None:
        super().__init__("No finite maximum.")
        self.direction = direction


def fit(rows: PairRows) -> PairFit:
    """Maximise the likelihood by Newton's method.

    Each step is damped by ln(1 + d)/d, with d the largest change of a row's log-odds. It makes the
    likelihood larger [2]_. A d under one half proves that a maximum exists, where the information
    is not singular [1]_. Where outcomes are separated no step ever gets so small.

    Raises
    ------
    UnboundedError
        There is no finite maximum, or it is too far out to be found.
    """
    at = np.zeros(rows.k + rows.p)
    step = at
    for _ in range(_STEPS):
        expected = expit(rows.predicted(at))
        wanted = gradient(rows, rows.outcome - expected)
        bread = _inverse(information(rows, expected * (1 - expected)), rows.k)
        if bread is None:
            break
        step = bread @ wanted
        largest = float(np.abs(rows.predicted(step)).max())
        at = at + step * (np.log1p(largest) / largest if largest else 1.0)
        if largest < _SMALL:
            return PairFit(rows, at, bread)
    raise UnboundedError(step)


def gradient(rows: PairRows, residual: FloatArray) -> FloatArray:
    """Return the sum of z times a residual, shape (k + p,)."""
    won = np.bincount(rows.first, residual, rows.k) - np.bincount(rows.second, residual, rows.k)
    return np.concatenate([won, residual @ rows.covariates]).astype(np.float64, copy=False)


def information(rows: PairRows, weight: FloatArray) -> FloatArray:
    """Return the sum of weight · z zᵀ, shape (k + p, k + p)."""
    k, p = rows.k, rows.p
    found = np.zeros((k + p, k + p))
    met = np.bincount(rows.first * k + rows.second, weight, k * k).reshape(k, k)
    met = met + met.T
    found[:k, :k] = np.diag(met.sum(axis=1)) - met
    for column in range(p):
        weighted = weight * rows.covariates[:, column]
        found[:k, k + column] = np.bincount(rows.first, weighted, k)
        found[:k, k + column] -= np.bincount(rows.second, weighted, k)
        found[k:, k + column] = weighted @ rows.covariates
    found[k:, :k] = found[:k, k:].T
    return found


def _inverse(found: FloatArray, k: int) -> FloatArray | None:
    """Return the inverse among strengths that add up to zero; None where it is singular."""
    scale = np.sqrt(np.diag(found))
    if not (scale > 0).all():
        return None
    size = float((scale[:k] ** 2).mean())
    constrained = found.copy()
    constrained[:k, :k] += size / k
    try:
        root = np.linalg.inv(np.linalg.cholesky(constrained / np.outer(scale, scale)))
    except np.linalg.LinAlgError:
        return None
    inverse = (root.T @ root) / np.outer(scale, scale)
    inverse[:k, :k] -= 1 / (size * k)  # what the constraint alone has put there
    return inverse


def entangled(rows: PairRows) -> tuple[int, ...]:
    """Return the covariates that follow from the pairs of models and from the other covariates.

    Nothing tells such a covariate from the models: a model that always writes the same, say.
    """
    found = information(rows, np.ones(len(rows.outcome)))
    k = rows.k
    hidden: list[int] = []
    kept = list(range(k))
    for column in range(k, k + rows.p):
        own = found[column, column]
        others = found[np.ix_(kept, kept)]
        with_it = found[kept, column]
        explained = with_it @ np.linalg.pinv(others, hermitian=True) @ with_it
        if own - explained <= _KNOWN * own:
            hidden.append(column - k)
        else:
            kept.append(column)
    return tuple(hidden)


@dataclass(frozen=True, eq=False)
class Sandwich:
    """What is known of some numbers together.

    Attributes
    ----------
    covariance : ndarray of float64, shape (q, q)
    degrees : ndarray of float64, shape (q,)
        Degrees of freedom of Student's law for each.
    people : int or None
        Voters whom it holds for people like; None where it does not matter who voted.
    """

    covariance: FloatArray
    degrees: FloatArray
    clusters: int
    people: int | None = None


_BLOCK = 1 << 20  # numbers at once


def sandwich(fits: Sequence[tuple[PairFit, FloatArray]]) -> Sandwich:
    r"""Return the covariance of linear combinations of estimates, robust and clustered.

    Residuals are divided by √(1 - h), h being the leverage of the row, and sums over the G clusters
    have the factor G/(G - 1). The degrees of freedom are Satterthwaite's, (Σ v_g)²/Σ v_g² - 1. Here
    v_g is what a cluster would add to the variance if the model held and rows were independent.
    They are the number of clusters that a combination rests on, less one. Where people voted
    several times, they are clusters beside those, and the result is for people like them.

    Parameters
    ----------
    fits : sequence of (PairFit, ndarray of float64, shape (q_i, k + p_i))
        Fits of the same rows, in the same order, to outcomes or covariates that may differ; and
        the combinations of each. All of them are in the result, in this order.
    """
    rows = fits[0][0].rows
    found = _summed(fits, rows.clusters)
    if rows.voters is None or people_of(rows.voters) is None:
        return found.sandwich
    voter = _numbered(rows.voters)
    by_voter = _summed(fits, voter)
    by_both = _summed(fits, _numbered(voter * (int(rows.clusters.max()) + 1) + rows.clusters))
    return _of_people(rows, found, by_voter, by_both)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Over clusters: of products of what each adds, of v_g, and of their squares and cubes."""

    total: FloatArray
    groups: int
    shares: FloatArray
    squares: FloatArray
    cubes: FloatArray
    fourths: FloatArray

    @property
    def degrees(self) -> FloatArray:
        known = self.squares > 0
        return np.where(known, self.shares**2 / np.where(known, self.squares, 1.0) - 1, 0.0)

    @property
    def covariance(self) -> FloatArray:
        return self.total * (self.groups / (self.groups - 1) if self.groups > 1 else np.nan)

    @property
    def sandwich(self) -> Sandwich:
        return Sandwich(self.covariance, self.degrees, self.groups)


def _of_people(rows: PairRows, prompts: _Sums, voters: _Sums, both: _Sums) -> Sandwich:
    r"""Add what voters add, by clusters both ways, see `coupled_arena.stats.ranking.voter_tastes`.

    Residuals of a voter have lost the share W of the voter's votes, hence 1 / (1 - Σ W²). Degrees
    of freedom are those of a model in which a voter's votes on a pair are equally alike.
    """
    share = voters.squares / np.maximum(voters.shares, np.finfo(float).tiny) ** 2
    made_good = 1 / np.sqrt(np.maximum(1 - share, 0.4))  # of one voter for all, little is known
    tastes = np.outer(made_good, made_good) * voters.total - both.covariance
    covariance = prompts.covariance + tastes
    values, vectors = np.linalg.eigh(covariance)
    if values.min() < 0:
        covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    pairs = len(np.unique(rows.first * rows.k + rows.second)) / 2
    size = max(len(rows.outcome) / max(pairs, 1.0), 1.0)
    alike = (np.diag(both.covariance + tastes) / np.diag(both.covariance)) - 1
    most = size * share - 1
    rho = np.clip(np.where(most > 0, alike / np.where(most > 0, most, 1.0), 0.0), 0.0, 1.0)
    # g = ρ s² + (1 - ρ) s / size, with s the share of a voter in a variance.
    one = np.maximum(voters.shares, np.finfo(float).tiny)
    s2, s3, s4 = (
        x / one**p for x, p in ((voters.squares, 2), (voters.cubes, 3), (voters.fourths, 4))
    )
    sums = rho * s2 + (1 - rho) / size
    squares = rho**2 * s4 + 2 * rho * (1 - rho) * s3 / size + (1 - rho) ** 2 * s2 / size**2
    degrees = np.minimum(prompts.degrees, np.maximum(sums**2 / squares - 1, 1.0))
    return Sandwich(covariance, degrees, prompts.groups, voters.groups)


def people_of(voters: IntArray) -> int | None:
    """Return how many people voted; None of one alone, and where each vote has its own voter."""
    known = voters[voters >= 0]
    people = len(np.unique(known)) + len(voters) - len(known)
    return None if people in (0, 1, len(voters)) else people


def _numbered(labels: IntArray) -> IntArray:
    """Return labels as numbers from 0 on; each -1 is a label of its own."""
    found, number = np.unique(labels, return_inverse=True)
    number = number.astype(np.int64)
    unknown = labels == -1
    number[unknown] = len(found) + np.arange(int(unknown.sum()))
    return np.asarray(np.unique(number, return_inverse=True)[1], dtype=np.int64)


def _summed(fits: Sequence[tuple[PairFit, FloatArray]], clusters: IntArray) -> _Sums:
    order = np.argsort(clusters, kind="stable")
    sorted_ones = clusters[order]
    starts = np.flatnonzero(np.r_[True, sorted_ones[1:] != sorted_ones[:-1]])
    parts = [(_sorted(one, order), wanted) for one, wanted in fits]
    q = sum(len(wanted) for _, wanted in fits)
    total, sums = np.zeros((q, q)), np.zeros((4, q))
    for begin, end in _blocks(starts, len(clusters), max(_BLOCK // q, 1)):
        within = starts[(starts >= begin) & (starts < end)] - begin
        influence, variance = _influence_of_rows(parts, slice(begin, end))
        if len(within) < end - begin:  # else each row is a cluster by itself: nothing to add up
            influence, variance = (np.add.reduceat(x, within) for x in (influence, variance))
        total += influence.T @ influence
        sums += np.stack([(variance**power).sum(axis=0) for power in (1, 2, 3, 4)])
    return _Sums(total, len(starts), *sums)


@dataclass(frozen=True, eq=False)
class _Sorted:
    rows: PairRows
    residual: FloatArray
    weight: FloatArray
    bread: FloatArray


def _sorted(one: PairFit, order: IntArray) -> _Sorted:
    """Return a fit's rows in an order, with residuals that leverage has been taken from."""
    of = one.rows
    rows = PairRows(
        of.k, of.first[order], of.second[order], of.outcome[order], of.covariates[order], order
    )
    expected = expit(rows.predicted(one.estimate))
    weight = expected * (1 - expected)
    leverage = weight * _quadratic(rows, one.bread)
    residual = (rows.outcome - expected) / np.sqrt(np.maximum(1 - leverage, _KNOWN))
    return _Sorted(rows, residual, weight, one.bread)


def _quadratic(rows: PairRows, matrix: FloatArray) -> FloatArray:
    """Return zᵀ matrix z of each row z, of a symmetric matrix."""
    k, a, b, x = rows.k, rows.first, rows.second, rows.covariates
    strength, both, style = matrix[:k, :k], matrix[:k, k:], matrix[k:, k:]
    found = strength[a, a] + strength[b, b] - 2 * strength[a, b]
    found = found + 2 * ((both[a] - both[b]) * x).sum(axis=1)
    return found + ((x @ style) * x).sum(axis=1)


def _influence_of_rows(
    parts: Sequence[tuple[_Sorted, FloatArray]], rows: slice
) -> tuple[FloatArray, FloatArray]:
    """Return what each row adds to each combination, and the variance that it would have."""
    added: list[FloatArray] = []
    variances: list[FloatArray] = []
    for of, wanted in parts:
        moved = of.rows.predicted(of.bread @ wanted.T, rows)
        added.append(moved * of.residual[rows, None])
        variances.append(moved**2 * of.weight[rows, None])
    return np.concatenate(added, axis=1), np.concatenate(variances, axis=1)


def _blocks(starts: IntArray, n: int, size: int) -> list[tuple[int, int]]:
    """Cut n rows into blocks of about a size that no cluster is cut by."""
    wanted = np.searchsorted(starts, np.arange(0, n, size))
    begins = np.unique(np.append(starts, n)[wanted])
    begins = begins[begins < n]
    return list(zip(begins.tolist(), [*begins[1:].tolist(), n], strict=True))


ELO = 400 / np.log(10)
"""Points of a score for one log-odds: 400 points are odds of ten to one."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers with their errors, shape (q,) each.

    Attributes
    ----------
    value, error : ndarray of float64
    degrees : ndarray of float64
        Degrees of freedom of Student's law.
    """

    value: FloatArray
    error: FloatArray
    degrees: FloatArray

    def interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of intervals; infinite where nothing can be concluded.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        beyond = critical_value(alpha, self.degrees) * self.error
        return self.value - beyond, self.value + beyond

    def share_interval(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of intervals of shares: by their log-odds, so within 0 and 1."""
        odds = logit(self.value)
        beyond = critical_value(alpha, self.degrees) * self.error / self.value / (1 - self.value)
        return expit(odds - beyond), expit(odds + beyond)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Positions by the scores, 1 is best, shape (k,) each: the estimate, and the ones possible."""

    rank: IntArray
    low: IntArray
    high: IntArray


@dataclass(frozen=True, eq=False)
class PairScores:
    """What follows from a fit: as small as the models are few, however many the rows were.

    Attributes
    ----------
    k : int
        How many models there are.
    values : ndarray of float64, shape (2k + p,)
        Strengths, win rates, coefficients.
    known : Sandwich
        What is known of these together.
    """

    k: int
    values: FloatArray
    known: Sandwich

    @classmethod
    def of(cls, fit: PairFit) -> PairScores:
        """Return the scores of a fit."""
        return cls(fit.rows.k, values(fit), sandwich([(fit, combinations(fit))]))

    def _measured(self, part: slice) -> Measured:
        error = np.sqrt(np.diag(self.known.covariance)[part])
        return Measured(self.values[part], error, self.known.degrees[part])

    @property
    def score(self) -> Measured:
        """Scores on the scale of Elo ratings, their mean 1000."""
        found = self._measured(slice(self.k))
        return Measured(1000 + ELO * found.value, ELO * found.error, found.degrees)

    @property
    def win_rate(self) -> Measured:
        """Win rates at equal style, the mean over all opponents; ties are half a win."""
        return self._measured(slice(self.k, 2 * self.k))

    @property
    def coefficient(self) -> Measured:
        """Log-odds for one unit of a covariate more."""
        return self._measured(slice(2 * self.k, None))

    def ranks(self, alpha: float) -> Ranked:
        """Return the positions that the scores leave possible, jointly for all models.

        Two models are apart where their difference is beyond what Bonferroni's rule allows chance
        for all pairs at once.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        k, value = self.k, self.values[: self.k]
        covariance, degrees = self.known.covariance[:k, :k], self.known.degrees[:k]
        variance = np.diag(covariance)
        spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
        weaker = np.minimum(degrees[:, None], degrees)
        beyond = critical_value(2 * alpha / (k * (k - 1)), weaker)
        gap = value[:, None] - value
        with np.errstate(invalid="ignore"):  # of a model and itself
            ahead = gap > beyond * spread
        better = gap > 0
        return Ranked(
            rank=1 + better.sum(axis=0, dtype=np.int64),
            low=1 + ahead.sum(axis=0, dtype=np.int64),
            high=k - ahead.sum(axis=1, dtype=np.int64),
        )


def values(fit: PairFit) -> FloatArray:
    """Return strengths, win rates and coefficients of a fit, shape (2k + p,)."""
    strength, coefficients = np.split(fit.estimate, [fit.rows.k])
    return np.concatenate([strength, win_rates(strength), coefficients])


def combinations(fit: PairFit) -> FloatArray:
    """Return the derivatives of `values` by the estimate, shape (2k + p, k + p)."""
    k, p = fit.rows.k, fit.rows.p
    found = np.zeros((2 * k + p, k + p))
    found[:k, :k] = np.eye(k)
    found[k : 2 * k, :k] = _slopes(fit.estimate[:k])
    found[2 * k :, k:] = np.eye(p)
    return found


def win_rates(strength: FloatArray) -> FloatArray:
    """Return the mean over all opponents of the probability to win, shape (k,)."""
    beats = expit(strength[:, None] - strength)
    np.fill_diagonal(beats, 0)
    found: FloatArray = beats.sum(axis=1) / (len(strength) - 1)
    return found


def _slopes(strength: FloatArray) -> FloatArray:
    """Return the derivatives of `win_rates` by the strengths, shape (k, k)."""
    beats = expit(strength[:, None] - strength)
    slopes = -beats * (1 - beats)
    np.fill_diagonal(slopes, 0)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))
    found: FloatArray = slopes / (len(strength) - 1)
    return found
