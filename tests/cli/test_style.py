"""``--control`` on the command line and in Python, and its refusals."""

from __future__ import annotations

import json

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError
from coupled_arena.store.database import Store
from tests.analysis.styled import TERSE, fill_styled


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("style") / "arena.duckdb"
    with Store.open(path) as store:
        fill_styled(store, TERSE, 300, judged="gpt")
    return path


@pytest.mark.slow
def test_the_board_says_what_length_does(call, db):
    code, out, _ = call("leaderboard", "--db", db, "--control", "length")
    assert code == 0
    assert "control length:" in out
    assert "a reply twice as long wins" in out
    code, out, _ = call("leaderboard", "--db", db, "--control", "style", "--json")
    answer = json.loads(out)
    assert answer["control"] == "style"
    assert [row["trait"] for row in answer["style"]["effects"]] == ["length"]
    assert answer["style"]["models"][0]["model"] == "amber"
    assert answer["models"][0]["model"] == "dusk"
    code, out, _ = call("leaderboard", "--db", db, "--json")
    plain = json.loads(out)
    assert (plain["control"], plain["style"]) == ("none", None)
    assert plain["models"] == answer["models"]


def test_the_audit_says_what_sways_judge_and_people(call, db):
    code, out, _ = call("audit", "--db", db, "--judge", "gpt", "--control", "length")
    assert code == 0
    assert "twice the length gets" in out
    code, out, _ = call("audit", "--db", db, "--judge", "gpt", "--json")
    assert json.loads(out)["control"] == "none"
    for wrong in (["--majority"], ["--truth", "benchmark"]):
        code, _, err = call("audit", "--db", db, "--judge", "gpt", "--control", "style", *wrong)
        assert code == 1
        assert "control is about single votes" in err


def test_python_has_the_same(db):
    store = ca.open(db)
    board = ca.leaderboard(store, control="length")
    assert board.to_frame("style").model[0] == "amber"
    assert board.to_frame("style_effects").trait.tolist() == ["length"]
    assert board.settings["control"] == "length"
    assert "Length" in ca.plot(board, "style_effects").to_json()
    found = ca.audit(store, judge="gpt", control="length")
    assert found.to_frame("style_traits").difference[0] > 0
    assert len(found.to_frame("style_models")) == 4
    with pytest.raises(ArenaError, match="control"):
        ca.leaderboard(store, control="colour")
