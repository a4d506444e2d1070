"""Capital against voters: exact means, another route, the level, and who is found."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from coupled_arena.stats.unusual_voters import TOLERANCE, Capitals, Votes, capitals

LAW = np.array([0.5, 0.3, 0.2])


def of_one_pair(voter, outcome):
    zeros = np.zeros(len(voter), dtype=np.int64)
    return Votes(np.array(voter), zeros, zeros + 1, np.array(outcome))


@pytest.mark.slow
@pytest.mark.parametrize("law", [LAW, np.array([0.9, 0.1, 0.0]), np.full(3, 1 / 3)])
def test_the_mean_capital_is_at_most_one_whatever_the_law(law):
    """All that seven votes can say, weighed by how likely it is."""
    voter = [1, 1, 0, 1, 1, 0, 1]
    mean = [0.0, 0.0]
    for said in product(range(3), repeat=len(voter)):
        likely = math.prod(law[list(said)])
        mean += likely * np.exp(capitals(of_one_pair(voter, said), 2, 0.0).now)
    assert (np.array(mean) <= 1 + 1e-12).all()
    assert mean[0] < 1  # some bet was made


@pytest.mark.slow
def test_a_tolerated_voter_has_no_more():
    """Each outcome of the voter's own 1.25 times as likely as with the others, or less."""
    own, voter = np.array([0.625, 0.25, 0.125]), [1, 1, 0, 1, 1, 0]
    mean = 0.0
    for said in product(range(3), repeat=len(voter)):
        laws = [own if who == 0 else LAW for who in voter]
        likely = math.prod(law[x] for law, x in zip(laws, said, strict=True))
        mean += likely * math.exp(capitals(of_one_pair(voter, said), 2, 0.25).now[0])
    assert mean <= 1 + 1e-12


def by_hand(votes, models, who, tolerance):
    """Return the capital against a voter after each of their votes, from the definition."""
    shares, bets = (0.3, 0.95), 1 + 2 * models
    capital = {
        (share, bet): (1 / 3 if bet == 0 else 1 / 3 / models) / 2
        for share, bet in product(shares, range(bets))
    }
    used, path = {}, []
    for n in np.flatnonzero(votes.voter == who):
        pair = votes.first[n], votes.second[n]
        others = [
            votes.outcome[i]
            for i in range(n)
            if votes.voter[i] != who and (votes.first[i], votes.second[i]) == pair
        ]
        begin = used.get(pair, 0) or min(len(others) // 2, 200)
        used[pair] = end = min(begin + 20, len(others))
        block = others[begin:end]
        counts = [others[:begin].count(x) + 0.5 for x in range(3)]
        b = [count / sum(counts) for count in counts]
        for share, bet in capital if block else ():
            against, model = divmod(bet - 1, models)
            if bet == 0:
                wanted = [b[1], b[0], b[2]]
            elif model in pair:
                place = pair.index(model)
                wanted = [float(x == (1 - place if against else place)) for x in range(3)]
            else:
                continue
            a = [share * w + (1 - share) * x for w, x in zip(wanted, b, strict=True)]
            c = [(x + len(block) * y) / (1 + len(block)) for x, y in zip(a, b, strict=True)]
            factor = a[votes.outcome[n]] / c[votes.outcome[n]] / (1 + tolerance)
            capital[share, bet] *= factor * math.prod(b[x] / c[x] for x in block)
        path.append(sum(capital.values()))
    return path


def random_votes(rng, n, voters, models):
    first = rng.integers(models - 1, size=n)
    second = np.array([rng.integers(one + 1, models) for one in first])
    return Votes(rng.integers(voters, size=n), first, second, rng.choice(3, size=n, p=LAW))


def test_another_route():
    rng = np.random.default_rng(5)
    votes = random_votes(rng, 400, 5, 3)
    found = capitals(votes, 3, 0.1)
    for who in range(5):
        path = by_hand(votes, 3, who, 0.1)
        assert found.now[who] == pytest.approx(math.log(path[-1]), abs=1e-9)
        assert found.peak[who] == pytest.approx(max(0.0, math.log(max(path))), abs=1e-9)


@pytest.mark.slow
def test_the_level_holds_at_all_looks_together():
    """A hundred boards of forty honest voters each: at 20% any of a board is named in 20 or fewer.

    With as many as 0.999 of that binomial law; without tolerance, which is where it is tightest.
    """
    rng, boards = np.random.default_rng(11), 100
    wrong = 0
    for _ in range(boards):
        wrong += capitals(random_votes(rng, 800, 40, 3), 3, 0.0).suspects(0.2).any()
    assert wrong <= binom.ppf(0.999, boards, 0.2)


def rigged_board(rng, honest, rigged, each, models):
    """Return votes of honest voters, then of as many who are always for the last model."""
    votes = random_votes(rng, honest * each, honest, models)
    n = rigged * each
    at = np.sort(rng.integers(honest * each // 4, honest * each, size=n))
    return Votes(
        np.insert(votes.voter, at, honest + rng.permutation(n) % rigged),
        np.insert(votes.first, at, rng.integers(models - 1, size=n)),
        np.insert(votes.second, at, np.full(n, models - 1)),
        np.insert(votes.outcome, at, np.ones(n, dtype=np.int64)),
    )


@pytest.mark.slow
def test_of_the_named_few_are_honest():
    """The share of honest ones among the named, on sixty boards: its mean is below the level.

    By three standard errors of such a mean at most above it; and twice as many of those who rig are
    named as if each were judged alone.
    """
    rng, alpha, boards = np.random.default_rng(8), 0.2, 60
    shares, named, alone = [], 0, 0
    for _ in range(boards):
        found = capitals(rigged_board(rng, 60, 20, 12, 3), 3, 0.0)
        suspects = found.suspects(alpha)
        shares.append(suspects[:60].sum() / max(suspects.sum(), 1))
        named += suspects[60:].sum()
        alone += (found.peak[60:] >= math.log(80 / alpha)).sum()
    assert np.mean(shares) <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / boards)
    assert named > 2 * alone > 0


def test_who_is_named_is_what_the_definition_names():
    rng, alpha = np.random.default_rng(2), 0.1
    for _ in range(50):
        now = rng.normal(3, 2, size=rng.integers(1, 30))
        peak = np.maximum(now, 0) + rng.exponential(1, size=len(now))
        most = [
            r
            for r in range(1, len(now) + 1)
            if sum(math.exp(e) >= len(now) / (0.9 * alpha * r) for e in now) >= r
        ]
        bound = len(now) / (0.9 * alpha * max(most)) if most else math.inf
        wanted = [
            math.exp(e) >= bound or math.exp(p) >= len(now) / (0.1 * alpha)
            for e, p in zip(now, peak, strict=True)
        ]
        found = Capitals(now, peak, np.zeros(len(now), dtype=np.int64)).suspects(alpha)
        assert found.tolist() == wanted


def test_who_always_votes_for_one_model_is_found_and_nobody_else():
    rng = np.random.default_rng(3)
    honest = random_votes(rng, 6000, 100, 4)
    rigged = 60
    first = rng.integers(3, size=rigged)
    at = np.sort(rng.integers(3000, 6000, size=rigged))
    votes = Votes(
        np.insert(honest.voter, at, 100 + np.arange(rigged) % 2),
        np.insert(honest.first, at, first),
        np.insert(honest.second, at, np.full(rigged, 3)),
        np.insert(honest.outcome, at, np.ones(rigged, dtype=np.int64)),
    )
    found = capitals(votes, 4, TOLERANCE)
    assert np.flatnonzero(found.suspects(0.05)).tolist() == [100, 101]
    assert found.bet[100:].tolist() == [4, 4]  # for the last model
