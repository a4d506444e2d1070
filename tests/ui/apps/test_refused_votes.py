"""No vote is taken that is not one's own to give."""

from __future__ import annotations

import secrets

import pytest

from tests.small_models import NAMES
from tests.ui.raw_client import BAD_BALLOTS, Visitor, differ, speak
from tests.ui.server import Served


def votes_until_now(app: Served) -> tuple[set[str], str]:
    """Cast one more vote, wait until the snapshot has it, and so all before it: (all, that one)."""
    marker = Visitor(app.url)
    marker.ask(stop=differ)
    vote = marker.vote()["vote"]
    app.wait_for("select 1 from votes where vote = ?", vote)
    return {vote for (vote,) in app.stored("select vote from votes")}, vote


@pytest.fixture(scope="module")
def nothing_else_stored(app):
    """Return a check that since the last one no vote was stored but those given."""
    known, _ = votes_until_now(app)

    def check(*accepted: str) -> None:
        nonlocal known
        before, (known, last) = known, votes_until_now(app)
        assert known - before == {last, *accepted}

    return check


def test_voting_twice_is_refused(visitor, nothing_else_stored):
    visitor.ask(stop=differ)
    first = visitor.vote([1, 2])
    assert "You have voted" in visitor.vote([2, 1])["error"]
    assert "You have voted" in visitor.vote([1, 1], both_bad=True)["error"]
    nothing_else_stored(first["vote"])


@pytest.mark.parametrize("cookies", [True, False], ids=["own cookie", "no cookie"])
def test_voting_on_another_visitors_round_is_refused(app, visitor, cookies, nothing_else_stored):
    visitor.ask(stop=differ)
    thief = Visitor(app.url, cookies=cookies, session=visitor.session)
    assert "not open" in thief.vote()["error"]
    own = visitor.vote([2, 1])
    assert own["ranks"] == [2, 1]
    nothing_else_stored(own["vote"])


def test_a_visitor_without_cookies_has_rounds_too(app, nothing_else_stored):
    visitor = Visitor(app.url, cookies=False)
    visitor.ask(stop=differ)
    assert "not open" in Visitor(app.url, cookies=False).vote()["error"]
    own = visitor.vote()
    assert set(own["models"]) < set(NAMES)
    nothing_else_stored(own["vote"])


def test_voting_without_a_round_is_refused(visitor, nothing_else_stored):
    assert "not open" in visitor.vote()["error"]
    handler = visitor.dependency("vote", "round")
    for made_up in (secrets.token_hex(16), "0" * 32):
        output = visitor.call(handler, [made_up], {"ranks": [1, 2]})
        assert "not open" in output["error"]
    nothing_else_stored()


def test_ranks_that_order_nothing_are_refused(visitor, nothing_else_stored):
    visitor.ask(stop=differ)
    accepted = [ballot for ballot in BAD_BALLOTS if "data" in cast(visitor, ballot)]
    assert accepted == []
    nothing_else_stored(visitor.vote()["vote"])


def cast(visitor: Visitor, ballot: object) -> dict:
    return visitor.call(visitor.dependency("vote", "round"), [None], ballot)


def test_voting_when_nothing_is_shown_yet_is_refused(visitor, nothing_else_stored):
    slow_to_read = "whale " * 2500  # nearly all that the models can read
    assert not speak(visitor.begin(slow_to_read, 3))
    assert "nothing to compare" in visitor.vote([1, 2, 3])["error"]
    visitor.call(visitor.dependency("stop", "round"), [None])
    nothing_else_stored()
