"""Votes on answers that name a model are kept, and count only where somebody wants them to."""

from __future__ import annotations

import json
from dataclasses import replace

import duckdb
import pytest

from coupled_arena.core.records import Mode, Source
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.connection import MIGRATIONS, migrate
from coupled_arena.store.database import Store
from coupled_arena.store.tables import derived_rows, naming
from coupled_arena.store.tables.exclusions import Excluded, excluded
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.snapshots import open_for_writing
from tests.store.conftest import make_battle, make_vote


def saying(*texts, turns=1, models=("alpha", "beta"), **more):
    """Return a battle whose models answer so, in their last turn."""
    battle = make_battle(*models, turns=turns, **more)
    said = tuple(
        replace(reply, text=texts[reply.place]) if reply.turn == turns - 1 else reply
        for reply in battle.replies
    )
    return replace(battle, replies=said)


def counted(store):
    """Return how many votes of people the comparisons have."""
    with store.cursor() as cursor:
        return cursor.execute(
            "select count(human) from comparisons where not identical"
        ).fetchall()[0][0]


def left_out(store):
    with store.cursor() as cursor:
        return excluded(cursor)


def found(store):
    with store.cursor() as cursor:
        return {
            (row.battle, row.turn, row.place): row.found for row in naming.naming_replies(cursor)
        }


@pytest.fixture
def store():
    with Store.in_memory() as store:
        yield store


def voted(store, *battles):
    for battle in battles:
        store.add_battle(battle)
        store.cast(make_vote(battle, 1, 2))


def test_such_votes_are_left_out_unless_wanted(store):
    telling, other = saying("I am SmolLM2.", "Hello.", turns=2), saying("Hello.", "Hi.")
    voted(store, telling, other)
    assert found(store) == {(telling.id, 1, 0): "SmolLM"}
    assert (counted(store), counted(store.counting(named=True))) == (1, 2)
    assert (counted(store.counting(excluded=True)), left_out(store).named_share) == (1, 0.5)
    with store.cursor() as cursor:
        assert cursor.execute("select count(*) from votes").fetchall() == [(2,)]
    assert left_out(store) == Excluded(0, 2, 0, 1)


def test_ties_that_nobody_was_asked_about_count(store):
    same = saying("I am SmolLM2.", "I am SmolLM2.")
    store.add_battle(same)
    store.cast(make_vote(same, 1, 1, source=Source.IDENTICAL))
    with store.cursor() as cursor:
        rows = cursor.execute("select human, identical from comparisons").fetchall()
    assert rows == [("tie", True)]
    assert left_out(store).named == 0


def test_the_question_decides_and_so_do_later_turns(store):
    battle = saying("ChatGPT is a program by OpenAI.", "Hi.", turns=2)
    asked = replace(
        battle, prompts=(replace(battle.prompts[0], text="ChatGPT?"), *battle.prompts[1:])
    )
    store.add_battle(asked)
    assert found(store) == {}
    first = replace(battle, id="0" * 32)
    store.add_battle(replace(first, prompts=first.prompts[:1], replies=first.replies[:2]))
    assert found(store) == {}
    store.add_battle(first)
    assert found(store) == {("0" * 32, 1, 0): "ChatGPT"}


def test_a_model_that_joins_and_a_setting_change_what_is_known(store):
    battle = saying("I am Robin.", "My wren sings.")
    voted(store, battle)
    before = store.version()
    assert (found(store), counted(store)) == ({}, 1)
    store.add_battle(saying("Hello.", "Hi.", models=("robin-7b", "beta")))
    assert (found(store), counted(store)) == ({(battle.id, 0, 0): "Robin"}, 0)
    assert store.version() != before
    store.write(lambda cursor: derived_rows.set_own_names(cursor, ["My wren"], []))
    assert found(store).keys() == {(battle.id, 0, 0), (battle.id, 0, 1)}
    lists = len(rows(store, "name_lists"))
    store.write(lambda cursor: derived_rows.set_own_names(cursor, ["My wren"], []))
    assert len(rows(store, "name_lists")) == lists
    store.write(lambda cursor: derived_rows.set_own_names(cursor, [], []))
    assert found(store).keys() == {(battle.id, 0, 0)}


def rows(store, table):
    with store.cursor() as cursor:
        return cursor.execute(f"from {table}").fetchall()


@pytest.mark.slow
def test_imports_are_looked_through_by_hundreds(store, tmp_path):
    texts = {
        7: "As an AI developed by Mistral I cannot.",
        8: "I am fond of Mistral wind.",
        9: "Ask ChatGPT, then.",
    }
    lines = [
        {
            "question_id": str(n), "model_a": "alpha", "model_b": "beta", "winner": "model_a",
            "conversation_a": [{"role": "user", "content": f"Question {n}?"},
                               {"role": "assistant", "content": texts.get(n, f"Answer {n}.")}],
            "conversation_b": [{"role": "user", "content": f"Question {n}?"},
                               {"role": "assistant", "content": "Other."}],
        }
        for n in range(200)
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    import_files(store, [path])
    assert sorted(found(store).values()) == ["ChatGPT", "Mistral"]
    assert counted(store) == 198
    with store.cursor() as cursor:
        modes = cursor.execute("select distinct mode from battles").fetchall()
        assert modes == [(Mode.UNKNOWN.value,)]
        # By hundreds DuckDB picks what is likely, one by one nothing is picked.
        one_by_one = {
            (battle, 0, place): told
            for battle, place, text, prompt in cursor.execute(
                "select battle, place, text, prompt from replies join turns using (battle, turn)"
            ).fetchall()
            if (told := naming._State.of(cursor).in_force.name_in(text, prompt))
        }
    assert one_by_one == found(store)


def test_a_store_of_an_earlier_version_is_looked_through_when_it_is_opened(tmp_path):
    path, battle = tmp_path / "arena.duckdb", saying("I am SmolLM2.", "Hello.")
    with duckdb.connect(str(path)) as connection:
        migrate(connection, MIGRATIONS[:11])
        for table, values in {
            "battles": [battle.id, list(battle.models)],
            "turns": [battle.id], "replies": [battle.id, battle.id], "votes": [battle.id],
        }.items():  # fmt: skip
            connection.execute(_OLD[table], values)
        connection.execute(_OLD["follows"])
    with open_for_writing(path) as store:
        assert (len(found(store)), counted(store), len(rows(store, "votes"))) == (1, 0, 1)
        with store.cursor() as cursor:
            assert [each.check for each in examine(cursor) if each.wrong] == []


_OLD = {
    "battles": """
        insert into battles by name select $1 as battle, now() as created_at, 'arena' as origin,
        'coupled' as mode, 1 as seed, ''::blob as nonce, '' as commitment, $2 as models,
        1 as temperature, 0 as top_k, 1 as top_p, 9 as max_new_tokens, 'token' as coupling,
        map {} as arithmetic
    """,
    "turns": "insert into turns by name select $1 as battle, 0 as turn, 'Who?' as prompt",
    "replies": """
        insert into replies values ($1, 0, 0, 'alpha', 'I am SmolLM2.', [1], 'stop'),
        ($2, 0, 1, 'beta', 'Hello.', [1], 'stop')
    """,
    "votes": """
        insert into votes by name select 'v' as vote, $1 as battle, 'ann' as voter,
        [1, 2] as ranks, false as both_bad, 'human' as source, false as early, now() as cast_at
    """,
    "follows": """
        insert into models (model) values ('alpha'), ('beta');
        insert into prompts (prompt_key, comparisons) select prompt_key, 1 from prompt_keys;
        insert into reply_styles select * exclude (battle) from reply_style_rows;
        insert into comparisons select * exclude (battle) from comparison_rows
    """,
}
