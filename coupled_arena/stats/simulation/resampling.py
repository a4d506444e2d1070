"""The experiments of the ranking paper [1]_: rank-sets on random subsets of judged votes.

Nobody knows the true ranking behind real votes. But where every comparison has both a vote and a
verdict, the votes on `total` comparisons (the baseline) can be held against what is left when
only `human` of them are shown: votes alone, verdicts alone, or both together. Everything is a
function of the counts: a subset is one draw from the multivariate hypergeometric law over their
cells.

References
----------
.. [1] I. Chatzi, E. Straitouri, S. Thejaswi & M. Gomez-Rodriguez, "Prediction-powered ranking of
   large language models", NeurIPS 2024, arXiv:2402.17826, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.core.language import _
from coupled_arena.stats.counts import IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.intervals import check_alpha
from coupled_arena.stats.progress import Track
from coupled_arena.stats.ranking.estimates import (
    Covariance,
    Estimate,
    estimate,
    estimate_from_votes,
)
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Cutoff, Separation
from coupled_arena.stats.ranking.strata import Weighting
from coupled_arena.stats.simulation.rank_set_runs import (
    Ranking,
    RankSetQuality,
    RankSetRuns,
    quality_of,
    rank_bounds,
)
from coupled_arena.stats.simulation.subsets import Subsets


@dataclass(frozen=True)
class ResamplingPlan:
    """What to draw, and how to rank it.

    Attributes
    ----------
    total : int
        Comparisons of each subset.
    human : tuple of int
        How many of them keep their vote; each number is an experiment of its own.
    repeats : int
    alphas : tuple of float
        Error levels.
    balanced : bool
        The same number in every pair, of `total` and of `human`; otherwise as they fall.
    weighting, covariance, cutoff
        As in `estimate` and `Separation.rank_sets`. The paper's are count, published and chi2.
    seed : int
        A repeat depends on the seed, its own number and its number of votes alone: more repeats
        or other numbers of votes change none of the others.
    draws : int
        Draws behind the max-t cut-off. Few by default: its error, .007 of alpha = .05 on one
        repeat at most, averages out over repeats far below their own spread.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    total: int
    human: tuple[int, ...]
    repeats: int
    alphas: tuple[float, ...] = (0.05,)
    balanced: bool = True
    weighting: Weighting = Weighting.STRATIFIED
    covariance: Covariance = Covariance.CORRECTED
    cutoff: Cutoff = Cutoff.MAX_T
    seed: int = 0
    draws: int = LIVE_DRAWS

    def __post_init__(self) -> None:
        if not self.human or not self.alphas:
            raise ValueError(_("Give at least one number of votes and one alpha."))
        for n in self.human:
            if not 0 < n <= self.total:
                text = _("Of {total} comparisons, {n} cannot keep their vote.")
                raise ValueError(text.format(total=self.total, n=n))
        for alpha in self.alphas:
            check_alpha(alpha)
        if self.repeats < 1 or self.seed < 0:
            raise ValueError(_("There must be a repeat at least, and no negative seed."))


@dataclass(frozen=True, eq=False)
class Resampling:
    """The outcome of an experiment, with its settings.

    Attributes
    ----------
    plan : ResamplingPlan
    models : tuple of str
    repeats : int
        Those that were finished.
    runs : tuple of RankSetRuns
        Baseline, judge, then human and ppr for each number of votes.
    warnings : tuple of str
        What the estimates warned of on any repeat.
    """

    plan: ResamplingPlan
    models: tuple[str, ...]
    repeats: int
    runs: tuple[RankSetRuns, ...]
    warnings: tuple[str, ...]

    def run(self, ranking: Ranking, human: int | None = None) -> RankSetRuns:
        """Return the rank-sets of one ranking; `human` matters where there are several."""
        return next(
            run for run in self.runs if run.ranking is ranking and human in (None, run.human)
        )

    @property
    def qualities(self) -> tuple[RankSetQuality, ...]:
        """One for each run and alpha, in this order."""
        baseline = self.run(Ranking.BASELINE)
        return tuple(
            quality_of(run, baseline, index, alpha)
            for run in self.runs
            for index, alpha in enumerate(self.plan.alphas)
        )


def resample(counts: JudgedCounts, plan: ResamplingPlan, track: Track = iter) -> Resampling:
    """Rank random subsets of the comparisons that have a vote and a verdict.

    Parameters
    ----------
    counts : JudgedCounts
        Only `labelled` matters.
    plan : ResamplingPlan
    track : callable
        Gets the numbers of the repeats and passes them on, `tqdm` for instance. Where it ends
        early, so does the experiment, with what was finished.

    Raises
    ------
    ValueError
        There are too few comparisons, or the numbers do not divide by the pairs of a balanced
        draw.
    """
    subsets = Subsets.of(counts, (plan.total, *plan.human), balanced=plan.balanced)
    keys = [(Ranking.BASELINE, None), (Ranking.JUDGE, None)]
    keys += [(ranking, n) for n in plan.human for ranking in (Ranking.HUMAN, Ranking.PPR)]
    bounds: list[list[IntArray]] = []
    warnings: dict[str, None] = {}
    for repeat in track(range(plan.repeats)):
        estimates = _estimates(subsets, plan, repeat)
        warnings |= dict.fromkeys(w for one in estimates for w in one.warnings)
        bounds.append([_bounds(one, counts.models, plan) for one in estimates])
    k = len(counts.models)
    shape = (len(bounds), len(keys), len(plan.alphas), 2, k)
    low, high = np.array(bounds, dtype=np.int64).reshape(shape).transpose(3, 1, 2, 0, 4)
    return Resampling(
        plan=plan,
        models=counts.models,
        repeats=len(bounds),
        runs=tuple(RankSetRuns(*key, low[place], high[place]) for place, key in enumerate(keys)),
        warnings=tuple(warnings),
    )


def _estimates(subsets: Subsets, plan: ResamplingPlan, repeat: int) -> list[Estimate]:
    """Return the estimates of one repeat: baseline, judge, then two for each number of votes."""
    models, settings = subsets.models, (plan.weighting, plan.covariance)
    rng = np.random.default_rng([plan.seed, repeat])
    drawn = subsets.draw(rng, subsets.labelled, plan.total)
    estimates = [
        estimate_from_votes(PairCounts(models, drawn.sum(axis)), *settings) for axis in (3, 2)
    ]
    for n in plan.human:
        rng = np.random.default_rng([plan.seed, repeat, n])
        shown = subsets.draw(rng, drawn, n)
        judged = JudgedCounts(models, shown, (drawn - shown).sum(2))
        estimates += [
            estimate_from_votes(judged.votes, *settings),
            estimate(judged, *settings),
        ]
    return estimates


def _bounds(one: Estimate, models: tuple[str, ...], plan: ResamplingPlan) -> IntArray:
    """Return the rank-sets of an estimate, shape (alphas, 2, k)."""
    separation = Separation(one, plan.draws)
    return np.stack(
        [rank_bounds(separation, one.models, models, alpha, plan.cutoff) for alpha in plan.alphas]
    )
