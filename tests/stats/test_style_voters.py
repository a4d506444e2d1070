"""Scores with style held fixed where people voted often: plain loops, coverage, nothing to add."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import expit

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.simulation.truths import say
from coupled_arena.stats.style import PairRows, PairScores, fit, people_of, sandwich
from tests.families import first_of


@dataclass(frozen=True)
class StyleCampaign:
    """Equal models of replies whose length moves votes; people vote often.

    Attributes
    ----------
    k, voters, votes : int
    taste, for_length : float
        Standard deviations, in log-odds, of what a voter adds to strengths, and to the length's.
    length : float
        Log-odds for one unit of the covariate, by somebody without a taste.
    prompts : int or None
        How many there are; None: a prompt for each vote.
    prompt_effect : float
        Standard deviation of what a prompt adds to strengths.
    uneven : bool
        Whether voters are busy by Zipf's law.
    """

    k: int
    voters: int
    votes: int
    taste: float = 0.7
    for_length: float = 0.3
    length: float = 0.5
    prompts: int | None = None
    prompt_effect: float = 0.0
    uneven: bool = False
    ties: float = 0.2

    def draw(self, rng: np.random.Generator, *, voters: bool = True) -> PairRows:
        """Draw the votes; without `voters` nothing is known of them."""
        n, k = self.votes, self.k
        voter = rng.permutation(np.arange(n) % self.voters)
        if self.uneven:
            busy = 1 / np.arange(1, self.voters + 1)
            voter = rng.choice(self.voters, n, p=busy / busy.sum())
        prompt = np.arange(n) if self.prompts is None else rng.integers(0, self.prompts, n)
        first = rng.integers(0, k, n)
        second = (first + rng.integers(1, k, n)) % k
        x = rng.normal(size=n)
        own = rng.normal(0, self.taste, (self.voters, k))
        of_prompt = rng.normal(0, self.prompt_effect, (int(prompt.max()) + 1, k))
        gap = own[voter, first] - own[voter, second]
        gap = gap + of_prompt[prompt, first] - of_prompt[prompt, second]
        gap = gap + (self.length + rng.normal(0, self.for_length, self.voters))[voter] * x
        outcome = np.array([1.0, 0.0, 0.5])[say(rng, gap, self.ties)]
        return PairRows(k, first, second, outcome, x[:, None], prompt, voter if voters else None)

    @property
    def coefficient(self) -> float:
        """What the fit finds of the length with no end of people: tastes pull it to zero."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        weights = weights / weights.sum()
        both = 2 * (self.taste**2 + self.prompt_effect**2)
        x, z = nodes[:, None], nodes[None, :]
        won = expit(self.length * x + np.sqrt(both + self.for_length**2 * x**2) * z) @ weights
        score = self.ties / 2 + (1 - self.ties) * won
        low, high = 0.0, self.length
        for _ in range(60):  # where the mean of x times the residual is zero
            at = (low + high) / 2
            short = (weights * nodes * (score - expit(at * nodes))).sum()
            low, high = (at, high) if short > 0 else (low, at)
        return low


def held(
    truth: StyleCampaign, repeats: int, *, voters: bool, alpha: float = 0.05, seed: int = 0
) -> FloatArray:
    """Return how often rank-sets hold, and intervals of scores and of the length; and a width."""
    found, wanted = np.zeros(4), truth.coefficient
    for repeat in range(repeats):
        rows = truth.draw(np.random.default_rng([seed, repeat]), voters=voters)
        scores = PairScores.of(fit(rows))
        low, high = scores.score.interval(alpha)
        ends = scores.coefficient.interval(alpha)
        ranks = scores.ranks(alpha)
        held = (
            bool((ranks.low == 1).all() and (ranks.high == truth.k).all()),
            np.mean((low <= 1000) & (high >= 1000)),
            ends[0][0] <= wanted <= ends[1][0],
            np.mean(high - low),
        )
        found += np.array(held, float)
    return found / repeats


def two_way(rows, estimate):
    """Return the covariance by clusters both ways, from plain loops over rows.

    Voters are equally busy, so each has one of G parts of all that is known.
    """
    k, n = rows.k, len(rows.outcome)
    z = np.zeros((n, k + rows.p))
    z[np.arange(n), rows.first] += 1
    z[np.arange(n), rows.second] -= 1
    z[:, k:] = rows.covariates
    expected = expit(z @ estimate)
    weight = expected * (1 - expected)
    centre = np.zeros((k + rows.p, k + rows.p))
    centre[:k, :k] = 1 / k
    information = (z * weight[:, None]).T @ z + centre
    bread = np.linalg.inv(information)
    leverage = weight * np.einsum("ni,ij,nj->n", z, bread, z)
    residual = (rows.outcome - expected) / np.sqrt(1 - leverage)
    both = rows.voters * 10_000 + rows.clusters

    def meat(labels):
        found, groups = np.zeros_like(bread), set(labels.tolist())
        for one in groups:
            at = labels == one
            total = (z[at] * residual[at, None]).sum(axis=0)
            found += np.outer(total, total)
        return bread @ found @ bread, len(groups)

    parts = [meat(labels) for labels in (rows.clusters, rows.voters, both)]
    return [(found, groups / (groups - 1)) for found, groups in parts], bread, z, weight


def crossed(seed=0, people=6, prompts=9):
    """Every person votes once on every prompt, on some pair."""
    rng = np.random.default_rng(seed)
    voter, prompt = (x.ravel() for x in np.indices((people, prompts)))
    n = len(voter)
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    taste = rng.normal(0, 1, (people, 3))
    gap = taste[voter, first] - taste[voter, second] + rng.normal(size=prompts)[prompt]
    outcome = np.where(rng.random(n) < 0.2, 0.5, rng.random(n) < expit(gap))
    return PairRows(3, first, second, outcome, rng.normal(size=(n, 1)), prompt, voter)


def test_the_covariance_is_that_of_loops_over_clusters_both_ways():
    rows = crossed()
    found = fit(rows)
    (prompts, voters, both), bread, z, weight = two_way(rows, found.estimate)
    combinations = np.eye(4)
    known = sandwich([(found, combinations)])
    shares = np.array(
        [
            ((z[rows.voters == v] @ bread) ** 2 * weight[rows.voters == v, None]).sum(axis=0)
            for v in range(6)
        ]
    )
    made_good = 1 / np.sqrt(1 - (shares**2).sum(axis=0) / shares.sum(axis=0) ** 2)
    expected = prompts[0] * prompts[1] - both[0] * both[1]
    expected = expected + np.outer(made_good, made_good) * voters[0]
    values, vectors = np.linalg.eigh(expected)
    expected = (vectors * np.maximum(values, 0)) @ vectors.T
    assert known.covariance == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert known.people == 6
    assert made_good == pytest.approx(np.sqrt(6 / 5), rel=0.05)  # nearly as if equally busy


def test_voters_of_one_vote_each_and_one_voter_change_nothing():
    rows = crossed()
    n = len(rows.voters)
    today = sandwich([(fit(replace(rows, voters=None)), np.eye(4))])
    for voters in (np.arange(n), np.full(n, -1), np.zeros(n, dtype=np.int64)):
        found = sandwich([(fit(replace(rows, voters=voters)), np.eye(4))])
        assert np.array_equal(found.covariance, today.covariance)
        assert np.array_equal(found.degrees, today.degrees)
        assert found.people is None


def test_votes_of_nobody_known_are_one_person_s_each():
    voters = np.array([-1, -1, 3, 3, 3, 7])
    assert people_of(voters) == 4
    assert people_of(voters[:2]) is None


@pytest.mark.parametrize(
    ("truth", "today"),
    first_of(
        (StyleCampaign(5, 30, 1500), 0.7),
        (StyleCampaign(3, 5, 500), 0.6),
        (StyleCampaign(5, 30, 1500, prompts=60, prompt_effect=1.0), 0.9),
        (StyleCampaign(5, 30, 900, taste=0.0, for_length=0.0), 1.0),
    ),
    ids=["thirty people", "five people", "shared prompts", "nobody has a taste"],
)
def test_scores_and_ranks_hold_for_people_like_the_voters(truth, today):
    repeats = 100
    error = (0.05 * 0.95 / repeats) ** 0.5
    assert (held(truth, repeats, voters=True)[:3] > 0.95 - 3 * error).all()
    assert held(truth, repeats, voters=False)[0] <= today
