"""Excluding votes on the command line: what counts, what is told, bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError
from coupled_arena.store.annotators import add_annotators, annotators_path, voter_called
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHY = ("--reason", "one hundred a minute", "--by", "keeper")


@pytest.fixture
def db(tmp_path):
    """Ann and bob prefer alpha, eve beta an hour later, an annotator alpha after that."""
    db = tmp_path / "arena.duckdb"
    add_annotators(annotators_path(db), ["Zoë"])
    zoe = voter_called(annotators_path(db), "Zoë")
    with Store.open(db) as store, at_once(store) as batch:
        for n in range(8):
            battle = make_battle(id=f"b{n}")
            batch.add_battle(battle)
            for hour, voter in enumerate(("ann", "bob", "eve", zoe)):
                ranks = (2, 1) if voter == "eve" else (1, 2)
                batch.cast(
                    make_vote(battle, *ranks, voter=voter, cast_at=NOON + timedelta(hours=hour))
                )
    return db


@pytest.fixture
def board(call, db):
    def read(*options):
        code, out, err = call("leaderboard", "--db", db, "--json", *options)
        assert code == 0, err
        answer = json.loads(out)
        rate = {row["model"]: row["win_rate"] for row in answer["models"]}["beta"]
        return rate, answer["excluded"], answer["excluded_votes"], answer["warnings"]

    return read


@pytest.mark.slow
def test_both_views_and_back(call, db, board):
    before = board()
    assert before[:3] == (0.25, "leave-out", 0)
    code, out, err = call("exclude", "--voter", "eve", *WHY, "--db", db, "--json")
    assert code == 0, err
    ((one, votes),) = [(row["exclusion"], row["votes"]) for row in json.loads(out)["exclusions"]]
    assert votes == 8
    rate, view, excluded, warnings = board()
    assert (rate, view, excluded) == (0.0, "leave-out", 8)
    assert "8 of 32 votes (25.0%) are excluded and left out." in warnings
    rate, view, excluded, warnings = board("--excluded", "include")
    assert (rate, view, excluded) == (0.25, "include", 8)
    assert "8 of 32 votes (25.0%) are excluded, and counted here all the same." in warnings
    listed = call("exclusions", "--db", db)[1]
    assert one in listed
    assert "one hundred a minute" in listed
    assert call("include", one, "--reason", "a class", "--by", "keeper", "--db", db)[0] == 0
    assert board() == before


def test_a_name_and_a_time_do(call, db, board):
    assert call("exclude", "--voter", "Zoë", "--voter", "eve", *WHY, "--db", db)[0] == 0
    assert board()[2] == 16
    times = ("--since", "2026-03-01T12:30", "--until", "2026-03-01T15:30+02:00")
    code, out, _ = call("exclude", *times, *WHY, "--db", db)
    assert (code, out.startswith("8 votes are excluded: ")) == (0, True)
    assert board()[2] == 24


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("exclude", *WHY), "needs a voter or a time"),
        (("exclude", "--voter", "nobody", *WHY), "There are no votes by 'nobody' here."),
        (("exclude", "--since", "yesterday", *WHY), "'yesterday' is no time"),
        (("exclude", "--voter", "eve", "--reason", "", "--by", "x"), "Say why"),
        (("include", "nothing", *WHY), "'nothing' is not known"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(call, db, board, command, said):
    before = board()
    code, out, err = call(*command, "--db", db)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err
    assert board() == before


def test_all_of_several_voters_or_none(call, db, board):
    assert call("exclude", "--voter", "eve", "--voter", "nobody", *WHY, "--db", db)[0] == 1
    assert board()[2] == 0


def test_there_is_nothing_to_list(call, db):
    assert call("exclusions", "--db", db)[1] == "No votes are excluded.\n"


def test_python_has_both_views(call, db):
    assert call("exclude", "--voter", "eve", *WHY, "--db", db)[0] == 0
    for excluded, rate in (("leave-out", 0.0), ("include", 0.25)):
        store = ca.open(db, excluded=excluded)
        board = ca.leaderboard(store).to_frame().set_index("model")
        assert board.loc["beta", "win_rate"] == rate
        assert store.votes()["excluded"].sum() == 8
        assert store.exclusions()["reason"].tolist() == ["one hundred a minute"]
    with pytest.raises(ArenaError, match="leave-out or include, not 'both'"):
        ca.open(db, excluded="both")


def test_votes_on_answers_that_name_a_model(call, db):
    with Store.open(db) as store:
        told = make_battle(id="c0")
        told = replace(
            told, replies=(replace(told.replies[0], text="I am ChatGPT."), told.replies[1])
        )
        store.add_battle(told)
        store.cast(make_vote(told, 2, 1, voter="dan"))
    code, out, err = call("names", "--db", db)
    assert code == 0, err
    assert "ChatGPT" in out
    assert "c0" in out
    answers = {}
    for view in ("leave-out", "include"):
        code, out, err = call("leaderboard", "--db", db, "--json", "--named", view)
        assert code == 0, err
        answers[view] = json.loads(out)
        assert (answers[view]["named"], answers[view]["named_votes"]) == (view, 1)
    assert [answers[view]["human_comparisons"] for view in answers] == [32, 33]
    said = "1 of 33 votes (3.0%) is left out because an answer names a model."
    assert said in answers["leave-out"]["warnings"]
    assert said not in answers["include"]["warnings"]
    votes = ca.open(db).votes()
    assert votes.voter[votes.named].tolist() == ["dan"]
    counts = [
        ca.leaderboard(ca.open(db, named=view)).to_frame().human_votes.sum() for view in answers
    ]
    assert counts == [64, 66]
    with pytest.raises(ArenaError, match="named is leave-out or include, not 'x'"):
        ca.open(db, named="x")
