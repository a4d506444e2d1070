"""Texts of imported conversations: Python's spelling, gaps, system prompts, later files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

from coupled_arena.analysis.battles import OpenedBattle
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_record import BattleRecord
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.python_literals import read_literal
from coupled_arena.views.battle_pages import battle_page
from tests.families import first_of


def said(*texts, system=None):
    roles = ("user", "assistant")
    told = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return ([{"role": "system", "content": system}] if system else []) + told


def row(a=None, b=None, **more):
    told = {"question_id": "q", "model_a": "red", "model_b": "blue", "winner": "model_a"}
    texts = {"conversation_a": a, "conversation_b": b}
    return told | {key: value for key, value in texts.items() if value is not None} | more


@pytest.fixture
def table(tmp_path):
    def write(*rows, name="rows.csv"):
        path = tmp_path / name
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def the_battle(store):
    with store.cursor() as cursor:
        ((battle,),) = cursor.execute("select battle from battles").fetchall()
    return store.battle(battle)


def texts(battle):
    """Return the system prompt, the questions, and answers by turn and model."""
    answers = {(r.turn, battle.models[r.place]): r.text for r in battle.replies}
    return battle.prompts[0].system, [prompt.text for prompt in battle.prompts], answers


def faults(store):
    with store.cursor() as cursor:
        return [found.check for found in examine(cursor) if found.wrong]


A, B = said('It\'s "5"?', "Hello\n'x'", "Más?", "1"), said('It\'s "5"?', "Hey", "Más?", "2")
MEANT = (
    "",
    ['It\'s "5"?', "Más?"],
    {(0, "red"): "Hello\n'x'", (0, "blue"): "Hey", (1, "red"): "1", (1, "blue"): "2"},
)


def parts(conversation):
    """Return messages as the published files of 2025 have them: arrays of parts."""
    part = {"type": "text", "image": None, "n": np.float64("nan")}
    return np.array(
        [
            {**each, "content": np.array([{**part, "text": each["content"]}])}
            for each in conversation
        ],
        dtype=object,
    )


@pytest.mark.parametrize("spell", [str, lambda c: str(np.array(c)), lambda c: str(parts(c))])
def test_conversations_as_python_writes_them(store, table, spell):
    done = import_files(store, [table(row(spell(A), spell(B)))])
    assert (done.unread_texts, texts(the_battle(store))) == (0, MEANT)


@pytest.mark.parametrize("before", ["  ", "\u2002", "\\u00a0", "\\u005b"])
def test_python_s_spelling_is_found_after_any_blank_and_escape(store, tmp_path, before):
    given = json.dumps(row(str(A), str(B)), ensure_ascii=False)
    bracket = "" if before == "\\u005b" else "["
    (tmp_path / "rows").write_text(given.replace('"[', f'"{before}{bracket}'), encoding="utf-8")
    done = import_files(store, [tmp_path / "rows"])
    assert (done.unread_texts, texts(the_battle(store))) == (0, MEANT)


def test_lists_of_turns_as_pandas_writes_them(store, tmp_path):
    told = {"prompt": ["It's 5?", "More?"], "response_a": ["a", None], "response_b": ["b", "c"]}
    flags = {"winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0}
    named = {"id": 1, "model_a": "red", "model_b": "blue"}
    rows = [named | {name: spell(value) for name, value in told.items()} | flags
            for spell in (list, np.array)]  # fmt: skip
    pd.DataFrame([rows[0], rows[1] | {"id": 2}]).to_csv(tmp_path / "rows.csv", index=False)
    import_files(store, [tmp_path / "rows.csv"])
    with store.cursor() as cursor:
        battles = cursor.execute("select battle from battles").fetchall()
    for (battle,) in battles:
        answers = {(0, "red"): "a", (0, "blue"): "b", (1, "blue"): "c"}
        assert texts(store.battle(battle)) == ("", ["It's 5?", "More?"], answers)


def test_what_cannot_be_read_is_counted(call, store, table, tmp_path):
    odd = ["[{'role': 'user', 'content': open('x')", "Hello", "[" * 60, "[{'role': ...}]"]
    path = table(*(row(text, str(B), question_id=n) for n, text in enumerate([*odd, str(A)])))
    done = import_files(store, [path])
    assert (done.votes, done.rejected, done.unread_texts) == (5, (), 4)
    _, out, _ = call("import", path, "--db", tmp_path / "arena.duckdb")
    assert "4 rows have texts that could not be read: they came without them." in out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a' 'b']", ["a", "b"]),
        ("[{'a': None, \"b\": True}\n {'a': -1.5e3}]", [{"a": None, "b": True}, {"a": -1500.0}]),
        ("array([1, 2, nan], dtype=object)", [1, 2, None]),
        ("[datetime.datetime(2025, 1, 2, tzinfo=x), Timestamp('2')]", [None, None]),
        (r"['\u00e9\n\'\\']", ["é\n'\\"]),
        (r"['\ud83d']", ["?"]),
        ("()", []),
    ],
)
def test_literals(text, value):
    assert read_literal(text) == value


@pytest.mark.parametrize(
    "text", ["[", "['a'", "[x]", "{'a'}", "['a'] 1", "1 +", "['a' for", "[" * 10**5, "'", "[:1]"]
)
def test_what_is_no_literal_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - any: whoever asks takes it for a text
        read_literal(text)


@pytest.mark.slow
def test_a_question_without_an_answer_keeps_later_answers_in_place(store, lines, tmp_path):
    a = said("One?", "-", "Two?", "2", system="Be brief.")
    del a[2]
    b = said("One?", None, "Two?", "II", system="Be brief.")
    import_files(store, [lines(row(a, b))])
    meant = ("Be brief.", ["One?", "Two?"], {(1, "red"): "2", (1, "blue"): "II"})
    battle = the_battle(store)
    assert texts(battle) == meant
    first, second = battle_page(OpenedBattle(battle, BattleRecord((), (), ())))["turns"]
    assert [first["system"], second["system"]] == ["Be brief.", ""]
    assert [each["notes"] for each in first["answers"]] == ["no answer"] * 2
    assert [each["notes"] for each in second["answers"]] == [""] * 2
    for format in ("arena", "jsonl", "csv", "parquet"):
        with Store.in_memory() as copy:
            files = export(store, tmp_path / format, format)
            assert import_files(copy, files).rejected == ()
            assert texts(the_battle(copy)) == meant


def test_a_model_that_speaks_first_shifts_nothing(store, lines):
    hello = {"role": "assistant", "content": "Welcome!"}
    import_files(store, [lines(row([hello, *said("One?", "1")], said("One?", "I")))])
    answers = {(0, "red"): "Welcome!", (1, "red"): "1", (1, "blue"): "I"}
    assert texts(the_battle(store)) == ("", ["", "One?"], answers)


def test_several_messages_in_a_row_are_one_answer(store, lines):
    more = {"role": "assistant", "content": "More."}
    tool = {"role": "tool", "content": "42"}
    import_files(store, [lines(row([*said("One?", "1"), tool, more], said("One?", "I")))])
    assert texts(the_battle(store))[2] == {(0, "red"): "1\n\nMore.", (0, "blue"): "I"}


def test_questions_are_those_of_the_side_that_has_them(store, lines):
    import_files(store, [lines(row(None, said("One?", "I")))])
    assert texts(the_battle(store)) == ("", ["One?"], {(0, "blue"): "I"})


KAGGLE = ("prompt", "response_a", "response_b")


@pytest.mark.parametrize(
    ("told", "meant"),
    first_of(
        (
            ("Two fruits?", '["apple", "pear"]', "apple and pear"),
            (["Two fruits?"], '["apple", "pear"]', "apple and pear"),
        ),
        (("Say it", "null", '{"a": 1}'), (["Say it"], "null", '{"a": 1}')),
        (('["a", "b"]', '["c"]', '["d"]'), (['["a", "b"]'], '["c"]', '["d"]')),
    ),
)
def test_an_answer_that_is_a_list_is_one_answer(store, table, told, meant):
    flags = {"winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0}
    rows = [
        dict(zip(KAGGLE, each, strict=True)) | flags for each in [told, *[("Hi", "x", "y")] * 2]
    ]
    named = [{"id": n, "model_a": "red", "model_b": "blue"} | each for n, each in enumerate(rows)]
    import_files(store, [table(*named)])
    with store.cursor() as cursor:
        ((battle,),) = cursor.execute(
            "select battle from turns where prompt_id = '0' and turn = 0"
        ).fetchall()
    prompts, red, blue = meant
    assert texts(store.battle(battle)) == ("", prompts, {(0, "red"): red, (0, "blue"): blue})


@pytest.mark.slow
def test_a_later_file_completes_what_lacks(call, store, lines, tmp_path):
    bare = lines(row(judge="ann"), name="bare")
    turned = row(B, A, model_a="blue", model_b="red", winner="model_b", judge="bob")
    full = lines(turned, name="full")
    import_files(store, [bare])
    done = import_files(store, [full])
    assert (done.battles, done.votes, done.completed) == (0, 1, 1)
    assert texts(the_battle(store)) == MEANT
    assert faults(store) == []
    assert import_files(store, [bare, full]).completed == 0
    db = tmp_path / "arena.duckdb"
    call("import", bare, "--db", db)
    assert "1 battles that lacked texts have them now." in call("import", full, "--db", db)[1]


def test_of_one_file_the_row_with_texts_tells_them(store, lines):
    turned = row(B, A, model_a="blue", model_b="red", winner="model_b", judge="bob")
    assert import_files(store, [lines(row(judge="ann"), turned)]).battles == 1
    assert texts(the_battle(store)) == MEANT


def test_gaps_are_filled_and_nothing_is_changed(store, lines):
    import_files(store, [lines(row(said("One?"), said("One?", "I")))])
    other = lines(row(said("Else?", "1"), said("Else?", "I")), name="other")
    assert import_files(store, [other]).completed == 0
    full = lines(row(said("One?", "1", system="Hm."), said("One?", "I", system="Hm.")), name="full")
    assert import_files(store, [full]).completed == 1
    assert texts(the_battle(store)) == ("Hm.", ["One?"], {(0, "red"): "1", (0, "blue"): "I"})
    longer = lines(row(said("One?", "1", "Two?", "2"), said("One?", "I")), name="longer")
    assert import_files(store, [longer]).completed == 0
    assert faults(store) == []


def test_a_battle_of_the_arena_is_not_completed(store, lines, new_battle):
    store.add_battle(new_battle("red", "blue", id="0123456789abcdef" * 2, turns=0))
    done = import_files(store, [lines(row(A, B, battle="0123456789abcdef" * 2))])
    assert (done.votes, done.completed, the_battle(store).prompts) == (1, 0, ())


@pytest.mark.slow
@pytest.mark.parametrize("bare_first", [True, False])
def test_copies_meet_though_one_was_completed(store, lines, tmp_path, bare_first):
    import_files(store, [lines(row(judge="ann"))])
    bare = export(store, tmp_path / "bare", "parquet")
    import_files(store, [lines(row(A, B, judge="ann"))])
    full = export(store, tmp_path / "full", "parquet")
    for order in ([*bare, *full], [*full, *bare]):  # of one import
        with Store.in_memory() as copy:
            assert import_files(copy, order).rejected == ()
            assert texts(the_battle(copy)) == MEANT
            assert faults(copy) == []
    with Store.in_memory() as copy:  # one after the other
        for files in (bare, full) if bare_first else (full, bare):
            assert import_files(copy, files).rejected == ()
        assert texts(the_battle(copy)) == MEANT
        assert faults(copy) == []


def test_a_broken_flag_is_no_flag(store, lines):
    flags = {"winner_model_a": float("nan"), "winner_model_b": 0, "winner_tie": 0}
    told = {"id": 1, "model_a": "red", "model_b": "blue", "prompt": "a", "response_a": "b"}
    done = import_files(store, [lines(told | {"response_b": "c"} | flags)])
    assert (done.votes, len(done.rejected)) == (0, 1)
