"""Votes that rank equal answers apart are counted apart, and in no statistics."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core.records import Finish, Reply
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection, count
from coupled_arena.store.transfer.importing import import_files
from tests.counted import counted


def said(*conversations):
    """Return replies: what each model said, turn by turn."""
    return tuple(
        Reply(turn, place, text, (1,), Finish.STOP)
        for place, texts in enumerate(conversations)
        for turn, text in enumerate(texts)
    )


def left_out(store, **selection):
    with store.cursor() as cursor:
        return count(cursor, Selection(**selection)).left_out


def test_which_votes_are_left_out(store, new_battle, new_vote):
    cases = [
        ([("a",), ("a",)], 1),
        ([("a",), ("b",)], 0),
        ([("a", "x"), ("a", "x")], 1),
        ([("a", "x"), ("a", "y")], 0),
        ([("a", "b"), ("b", "a")], 0),
        ([("a", ""), ("a", "")], 1),
        ([("",), ("",)], 0),
        ([(), ()], 0),
        ([("a",), ("a", "x")], 0),
    ]
    pairs = [(f"x{n}", f"y{n}") for n in range(len(cases))]
    for pair, (conversations, _) in zip(pairs, cases, strict=True):
        turns = max(map(len, conversations))
        battle = new_battle(*pair, turns=turns, replies=said(*conversations))
        store.add_battle(battle)
        store.cast(new_vote(battle, 2, 1))
    expected = [expected for _, expected in cases]
    assert [left_out(store, models=pair) for pair in pairs] == expected
    there = [pair for pair, left in zip(pairs, expected, strict=True) if not left]
    assert [tuple(models) for *models, _, _, _ in counted(store)] == there


@pytest.mark.parametrize(("ranks", "both_bad"), [((1, 1), False), ((1, 1), True)])
def test_equal_answers_that_are_level_count(store, new_battle, new_vote, ranks, both_bad):
    battle = new_battle("x", "y", replies=said(("a",), ("a",)))
    store.add_battle(battle)
    store.cast(new_vote(battle, *ranks, both_bad=both_bad))
    assert (left_out(store), len(counted(store))) == (0, 1)


def test_they_are_counted_by_selection(store, new_battle, new_vote):
    battle = new_battle("x", "y", "z", replies=said(("a",), ("b",), ("a",)))
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2, 3))
    store.cast(new_vote(battle, 3, 2, 1, voter="bob"))
    assert left_out(store) == 2
    assert left_out(store, models=("x", "z")) == 2
    assert left_out(store, models=("x", "y")) == 0
    assert left_out(store, voter="bob") == 1
    assert left_out(store, category="poetry") == 0
    assert sum(n for *_, n in counted(store)) == 4


def test_a_verdict_beside_such_a_vote_is_not_a_verdict_alone(store, new_battle, new_vote):
    battle = new_battle("x", "y", replies=said(("a",), ("a",)))
    store.add_battle(battle)
    with store.cursor() as cursor:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values ('j', '', '', '')"
        )
        cursor.execute(
            "insert into verdicts (verdict, battle, judge, first_place, second_place, outcome, "
            "raw, judged_at) values ('v', ?, 'j', 0, 1, 'first', '', now())",
            [battle.id],
        )
    store.cast(new_vote(battle, 1, 2))
    with store.cursor() as cursor:
        counts = count(cursor, Selection(judge="j"))
    assert (counts.votes.sum(), counts.labelled.sum(), counts.unlabelled.sum()) == (0, 0, 0)
    assert counts.left_out == 1


def test_a_follow_up_makes_answers_differ(store, new_battle, new_vote):
    battle = new_battle("x", "y", turns=2, replies=said(("a", "b"), ("a", "c")))
    first = new_battle("x", "y", id=battle.id, replies=battle.replies[::2])
    store.add_battle(first)
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2))
    assert left_out(store) == 0


def test_the_command_says_so(call, tmp_path, new_battle, new_vote):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        for texts in (("a", "a"), ("a", "b")):
            battle = new_battle("x", "y", replies=said(*((text,) for text in texts)))
            store.add_battle(battle)
            store.cast(new_vote(battle, 1, 2))
    code, out, _ = call("leaderboard", "--db", path, "--json")
    answer = json.loads(out)
    assert (code, answer["left_out"], answer["human_comparisons"]) == (0, 1, 1)
    _, out, _ = call("leaderboard", "--db", path)
    assert "1 comparison is left out" in out


@pytest.mark.parametrize(
    ("texts", "expected"), [(("same", "same"), 1), (("one", "two"), 0), (None, 0)]
)
def test_an_import_with_equal_texts_is_left_out_and_one_without_texts_is_not(
    store, tmp_path, texts, expected
):
    row = {"num": 1, "question_id": "q", "model_a": "x", "model_b": "y", "winner": "model_a"}
    if texts:
        for side, text in zip("ab", texts, strict=True):
            row[f"conversation_{side}"] = [
                {"role": "user", "content": "Why?"},
                {"role": "assistant", "content": text},
            ]
        row["judge"] = "ann"
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([row]))
    assert import_files(store, [file]).votes == 1
    assert left_out(store) == expected
    assert len(counted(store)) == 1 - expected
