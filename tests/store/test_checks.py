"""Each fault that a database can have is named; one of real use has none."""

from __future__ import annotations

import pytest

from coupled_arena.store.checks.examine import CHECKS, examine, parts
from coupled_arena.store.database import Store
from coupled_arena.store.tables import guards
from tests.store import whole

A = "0" * 31 + "a"
FAULTS = {
    "schema steps": [
        "insert into schema_version values (8, now())",
        "insert into schema_version select n, now() from range(7, 15) as steps(n)",
        "insert into schema_version values (15, now())",
        "delete from schema_version",
    ],
    "turns": ["insert into turns (battle, turn, prompt) values ('gone', 0, '')"],
    "replies": ["insert into replies values ('gone', 0, 0, 'alpha', '', [], 'stop')"],
    "votes": [f"delete from battles where battle = '{A}'"],
    "reveals": ["insert into reveals values ('gone', 'ann', now())"],
    "pending_votes": ["update pending_votes set battle = 'gone'"],
    "rationales": ["update rationales set vote = 'gone' where rationale = 'r1'"],
    "pending_rationales": ["delete from pending_votes"],
    "verdicts": ["update verdicts set battle = 'gone' where verdict = 'j1'"],
    "scores": ["update scores set place = 7 where place = 1"],
    "grades": ["update grades set answer_key = 'gone'"],
    "origins": ["insert into origins values ('gone', '0123456789abcdef')"],
    "inclusions": ["delete from exclusions where exclusion = 'x3'"],
    "comparisons": ["update comparisons set battle_no = 99 where model_a = 1"],
    "same_words": ["update same_words set battle = 'gone'"],
    "reply_styles": ["update reply_styles set battle_no = 99"],
    "judges": ["delete from judges where judge = 'one'"],
    "metrics": ["delete from metrics"],
    "models": ["delete from models where model = 'beta'"],
    "battle values": [
        "update battles set models = []",
        "update battles set mode = 'odd'",
        "update battles set origin = 'odd'",
        "update battles set top_p = 1.5",
        "update battles set temperature = 'nan'",
        "update battles set chance = -1",
    ],
    "commitments": [
        f"update battles set seed = seed - 1 where battle = '{A}'",
        f"update battles set nonce = 'other'::blob where battle = '{A}'",
        f"update battles set commitment = '' where battle = '{A}'",
    ],
    "turn numbers": [f"update turns set turn = 5 where battle = '{A}' and turn = 1"],
    "reply places": [
        f"update replies set model = 'gamma' where battle = '{A}'",
        f"update replies set finish = 'odd' where battle = '{A}'",
    ],
    "ranks": [
        "update votes set ranks = [1] where vote = 'v2'",
        "update votes set ranks = [2, 3] where vote = 'v2'",
        "update votes set ranks = [1, null] where vote = 'v2'",
        "update votes set both_bad = true where vote = 'v2'",
        "update votes set source = 'odd' where vote = 'v2'",
    ],
    "pending ranks": ["update pending_votes set ranks = [0, 1]"],
    "blind": ["update reveals set revealed_at = '2026-03-01 12:00:00Z'"],
    "verdict places": [
        "update verdicts set first_place = second_place where verdict = 'j1'",
        "update verdicts set first_place = 5 where verdict = 'j1'",
        "update verdicts set outcome = 'odd' where verdict = 'j1'",
        "update verdicts set p_tie = .5 where verdict = 'j1'",
        "update verdicts set p_tie = null where verdict = 'j1'",
    ],
    "repeated ranks": [
        "update repeats set ranks = [2, 2, 2]",
        "update repeats set shown = [0, 0, 1]",
    ],
    "repeats": ["update repeats set voter = 'nobody'"],
    "score values": ["update scores set score = 'nan' where place = 1"],
    "criteria": ["update rationales set criteria = ['odd'] where rationale = 'r1'"],
    "rules": [
        "update exclusions set voter = null, until = null where exclusion = 'x1'",
        "update exclusions set until = since where exclusion = 'x2'",
        "update exclusions set reason = ' ' where exclusion = 'x2'",
        "update inclusions set made_by = ''",
    ],
    "times": [
        "update votes set cast_at = '57181-08-26 00:00:00Z' where vote = 'v2'",
        "update battles set created_at = '1970-01-01'",
        "update verdicts set judged_at = '-infinity' where verdict = 'j1'",
        "update exclusions set until = 'infinity' where exclusion = 'x1'",
    ],
    "future": [
        "update votes set cast_at = now() + interval 1 day where vote = 'v2'",
        "update battles set created_at = now() + interval 1 second",
        "update verdicts set judged_at = 'infinity' where verdict = 'j1'",
    ],
    "order of time": [
        "update votes set cast_at = '2026-03-01 11:00:00Z' where vote = 'v2'",
        "update verdicts set judged_at = '2026-03-01 11:00:00Z' where verdict = 'j1'",
    ],
    "sequences": ["insert into votes by name (select 999 as seq, 'v99' as vote, * exclude (seq, "
                  "vote) from votes where vote = 'v2')"],
    "numbers": [
        "update votes set seq = 1 where vote = 'v2'",
        "update battles set battle_no = 1",
        "insert into pending_votes from pending_votes",
    ],
    "counts": [
        "delete from comparisons where model_a = 1 and judge_no = 1",
        "insert into comparisons from comparisons limit 1",
        "update comparisons set human = 'tie' where human = 'first'",
        "update comparisons set verdict = 'tie' where verdict = 'second'",
        "update comparisons set p_first = .25 where p_first is not null",
        "update comparisons set flipped = not flipped",
        "update comparisons set category = 'other'",
        "update votes set ranks = [1, 2] where vote = 'v2'",
        "insert into exclusions values (99, 'x9', 'ann', null, null, 'a', 'b', now())",
        "delete from inclusions",
        "update verdicts set outcome = 'tie' where verdict = 'j9'",
        "update turns set prompt = 'Another?' where turn = 0",
    ],
    "equal replies": [
        "delete from same_words",
        f"insert into same_words values ('{A}', 1, 2)",
        f"update replies set text = 'same' where battle = '{A}'",
    ],
    "lengths": [
        "delete from reply_styles where model_no = 1",
        f"update replies set text = 'short' where battle = '{A}'",
    ],
    "waiting voters": [
        "insert into waiting_voters values ('gone')",
        "update probation set votes = 3",
    ],
    "naming_replies": ["insert into naming_replies values ('gone', 0, 0, 'Robin')"],
    "names": [
        "delete from naming_replies",
        "update naming_replies set found = 'Robin'",
        f"update replies set text = 'I am SmolLM.' where battle = '{A}'",
    ],
    "prompt counts": ["update prompts set comparisons = comparisons + 1"],
}  # fmt: skip
BY_NAME = {check.name: check for check in CHECKS}


@pytest.fixture(scope="module")
def filled():
    with Store.in_memory() as store:
        whole.fill(store)
        store.write(lambda cursor: guards.set_probation(cursor, 1))
        store.write(lambda cursor: guards.note_origins(cursor, {"v1": "0123456789abcdef"}))
        yield store


@pytest.fixture
def cursor(filled):
    """In a transaction that is taken back."""
    with filled.cursor() as cursor:
        cursor.execute("begin")
        yield cursor
        cursor.execute("rollback")


def test_a_store_with_everything_is_clean(cursor):
    tables = cursor.execute("select table_name from duckdb_tables() where not internal").fetchall()
    empty = {name for (name,) in tables if not cursor.execute(f"from {name}").fetchall()}
    assert empty == {"waiting_voters"}
    found = list(examine(cursor))
    assert [(each.check, each.first) for each in found if each.wrong] == []
    assert len(found) == len(CHECKS) + 2


def test_votes_that_wait_are_no_fault(cursor):
    before = cursor.execute("select count(human) from comparisons").fetchall()
    guards.set_probation(cursor, 2)
    assert cursor.execute("select count(human) from comparisons").fetchall() < before
    assert [each.check for each in examine(cursor) if each.wrong] == []
    cursor.execute("delete from waiting_voters")
    wrong = [each.check for each in examine(cursor) if each.wrong]
    assert wrong == ["counts", "waiting voters"]


def test_every_check_has_a_fault():
    assert FAULTS.keys() == BY_NAME.keys()
    assert len(BY_NAME) == len(CHECKS)


@pytest.mark.parametrize(
    ("name", "statement"), [(name, each) for name, those in FAULTS.items() for each in those]
)
def test_faults_are_named(cursor, name, statement):
    cursor.execute(statement)
    found = BY_NAME[name].run(cursor)
    assert found.wrong
    assert found.first
    assert found.advice


@pytest.mark.parametrize(
    "statement",
    [
        "create or replace view counted_votes as from current_votes",
        "drop view comparison_rows",
        "drop index votes_of_battle",
        "alter table turns add column odd integer; alter table turns drop column category",
        "drop table reveals",
    ],
)
def test_another_schema_is_named(statement):
    with Store.in_memory() as store, store.cursor() as cursor:
        cursor.execute(statement)
        assert parts(cursor).wrong
        cursor.execute("create table mine (a integer)")
        assert [each.check for each in examine(cursor) if each.wrong] == ["schema parts"]
