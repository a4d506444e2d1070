"""How much one voter and one address may do: held against a plain list of what was done."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from coupled_arena.battles import limits as module
from coupled_arena.battles.limits import Limits
from coupled_arena.core.errors import LimitError, VoteError
from coupled_arena.core.guards import LimitSettings


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(clock):
    none = dict.fromkeys(LimitSettings.model_fields.keys() - {"proxies"}, 0)
    return lambda **most: Limits(LimitSettings(**none | most), clock)


def casts(limits, voter, address):
    with suppress(LimitError), limits.vote(voter, address):
        return True
    return False


def test_what_is_taken_is_what_a_list_of_all_that_was_done_allows(make, clock):
    rng, limits, done = random.Random(7), make(votes_by_voter=3, votes_by_address=7), []
    taken = []
    for _ in range(3000):
        clock.now += rng.expovariate(0.5)
        voter, address = rng.choice("abcdef"), rng.choice("xy")
        recent = [(who, where) for at, who, where in done if at > clock.now - 60]
        mine = sum(who == voter for who, _ in recent)
        here = sum(where == address for _, where in recent)
        allowed = mine < 3 and here < 7
        taken.append(allowed)
        assert casts(limits, voter, address) is allowed
        if allowed:
            done.append((clock.now, voter, address))
    assert 0.2 < sum(taken) / len(taken) < 0.8  # both happen


def test_whoever_waits_as_long_as_they_are_told_is_let_in(make, clock):
    limits = make(votes_by_voter=2)
    assert casts(limits, "a", "x")
    clock.now += 20.5
    assert casts(limits, "a", "x")
    with pytest.raises(
        LimitError, match=r"At most 2 votes a minute .* voter: press again in 40 s\.$"
    ):
        limits.vote("a", "x").__enter__()
    assert casts(limits, "b", "x")
    clock.now += 39
    assert not casts(limits, "a", "x")
    clock.now += 1
    assert casts(limits, "a", "x")
    assert not casts(limits, "a", "x")


def test_what_fails_does_not_count(make):
    limits = make(votes_by_voter=1, votes_by_address=1)
    for _ in range(3):
        with pytest.raises(VoteError), limits.vote("a", "x"):
            raise VoteError("not yours")
    assert casts(limits, "a", "x")
    assert not casts(limits, "a", "y")
    assert not casts(limits, "b", "x")


def test_votes_and_questions_are_counted_apart(make):
    limits = make(votes_by_voter=1, questions_by_voter=1, questions_by_address=1)
    assert casts(limits, "a", "x")
    with limits.question("a", "x"):
        pass
    with pytest.raises(LimitError, match="At most 1 questions a minute from one address"):
        limits.question("b", "x").__enter__()
    with pytest.raises(LimitError, match="At most 1 questions a minute of one visitor"):
        limits.question("a", "y").__enter__()


def test_a_thousand_cookies_of_one_address_are_few(make, clock):
    limits = make(**LimitSettings().model_dump(exclude={"proxies"}))
    heard = 0
    for n in range(1000):
        clock.now += 60 / 43  # as fast as a script once was
        heard += casts(limits, f"cookie {n}", "x")
    assert heard == 300
    assert clock.now - 1000 < 3600
    with pytest.raises(LimitError, match=r"At most 300 voters an hour .* press again in \d+ s\.$"):
        limits.vote("another", "x").__enter__()
    assert casts(limits, "cookie 99", "x")  # who was heard before goes on
    assert casts(limits, "another", "y")
    clock.now += 3600
    assert casts(limits, "another", "x")


def test_no_limits(make):
    limits = make()
    assert all(casts(limits, "a", "x") for _ in range(1000))
    assert all(casts(Limits(), "a", "x") for _ in range(1000))


def test_the_memory_is_bounded(make, clock, monkeypatch):
    monkeypatch.setattr(module, "MOST_KEYS", 50)
    limits = make(votes_by_voter=2, votes_by_address=2, voters_by_address=2)
    for n in range(500):
        clock.now += 0.001
        assert casts(limits, f"voter {n}", f"address {n}")
    votes = limits._votes
    windows = votes.voter, votes.address, votes.voters._voters
    assert [len(window) for window in windows] == [50, 50, 50]
    clock.now += 61
    assert casts(limits, "a", "x")
    assert [len(window) for window in windows] == [1, 1, 50]
    clock.now += 3600
    assert casts(limits, "a", "x")
    assert [len(window) for window in windows] == [1, 1, 1]


def test_whoever_makes_up_voters_does_not_fill_the_memory(make):
    limits = make(votes_by_voter=20, votes_by_address=5, voters_by_address=5)
    assert sum(casts(limits, f"cookie {n}", "x") for n in range(1000)) == 5
    assert len(limits._votes.voter) == 5
