"""Coupled against independent generation, pair by pair and model by model.

Both protocols rank the same models; where their win-rates differ, luck of the draw was part of the
independent ones. The test is two-sided, on the difference of two proportions. By default its
variance respects clusters: prompts that several comparisons share, also across the protocols, and
voters with tastes of their own. The pooled two-proportion z of the paper [1]_ is there as
`published`.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation", 2025,
   arXiv:2502.01754.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtr

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, PairCounts
from coupled_arena.stats.crossed import Cast, Numbers, Tasted, of_tastes
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR

_STARS = (0.05, 0.01, 0.001, 0.0001)  # the levels that the paper marks


@dataclass(frozen=True, eq=False)
class ModeInfluence:
    """What one comparison adds to the error of a difference between the protocols.

    Both arrays have the shape (2, k, k, 4, 2): ``[mode, a, b, outcome, role]``. Mode 0 is coupled,
    1 independent; role 0 is model a, shown first, 1 is model b.

    Attributes
    ----------
    pairs : ndarray of float64
        On the difference of the role's win-rate against the other model.
    models : ndarray of float64
        On the difference of the role's mean win-rate over opponents.
    ties : ndarray of float64
        On the logarithm of the ratio of the shares of ties; half of it in each role.
    """

    pairs: FloatArray
    models: FloatArray
    ties: FloatArray


@dataclass(frozen=True, eq=False)
class Differences:
    """Win-rates under both protocols and their difference, coupled minus independent.

    All arrays have the same shape: (k, k) for pairs, row against column, or (k,) for models. Rates
    are NaN where a protocol has no comparisons. For models they are NaN where it has no opponent
    with `MINIMUM_PER_PAIR` comparisons in both. `floor` is what the test adds to the variance for a
    protocol in which a model always or never won. It is infinite below that number. `degrees` are
    those of Student's t, infinite where no comparisons depend on each other.
    """

    coupled: FloatArray
    independent: FloatArray
    variance: FloatArray
    floor: FloatArray
    degrees: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Coupled minus independent."""
        return self.coupled - self.independent

    @property
    def p_value(self) -> FloatArray:
        """Two-sided; NaN where the votes do not vary, which proves nothing."""
        varied = (self.variance > 0) & np.isfinite(self.floor) & (self.degrees >= 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(self.variance + self.floor)
            t = np.where(varied, self.difference / error, np.nan)
        return 2 * stdtr(np.maximum(self.degrees, 1), -np.abs(t))


@dataclass(frozen=True, eq=False)
class ModeComparison:
    """Coupled against independent generation on k models.

    Attributes
    ----------
    pairs, averages : Differences
        Of each ordered pair, and of each model's mean over the opponents it met often enough.
    published_p_value : ndarray of float64, shape (k, k)
        Pooled two-proportion z test, which takes comparisons as independent.
    coupled_ties, independent_ties : ndarray of float64, shape (k, k)
        Share of ties, "both bad" included.
    tie_change : float
        Relative change of the share of ties over all pairs, coupled against independent.
    tie_variance : float
        Of the logarithm of the ratio of these shares; NaN where one of them is 0.
    tie_degrees : float
        Degrees of freedom of this variance; infinite where no comparisons depend on each other.
    sizes : ndarray of float64, shape (2, k, k)
        Comparisons in coupled and in independent battles.
    people, both : int or None
        How many voters there are, and how many of them voted in both modes, where variances are for
        people like them. None where they are for exactly these.
    """

    models: tuple[str, ...]
    pairs: Differences
    averages: Differences
    published_p_value: FloatArray
    coupled_ties: FloatArray
    independent_ties: FloatArray
    tie_change: float
    tie_variance: float
    tie_degrees: float
    influence: ModeInfluence
    sizes: FloatArray
    people: int | None = None
    both: int | None = None

    def tie_interval(self, alpha: float) -> tuple[float, float]:
        """Return the bounds of `tie_change`: of the logarithm of the ratio, by the delta method.

        Without a tie in one of the protocols nothing bounds the change: -1 and infinity.

        Raises
        ------
        ValueError
            `alpha` is not between 0 and 1.
        """
        degrees = np.array(self.tie_degrees)
        half = float(critical_value(alpha, None if np.isinf(degrees) else degrees))
        half *= self.tie_variance**0.5
        if not (np.isfinite(half) and self.tie_variance > 0):
            return -1.0, float("inf")
        ratio = 1 + self.tie_change
        return ratio * float(np.exp(-half)) - 1, ratio * float(np.exp(half)) - 1

    @property
    def flips(self) -> tuple[tuple[str, str], ...]:
        """Pairs of models that the two protocols rank in opposite order."""
        coupled, independent = self.averages.coupled, self.averages.independent
        return tuple(
            (self.models[i], self.models[j])
            for i, j in combinations(range(len(self.models)), 2)
            if (coupled[i] - coupled[j]) * (independent[i] - independent[j]) < 0
        )

    def clustered(
        self,
        pairs: tuple[FloatArray, IntArray],
        models: tuple[FloatArray, int],
        ties: tuple[float, int],
    ) -> ModeComparison:
        """Return the comparison with variances from sums over clusters.

        Parameters
        ----------
        pairs : (ndarray of float64, ndarray of int64), shapes (k, k)
            Sum over clusters of the squared sum of `ModeInfluence.pairs`, and how many clusters.
        models : (ndarray of float64 of shape (k,), int)
            Likewise of `ModeInfluence.models`.
        ties : (float, int)
            Likewise of `ModeInfluence.ties`, both roles together.

        Notes
        -----
        As in `Estimate.clustered` the sums over G clusters are multiplied by (G / (G - 1))², and
        the tests are Student's with G - 1 degrees of freedom.
        """
        squares, prompts = ties
        return replace(
            self,
            pairs=_clustered(self.pairs, *pairs),
            averages=_clustered(self.averages, *models),
            tie_variance=squares * (prompts / max(prompts - 1, 1)) ** 2,
            tie_degrees=float(prompts - 1),
        )

    def of_people(
        self, plain: ModeComparison, found: csr_array, repeated: csr_array
    ) -> ModeComparison:
        """Return the comparison for people like its voters, who may have voted in both modes.

        Parameters
        ----------
        plain : ModeComparison
            The same one, without clusters.
        found, repeated : csr_array, shape (any, 2 * k * k * 4)
            As in `Cast`; kinds in the order of ``[mode, a, b, outcome]``.
        """
        k = len(self.models)
        mode, a, b, _ = (x.ravel() for x in np.indices((2, k, k, len(OUTCOMES))))
        cell = (mode * k + np.minimum(a, b)) * k + np.maximum(a, b)
        of_pair = np.triu(self.sizes).ravel()
        by_pair = Cast(found, repeated, cell, of_pair, np.repeat([0, 1], k * k))
        if not by_pair.repeats:
            return self
        by_mode = replace(
            by_pair, cell=mode, size=of_pair.reshape(2, -1).sum(1), group=np.arange(2)
        )
        influence = self.influence
        on_pairs = _columns(influence.pairs, (a * k + b, b * k + a), k * k)
        pairs, models = of_tastes(
            by_pair,
            Numbers(on_pairs, plain.pairs.variance.ravel()),
            Numbers(_columns(influence.models, (a, b), k), plain.averages.variance),
        )
        nothing = np.zeros_like(a)
        on_ties = _columns(influence.ties, (nothing, nothing), 1)
        (ties,) = of_tastes(by_mode, Numbers(on_ties, np.array([plain.tie_variance])))
        in_mode = [found @ (mode == one).astype(np.float64) > 0 for one in (0, 1)]
        return replace(
            self,
            pairs=_tasted(self.pairs, pairs),
            averages=_tasted(self.averages, models),
            tie_variance=float(ties.variance(np.array([self.tie_variance]))[0]),
            tie_degrees=min(self.tie_degrees, float(ties.degrees[0])),
            people=by_pair.voters,
            both=int((in_mode[0] & in_mode[1]).sum()),
        )


def _columns(adds: FloatArray, at: tuple[IntArray, IntArray], q: int) -> csr_array:
    """Return what kinds add to q numbers: in each role to the one that it says."""
    values = adds.reshape(-1, 2)
    rows = np.arange(len(values))
    both = np.concatenate([rows, rows]), np.concatenate(at)
    return csr_array((values.T.ravel(), both), (len(values), q))


def _tasted(before: Differences, voters: Tasted) -> Differences:
    shape = before.variance.shape
    added = voters.variance(before.variance.ravel()).reshape(shape)
    degrees = np.minimum(before.degrees, voters.degrees.reshape(shape))
    return replace(before, variance=added, degrees=degrees)


def _plain(rates: FloatArray, variance: FloatArray, floor: FloatArray) -> Differences:
    return Differences(rates[0], rates[1], variance, floor, np.full_like(variance, np.inf))


def _floor(wins: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the variance that outcomes which never vary might have had; see `Estimate.floor`."""
    certain = ((wins == 0) | (wins == sizes)) & (sizes > 0)
    fraction = (wins + 0.5) / (sizes + 1)
    return np.sum(certain * fraction * (1 - fraction) / np.maximum(sizes, 1), axis=0)


def _clustered(plain: Differences, squares: FloatArray, clusters: IntArray | int) -> Differences:
    g = np.broadcast_to(np.asarray(clusters, dtype=np.float64), squares.shape)
    return replace(plain, variance=squares * (g / np.maximum(g - 1, 1)) ** 2, degrees=g - 1)


def compare_modes(coupled: PairCounts, independent: PairCounts) -> ModeComparison:
    """Compare the votes on coupled and on independent battles of the same models.

    Raises
    ------
    ValueError
        The counts are of different models.
    """
    if coupled.models != independent.models:
        raise ValueError("Only counts of the same models can be compared.")
    both = (coupled, independent)
    sizes = np.stack([counts.comparisons for counts in both]).astype(np.float64)
    wins = np.stack([counts.wins for counts in both]).astype(np.float64)
    ties = np.stack([counts.ties + counts.both_bad for counts in both]).astype(np.float64)
    met: NDArray[np.bool_] = np.all(sizes > 0, axis=0)
    enough: NDArray[np.bool_] = np.all(sizes >= MINIMUM_PER_PAIR, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(met, wins / sizes, np.nan)
        shares = ties / sizes
        total = ties.sum((1, 2)) / sizes.sum((1, 2))
        tie_change = float(total[0] / total[1] - 1)
    influence = _influence(sizes, rates, enough, total)
    averages = _average(rates, enough)
    floor = _floor(wins, sizes)
    opponents = np.maximum(enough.sum(axis=1), 1)
    each = np.stack([counts.counts for counts in both])
    pair_variance, average_variance = _plain_variances(each, influence)
    of_ties: FloatArray = influence.ties.sum(axis=-1) ** 2
    return ModeComparison(
        models=coupled.models,
        pairs=_plain(rates, pair_variance, np.where(enough, floor, np.inf)),
        averages=_plain(
            averages, average_variance, np.where(enough, floor, 0).sum(axis=1) / opponents**2
        ),
        published_p_value=_two_proportion_z(wins, sizes, met),
        coupled_ties=shares[0],
        independent_ties=shares[1],
        tie_change=tie_change,
        tie_variance=float((each * of_ties).sum()) if total.all() else float("nan"),
        tie_degrees=float("inf"),
        influence=influence,
        sizes=sizes,
    )


def stars(p_value: float) -> str:
    """Return one star for each of the levels .05, .01, .001, .0001 that a test rejects at."""
    return "*" * sum(p_value < level for level in _STARS)


def _average(rates: FloatArray, enough: NDArray[np.bool_]) -> FloatArray:
    opponents = enough.sum(axis=1)
    sums = np.where(enough, rates, 0.0).sum(axis=2)
    return sums / np.where(opponents > 0, opponents, np.nan)


def _influence(
    sizes: FloatArray, rates: FloatArray, enough: NDArray[np.bool_], tied: FloatArray
) -> ModeInfluence:
    # n - 1 makes the variance of independent comparisons unbiased.
    scale = np.where(enough, 1 / np.sqrt(np.maximum(sizes * (sizes - 1), 1)), 0.0)
    scale[1] *= -1
    centre = np.where(enough, rates, 0.0)
    first, second = np.eye(len(OUTCOMES))[:2]
    opponents = np.maximum(enough.sum(axis=1), 1)
    pairs = np.empty((*sizes.shape, len(OUTCOMES), 2))
    for role, (win, turn) in enumerate(((first, (0, 1, 2)), (second, (0, 2, 1)))):
        weight, mean = scale.transpose(turn), centre.transpose(turn)
        pairs[..., role] = weight[..., None] * (win - mean[..., None])
    models = pairs.copy()
    models[..., 0] /= opponents[None, :, None, None]
    models[..., 1] /= opponents[None, None, :, None]
    return ModeInfluence(pairs, models, _influence_on_ties(sizes, tied))


def _influence_on_ties(sizes: FloatArray, tied: FloatArray) -> FloatArray:
    """Return what a comparison adds to log(share coupled / share independent), in two halves."""
    n = sizes.sum(axis=(1, 2)) / 2
    known = np.maximum(tied, np.finfo(float).tiny)
    scale = np.array([1, -1]) / (2 * known * np.sqrt(np.maximum(n * (n - 1), 1)))
    outcome = (np.arange(len(OUTCOMES)) >= 2) - tied[:, None]  # a tie, or both bad
    k = sizes.shape[1]
    added = np.where(tied > 0, scale, 0)[:, None] * outcome
    apart = ~np.eye(k, dtype=np.bool_)
    return np.einsum("mo,ab,r->mabor", added, apart, np.ones(2))


def _plain_variances(
    counts: NDArray[np.int64], influence: ModeInfluence
) -> tuple[FloatArray, FloatArray]:
    """Return the variances of pairs and of models where no comparisons depend on each other."""

    def squares(values: FloatArray) -> FloatArray:
        cells: FloatArray = np.sum(counts[..., None] * values**2, axis=(0, 3))
        return cells[..., 0] + cells[..., 1].T

    return squares(influence.pairs), squares(influence.models).sum(axis=1)


def _two_proportion_z(wins: FloatArray, sizes: FloatArray, met: NDArray[np.bool_]) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled: FloatArray = np.sum(wins, axis=0) / np.sum(sizes, axis=0)
        error = np.sqrt(pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1]))
        z = (wins[0] / sizes[0] - wins[1] / sizes[1]) / error
    p_value = np.asarray(2 * ndtr(-np.abs(z)), dtype=np.float64)
    return np.where(met & (error > 0), p_value, np.nan)
