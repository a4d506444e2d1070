"""The fewest votes that hold the first place, beside all subsets of small boards."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from coupled_arena.core.choices import TieScore, Weighting
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.fragility import fragility
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR

MODELS = ("ann", "bob", "cid")
TRIED = 2  # votes: of more there are too many subsets


def drawn(seed):
    rng, counts = np.random.default_rng(seed), np.zeros((3, 3, 4), int)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        counts[a, b] = rng.multinomial(rng.integers(7, 14), [0.4, 0.4, 0.15, 0.05])
    return PairCounts(MODELS, counts)


def first(counts, ties):
    found = estimate_from_votes(counts, ties=ties)
    return found.models[int(np.argmax(np.round(found.theta, 12)))]


def behind(counts, ties, model):
    """Return whether another model is ahead of one by more than rounding."""
    found = estimate_from_votes(counts, ties=ties)
    return found.theta.max() - found.theta[found.models.index(model)] > 1e-12


def fewest(counts, ties, most):
    """Return how few votes give the first place to another, by trying all; None if more than so."""
    cells = list(zip(*np.nonzero(counts.counts), strict=True))
    for size in range(1, most + 1):
        for gone in combinations_with_replacement(cells, size):
            rest = counts.counts.copy()
            for cell in gone:
                rest[cell] -= 1
            if (rest < 0).any():
                continue
            left = PairCounts(MODELS, rest)
            enough = left.comparisons[np.triu_indices(3, 1)].min() >= MINIMUM_PER_PAIR
            if enough and behind(left, ties, first(counts, ties)):
                return size
    return None


@pytest.mark.parametrize("ties", TieScore)
def test_it_is_what_all_subsets_say(ties):
    for seed in range(6):
        counts = drawn(seed)
        found, known = fragility(counts, counts, ties=ties), fewest(counts, ties, TRIED)
        assert known == (found.removed if found and found.removed <= TRIED else None)


@pytest.mark.parametrize("weighting", Weighting)
@pytest.mark.parametrize("ties", TieScore)
@pytest.mark.parametrize("n", [100, 10_000])
def test_what_is_removed_are_votes_and_does_change_the_first_place(weighting, ties, n):
    rng, k = np.random.default_rng(5), 6
    counts = np.zeros((k, k, 4), int)
    for a in range(k):
        for b in range(k):
            p = 0.8 / (1 + np.exp((a - b) * 0.2))
            counts[a, b] = rng.multinomial(n, [p, 0.8 - p, 0.15, 0.05]) if a != b else 0
    identical = counts * (np.arange(4) == 2) // 2
    models = tuple("abcdef")
    all_, asked = PairCounts(models, counts), PairCounts(models, counts - identical)
    found = fragility(all_, asked, weighting, ties)
    gone = counts - found.rest.counts
    assert (gone >= 0).all()
    assert (gone <= asked.counts).all()
    assert found.removed == gone.sum()
    assert found.comparisons == counts.sum()
    after = estimate_from_votes(found.rest, weighting, ties=ties)
    before = estimate_from_votes(all_, weighting, ties=ties)
    assert before.models[int(np.argmax(before.theta))] == found.first != found.rival
    assert after.models[int(np.argmax(after.theta))] == found.rival


@pytest.mark.parametrize(("names", "n"), [(MODELS[:2], (60, 40)), (MODELS[1::-1], (7, 5))])
def test_one_pair_by_hand(names, n):
    """60 of 100 against 40: without 21 of the wins it is 39 of 79, less than the other's 40."""
    won, lost = n
    winner, loser = names
    rows = [(winner, loser, "first", won), (loser, winner, "first", lost)]
    counts = PairCounts.from_rows(rows, MODELS[:2])
    found = fragility(counts, counts)
    assert (found.first, found.rival, found.removed) == (winner, loser, won - lost + 1)
    assert found.share == (won - lost + 1) / (won + lost)


@pytest.mark.parametrize("rows", [[], [("ann", "bob", "first", 3)]])
def test_nothing_to_remove(rows):
    counts = PairCounts.from_rows(rows, MODELS[:2])
    assert fragility(counts, counts) is None
