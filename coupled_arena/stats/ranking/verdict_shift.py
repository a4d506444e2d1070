r"""Whether a judge says the same of comparisons that nobody voted on as of those with a vote.

Verdicts alone correct votes on the assumption that both are drawn alike. Within pairs of models,

.. math:: c_m = \sum_{s \ni m} v_s\,[\bar g_{N,s} - \bar g_{m,s}]

is what λ multiplies in the win rate of m. Where the assumption fails, it is the bias of that win
rate, over λ. One test holds all c together against 0: Hotelling's, with the covariance by prompts.
It needs no voters, as a verdict does not depend on who voted. With their few degrees of freedom the
test would see next to nothing in a campaign of ten people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray, JudgedCounts
from coupled_arena.stats.influence import Influence
from coupled_arena.stats.ranking.estimates import Estimate, weighted_mean
from coupled_arena.stats.ranking.judge_weights import verdict_scores
from coupled_arena.stats.ranking.strata import (
    PairPrompts,
    Strata,
    StratumCells,
    degrees_alone,
    degrees_by_pair,
    residuals_by_pair,
    tie_scores,
)

DIFFERENT = 0.02
"""Error level from which verdicts alone are not used.

By chance alone that happens on 2% of the boards, which take people's estimate just where it is far
off: at this level a perfect judge's rank-sets still hold as often as promised, at .05 they do not.
"""

_SAME = 1e-9  # of the largest eigenvalue: what is below has no variance of its own


@dataclass(frozen=True)
class ShiftTest:
    """Whether verdicts alone differ from verdicts beside votes.

    Attributes
    ----------
    statistic : float
        c' Σ⁻¹ c, with as many `contrasts` as Σ has ranks.
    degrees : float
        That Σ is known with.
    p : float
        Probability of as large a statistic by chance.
    model : str
        The model that is farthest from 0, in standard errors.
    shift : float
        Its c: how much more often the judge prefers it where nobody voted.
    """

    statistic: float
    contrasts: int
    degrees: float
    p: float
    model: str
    shift: float

    @property
    def different(self) -> bool:
        """Whether verdicts alone are on other comparisons than votes."""
        return self.p < DIFFERENT

    @classmethod
    def of(cls, shift: Estimate) -> ShiftTest | None:
        """Test an estimate of c; None where no pair has verdicts of both kinds that vary."""
        k = len(shift.models)
        centred = np.eye(k) - 1 / k  # scores of a pair add up to the same, but for ties as losses
        c, covariance = centred @ shift.theta, centred @ shift.covariance @ centred
        values, vectors = np.linalg.eigh(covariance)
        kept = values > _SAME * max(float(values.max()), np.finfo(float).tiny)
        contrasts = int(kept.sum())
        if not contrasts:
            return None
        statistic = float(((c @ vectors[:, kept]) ** 2 / values[kept]).sum())
        degrees = float(np.median(shift.degrees[np.triu_indices(k, 1)]))
        # With a covariance of few degrees of freedom the square is as wide as F says.
        left = max(degrees - contrasts + 1, 1.0)
        p = float(fdtrc(contrasts, left, statistic * left / (contrasts * max(degrees, left))))
        # Of a model whose verdicts do not vary rounding may leave less than nothing.
        error = np.sqrt(np.maximum(np.diag(covariance), 0))
        far = int(np.argmax(np.abs(c) / np.where(error > 0, error, np.inf)))
        return cls(statistic, contrasts, degrees, p, shift.models[far], float(c[far]))


def verdict_shift(
    estimate: Estimate, counts: JudgedCounts, prompts: PairPrompts | None = None
) -> Estimate | None:
    """Return c as an estimate, to be put in clusters like others; None where λ is 0.

    Parameters
    ----------
    estimate : Estimate
        From these counts: its weighting, weights of judges and ties hold here.
    prompts : PairPrompts, optional
        As in `estimate`.
    """
    if not estimate.power_tuning > 0:
        return None
    counts, weighting = counts.of(estimate.models), estimate.weighting
    weights = np.array(estimate.judge_weights) / estimate.power_tuning
    scores = np.tensordot(weights, verdict_scores(estimate.ties, counts), axes=1)
    known = None if prompts is None else prompts.of(estimate.models)
    if known is not None and weighting is not Weighting.POSITION:
        known = known.at_least
    cells = StratumCells.of(counts, estimate.ties, scores)
    strata, says = Strata.of(cells, known, weighting), (tie_scores(estimate.ties), scores)
    # It is linear in λ, and what is left at 0 is people's.
    some, none = (
        weighted_mean(cells, strata, weighting, tuning, estimate.sparse, says, counts.spoken)
        for tuning in (1.0, 0.0)
    )
    influence = Influence(
        some[1].labelled - none[1].labelled, some[1].unlabelled - none[1].unlabelled
    )
    heard, known = counts.heard, known and known.of_verdicts
    cells = StratumCells.of(heard, estimate.ties, scores[:, : heard.labelled.shape[-1]])
    strata = Strata.of(cells, known, weighting)
    share = None if estimate.sparse is None else estimate.sparse.share
    n: FloatArray = cells.n.sum(axis=2)
    return replace(
        estimate,
        theta=some[0] - none[0],
        covariance=influence.gram(counts),
        degrees=degrees_alone(n, counted=weighting is Weighting.COUNT),
        influence=influence,
        human=int(heard.votes.counts.sum()),
        free=degrees_by_pair(cells, known, weighting, 1.0),
        residuals=residuals_by_pair(strata, weighting, share),
        sizes=n,
        sparse=None,
        warnings=(),
        clusters=None,
        tastes=None,
    )


def without_verdicts(powered: Estimate, people: Estimate) -> Estimate:
    """Return people's estimate in place of one with verdicts: λ is 0."""
    nothing = (0.0,) * len(powered.judge_weights)
    return replace(people, judge_weights=nothing, judge_only=powered.judge_only)
