"""The means that win rates are, and what each comparison adds to their errors."""

from __future__ import annotations

import numpy as np

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.strata import Strata, StratumCells, stratum_weight, unbiased
from coupled_arena.stats.ranking.thin_pairs import ThinPairs


def weighted_mean(
    cells: StratumCells,
    strata: Strata,
    weighting: Weighting,
    weight_of_judge: float,
    thin: ThinPairs | None,
    scores: tuple[FloatArray, FloatArray],
    spoken: FloatArray,
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
    spoken : ndarray of float64, shape (codes,)
        Likewise.
    published : bool
        Whether to divide as the paper's covariance does.
    """
    s, v = strata.sums, stratum_weight(len(cells.n), weighting)
    share = 1.0 if thin is None else thin.share[..., None]
    per_vote, per_echo, per_verdict = (share * v / np.maximum(n, 1) for n in (s.n, s.m, s.N))
    tuning = np.where(strata.tuned, weight_of_judge, 0.0)
    theta = per_vote * cells.h + tuning * (per_verdict * cells.G - per_echo * cells.g)
    centre, echo_centre = s.h / np.maximum(s.n, 1), s.g / np.maximum(s.m, 1)
    verdict_centre = s.G / np.maximum(s.N, 1)
    if published:
        per_vote, per_echo, per_verdict = (
            np.full_like(n, 2 / n.sum()) if n.any() else per
            for n, per in ((cells.n, per_vote), (cells.m, per_echo), (cells.N, per_verdict))
        )
    elif weighting is not Weighting.COUNT:  # within strata, unbiased
        # A few votes may all agree: they are held against the fit, not against their own mean.
        taken = np.where(share == 1, 1.0, 0.0)
        echoes = np.minimum(strata.votes, s.m)
        per_vote = per_vote * np.sqrt(unbiased(strata.votes, taken))
        per_echo = per_echo * np.sqrt(unbiased(echoes, taken))
        per_verdict = per_verdict * np.sqrt(unbiased(strata.alone, 1.0))
    total = theta.sum((1, 2))
    if thin is not None:
        centre = np.where(share < 1, thin.expected[..., None], centre)
        echo_centre = np.where(share < 1, verdict_centre, echo_centre)
    means = (per_vote, centre), (per_echo, echo_centre), (per_verdict, verdict_centre)
    direct = Influence.of_means(*means, tuning, scores, spoken)
    if thin is None:
        return total, direct
    filled = v * ((1 - thin.share) * thin.expected).sum(axis=1)
    return total + filled, thin.of_both(direct)
