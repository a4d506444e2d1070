"""Why a visitor voted so: from them alone, with their vote, and never to a judge."""

from __future__ import annotations

import pytest

from coupled_arena.battles.blind_view import Reasons
from coupled_arena.core.errors import VoteError
from coupled_arena.core.rationales import Criterion
from tests.battles.test_battle import QUESTION, played
from tests.battles.test_undo import LONG, annotation, arena, rounds, rows  # noqa: F401


def standing(store):
    return rows(store, "select criteria, comment from current_rationales order by given_at")


def test_reasons_given_in_time_to_undo_count_with_the_vote(rounds, store):  # noqa: F811
    made, round_id = rounds
    made.vote("eve", round_id, [2, 1])
    vote = made.view("eve", round_id).recorded.vote
    made.explain("eve", vote, ["clarity"], "easier to read")
    assert made.view("eve", round_id).reasons == Reasons((Criterion.CLARITY,), "easier to read")
    assert standing(store) == []
    made.confirm("eve", round_id)
    assert standing(store) == [(["clarity"], "easier to read")]
    assert made.view("eve", round_id).reasons.comment == "easier to read"
    made.explain("eve", vote, [], "")
    assert standing(store) == [([], "")]


def test_undo_forgets_them(rounds, store):  # noqa: F811
    made, round_id = rounds
    made.vote("eve", round_id, [2, 1])
    vote = made.view("eve", round_id).recorded.vote
    made.explain("eve", vote, ["style"], "")
    made.undo("eve", round_id)
    assert made.view("eve", round_id).reasons is None
    with pytest.raises(VoteError, match="You have no vote here"):
        made.explain("eve", vote, ["style"], "")
    made.vote("eve", round_id, [1, 2])
    assert made.view("eve", round_id).reasons is None
    made.confirm("eve", round_id)
    assert standing(store) == []


@pytest.mark.parametrize("counts", [False, True])
def test_only_its_voter_explains_a_vote(rounds, store, counts):  # noqa: F811
    made, round_id = rounds
    made.vote("eve", round_id, [2, 1])
    vote = made.view("eve", round_id).recorded.vote
    if counts:
        made.confirm("eve", round_id)
    for owner, named in (("mallory", vote), ("eve", "0" * 32), ("eve", "")):
        with pytest.raises(VoteError, match="You have no vote here"):
            made.explain(owner, named, ["style"], "mine")
    assert standing(store) == []
    assert made.view("eve", round_id).reasons is None


def test_a_round_that_is_over_is_still_explained(arena, store):  # noqa: F811
    first = played(arena)
    arena.vote("eve", first, [2, 1])
    vote = arena.view("eve", first).recorded.vote
    arena.ask("eve", QUESTION)
    arena.confirm("eve", first)
    arena._rounds._rounds["eve"].pop(first)
    arena.explain("eve", vote, ["safety"], "")
    assert standing(store) == [(["safety"], "")]
