"""Judges with noisy win rates: the simulated truths of the ranking paper.

Each repeat draws k win rates, evenly between .2 and .8, and divides them by their sum. A judge of
noise u has its own win rates: before the division, each moves by up to u to either side. One
uniform draw decides a comparison for people and judges alike. The model shown first is preferred
where the draw is below twice its win rate; else the comparison is a tie. So people and judges
differ only as far as their win rates do. Every ordered pair is drawn as often as every other. The
paper [1]_ also draws each model against itself; such a win has no meaning, and is left out here.

References
----------
.. [1] The version of NeurIPS 2024 of the paper of `stats.simulation.resampling`, appendix E.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import (
    OUTCOMES,
    FloatArray,
    IntArray,
    JudgedCounts,
    PairCounts,
)
from coupled_arena.stats.intervals import check_alpha
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.stats.simulation.rank_set_runs import (
    Ranking,
    binomial_error,
    rank_biased_overlap,
    rank_bounds,
)
from coupled_arena.stats.simulation.subsets import SharedComparisons

_FIRST, _TIE = 0, 2  # of OUTCOMES
_LOWEST, _HIGHEST = 0.2, 0.8  # of the win rates, before they are divided
_LEAST, _MOST = 0.01, 0.99  # of a judge's


@dataclass(frozen=True)
class NoisyPlan:
    """What to draw, and how to rank it.

    Attributes
    ----------
    sizes : tuple of (int, int)
        Comparisons with a vote and a verdict of each judge, and with verdicts alone; each an
        experiment of its own, on the same truths.
    noise : tuple of float
        That of each judge.
    alpha : float
        Error level of the rank-sets.
    persistence : float
        Of the rank-biased overlap.
    weighting, covariance, cutoff, draws
        As in `ResamplingPlan`.
    seed : int
        A repeat depends on the seed, its own number and its sizes alone.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    models: int
    sizes: tuple[tuple[int, int], ...]
    noise: tuple[float, ...]
    repeats: int
    alpha: float = 0.05
    persistence: float = 0.6
    weighting: Weighting = Weighting.STRATIFIED
    covariance: Covariance = Covariance.CORRECTED
    cutoff: Cutoff = Cutoff.MAX_T
    seed: int = 0
    draws: int = LIVE_DRAWS

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.models < 2:
            raise ValueError("There must be two models at least.")
        if self.repeats < 1 or self.seed < 0:
            raise ValueError("There must be a repeat at least, and no negative seed.")
        if not self.sizes or not self.noise:
            raise ValueError("Give at least one number of votes and one noise.")
        if not all(0 <= u <= 1 for u in self.noise):
            raise ValueError("The noise of a judge lies between 0 and 1.")
        if any(n < self.models**2 or alone < 0 for n, alone in self.sizes):
            least = self.models**2
            raise ValueError(f"{self.models} models need {least} votes at least.")


@dataclass(frozen=True)
class NoisyQuality:
    """How one ranking fared.

    Attributes
    ----------
    ranking : Ranking
        human, judge or ppr.
    noise : float or None
        That of the judge.
    coverage : float
        Share of repeats where the rank-sets of all models contain the true ranks.
    size : float
        Positions in a rank-set, mean over models and repeats.
    overlap : float
        Rank-biased overlap of estimated and true win rates, mean over repeats.
    coverage_error, overlap_error : float
        Monte-Carlo standard errors; NaN of the overlap after a single repeat.
    """

    ranking: Ranking
    noise: float | None
    human: int
    judge_only: int
    coverage: float
    coverage_error: float
    size: float
    overlap: float
    overlap_error: float


@dataclass(frozen=True, eq=False)
class NoisyTruth:
    """Win rates of one repeat.

    Attributes
    ----------
    people : ndarray of float64, shape (k,)
        Best first; their sum is 1.
    judges : ndarray of float64, shape (judges, k)
    """

    people: FloatArray
    judges: FloatArray

    def draw(self, rng: np.random.Generator, n: int) -> SharedComparisons:
        """Draw n comparisons, those of a model with itself left out."""
        k, number = len(self.people), len(self.judges)
        marks = np.minimum(2 * np.vstack([self.people, self.judges]), 1)
        edges = np.sort(np.vstack([np.zeros(k), marks, np.ones(k)]), axis=0)
        shares = np.diff(edges, axis=0)
        wins = (edges[:-1] + edges[1:])[None] / 2 < marks[:, None]  # [who, part of the draw, model]
        pair = np.arange(k * k).reshape(k, k).T  # the first model changes fastest
        sizes = n // k**2 + (pair < n % k**2)
        drawn = rng.multinomial(sizes, shares.T[:, None])
        bits = 2 ** np.arange(number)
        codes = np.tensordot(bits, wins[1:], axes=1).T
        votes = np.where(wins[0], _FIRST, _TIE).T
        labelled = np.zeros((k, k, len(OUTCOMES), 2**number), dtype=np.int64)
        first, second = np.indices((k, k))
        for part in range(len(shares)):
            cells = first, second, votes[first, part], codes[first, part]
            np.add.at(labelled, cells, drawn[..., part])
        labelled[np.arange(k), np.arange(k)] = 0
        verdicts = [
            [_FIRST if code >> judge & 1 else _TIE for code in range(2**number)]
            for judge in range(number)
        ]
        names = tuple(f"model {i + 1}" for i in range(k))
        return SharedComparisons(
            names, tuple(map(str, range(number))), labelled, np.array(verdicts)
        )


def draw_truth(rng: np.random.Generator, models: int, noise: tuple[float, ...]) -> NoisyTruth:
    """Draw win rates of people and of a judge for each noise."""
    rates = np.sort(rng.uniform(_LOWEST, _HIGHEST, models))[::-1]
    moved = rates + rng.uniform(-1, 1, (len(noise), models)) * np.array(noise)[:, None]
    judges = np.clip(moved, _LEAST, _MOST)
    return NoisyTruth(rates / rates.sum(), judges / judges.sum(1, keepdims=True))


@dataclass(frozen=True)
class NoisyJudges:
    """The outcome of the experiment, with its settings.

    Attributes
    ----------
    repeats : int
        Those that were finished.
    qualities : tuple of NoisyQuality
        For each size: human, then judge and ppr of each noise.
    """

    plan: NoisyPlan
    repeats: int
    qualities: tuple[NoisyQuality, ...]


def try_noisy_judges(plan: NoisyPlan, track: Track = iter) -> NoisyJudges:
    """Rank votes and verdicts of noisy judges in each repeat, and compare them with the truth."""
    jobs: list[tuple[Ranking, float | None]] = [(Ranking.HUMAN, None)]
    jobs += [(ranking, u) for u in plan.noise for ranking in (Ranking.JUDGE, Ranking.PPR)]
    found: list[list[list[tuple[bool, float, float]]]] = []
    for repeat in track(range(plan.repeats)):
        truth = draw_truth(np.random.default_rng([plan.seed, repeat]), plan.models, plan.noise)
        found.append([_seen(plan, truth, repeat, *sizes) for sizes in plan.sizes])
    seen = np.array(found, dtype=np.float64).reshape(len(found), len(plan.sizes), len(jobs), 3)
    return NoisyJudges(
        plan=plan,
        repeats=len(found),
        qualities=tuple(
            _quality(seen[:, i, j], *job, *sizes)
            for i, sizes in enumerate(plan.sizes)
            for j, job in enumerate(jobs)
        ),
    )


def _seen(
    plan: NoisyPlan, truth: NoisyTruth, repeat: int, human: int, alone: int
) -> list[tuple[bool, float, float]]:
    """Return of each ranking whether it covers the truth, its size and its overlap."""
    rng = np.random.default_rng([plan.seed, repeat, human, alone])
    known, others = truth.draw(rng, human), truth.draw(rng, alone)
    settings = plan.weighting, plan.covariance
    estimates = [estimate_from_votes(known.votes, *settings)]
    for judge in range(len(plan.noise)):
        labelled, unlabelled = (some.by(judge, some.labelled) for some in (known, others))
        verdicts = PairCounts(known.models, (labelled + unlabelled).sum(2))
        judged = JudgedCounts(known.models, labelled, unlabelled.sum(2))
        estimates += [estimate_from_votes(verdicts, *settings), estimate(judged, *settings)]
    return [_held(plan, truth, known.models, one) for one in estimates]


def _held(
    plan: NoisyPlan, truth: NoisyTruth, models: tuple[str, ...], one: Estimate
) -> tuple[bool, float, float]:
    separation = Separation(one, plan.draws)
    low, high = rank_bounds(separation, one.models, models, plan.alpha, plan.cutoff)
    ranks: IntArray = np.arange(1, plan.models + 1, dtype=np.int64)
    overlap = rank_biased_overlap(one.theta, truth.people, plan.persistence)
    return bool(((low <= ranks) & (ranks <= high)).all()), float((high - low + 1).mean()), overlap


def _quality(
    seen: FloatArray, ranking: Ranking, noise: float | None, human: int, alone: int
) -> NoisyQuality:
    coverage, size, overlap = seen.mean(0).tolist()
    spread = float(seen[:, 2].std(ddof=1)) if len(seen) > 1 else float("nan")
    return NoisyQuality(
        ranking=ranking,
        noise=noise,
        human=human,
        judge_only=alone,
        coverage=coverage,
        coverage_error=binomial_error(coverage, len(seen)),
        size=size,
        overlap=overlap,
        overlap_error=spread / len(seen) ** 0.5,
    )
