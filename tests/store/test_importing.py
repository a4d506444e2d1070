"""Imports of every published format, from small files written here."""

from __future__ import annotations

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Finish, Mode, Origin
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of
from tests.store.given_rows import (
    ARENA,
    FIRST,
    KAGGLE,
    SECOND,
    TIE,
    WRITERS,
    arena_hard,
    conversation,
    counts,
    pair,
    reasons,
    the_battle,
    told,
    write_lines,
    write_parquet,
)
from tests.stored import rows


@pytest.mark.parametrize("write", WRITERS)
def test_chatbot_arena_rows(store, tmp_path, write):
    path = tmp_path / "file.of-any-name"
    write(path, [ARENA])
    assert told(import_files(store, [path])) == (1, 1, 1, 0, 0, 0)
    battle = the_battle(store)
    assert (battle.models, battle.mode, battle.origin) == (("x", "y"), Mode.UNKNOWN, Origin.IMPORT)
    assert (battle.seed, battle.nonce, len(battle.id)) == (0, b"", 32)
    assert [(prompt.text, prompt.id, prompt.language) for prompt in battle.prompts] == [
        ("Hi?", "58210e39", "English"),
        ("Bye?", "58210e39", "English"),
    ]
    assert [(r.turn, r.place, r.text, r.tokens, r.finish) for r in battle.replies] == [
        (0, 0, "Hello, x.", (), Finish.STOP),
        (0, 1, "Hello, y.", (), Finish.STOP),
        (1, 0, "Bye.", (), Finish.STOP),
        (1, 1, 'So "long"\n', (), Finish.STOP),
    ]
    assert battle.created_at.timestamp() == 1682351591.5
    assert rows(store, "select voter, ranks, both_bad, epoch(cast_at), early from votes") == [
        ("arena_user_973", [1, 1], True, 1682351591.5, False)
    ]
    assert counts(store).votes[2, 0, 0, 1].tolist() == [0, 0, 0, 1]


def test_answers_to_more_questions_than_are_told_belong_to_empty_ones(store, lines):
    short = {**ARENA, "conversation_a": conversation("Hi?", "Hello, x.")}
    import_files(store, [lines(short)])
    assert [prompt.text for prompt in the_battle(store).prompts] == ["Hi?", ""]
    with store.cursor() as cursor:
        assert [each.check for each in examine(cursor) if each.wrong] == []


@pytest.mark.parametrize("write", [write_lines, write_parquet])
def test_rows_of_2025_have_parts_for_contents(store, tmp_path, write):
    def parts(text):
        return [{"type": "text", "text": text}, {"type": "image", "text": None, "image": "i.png"}]

    row = {
        "id": "0a1b",
        "model_a": "x",
        "model_b": "y",
        "winner": "both_bad",
        "evaluation_session_id": "s",
        "conversation_a": [
            {**turn, "content": parts(turn["content"])} for turn in conversation(*"ab")
        ],
        "conversation_b": [
            {**turn, "content": parts(turn["content"])} for turn in conversation(*"ac")
        ],
        "language": "en",
        "timestamp": "2025-07-01 12:00:00",
    }
    path = tmp_path / "rows"
    write(path, [row])
    assert told(import_files(store, [path])) == (1, 1, 1, 0, 0, 0)
    battle = the_battle(store)
    assert [(prompt.text, prompt.id) for prompt in battle.prompts] == [("a", "0a1b")]
    assert [reply.text for reply in battle.replies] == ["b", "c"]
    assert battle.created_at.isoformat() == "2025-07-01T12:00:00+00:00"


@pytest.mark.parametrize("write", first_of(*WRITERS))
def test_kaggle(store, tmp_path, write):
    path = tmp_path / "train.csv"
    tie = {**KAGGLE, "id": 2, "winner_model_b": 0, "winner_tie": 1, "prompt": "no list"}
    none = {**KAGGLE, "id": 3, "winner_model_b": 0}
    two = {**KAGGLE, "id": 4, "winner_tie": 1}
    write(path, [KAGGLE, tie, none, two])
    done = import_files(store, [path], dataset="kaggle")
    assert told(done) == (4, 2, 2, 0, 0, 2)
    assert set(reasons(done).values()) == {
        "exactly one of winner_model_a, winner_model_b, winner_tie must be 1"
    }
    assert counts(store).votes[2, 0, 0, 1].tolist() == [0, 1, 1, 0]
    ((battle,),) = rows(store, "select battle from turns where prompt_id = '30192' and turn = 0")
    assert [prompt.text for prompt in store.battle(battle).prompts] == ["First,\nyou", "Then?"]
    assert [(r.turn, r.place, r.text) for r in store.battle(battle).replies] == [
        *((0, 0, "A1"), (0, 1, "B1"), (1, 0, "A2")),
    ]
    assert rows(store, "select distinct voter from votes") == [("kaggle",)]
    assert rows(store, "select prompt from turns where prompt_id = '2' order by turn") == [
        ("no list",),
    ]


@pytest.mark.parametrize(
    ("g1", "g2", "verdict"),
    [
        ("model_1", "model_1", FIRST),
        ("model_2", "model_2", SECOND),
        ("model_1", "model_2", TIE),
        ("tie", "tie", TIE),
        ("model_1", "error", FIRST),
    ],
)
def test_mt_bench_pairs_are_judged_in_both_orders(store, lines, g1, g2, verdict):
    path = lines(pair(g1, g2))
    with pytest.raises(StoreError, match=r"verdicts of a judge \(MT-Bench pairs\).*--judge"):
        import_files(store, [path])
    assert told(import_files(store, [path], judge="gpt-4")) == (1, 1, 0, 2, 0, 0)
    assert counts(store, "gpt-4").unlabelled[2, 0, 1].nonzero()[0].tolist() == [verdict]
    assert the_battle(store).models == ("x", "y")
    assert rows(store, "select first_place, second_place, raw from verdicts order by seq") == [
        (0, 1, f"I say {g1}"),
        (1, 0, g2),
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("A>>B", "B>A", FIRST),
        ("A>B", "A>B", TIE),
        ("b>a", None, SECOND),
        pytest.param("B>A", "A>>B", SECOND, marks=pytest.mark.slow),
        pytest.param("A<B", "B<<A", SECOND, marks=pytest.mark.slow),
        pytest.param("A=B", "B=A", TIE, marks=pytest.mark.slow),
    ],
)
def test_arena_hard_is_judged_in_both_orders(store, lines, first, second, verdict):
    path = lines(arena_hard(first, second))
    with pytest.raises(StoreError, match=r"verdicts of a judge \(arena-hard judgements\).*--judge"):
        import_files(store, [path])
    assert told(import_files(store, [path], judge="gpt-4.1")) == (1, 1, 0, 2, 0, 0)
    assert told(import_files(store, [path], judge="gpt-4.1")) == (1, 0, 0, 0, 0, 0)
    labels = counts(store, "gpt-4.1").unlabelled
    assert the_battle(store).models == ("o3-mini", "x")
    assert labels[2, 0, 1].nonzero()[0].tolist() == [verdict]
    assert rows(store, "select first_place, second_place, raw from verdicts order by seq") == [
        (0, 1, f"[[{first}]]"),
        (1, 0, f"[[{second}]]"),
    ]


def test_a_game_of_arena_hard_without_a_judgement_is_an_unreadable_verdict(store, lines):
    row = arena_hard("A>B", "B>A", question_id="q1")
    del row["uid"]
    row["games"][1] = None
    row["games"][0]["judgment"] = "In words: [[A>B]]"  # as before 2.0
    import_files(store, [lines(row)], judge="gpt-4.1")
    verdicts = "select outcome is null, raw from verdicts order by seq"
    assert rows(store, verdicts) == [(False, "In words: [[A>B]]"), (True, "")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"baseline": None}, "baseline is missing"),
        ({"uid": None}, "question_id is missing"),
        ({"games": [{"score": "A>B"}]}, "games must be two, with the answers in both orders"),
        ({"games": '[{"score": "'}, "games must be two, with the answers in both orders"),
        (
            {"games": [{"score": "A>B"}, {"score": "A"}]},
            "unknown score 'A' of game 2 (A>>B, A>B, A=B, B>A and B>>A are known)",
        ),
    ],
)
def test_rows_of_arena_hard_that_say_nothing_are_rejected(store, lines, change, reason):
    found = import_files(store, [lines(arena_hard("A>B", "B>A") | change)], judge="gpt-4.1")
    assert (found.battles, found.verdicts) == (0, 0)
    assert {fault.reason for fault in found.rejected} == {reason}


def test_turns_of_mt_bench_are_battles_of_their_own_and_a_missing_turn_is_the_first(store, lines):
    pairs = lines(pair("tie", "tie"), pair("tie", "tie", turn=2), name="pairs")
    human = lines(
        {"question_id": 81, "model_a": "y", "model_b": "x", "winner": "model_a", "judge": "expert"},
        name="human",
    )
    assert told(import_files(store, [pairs], judge="gpt-4")) == (2, 2, 0, 4, 0, 0)
    assert told(import_files(store, [human])) == (1, 0, 1, 0, 0, 0)
    # As the expert saw them: y first.
    assert counts(store, "gpt-4").labelled[2, 1, 0, FIRST, TIE] == 1


@pytest.mark.parametrize("write", first_of(*WRITERS))
def test_alpaca_eval(store, tmp_path, write):
    row = {
        "instruction": "Name a colour.",
        "output_1": "Blue.",
        "generator_1": "x",
        "output_2": "Red.",
        "generator_2": "y",
        "annotator": 7,  # a person: judges have names
    }
    path = tmp_path / "annotations.json"
    write(path, [{**row, "preference": value} for value in (1.0, 2.0, 1.5, 1.7, 2.5)])
    done = import_files(store, [path])
    assert told(done) == (5, 4, 4, 0, 0, 1)
    assert set(reasons(done).values()) == {"preference '2.5' is neither from 1 to 2 nor 0"}
    assert counts(store).votes[2, 0, 0, 1].tolist() == [1, 2, 1, 0]
    assert rows(store, "select distinct voter from votes") == [("7",)]
    battle = store.battle(rows(store, "select battle from battles")[0][0])
    assert battle.prompts[0].text == "Name a colour."
    assert [reply.text for reply in battle.replies] == ["Blue.", "Red."]
