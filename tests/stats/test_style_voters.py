"""Scores with style held fixed where people voted often: plain loops, coverage, nothing to add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from coupled_arena.stats.style import PairRows, fit, people_of, sandwich
from tests.stats.style_votes import StyleCampaign, held


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
    [
        (StyleCampaign(5, 30, 1500), 0.7),
        (StyleCampaign(3, 5, 500), 0.6),
        (StyleCampaign(5, 30, 1500, prompts=60, prompt_effect=1.0), 0.9),
        (StyleCampaign(5, 30, 900, taste=0.0, for_length=0.0), 1.0),
    ],
    ids=["thirty people", "five people", "shared prompts", "nobody has a taste"],
)
def test_scores_and_ranks_hold_for_people_like_the_voters(truth, today):
    repeats = 100
    error = (0.05 * 0.95 / repeats) ** 0.5
    assert (held(truth, repeats, voters=True)[:3] > 0.95 - 3 * error).all()
    assert held(truth, repeats, voters=False)[0] <= today
