"""The experiments of the ranking paper [1]_: rank-sets on random subsets of judged votes.

The true ranking behind real votes is unknown. But where every comparison has a vote and a verdict,
the votes on `total` comparisons are a baseline. It is compared with rankings that see only `human`
of the votes: by votes alone, verdicts alone, or both together. A subset is one draw from the
multivariate hypergeometric law over the cells of the counts.

References
----------
.. [1] I. Chatzi, E. Straitouri, S. Thejaswi & M. Gomez-Rodriguez, "Prediction-powered ranking of
   large language models", NeurIPS 2024, arXiv:2402.17826, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.core.language import _
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.intervals import check_alpha
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.stats.simulation.rank_set_runs import (
    Ranking,
    RankSetQuality,
    RankSetRuns,
    quality_of,
    rank_bounds,
)
from coupled_arena.stats.simulation.subsets import SharedComparisons, Subsets


@dataclass(frozen=True)
class ResamplingPlan:
    """What to draw, and how to rank it.

    Attributes
    ----------
    total : int
        Comparisons of each subset.
    human : tuple of int
        How many of them keep their vote; each number is an experiment of its own.
    alphas : tuple of float
        Error levels.
    balanced : bool
        The same number in every pair, of `total` and of `human`; otherwise as they fall.
    weighting, covariance, cutoff
        As in `estimate` and `Separation.rank_sets`. The paper's are count, published and chi2.
    seed : int
        A repeat depends on the seed, its own number and its number of votes alone. More repeats or
        other numbers of votes change none of the others.
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
                text = _("{n} of {total} comparisons cannot keep their vote.")
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
    track : callable
        Gets the numbers of the repeats and passes them on, `tqdm` for instance. Where it ends
        early, so does the experiment, with what was finished.

    Raises
    ------
    ValueError
        There are too few comparisons, or the numbers do not divide by the pairs of a balanced
        draw.
    """
    (found,) = resample_judges(SharedComparisons.of_one(counts), plan, track).values()
    return found


def resample_judges(
    shared: SharedComparisons, plan: ResamplingPlan, track: Track = iter
) -> dict[str, Resampling]:
    """Do the same for several judges at once, on the same subsets; by the judge's name.

    The rankings by votes alone are the same in all of them.

    Raises
    ------
    ValueError
        As `resample`.
    """
    subsets = Subsets.of(shared, (plan.total, *plan.human), balanced=plan.balanced)
    judges = range(len(shared.judges))
    jobs = [_Job(Ranking.BASELINE), *(_Job(Ranking.JUDGE, judge=j) for j in judges)]
    for n in plan.human:
        jobs += [_Job(Ranking.HUMAN, n), *(_Job(Ranking.PPR, n, j) for j in judges)]
    bounds: list[list[IntArray]] = []
    warnings: list[dict[str, None]] = [{} for _ in jobs]
    for repeat in track(range(plan.repeats)):
        estimates = _estimates(shared, subsets, plan, repeat)
        for seen, one in zip(warnings, estimates, strict=True):
            seen |= dict.fromkeys(one.warnings)
        bounds.append([_bounds(one, shared.models, plan) for one in estimates])
    shape = (len(bounds), len(jobs), len(plan.alphas), 2, len(shared.models))
    low, high = np.array(bounds, dtype=np.int64).reshape(shape).transpose(3, 1, 2, 0, 4)

    def of(judge: int) -> Resampling:
        places = [place for place, job in enumerate(jobs) if job.judge in (None, judge)]
        return Resampling(
            plan=plan,
            models=shared.models,
            repeats=len(bounds),
            runs=tuple(
                RankSetRuns(jobs[i].ranking, jobs[i].human, low[i], high[i]) for i in places
            ),
            warnings=tuple({text: None for i in places for text in warnings[i]}),
        )

    return {name: of(judge) for judge, name in enumerate(shared.judges)}


class _Job(NamedTuple):
    """One of the rankings of a repeat; with no judge where it is the same for all of them."""

    ranking: Ranking
    human: int | None = None
    judge: int | None = None


def _estimates(
    shared: SharedComparisons, subsets: Subsets, plan: ResamplingPlan, repeat: int
) -> list[Estimate]:
    """Return the estimates of one repeat: baseline, judges, then for each number of votes more."""
    models, settings = subsets.models, (plan.weighting, plan.covariance)
    judges = range(len(shared.judges))
    rng = np.random.default_rng([plan.seed, repeat])
    drawn = subsets.draw(rng, subsets.labelled, plan.total)
    whole = [shared.by(judge, drawn) for judge in judges]
    counted = [drawn.sum(3), *(cells.sum(2) for cells in whole)]
    estimates = [estimate_from_votes(PairCounts(models, one), *settings) for one in counted]
    for n in plan.human:
        rng = np.random.default_rng([plan.seed, repeat, n])
        shown = subsets.draw(rng, drawn, n)
        estimates.append(estimate_from_votes(PairCounts(models, shown.sum(3)), *settings))
        for judge in judges:
            known = shared.by(judge, shown)
            judged = JudgedCounts(models, known, (whole[judge] - known).sum(2))
            estimates.append(estimate(judged, *settings))
    return estimates


def _bounds(one: Estimate, models: tuple[str, ...], plan: ResamplingPlan) -> IntArray:
    """Return the rank-sets of an estimate, shape (alphas, 2, k)."""
    separation = Separation(one, plan.draws)
    return np.stack(
        [rank_bounds(separation, one.models, models, alpha, plan.cutoff) for alpha in plan.alphas]
    )
