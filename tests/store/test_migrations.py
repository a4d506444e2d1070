from __future__ import annotations

import duckdb
import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.connection import MIGRATIONS, migrate, schema_version
from coupled_arena.store.database import Store
from coupled_arena.views.words.leaderboard import board_warnings
from tests.boards import read_leaderboard

FIRST = "create table one (a integer); create view seen as select * from one;"
SECOND = "alter table one add column b integer; create sequence counted;"
BROKEN = "create table two (a integer); create sequence lost; select * from nowhere;"


def names(connection):
    return {
        name
        for (name,) in connection.execute(
            """
            select table_name from duckdb_tables() union all
            select view_name from duckdb_views() where not internal union all
            select sequence_name from duckdb_sequences()
            """
        ).fetchall()
    }


def test_an_empty_database_gets_every_table():
    connection = duckdb.connect()
    assert schema_version(connection) == 0
    migrate(connection)
    assert schema_version(connection) == len(MIGRATIONS)
    assert names(connection) == {
        *("schema_version", "battles", "turns", "replies", "votes", "reveals", "verdicts"),
        *("models", "judges", "prompts", "comparisons", "metrics", "scores", "grades"),
        *("same_words", "reply_styles", "pending_votes", "rationales", "pending_rationales"),
        *("current_votes", "battle_pairs", "judgements", "prompt_keys", "comparison_rows"),
        *("benchmark_answers", "current_rationales", "reply_style_rows"),
        *("exclusions", "inclusions", "standing_exclusions", "ruled_votes", "counted_votes"),
        *("origins", "probation", "waiting_voters", "name_lists", "naming_replies", "repeats"),
        "gates",
        *(f"{name}_seq" for name in ("vote", "verdict", "battle", "model", "judge", "prompt")),
        *("grade_seq", "rationale_seq", "exclusion_seq", "name_list_seq"),
    }


def shape(connection):
    """Return all that DuckDB knows of a schema, but the numbers of its parts."""
    found = {}
    for kind in ("tables", "columns", "views", "sequences", "indexes", "constraints", "types"):
        rows = connection.execute(
            f"""
            select columns(lambda name: name not like '%_oid' and name not like '%_size')
            from duckdb_{kind}() where database_name = current_database()
            """
        ).fetchall()
        found[kind] = sorted(map(repr, rows))
    return found


def test_a_new_database_is_as_one_that_went_all_the_way():
    new, old = duckdb.connect(), duckdb.connect()
    migrate(new)
    for step in range(1, len(MIGRATIONS) + 1):
        migrate(old, MIGRATIONS[:step])
    assert schema_version(new) == schema_version(old)
    assert shape(new) == shape(old)


def test_only_the_missing_steps_are_applied():
    connection = duckdb.connect()
    migrate(connection, [FIRST])
    connection.execute("insert into one values (5)")
    migrate(connection, [FIRST, SECOND])
    migrate(connection, [FIRST, SECOND])
    assert connection.execute("select * from one").fetchall() == [(5, None)]
    assert connection.execute("select version from schema_version").fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("before", [[], [FIRST]])
def test_a_failing_step_leaves_nothing_behind(before):
    connection = duckdb.connect()
    migrate(connection, before)
    untouched = names(connection)
    with pytest.raises(StoreError, match=f"schema {len(before) + 1}: Catalog Error"):
        migrate(connection, [*before, BROKEN])
    assert names(connection) == untouched
    assert schema_version(connection) == len(before)
    migrate(connection, [*before, SECOND if before else FIRST])
    assert schema_version(connection) == len(before) + 1


def test_a_new_database_is_made_whole_or_not_at_all():
    connection = duckdb.connect()
    with pytest.raises(StoreError, match="schema 2: Catalog Error"):
        migrate(connection, [FIRST, BROKEN])
    assert names(connection) == set()
    assert schema_version(connection) == 0


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_asks_for_an_upgrade(tmp_path, read_only):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store, store.cursor() as cursor:
        cursor.execute("insert into schema_version values (999, now())")
    with pytest.raises(StoreError, match=r"schema 999.*Upgrade the program"):
        Store.open(path, read_only)


def test_reading_an_older_schema_does_not_change_it(tmp_path):
    path = tmp_path / "arena.duckdb"
    duckdb.connect(path).close()
    with pytest.raises(StoreError, match="Open it once for writing"):
        Store.open(path, read_only=True)
    assert names(duckdb.connect(path)) == set()


def add_as_once(connection, battle):
    """Write a battle as the first version of the program did."""
    connection.execute(
        "insert into battles values (?, now(), 'arena', 'coupled', 7, ?, '', ?, 1, 0, 1, 9, "
        "'token', null, null, map {})",
        [battle.id, battle.nonce, list(battle.models)],
    )
    for turn, prompt in enumerate(battle.prompts):
        connection.execute(
            "insert into turns values (?, ?, ?, ?, ?, ?)",
            [battle.id, turn, prompt.text, prompt.id, prompt.category, prompt.language],
        )


def test_a_store_of_the_first_schema_is_counted(new_battle, new_vote):
    """Battles and votes from before comparisons were kept are in them after the upgrade."""
    connection = duckdb.connect()
    migrate(connection, MIGRATIONS[:1])
    battles = [new_battle("a", "b", "c"), new_battle("c", "a")]
    for battle in battles:
        add_as_once(connection, battle)
    connection.execute(
        "insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at) "
        "values ('v', ?, 'ann', [2, 1, 1], false, 'human', false, now())",
        [battles[0].id],
    )
    migrate(connection)
    found = connection.execute(
        "select a.model, b.model, human::text from comparisons "
        "join models as a on a.model_no = model_a join models as b on b.model_no = model_b"
    ).fetchall()
    assert sorted(found, key=str) == [
        *[("a", "b", "second"), ("a", "c", "second"), ("b", "c", "tie"), ("c", "a", None)]
    ]
    assert connection.execute("select max(comparisons) from prompts").fetchall() == [(4,)]
    assert connection.execute("select max(battle_no) from battles").fetchall() == [(2,)]
    assert connection.execute("select distinct system, prefix from turns").fetchall() == [("", "")]


def test_old_verdicts_that_disagree_are_known_to(new_battle):
    """Of four pairs judged in both orders before step 8, two flipped; none has probabilities."""
    connection = duckdb.connect()
    migrate(connection, MIGRATIONS[:1])
    said = {
        "same": ("first", "second"),
        "flipped": ("first", "first"),
        "to a tie": ("first", "tie"),
        "neither": ("tie", "both_bad"),
    }
    for name, (there, back) in said.items():
        add_as_once(connection, new_battle("a", "b", id=name))
        connection.executemany(
            "insert into verdicts (verdict, battle, judge, first_place, second_place, outcome, "
            "raw, judged_at) values (?, ?, 'gpt', ?, ?, ?, '', now())",
            [[f"{name} 0", name, 0, 1, there], [f"{name} 1", name, 1, 0, back]],
        )
    migrate(connection, MIGRATIONS[:7])
    connection.execute("insert into judges values ('gpt', 1, 'm', '', '')")
    connection.execute("delete from comparisons")
    connection.execute("insert into comparisons select * exclude (battle) from comparison_rows")
    migrate(connection)
    found = connection.execute(
        "select battle, verdict::text, flipped, p_first, p_second from comparisons "
        "join battles using (battle_no) where judge_no > 0 order by battle"
    ).fetchall()
    assert found == [
        ("flipped", "tie", True, None, None),
        ("neither", "tie", False, None, None),
        ("same", "first", False, None, None),
        ("to a tie", "tie", True, None, None),
    ]
    assert faults(connection) == []


def test_old_votes_between_equal_answers_are_left_out_and_stay(tmp_path, new_battle):
    """Of three answers two are equal, and the vote ranked all apart: one pair is left out."""
    path = tmp_path / "arena.duckdb"
    connection = duckdb.connect(path)
    migrate(connection, MIGRATIONS[:1])
    texts = {"equal": ["a", "b", "a"], "apart": ["a", "b", "c"], "wordless": ["", "", ""]}
    for number, (name, said) in enumerate(texts.items()):
        battle = new_battle("x", "y", "z", id=name)
        add_as_once(connection, battle)
        connection.executemany(
            "insert into replies values (?, 0, ?, ?, ?, [], 'stop')",
            [[name, place, model, said[place]] for place, model in enumerate("xyz")],
        )
        connection.execute(
            "insert into votes values (?, ?, ?, 'ann', [1, 2, 3], false, 'human', false, now())",
            [number + 1, name, name],
        )
    migrate(connection, MIGRATIONS[:3])
    assert connection.execute("select count(human) from comparisons").fetchall() == [(9,)]
    before = connection.execute("from votes order by all").fetchall()
    connection.close()
    with Store.open(path) as store:
        board = read_leaderboard(store)
        assert (board.human_votes, board.estimates.left_out) == (8, 1)
        with store.cursor() as cursor:
            kept = cursor.execute("from votes order by all").fetchall()
        assert kept == [(*row, None) for row in before]  # of old votes no other order is known
    (message,) = [message for message in board_warnings(board) if "left out" in message]
    assert (
        message
        == "1 comparison is left out: a vote that prefers one of two equal answers says nothing."
    )
