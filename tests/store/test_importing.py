"""Imports of every published format, from small files written here and from the real data."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Finish, Mode, Origin, Source
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.transfer import merge_staged
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.file_rows import Rejected
from coupled_arena.store.transfer.importing import import_files
from tests.stored import rows

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "ppr"
FIRST, SECOND, TIE, BOTH_BAD = range(4)


def ranking(num, model_a="x", model_b="y", winner="model_a", **more):
    return {
        "num": num,
        "question_id": f"q{num}",
        "model_a": model_a,
        "model_b": model_b,
        "winner": winner,
        **more,
    }


def conversation(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


ARENA = {
    "question_id": "58210e39",
    "model_a": "x",
    "model_b": "y",
    "winner": "tie (bothbad)",
    "judge": "arena_user_973",
    "conversation_a": conversation("Hi?", "Hello, x.", "Bye?", "Bye."),
    "conversation_b": conversation("Hi?", "Hello, y.", "Bye?", 'So "long"\n'),
    "turn": 2,
    "anony": True,
    "language": "English",
    "tstamp": 1682351591.5,
    "toxic_chat_tag": {"roberta-large": {"flagged": False}, "t5-large": {"flagged": True}},
    "openai_moderation": {"categories": {"hate": False}, "flagged": False},
}


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {
                key: json.dumps(value) if isinstance(value, list | dict) else value
                for key, value in row.items()
            }
            for row in rows
        )


def write_parquet(path, rows):
    whole = path.with_name("whole.json")
    whole.write_text(json.dumps(rows))
    duckdb.sql(f"copy (from read_json('{whole}')) to '{path}' (format parquet)")


def write_array(path, rows):
    path.write_text(json.dumps(rows, indent=1))


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\r\n" for row in rows))


WRITERS = [write_lines, write_array, write_csv, write_parquet]


def counts(store, judge=None):
    with store.cursor() as cursor:
        return comparisons.count(cursor, Selection(judge=judge))


def the_battle(store):
    ((battle,),) = rows(store, "select battle from battles")
    return store.battle(battle)


def told(done):
    return (done.rows, done.battles, done.votes, done.verdicts, done.filtered, len(done.rejected))


def reasons(done):
    return {row.line: row.reason for row in done.rejected}


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


KAGGLE = {
    "id": 30192,
    "model_a": "x",
    "model_b": "y",
    "prompt": json.dumps(["First,\nyou", "Then?"]),
    "response_a": json.dumps(["A1", "A2"]),
    "response_b": json.dumps(["B1", None]),
    "winner_model_a": 0,
    "winner_model_b": 1,
    "winner_tie": 0,
}


@pytest.mark.parametrize("write", WRITERS)
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


def pair(g1, g2, **more):
    return {
        "question_id": 81,
        "model_1": "x",
        "model_2": "y",
        "g1_winner": g1,
        "g2_winner": g2,
        "judge": ["gpt-4", "pair-v2"],
        "g1_judgment": f"I say {g1}",
        "turn": 1,
        **more,
    }


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


def arena_hard(first, second, **more):
    """Return a row of arena-hard 2.0: the baseline is A in its first game, B in the second."""
    games = [
        {"score": score, "judgment": {"answer": f"[[{score}]]"}, "prompt": []}
        for score in (first, second)
    ]
    return {
        "uid": "311cbc29",
        "category": "hard_prompt",
        "judge": "gpt-4.1",
        "model": "x",
        "baseline": "o3-mini",
        "games": games,
        **more,
    }


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("A>>B", "B>A", FIRST),
        ("B>A", "A>>B", SECOND),
        ("A<B", "B<<A", SECOND),
        ("A>B", "A>B", TIE),
        ("A=B", "B=A", TIE),
        ("b>a", None, SECOND),
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


@pytest.mark.parametrize("write", WRITERS)
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


@pytest.mark.parametrize("write", WRITERS)
def test_ranking_rows_of_people_and_judge_meet(store, tmp_path, write):
    human, judge = tmp_path / "human", tmp_path / "judge"
    said = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad", "bothbad"]
    write(human, [ranking(n, winner=winner) for n, winner in enumerate(said)])
    write(judge, [ranking(n, winner="model_b") for n in range(7)])
    assert told(import_files(store, [human])) == (6, 6, 6, 0, 0, 0)
    assert told(import_files(store, [judge], judge="gpt-4")) == (7, 1, 0, 7, 0, 0)
    found = counts(store, "gpt-4")
    assert found.labelled[2, 0, 1, :, SECOND].tolist() == [1, 1, 1, 3]
    assert found.unlabelled[2, 0, 1, SECOND] == 1
    assert rows(store, "select * exclude (judge_no) from judges") == [("gpt-4", "imported", "", "")]


@pytest.mark.parametrize("num", [True, False])
def test_the_order_of_the_models_is_heeded(store, lines, num):
    def row(*said):
        made = ranking(1, *said)
        return made if num else {key: value for key, value in made.items() if key != "num"}

    import_files(store, [lines(row("x", "y", "model_a"), name="h")])
    import_files(store, [lines(row("y", "x", "model_a"), name="j")], judge="gpt-4")
    import_files(store, [lines(row("y", "x", "model_b"), name="g")], dataset="import")
    assert counts(store, "gpt-4").labelled[2, 0, 1, FIRST, SECOND] == 1
    assert rows(store, "select first_place, second_place, outcome from verdicts") == [
        (1, 0, "first")
    ]
    assert store.version() == (1, 1, 1, 0)


def test_a_judge_in_both_orders_on_one_num_gives_one_judgement(store, lines):
    path = lines(ranking(1, "x", "y", "model_a"), ranking(1, "y", "x", "model_a"))
    assert told(import_files(store, [path], judge="gpt-4")) == (2, 1, 0, 2, 0, 0)
    assert counts(store, "gpt-4").unlabelled[2, 0, 1].tolist() == [0, 0, 1, 0]


def test_repeated_keys_of_one_voter_are_rows_of_their_own_and_still_meet(store, lines):
    def row(winner, voter):
        made = {"question_id": "q", "model_a": "x", "model_b": "y", "winner": winner}
        return made | ({"judge": voter} if voter else {})

    human = lines(
        row("model_a", "ann"), row("model_a", "bob"), row("tie", "ann"), name="human.jsonl"
    )
    judge = lines(row("model_b", ""), row("model_a", ""), name="judge.jsonl")
    assert told(import_files(store, [human])) == (3, 2, 3, 0, 0, 0)
    assert told(import_files(store, [judge], judge="j")) == (2, 0, 0, 2, 0, 0)
    labelled = counts(store, "j").labelled[2, 0, 1]
    assert (labelled[FIRST, SECOND], labelled[TIE, FIRST]) == (2, 1)


def test_repeated_keys_meet_when_one_of_the_rows_is_left_out(store, lines):
    made = {"question_id": "q", "model_a": "x", "model_b": "y"}
    human = lines(made | {"winner": "?"}, made | {"winner": "model_b"}, name="human")
    judge = lines(made | {"winner": "tie"}, made | {"winner": "model_a"}, name="judge")
    assert told(import_files(store, [human])) == (2, 1, 1, 0, 0, 1)
    assert told(import_files(store, [judge], judge="j")) == (2, 1, 0, 2, 0, 0)
    found = counts(store, "j")
    assert (found.labelled[2, 0, 1, SECOND, FIRST], found.unlabelled[2, 0, 1, TIE]) == (1, 1)


def test_numbers_with_a_point_are_the_same_numbers(store, lines):
    import_files(store, [lines(ranking(7), name="human")])
    done = import_files(store, [lines(ranking(7.0), name="judge")], judge="j")
    assert told(done) == (1, 0, 0, 1, 0, 0)


def test_several_voters_on_one_battle_are_several_votes(store, lines):
    path = lines(*(ranking(1, judge=f"expert_{n}", winner="tie") for n in range(3)))
    assert told(import_files(store, [path])) == (3, 1, 3, 0, 0, 0)
    assert counts(store).votes[2, 0, 0, 1, TIE] == 3


def test_importing_again_adds_nothing(store, lines):
    path = lines(*(ranking(n) for n in range(5)), ARENA)
    judged = lines(*(pair("tie", "model_1", question_id=n) for n in range(5)), name="pairs")
    import_files(store, [path])
    import_files(store, [judged], judge="gpt-4")
    before = store.version()
    assert told(import_files(store, [path, path])) == (12, 0, 0, 0, 0, 0)
    assert told(import_files(store, [judged], judge="gpt-4")) == (5, 0, 0, 0, 0, 0)
    assert store.version() == before
    more = lines(*(ranking(n) for n in range(7)), name="more")
    assert told(import_files(store, [more])) == (7, 2, 2, 0, 0, 0)
    assert told(import_files(store, [more], dataset="another")) == (7, 7, 7, 0, 0, 0)


def test_wrong_lines_are_told_and_the_others_taken(store, lines):
    path = lines(
        "oops, no JSON",
        ranking(0),
        "",
        '{"num": 1, "model_a": "x"',
        "   ",
        ranking(2, winner="modal_a"),
        ranking(3, winner=None),
        ranking(4, model_a=None),
        ranking(5, model_b=" "),
        "[1, 2]",
        '{"model_a": "x", "model_b": "y", "winner": "tie"}',
        ranking(6, winner="tie (inconsistent)" + "!" * 99),
        ranking(0, model_b="z"),
        ranking(7),
    )
    path.write_bytes(path.read_bytes() + b'\n{"num": 8, "model_a": "\xff"}\n' + b'{"num": 9}\n')
    done = import_files(store, [path])
    assert (done.rows, done.battles, done.votes) == (14, 3, 3)
    assert {row.file for row in done.rejected} == {str(path)}
    assert reasons(done) == {
        1: "not valid JSON",
        4: "not valid JSON",
        6: "unknown winner 'modal_a'",
        7: "winner is missing",
        8: "model_a is missing",
        9: "model_b is missing",
        10: "not a JSON object",
        12: "unknown winner 'tie (inconsistent)" + "!" * 22 + "…'",
        13: "its key is of x and y in this dataset already: use another --dataset",
        15: "not valid UTF-8",
        16: "model_a is missing",
    }


def test_wrong_records_of_csv_keep_their_line(store, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'num,model_a,model_b,winner,note\n1,x,y,tie,"two\nlines"\n2,x,y,tie\n3,x,y,tie,a,b\n'
        b'4,x,y,what,\n5,x,\xff,tie,\n6,x,y,tie,"a ""b"", c"\n'
    )
    done = import_files(store, [path])
    assert told(done) == (6, 2, 2, 0, 0, 4)
    assert reasons(done) == {
        4: "it has 4 columns, the first line 5",
        5: "it has 6 columns, the first line 5",
        6: "unknown winner 'what'",
        7: "not valid UTF-8",
    }


def test_a_record_of_many_cells_too_many_is_one_rejected_line(store, tmp_path):
    path = tmp_path / "commas.csv"
    path.write_bytes(
        b"num,model_a,model_b,winner\n1,x,y,model_a\n2,x,y,model_a,so,many,more,cells\n"
        b'3,x,y,what\n\xff,\xff,y,tie\n5,x\n"six\n",x,y,tie,"and\n",more\n7,x,y,model_b\n'
    )
    done = import_files(store, [path])
    assert told(done) == (7, 2, 2, 0, 0, 5)
    assert reasons(done) == {
        3: "it has 8 columns, the first line 4",
        4: "unknown winner 'what'",
        5: "not valid UTF-8",
        6: "it has 2 columns, the first line 4",
        7: "it has 6 columns, the first line 4",
    }


def test_a_wrong_half_rejects_the_pair(store, lines):
    path = lines(pair("model_1", "model_3"), pair(None, "tie"), pair("tie", "tie", model_2=""))
    done = import_files(store, [path], judge="j")
    assert told(done) == (3, 0, 0, 0, 0, 3)
    assert reasons(done) == {
        1: "unknown g2_winner 'model_3'",
        2: "g1_winner is missing",
        3: "model_2 is missing",
    }
    assert rows(store, "from judges") == []


def test_other_models_under_a_stored_key_are_rejected(store, lines):
    import_files(store, [lines(ranking(0), name="one")])
    two = lines(ranking(0, "v", "w"), ranking(1, "v", "w"), name="two")
    done = import_files(store, [two], judge="j")
    assert done.rejected == (
        Rejected(
            str(two), 1, "its key is of x and y in this dataset already: use another --dataset"
        ),
    )
    assert (done.battles, done.verdicts) == (1, 1)
    assert told(import_files(store, [two], dataset="two")) == (2, 2, 2, 0, 0, 0)


def test_a_second_opinion_under_one_name_is_rejected(store, lines):
    one, two = lines(ranking(0), name="one"), lines(ranking(0, winner="tie"), name="two")
    done = import_files(store, [one, two])
    assert done.rejected == (Rejected(str(two), 1, "import has voted otherwise on this already"),)
    import_files(store, [one], judge="j")
    done = import_files(store, [two], judge="j")
    assert done.rejected == (Rejected(str(two), 1, "j has judged otherwise on this already"),)
    assert store.version() == (1, 1, 1, 0)


def test_filters_leave_out_and_count(store, lines):
    short = {**ARENA, "question_id": "s", "turn": 1, "toxic_chat_tag": None}
    short["conversation_a"] = short["conversation_b"] = conversation("Hi?", "Yes.")
    unmarked = {**ARENA, "question_id": "u"}
    del unmarked["turn"]
    flagged = {**short, "question_id": "f", "openai_moderation": {"flagged": True}}
    python = {**short, "question_id": "p", "toxic_chat_tag": "{'t5-large': {'flagged': True}}"}
    path = lines(ARENA, short, unmarked, flagged, python, ranking(0), ranking(1, winner="?"))
    for filters, expected in {
        ("single_turn", "no_toxic"): (7, 2, 2, 0, 4, 1),
        ("single_turn",): (7, 2, 2, 0, 2, 1),
        ("no_toxic",): (7, 0, 0, 0, 4, 1),
        (): (7, 2, 2, 0, 0, 1),
    }.items():
        assert told(import_files(store, [path], **dict.fromkeys(filters, True))) == expected


@pytest.fixture(scope="module")
def empty():
    with Store.in_memory() as store:
        yield store


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"bad has no rows\.$"),
        (b"\n \n", "has no rows"),
        (b"[]", "has no rows"),
        (b'{"a": 1}\n', "is in no form that is known. Its columns: a. Votes need model_a"),
        (b"a,b\n1,2\n", "--map model_a=COLUMN --map model_b=COLUMN --map winner=COLUMN"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not valid UTF-8"),
        (b'[{"num": 1}, {]', "cannot be read: .*Malformed JSON"),
        (b"PAR1 not really", "cannot be read"),
        (None, "cannot be read: No such file"),
    ],
    ids=str,
)
def test_what_is_no_data_fails_and_leaves_nothing(empty, lines, tmp_path, content, message):
    good, bad = lines(ranking(0)), tmp_path / "bad"
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(StoreError, match=message) as failed:
        import_files(empty, [good, bad])
    assert len(str(failed.value).splitlines()) == 1
    assert str(bad) in str(failed.value)
    assert empty.version() == (0, 0, 0, 0)
    assert rows(empty, "from models") == []


def test_a_failure_half_way_leaves_nothing(store, lines, monkeypatch):
    path = lines(ARENA)

    def fail(*_):
        raise RuntimeError("half-way")

    monkeypatch.setattr(derived_rows, "refresh", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        import_files(store, [path])
    for table in ("battles", "turns", "replies", "votes", "models", "comparisons"):
        assert rows(store, f"from {table}") == []
    monkeypatch.undo()
    assert told(import_files(store, [path])) == (1, 1, 1, 0, 0, 0)


def test_a_judge_of_another_kind_keeps_its_name(store, lines):
    with store.cursor() as cursor:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values ('j', 'm', 'h', 's')"
        )
    with pytest.raises(StoreError, match=r"'j' is m here.*another name"):
        import_files(store, [lines(ranking(0))], judge="j")
    assert merge_staged.BINDING == ("imported", "", "")


def test_odd_file_names_and_steps_of_progress(store, lines):
    steps = []
    path = lines(ranking(0), name="it's [1] *.jsonl")
    import_files(store, [path], progress=steps.append)
    assert steps == ["reading it's [1] *.jsonl", "storing"]


def test_arena_rows_bring_back_the_same_counts(store, tmp_path, new_battle, new_vote):
    battles = [
        new_battle("a", "b", turns=2),
        new_battle("b", "a"),
        new_battle("a", "c", "b", turns=0),
        new_battle("c", "a", mode=Mode.INDEPENDENT),
    ]
    for battle in battles:
        store.add_battle(battle)
    store.cast(new_vote(battles[0], 2, 1), reveal=False)
    store.cast(new_vote(battles[0], 1, 2))
    store.cast(new_vote(battles[0], 1, 1, both_bad=True, voter="bob"))
    store.cast(new_vote(battles[1], 1, 2, voter="bob"))
    store.cast(new_vote(battles[2], 2, 1, 2))
    store.cast(new_vote(battles[3], 1, 1, source=Source.IDENTICAL))
    (path,) = export(store, tmp_path, "arena")
    assert path == tmp_path / "arena.jsonl"
    exported = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(exported) == 7
    system, *said = exported[0]["conversation_b"]
    assert system == {"role": "system", "content": "Be brief."}
    assert said == [
        {"role": role, "content": text}
        for turn in range(2)
        for role, text in (
            ("user", f"Why {turn}?"),
            ("assistant", "Well, " + battles[0].replies[2 * turn + 1].text),
        )
    ]
    assert (exported[0]["question_id"], exported[0]["turn"]) == ("p0", 2)
    with Store.in_memory() as copy:
        assert told(import_files(copy, [path])) == (7, 4, 5, 0, 0, 0)
        assert counts(copy).votes.sum(axis=0).tolist() == counts(store).votes.sum(axis=0).tolist()
        (again,) = export(copy, tmp_path / "again", "arena")
        with Store.in_memory() as third:
            import_files(third, [again])
            assert counts(third).votes.tolist() == counts(copy).votes.tolist()


def test_arena_rows_of_unrevealed_battles_are_left_out(store, tmp_path, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    store.cast(new_vote(battle), reveal=False)
    (path,) = export(store, tmp_path, "arena", hidden="rounds")
    assert path.read_text() == ""


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.exists(), reason="the ranking paper's data are not here")
@pytest.mark.parametrize("by_num", [True, False])
def test_the_published_people_and_judge_meet_on_every_row(store, tmp_path, by_num):
    human, judge = PUBLISHED / "human.json", PUBLISHED / "gpt-4-0125-preview.json"
    if not by_num:
        for path in (human, judge):
            found = [json.loads(line) for line in path.read_text().splitlines()]
            for row in found:
                del row["num"]
            write_lines(tmp_path / path.name, found)
        human, judge = tmp_path / human.name, tmp_path / judge.name
    assert told(import_files(store, [human])) == (26919, 26919, 26919, 0, 0, 0)
    assert told(import_files(store, [judge], judge="gpt-4")) == (26919, 0, 0, 26919, 0, 0)
    found = counts(store, "gpt-4")
    assert found.labelled.sum() == found.votes.sum() == 26919
    assert found.unlabelled.sum() == 0
    assert found.labelled.sum(axis=(0, 1, 2)).tolist() == [
        [6325, 977, 2214, 0],
        [1431, 5664, 2296, 0],
        [781, 534, 1565, 0],
        [2195, 1559, 1378, 0],
    ]
    assert told(import_files(store, [judge], judge="gpt-4")) == (26919, 0, 0, 0, 0, 0)
