"""Writes that wait for the same turn: one transaction, their order, and each its own outcome."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from coupled_arena.core.errors import VoteError
from coupled_arena.store import database, shared_writes
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.shared_writes import Piece, WriteQueue
from coupled_arena.store.tables import derived_rows, votes
from tests.patience import PATIENCE, until


class Held:
    """A queue in which the first piece of work goes on until it is let go."""

    def __init__(self, fails=None):
        self.groups = []
        self.go_on = threading.Event()
        self.fails = fails
        self.queue = WriteQueue(self._carry_out)
        self._pool = ThreadPoolExecutor(9)
        self.first = self.enter("first", shares=False)
        until(lambda: self.groups)

    def enter(self, name, *, shares=True):
        """Let a thread come with a piece of work, after all who are there."""
        before = len(self.queue._waiting)
        entered = self._pool.submit(self.queue.take, Piece(lambda: name, shares=shares))
        if hasattr(self, "first"):
            until(lambda: len(self.queue._waiting) == before + 1)
        return entered

    def _carry_out(self, pieces):
        self.groups.append([piece.work() for piece in pieces])
        assert self.go_on.wait(PATIENCE)
        if self.groups[-1][0] == self.fails:
            self.fails = None
            raise KeyboardInterrupt
        for piece in pieces:
            piece.outcome.set_result(piece.work())


def test_what_comes_meanwhile_is_done_together_and_in_order():
    held = Held()
    names = ["a", "b", "alone", "c", "d"]
    entered = [held.enter(name, shares=name != "alone") for name in names]
    held.go_on.set()
    assert [each.result(PATIENCE) for each in entered] == names
    assert held.groups == [["first"], ["a", "b"], ["alone"], ["c", "d"]]


def test_who_is_interrupted_leaves_the_others_work_to_the_next():
    held = Held(fails="a")
    first, *others = [held.enter(name) for name in "abc"]
    held.go_on.set()
    with pytest.raises(KeyboardInterrupt):
        first.result(PATIENCE)
    assert [each.result(PATIENCE) for each in others] == ["b", "c"]
    assert held.groups == [["first"], ["a", "b", "c"], ["b", "c"]]


@pytest.mark.parametrize("waiting", [1, 2, 5])
def test_turns_rest_only_while_several_wait(monkeypatch, waiting):
    rests = []
    ticks = itertools.count(0, 0.01)  # of its own: a busy machine may wake a thread after its rest
    clock = SimpleNamespace(monotonic=lambda: next(ticks), sleep=rests.append)
    monkeypatch.setattr(shared_writes, "time", clock)
    held = Held()
    entered = [held.enter(str(number)) for number in range(waiting)]
    held.go_on.set()
    for each in entered:
        each.result(PATIENCE)
    assert held.groups == [["first"], [str(number) for number in range(waiting)]]
    assert len(rests) == 1
    assert 0 <= rests[0] <= shared_writes._LONGEST_REST
    assert (rests[0] > 0) == (waiting > 1)


def at_once(store, calls):
    """Let calls wait for the store together; return what each returns or raises."""
    free = threading.Event()
    with ThreadPoolExecutor(len(calls) + 1) as pool:
        pool.submit(store.write, lambda cursor: free.wait(PATIENCE))
        until(lambda: store._queue._busy)
        waiting = [pool.submit(call) for call in calls]
        until(lambda: len(store._queue._waiting) == len(calls))
        free.set()
        return [each.exception(PATIENCE) or each.result() for each in waiting]


@pytest.fixture(params=["all rows together", "rows of each battle"])
def ways(request, monkeypatch):
    """Rows that follow are found in one statement, or battle by battle: there are many votes."""
    if request.param == "rows of each battle":
        monkeypatch.setattr(derived_rows, "_READ_AS_FAST", 0.1)


@pytest.fixture
def commits(monkeypatch):
    """All transactions that were tried."""
    tried = []
    transact = database._transact
    monkeypatch.setattr(
        database, "_transact", lambda cursor, work: tried.append(work) or transact(cursor, work)
    )
    return tried


@pytest.mark.usefixtures("ways")
def test_battles_and_votes_that_wait_share_a_commit(store, new_battle, new_vote, commits):
    battles = [new_battle() for _ in range(4)]
    assert at_once(store, [lambda b=b: store.add_battle(b) for b in battles]) == [True] * 4
    given = [new_vote(battle, 1, 2) for battle in battles]
    assert at_once(store, [lambda v=v: store.cast(v) for v in given]) == [None] * 4
    assert len(commits) == 4  # two of them held up the others
    with store.cursor() as cursor:
        assert [each.check for each in examine(cursor) if each.wrong] == []
        counted = "select count(*) from comparisons where human = 'first' and voter is not null"
        assert cursor.execute(counted).fetchone() == (4,)


@pytest.mark.usefixtures("ways")
def test_a_vote_that_is_refused_costs_no_other(store, new_battle, new_vote, commits):
    battles = [new_battle() for _ in range(3)]
    for battle in battles:
        store.add_battle(battle)
    voted = new_vote(battles[1], 1, 2)
    store.cast(voted)
    late = new_vote(battles[1], 2, 1, voter=voted.voter)
    given = [new_vote(battles[0], 1, 2), late, new_vote(battles[2], 1, 2)]
    before = len(commits)
    first, refused, last = at_once(store, [lambda v=v: store.cast(v) for v in given])
    assert (first, last) == (None, None)
    assert isinstance(refused, VoteError)
    assert len(commits) - before == 1 + 1 + 3  # together in vain, then one by one
    with store.cursor() as cursor:
        stored = {vote for (vote,) in cursor.execute("select vote from votes").fetchall()}
        assert stored == {voted.id, given[0].id, given[2].id}
        assert [each.check for each in examine(cursor) if each.wrong] == []


def count(store, table):
    with store.cursor() as cursor:
        assert [each.check for each in examine(cursor) if each.wrong] == []
        return cursor.execute(f"select count(*) from {table}").fetchone()[0]


def test_who_votes_twice_on_a_battle_at_once_is_refused_once(store, new_battle, new_vote):
    battle, other = new_battle(), new_battle()
    store.add_battles([(battle, ()), (other, ())])
    twice = new_vote(battle, 1, 2), new_vote(battle, 2, 1)
    calls = [lambda v=v: store.cast(v) for v in (*twice, new_vote(other, 1, 2))]
    answers = at_once(store, calls)
    assert [isinstance(each, VoteError) for each in answers] == [False, True, False]
    assert count(store, "votes") == 2


def test_a_vote_that_comes_twice_at_once_is_stored_once(store, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    vote = new_vote(battle, 1, 2)
    assert at_once(store, [lambda: store.cast(vote)] * 3) == [None] * 3
    assert count(store, "votes") == 1


def test_a_battle_that_comes_twice_at_once_is_stored_once(store, new_battle):
    battle, other = new_battle(), new_battle()
    calls = [lambda b=b: store.add_battle(b) for b in (battle, other, battle)]
    assert at_once(store, calls) == [True, True, False]
    assert count(store, "battles") == 2


def test_votes_that_are_held_and_promoted_at_once_count_once_each(store, new_battle, new_vote):
    battles = [new_battle() for _ in range(3)]
    store.add_battles([(battle, ()) for battle in battles])
    castings = [votes.Casting(new_vote(battle, 2, 1), origin="home") for battle in battles]
    again = votes.Casting(new_vote(battles[0], 1, 2))
    held = at_once(
        store, [lambda c=c: store.write_along(votes.hold, c) for c in [*castings, again]]
    )
    assert [isinstance(each, VoteError) for each in held] == [False, False, False, True]
    assert count(store, "pending_votes") == 3
    assert at_once(
        store,
        [lambda c=c: store.write_along(votes.withdraw, c.vote.id) for c in (castings[0], again)],
    ) == [True, False]
    promoted = at_once(store, [lambda c=c: store.write_along(votes.promote, c) for c in castings])
    assert [isinstance(each, VoteError) for each in promoted] == [True, False, False]
    assert [count(store, table) for table in ("pending_votes", "votes", "origins")] == [0, 2, 2]


def test_votes_that_share_a_commit_are_written_by_one_call(
    store, new_battle, new_vote, monkeypatch
):
    said = []
    cast = votes.cast
    monkeypatch.setattr(
        votes,
        "cast",
        lambda cursor, due, given: said.append(len(given)) or cast(cursor, due, given),
    )
    battles = [new_battle() for _ in range(5)]
    store.add_battles([(battle, ()) for battle in battles])
    at_once(store, [lambda b=b: store.cast(new_vote(b, 1, 2)) for b in battles])
    assert said == [5]
