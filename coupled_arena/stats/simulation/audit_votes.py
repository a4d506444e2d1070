"""Audits of a judge by people who vote often, by tastes of their own: how often intervals hold.

All models are equal. A judge repeats what a voter without a taste would say, or judges by itself.
So it has no bias, and its correlation with people follows from two integrals.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.sparse import csr_array
from scipy.special import expit

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.powered_means import PoweredMeans, difference
from coupled_arena.stats.judges.samples import Compared, ModelCounts, OwnInfluence
from coupled_arena.stats.judges.voter_tastes import (
    Ballots,
    Tasted,
    cells_of_models,
    for_people,
    shares_of,
    side_by_side,
)
from coupled_arena.stats.ranking.voter_tastes import Shares
from coupled_arena.stats.simulation.rankings import Rankings, table_of_clusters
from coupled_arena.stats.simulation.truths import Campaign

NUMBERS = ("win rate", "with the judge", "bias", "worth", "difference", "difference with the judge")
_NODES = 100  # of each quadrature: the correlation is right to 1e-4


@dataclass(frozen=True, eq=False)
class AuditedVotes:
    """Votes and verdicts as an audit counts them, ties as losses.

    Attributes
    ----------
    means : PoweredMeans
    table : Agreement
    bias_and_rho : ndarray of float64, shape (2k, 2k)
        Covariance of the judge's bias, and of artanh ρ.
    tasted : Tasted or None
        Of these, where they are for people like the voters.
    """

    means: PoweredMeans
    table: Agreement
    bias_and_rho: FloatArray
    tasted: Tasted | None

    @classmethod
    def of(cls, drawn: Rankings, *, voters: bool, ties: Ties = Ties.LOSS) -> AuditedVotes:
        """Audit what was drawn, for people like the voters or for exactly these."""
        counts = drawn.counts()
        table = Agreement.of(ModelCounts.of(counts), ties)
        means = PoweredMeans.of(counts, ties)
        nothing = np.zeros((len(table.n), 3))
        own = [
            OwnInfluence(each, nothing)
            for each in (table.bias_influence(ties), table.rho_influence(ties))
        ]
        powered = means.human_influence, means.judge_influence
        adds = [side_by_side([each.of_pairs for each in two]) for two in (powered, own)]
        kind = _kinds(drawn, counts)
        on_prompt = _by_kind(drawn.prompt, kind, adds[0].shape[0])
        voted, prompts = drawn.shown, len(np.unique(drawn.prompt[drawn.shown]))
        plain = np.diag(np.concatenate([np.diag(Compared(counts).gram(x, x)) for x in own]))
        shared = len(np.unique(drawn.prompt)) < len(drawn.prompt)
        these, known = plain, means
        if shared:
            grams = [_squares(on_prompt, each) for each in adds]
            known = means.clustered(grams[0], prompts)
            these = grams[1] * known.inflation
        if not voters or drawn.voter is None:
            return cls(known, table, these, None)
        k, codes = len(counts.models), counts.labelled.shape[-1]
        labelled = k * k * len(OUTCOMES) * codes
        cells = cells_of_models(k, codes, ties)
        both = drawn.voter * (int(drawn.prompt.max()) + 1) + drawn.prompt
        of_both = _by_kind(both[voted], kind[voted], labelled)
        several = np.asarray(of_both.sum(axis=1)).ravel() > 1
        found = _by_kind(drawn.voter[voted], kind[voted], labelled)
        total = np.asarray(found.sum(axis=0), dtype=np.float64).ravel()
        ballots = Ballots(found, csr_array(of_both[several]), cells, total)
        spread: Shares | None = None
        if shared:
            on_voted = _by_kind(drawn.prompt[voted], kind[voted], labelled)
            spread = shares_of(on_voted, cells, ballots.size)
        of_votes = [csr_array(each[:labelled]) for each in adds]
        cell = np.tile(np.arange(k), 2)
        tasted = for_people(ballots, of_votes[1], cell, plain, these, spread)
        made = known.of_people(ballots, of_votes[0], spread)
        return cls(made, table, these if tasted is None else tasted.covariance, tasted)

    def intervals(self, alpha: float = 0.05) -> dict[str, FloatArray]:
        """Return low and high of each of `NUMBERS`, shape (2, models or pairs)."""
        k, means = len(self.means.models), self.means
        rows = np.eye(2 * k)
        degrees = means.degrees_of(rows[:k])
        halves = degrees, degrees
        if self.tasted is not None:
            every = np.array([self.tasted.degrees(each, means.degrees) for each in rows])
            halves = every[:k], every[k:]
        variances = np.split(np.diag(self.bias_and_rho), 2)
        bias = self.table.bias_interval(critical_value(alpha, halves[0]), variances[0])
        worth = self.table.tau_max_interval(alpha, variances[1], means.clusters, halves[1])
        apart = [difference(means, *pair, alpha) for pair in combinations(range(k), 2)]
        found = (
            *(means.human_interval(alpha), means.powered_interval(alpha), bias, worth),
            ([x.human_low for x in apart], [x.human_high for x in apart]),
            ([x.powered_low for x in apart], [x.powered_high for x in apart]),
        )
        return {name: np.array(ends) for name, ends in zip(NUMBERS, found, strict=True)}


def truths(campaign: Campaign) -> dict[str, float]:
    """Return the true value of each of `NUMBERS` for equal models, ties as losses."""
    nodes, weights = hermegauss(_NODES)
    weights = weights / weights.sum()
    gap = 2**0.5 * campaign.prompt_effect * nodes[:, None]
    voter, judge = expit(gap + 2**0.5 * campaign.taste * nodes), expit(gap) + 0 * nodes
    share, decided = campaign.judge_quality, 1 - campaign.ties

    def mean(values: FloatArray) -> float:
        return float(weights @ values @ weights)

    both = share * decided * mean(np.minimum(voter, judge))
    both += (1 - share) * decided**2 * mean(voter * judge)
    won = decided / 2
    squared = ((both - won**2) / (won * (1 - won))) ** 2
    values = (won, won, 0.0, 1 / (1 - squared), 0.0, 0.0)
    return dict(zip(NUMBERS, values, strict=True))


def held(
    campaign: Campaign, repeats: int, *, voters: bool, alpha: float = 0.05, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return how often the interval of each of `NUMBERS` holds, and its mean width."""
    wanted = truths(campaign)
    inside, width = np.zeros(len(NUMBERS)), np.zeros(len(NUMBERS))
    for repeat in range(repeats):
        drawn = campaign.draw(np.random.default_rng([seed, repeat]))
        found = AuditedVotes.of(drawn, voters=voters).intervals(alpha)
        for place, (name, (low, high)) in enumerate(found.items()):
            there = np.isfinite(low)  # without bounds nothing is promised, and all is possible
            right = ~there | ((low <= wanted[name]) & (wanted[name] <= high))
            inside[place] += right.mean()
            width[place] += np.where(there, high - low, np.nan).mean()
    return inside / repeats, width / repeats


def _kinds(drawn: Rankings, counts: JudgedCounts) -> IntArray:
    """Return the kind of each comparison, as `side_by_side` has them."""
    codes, k = counts.labelled.shape[-1], len(counts.models)
    pair = drawn.first * k + drawn.second
    voted = (pair * len(OUTCOMES) + drawn.vote) * codes + drawn.verdict
    alone = k * k * len(OUTCOMES) * codes + pair * codes + drawn.verdict
    return np.asarray(np.where(drawn.shown, voted, alone), dtype=np.int64)


def _by_kind(cluster: IntArray, kind: IntArray, kinds: int) -> csr_array:
    n = len(kind)
    of = csr_array((np.ones(n), (np.arange(n), kind)), (n, kinds))
    return csr_array(table_of_clusters(cluster) @ of)


def _squares(found: csr_array, adds: csr_array) -> FloatArray:
    sums = csr_array(found @ adds)
    return np.asarray((sums.T @ sums).todense(), dtype=np.float64)
