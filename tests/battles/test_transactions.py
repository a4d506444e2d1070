"""What belongs together is stored together: wherever the process dies, all of it is there or none.

A kill is an error that comes between two commits, or inside a transaction.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coupled_arena.battles.limits import Limits, Origins
from coupled_arena.store import database
from coupled_arena.store.tables import guards, votes
from coupled_arena.ui.parts.round_panel import cast
from tests.battles.test_battle import QUESTION, finish, played

LONG = 60.0  # seconds; no test waits for them


class Killed(BaseException):
    """Nothing catches it, as nothing catches a signal."""


@pytest.fixture
def dies_after(monkeypatch):
    """Let the process die once it has committed so often."""

    def die(commits):
        whole, left = database._transact, [commits]

        def transact(cursor, work):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return whole(cursor, work)

        monkeypatch.setattr(database, "_transact", transact)

    yield die
    monkeypatch.undo()  # before fixtures of arenas are closed


def dies_in(monkeypatch, module, name):
    def die(*arguments, **options):
        raise Killed

    monkeypatch.setattr(module, name, die)


def press(arena, round_id):
    """Vote as the page does, from an address; whether the process lived."""
    request: Any = SimpleNamespace(
        client=SimpleNamespace(host="192.0.2.7"), cookies={}, session_hash="eve", state=None
    )
    event: Any = SimpleNamespace(_data={"ranks": [2, 1]})
    guards = Limits(), Origins()
    try:
        cast(arena, round_id, request, event, *guards)
    except Killed:
        return False
    return True


def stored(store):
    """Return the ids of human votes, counted or not, and those that have an origin."""
    with store.cursor() as cursor:
        cast = cursor.execute(
            "select vote from votes where source = 'human' union all select vote from pending_votes"
        ).fetchall()
        return cast, cursor.execute("select vote_id from origins").fetchall()


@pytest.fixture(autouse=True)
def named(monkeypatch):
    monkeypatch.setattr("coupled_arena.ui.parts.round_panel.visitor", lambda request: "eve")


@pytest.mark.parametrize("undo_seconds", [0.0, LONG])
@pytest.mark.parametrize("commits", [0, 1, 2])
def test_no_kill_between_commits_parts_a_vote_from_its_origin(
    make_arena, store, dies_after, undo_seconds, commits
):
    arena = make_arena(undo_seconds=undo_seconds)
    round_id = played(arena)
    dies_after(commits)
    lived = press(arena, round_id)
    cast, come_from = stored(store)
    assert len(cast) == min(commits, 1)
    assert come_from == cast
    assert lived == bool(commits)  # one commit is all that a vote takes


@pytest.mark.parametrize("undo_seconds", [0.0, LONG])
def test_where_an_origin_cannot_be_stored_no_vote_is(make_arena, store, monkeypatch, undo_seconds):
    arena = make_arena(undo_seconds=undo_seconds)
    round_id = played(arena)
    with monkeypatch.context() as patch:
        dies_in(patch, guards, "note_origins")
        assert not press(arena, round_id)
    assert stored(store) == ([], [])
    assert arena.view("eve", round_id).recorded is None
    assert press(arena, round_id)  # the round is as it was
    assert [len(rows) for rows in stored(store)] == [1, 1]


def test_an_origin_goes_with_the_vote_that_is_undone(make_arena, store):
    arena = make_arena(undo_seconds=LONG)
    round_id = played(arena)
    assert press(arena, round_id)
    arena.undo("eve", round_id)
    assert stored(store) == ([], [])


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_identical_answers_are_stored_as_the_tie_that_they_are(
    make_arena, models, store, dies_after, commits
):
    for model in models.values():
        model.table[:] = models["ann"].table
    arena = make_arena(coupled_share=1.0)
    round_id = arena.ask("eve", QUESTION)
    current = arena._rounds.of("eve", round_id)
    current.state.pending[1].done.wait()
    dies_after(commits)
    try:
        finish(arena, "eve", round_id)
    except Killed:
        assert not commits
    with store.cursor() as cursor:
        count = "select (select count(*) from battles), (select count(*) from votes)"
        assert cursor.execute(count).fetchone() == (min(commits, 1),) * 2


def test_a_tie_that_could_not_be_stored_is_stored_at_the_next_look(
    make_arena, models, store, monkeypatch
):
    for model in models.values():
        model.table[:] = models["ann"].table
    arena = make_arena(coupled_share=1.0)
    round_id = arena.ask("eve", QUESTION)
    arena._rounds.of("eve", round_id).state.pending[1].done.wait()
    with monkeypatch.context() as patch:
        dies_in(patch, votes, "cast")
        with pytest.raises(Killed):
            finish(arena, "eve", round_id)
    assert arena.view("eve", round_id).reveal is None
    assert finish(arena, "eve", round_id)[-1].reveal is not None
