r"""How often each model is preferred: from people's votes, a judge's verdicts, or both together.

Prediction-powered ranking [1]_ corrects many verdicts by few votes. With h and g the indicators
that people and the judge prefer a model, and strata s that the settings choose,

.. math:: \hat\theta_m = \sum_{s \ni m} v_s\,[\lambda \bar g_{N,s} + \bar h_{n,s}
          - \lambda \bar g_{n,s}],

where n counts comparisons with a vote and a verdict and N those with a verdict alone. Without a
judge, λ = 0. Everything here is a function of counts: a comparison adds to the error of θ̂ what
its cell of the counts says (`Influence`), and the covariance is the Gram matrix of these sums.

The covariance printed in [1]_ divides by N² and n² where a model's mean has only N_m and n_m
terms, so it is too small by about (2/k)² for k models: it is here as `Covariance.PUBLISHED`.

References
----------
.. [1] I. Chatzi, E. Straitouri, S. Thejaswi & M. Gomez-Rodriguez, "Prediction-powered ranking of
   large language models", NeurIPS 2024, arXiv:2402.17826.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.influence import Influence

MINIMUM_PER_PAIR = 5
"""Human comparisons that stratification needs in every pair: with two, 95 % sets cover .85."""

FEW_CLUSTERS = 10
"""Prompts below which an estimate warns: with three, 95 % rank-sets cover .87."""


class Weighting(StrEnum):
    """What the mean over opponents weighs."""

    STRATIFIED = "stratified"  # each opponent the same
    POSITION = "position"  # each opponent, and each order of presentation, the same
    COUNT = "count"  # each comparison the same: another quantity where pairs are unbalanced


class Covariance(StrEnum):
    """Which covariance: the one that holds, or the one of the paper."""

    CORRECTED = "corrected"
    PUBLISHED = "published"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Win rates with their joint uncertainty, and the settings they were computed with.

    Attributes
    ----------
    models : tuple of str
        The k models that any vote (of a judge-only estimate: verdict) is about.
    theta : ndarray of float64, shape (k,)
        Estimated probability that the model is preferred; outside [0, 1] by chance at most.
    covariance : ndarray of float64, shape (k, k)
    floor : ndarray of float64, shape (k,)
        Variance that intervals add for opponents who were always or never beaten: five wins of
        five are no proof, and have no sample variance.
    size : ndarray of float64, shape (k,)
        Votes on one pair that would tell a model's win rate as exactly as its own do.
    power_tuning : float
        λ, the weight of the judge; 0 without one.
    human, judge_only : int
        Comparisons with a vote, and with a verdict alone.
    certain_size : ndarray of float64, shape (k,)
        Comparisons that a win-rate of 0 or 1 rests on: the chance of losing none, Π p_o^n_o over
        opponents o, is at most θ to the power K·min n_o, with K opponents.
    weighting : Weighting
        The one in force, which may be another than was asked for.
    kind : Covariance
    influence : Influence
    warnings : tuple of str
    clusters : int or None
        Clusters of human comparisons that the covariance comes from; None where comparisons do
        not depend on each other, or nobody counted.
    """

    models: tuple[str, ...]
    theta: FloatArray
    covariance: FloatArray
    floor: FloatArray
    size: FloatArray
    power_tuning: float
    human: int
    judge_only: int
    certain_size: FloatArray
    weighting: Weighting
    kind: Covariance
    influence: Influence
    warnings: tuple[str, ...] = ()
    clusters: int | None = None

    @property
    def standard_error(self) -> FloatArray:
        """Square roots of the variances, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def clustered(self, gram: FloatArray, clusters: int | None = None) -> Estimate:
        """Return the same estimate where comparisons of one cluster depend on each other.

        Parameters
        ----------
        gram : ndarray of float64, shape (k, k)
            Sum over clusters of s sᵀ, with s the sum of `influence` over the cluster.
        clusters : int, optional
            How many clusters G have a human comparison (of a judge-only estimate: a verdict).
            Residuals of few clusters are too small, since each has a part in the mean that is
            taken from it: (G / (G - 1))² makes the covariance that of the jackknife over
            clusters of equal size, and `Separation` and `intervals` then use Student's t with
            G - 1 degrees of freedom. One cluster says nothing of its own uncertainty.
        """
        if clusters is None or clusters == self.human:  # no two votes share a cluster
            return replace(self, covariance=gram)
        inflation = (clusters / (clusters - 1)) ** 2 if clusters > 1 else 1.0
        warnings = self.warnings
        if clusters < FEW_CLUSTERS:
            warnings += (
                f"All votes are on {clusters} prompt{'s' * (clusters > 1)}: other prompts may rank "
                "the models otherwise, and the error bars know little of that.",
            )
        return replace(self, covariance=gram * inflation, clusters=clusters, warnings=warnings)


def estimate_from_votes(
    counts: PairCounts,
    weighting: Weighting = Weighting.STRATIFIED,
    kind: Covariance = Covariance.CORRECTED,
) -> Estimate:
    """Estimate win rates from one kind of label alone: all votes, or all verdicts of a judge.

    See `estimate`; λ is 0.
    """
    labelled = np.zeros((*counts.counts.shape, len(OUTCOMES)), dtype=np.int64)
    labelled[..., _TIE] = counts.counts  # a judge that always says the same says nothing
    unlabelled = np.zeros_like(counts.counts)
    return estimate(JudgedCounts(counts.models, labelled, unlabelled), weighting, kind)


def estimate(
    counts: JudgedCounts,
    weighting: Weighting = Weighting.STRATIFIED,
    kind: Covariance = Covariance.CORRECTED,
) -> Estimate:
    """Estimate win rates from votes and the verdicts of one judge, prediction-powered.

    The stratified mean needs `MINIMUM_PER_PAIR` human comparisons in every pair, the
    position-weighted one in every order of every pair; where they are short, and for the
    published covariance, which is defined for no other, the count-weighted mean takes their
    place, with a warning.

    Parameters
    ----------
    counts : JudgedCounts
        A model without votes is left out, with a warning.
    weighting : Weighting
    kind : Covariance

    Returns
    -------
    Estimate
    """
    counts, warnings = _with_votes(counts)
    cells = _Cells.of(counts)
    if kind is Covariance.PUBLISHED and weighting is not Weighting.COUNT:
        weighting = Weighting.COUNT
        warnings += ("The published covariance belongs to count weighting, which is used here.",)
    if weighting is not Weighting.COUNT and (short := _short(cells, weighting)):
        warnings += (
            f"{short} fewer than {MINIMUM_PER_PAIR} human comparisons"
            f"{' in each order' if weighting is Weighting.POSITION else ''}: until then each "
            "comparison weighs the same, which favours models that met weak opponents more often.",
        )
        weighting = Weighting.COUNT
    strata = cells.pooled(weighting)
    power_tuning = _power_tuning(cells, strata, weighting)
    theta, influence = _mean(cells, strata, weighting, kind, power_tuning)
    return Estimate(
        models=counts.models,
        theta=theta,
        covariance=influence.gram(counts),
        floor=_floor(cells, strata, weighting),
        size=_size(cells, strata, weighting),
        power_tuning=power_tuning,
        human=int(counts.labelled.sum()),
        judge_only=int(counts.unlabelled.sum()),
        certain_size=_certain_size(strata.n, weighting),
        weighting=weighting,
        kind=kind,
        influence=influence,
        warnings=warnings,
    )


_FIRST, _SECOND, _TIE = range(3)  # of OUTCOMES


def _with_votes(counts: JudgedCounts) -> tuple[JudgedCounts, tuple[str, ...]]:
    """Leave out the models that have no vote."""
    met = counts.labelled.sum((2, 3))
    present = (met + met.T).any(axis=1)
    if present.all():
        return counts, ()
    absent = [model for model, there in zip(counts.models, present, strict=True) if not there]
    warning = f"Without a vote, and so without a place: {', '.join(absent)}."
    return counts.of([m for m in counts.models if m not in absent]), (warning,)


class _Cells(NamedTuple):
    """Sums over the comparisons of a model with an opponent in a position, shape (k, k, 2).

    Position 0 is being shown first. `n` comparisons have both labels, and in `h` of them people
    prefer the model, in `g` the judge, in `hg` both; of `N` with a verdict alone it is `G`.
    """

    n: FloatArray
    h: FloatArray
    g: FloatArray
    hg: FloatArray
    N: FloatArray
    G: FloatArray

    @classmethod
    def of(cls, counts: JudgedCounts) -> _Cells:
        votes, echoes = counts.labelled.sum(3), counts.labelled.sum(2)
        agreed = np.einsum("abii->abi", counts.labelled)
        sizes, alone = votes.sum(2), counts.unlabelled.sum(2)
        return cls(
            n=_by_position(sizes, sizes),
            h=_by_position(votes[..., _FIRST], votes[..., _SECOND]),
            g=_by_position(echoes[..., _FIRST], echoes[..., _SECOND]),
            hg=_by_position(agreed[..., _FIRST], agreed[..., _SECOND]),
            N=_by_position(alone, alone),
            G=_by_position(counts.unlabelled[..., _FIRST], counts.unlabelled[..., _SECOND]),
        )

    def pooled(self, weighting: Weighting) -> _Cells:
        """Return sums over strata, repeated over the cells of each stratum."""
        axes = {Weighting.COUNT: (2, 3), Weighting.STRATIFIED: (3,), Weighting.POSITION: ()}
        table = np.stack(self)
        return _Cells(*np.broadcast_to(table.sum(axis=axes[weighting], keepdims=True), table.shape))


def _by_position(first: IntArray, second: IntArray) -> FloatArray:
    return np.stack([first, second.T], axis=2).astype(np.float64)


def _short(cells: _Cells, weighting: Weighting) -> str:
    """Say how many pairs lack comparisons for a weighting; nothing if none does."""
    k = len(cells.n)
    lacking = (cells.pooled(weighting).n < MINIMUM_PER_PAIR).any(2) & ~np.eye(k, dtype=np.bool_)
    pairs = int(lacking.sum()) // 2
    return f"{pairs} pair{'s have' if pairs > 1 else ' has'}" if pairs else ""


def _stratum_weight(k: int, weighting: Weighting) -> float:
    """Return the weight of a stratum's mean in a model's mean."""
    strata = {Weighting.COUNT: 1, Weighting.STRATIFIED: k - 1, Weighting.POSITION: 2 * (k - 1)}
    return 1 / max(strata[weighting], 1)


def _power_tuning(cells: _Cells, s: _Cells, weighting: Weighting) -> float:
    """Return λ: the trace-minimising one, or with count weighting Algorithm 4 of the paper."""
    h, g, verdict = (x / np.maximum(n, 1) for x, n in ((s.h, s.n), (s.g, s.n), (s.G, s.N)))
    # Sums over each cell of (h - mean)(g - mean) and so on, with the means of its stratum; an
    # indicator is its own square.
    scatter_hg = cells.hg - cells.h * g - cells.g * h + cells.n * h * g
    scatter_g = cells.g - 2 * cells.g * g + cells.n * g**2
    scatter_verdict = cells.G - 2 * cells.G * verdict + cells.N * verdict**2
    if weighting is Weighting.COUNT:
        n, judge_only = cells.n.sum() / 2, cells.N.sum() / 2
        if not judge_only or not scatter_verdict.sum():
            return 0.0
        ratio = scatter_hg.sum() / n**2 / (scatter_verdict.sum() / judge_only**2)
        return float(np.clip(n / (n + judge_only) * ratio, 0, 1))
    tuned = s.N >= 2
    labelled = tuned / np.maximum(s.n * (s.n - 1), 1)
    unlabelled = tuned / np.maximum(s.N * (s.N - 1), 1)
    gain = (scatter_hg * labelled).sum()
    cost = (scatter_g * labelled + scatter_verdict * unlabelled).sum()
    return float(np.clip(gain / cost, 0, 1)) if cost > 0 else 0.0


def _mean(
    cells: _Cells, s: _Cells, weighting: Weighting, kind: Covariance, power_tuning: float
) -> tuple[FloatArray, Influence]:
    v = _stratum_weight(len(cells.n), weighting)
    per_vote, per_verdict = v / np.maximum(s.n, 1), v / np.maximum(s.N, 1)
    tuning = np.where(s.N >= 2, power_tuning, 0.0)
    theta = per_vote * (cells.h - tuning * cells.g) + per_verdict * tuning * cells.G
    centre = (s.h - tuning * s.g) / np.maximum(s.n, 1)
    verdict_centre = s.G / np.maximum(s.N, 1)
    if kind is Covariance.PUBLISHED:
        per_vote = np.full_like(s.n, 2 / cells.n.sum()) if cells.n.any() else per_vote
        per_verdict = np.full_like(s.N, 2 / cells.N.sum()) if cells.N.any() else per_verdict
    elif weighting is not Weighting.COUNT:  # within strata, unbiased
        per_vote = per_vote * np.sqrt(s.n / np.maximum(s.n - 1, 1))
        per_verdict = per_verdict * np.sqrt(s.N / np.maximum(s.N - 1, 1))
    influence = Influence.of_means((per_vote, centre), (per_verdict, verdict_centre), tuning)
    return theta.sum((1, 2)), influence


def _floor(cells: _Cells, s: _Cells, weighting: Weighting) -> FloatArray:
    weight = _stratum_weight(len(cells.n), weighting)
    certain = ((s.h == 0) | (s.h == s.n)) & (s.n > 0)
    fraction = (s.h + 0.5) / (s.n + 1)
    share = cells.n / np.maximum(s.n, 1)  # a stratum is repeated over its cells, which sum to 1
    variance = weight**2 * fraction * (1 - fraction) / np.maximum(s.n, 1)
    return (variance * share * certain).sum((1, 2))


def _size(cells: _Cells, s: _Cells, weighting: Weighting) -> FloatArray:
    weight = _stratum_weight(len(cells.n), weighting)
    share = cells.n / np.maximum(s.n, 1)  # as in `_floor`
    return 1 / (weight**2 * share / np.maximum(s.n, 1)).sum((1, 2))


def _certain_size(n: FloatArray, weighting: Weighting) -> FloatArray:
    others = ~np.eye(len(n), dtype=np.bool_)[..., None]
    return np.min(n, axis=(1, 2), where=others, initial=np.inf) / _stratum_weight(len(n), weighting)
