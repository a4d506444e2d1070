"""What a judge explains of people's votes within pairs of models, where a board can use it.

A judge that only knows which models are strong explains votes across pairs, and nothing of a
stratified win-rate, which compares like with like already.
"""

from __future__ import annotations

import numpy as np

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray, IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.estimates import estimate_from_votes


def explained_within_pairs(
    counts: JudgedCounts, weights: FloatArray, weighting: Weighting = Weighting.STRATIFIED
) -> float:
    """Return the share of the variance of Σ c_m θ̂_m that verdicts without end would remove.

    Of several such sums it is the share of the sum of their variances.

    The judge has one weight for all models, which minimises the sum of their variances, as in
    `coupled_arena.stats.ranking.estimates.estimate`; with r verdicts alone for each vote the
    share is 1 + 1/r times less.

    Parameters
    ----------
    counts : JudgedCounts
    weights : ndarray of float64, shape (k,) or (sums, k)
        c; the identity matrix is the whole board.
    weighting : Weighting
        Of the board.

    Returns
    -------
    float
        NaN where a model of the sum has no vote with a verdict, or nothing varies.
    """
    met = counts.labelled.sum(axis=(2, 3))
    known = (met + met.T).any(axis=1)
    weights = np.atleast_2d(weights)
    if not known[(weights != 0).any(axis=0)].all():
        return float("nan")
    counts = counts.of([m for m, there in zip(counts.models, known, strict=True) if there])
    weights, verdicts = weights[:, known], counts.labelled.sum(axis=2)
    votes = _influence(counts.votes.counts, counts, weighting)
    echo = _influence(verdicts, counts, weighting)
    echo = Influence(echo.labelled.swapaxes(2, 3), echo.unlabelled)
    human, cross, judge = votes.gram(counts), votes.gram(counts, echo), echo.gram(counts)
    cost = float(np.trace(judge))
    variance, shared, spent = (
        float(np.trace(weights @ each @ weights.T)) for each in (human, cross, judge)
    )
    if not variance > 0:
        return float("nan")
    tuning = float(np.clip(np.trace(cross) / cost, 0, 1)) if cost > 0 else 0.0
    return max((2 * tuning * shared - tuning**2 * spent) / variance, 0.0)


def _influence(outcomes: IntArray, counts: JudgedCounts, weighting: Weighting) -> Influence:
    """Return what a comparison adds to win-rates by one kind of label alone."""
    made = estimate_from_votes(PairCounts(counts.models, outcomes), weighting).influence
    return Influence(made.labelled, np.zeros_like(made.unlabelled))
