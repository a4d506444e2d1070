"""The means that win rates are, and what each comparison adds to their errors."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.strata import (
    FEWEST_ALONE,
    Strata,
    StratumCells,
    Weighting,
    stratum_weight,
)
from coupled_arena.stats.ranking.thin_pairs import ThinPairs


def weighted_mean(
    cells: StratumCells,
    strata: Strata,
    weighting: Weighting,
    weight_of_judge: float,
    thin: ThinPairs | None,
    scores: tuple[FloatArray, FloatArray],
    *,
    published: bool,
) -> tuple[FloatArray, Influence]:
    """Return win rates, and what comparisons add to the errors of their two models.

    Parameters
    ----------
    weight_of_judge : float
        λ.
    thin : ThinPairs or None
        Of the stratified mean.
    scores : tuple of ndarray of float64
        Of votes and of verdicts, as in `Influence.of_means`.
    published : bool
        Whether to divide as the paper's covariance does.
    """
    s, v = strata.sums, stratum_weight(len(cells.n), weighting)
    share = 1.0 if thin is None else thin.share[..., None]
    per_vote, per_verdict = share * v / np.maximum(s.n, 1), share * v / np.maximum(s.N, 1)
    tuning = np.where(strata.alone >= FEWEST_ALONE, weight_of_judge, 0.0)
    theta = per_vote * (cells.h - tuning * cells.g) + per_verdict * tuning * cells.G
    centre = (s.h - tuning * s.g) / np.maximum(s.n, 1)
    verdict_centre = s.G / np.maximum(s.N, 1)
    if published:
        per_vote = np.full_like(s.n, 2 / cells.n.sum()) if cells.n.any() else per_vote
        per_verdict = np.full_like(s.N, 2 / cells.N.sum()) if cells.N.any() else per_verdict
    elif weighting is not Weighting.COUNT:  # within strata, unbiased
        # A few votes may all agree: they are held against the fit, not against their own mean.
        taken = np.where(share == 1, 1.0, 0.0)
        per_vote = per_vote * np.sqrt(strata.votes / np.maximum(strata.votes - taken, 1))
        per_verdict = per_verdict * np.sqrt(strata.alone / np.maximum(strata.alone - 1, 1))
    total = theta.sum((1, 2))
    if thin is None:
        means = (per_vote, centre), (per_verdict, verdict_centre)
        return total, Influence.of_means(*means, tuning, scores)
    expected = thin.expected[..., None] - tuning * verdict_centre
    means = (per_vote, np.where(share < 1, expected, centre)), (per_verdict, verdict_centre)
    filled = v * ((1 - thin.share) * thin.expected).sum(axis=1)
    return total + filled, thin.of_both(Influence.of_means(*means, tuning, scores))
