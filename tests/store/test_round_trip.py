"""What an export has written, an import brings back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.tables.described import FILES
from coupled_arena.store.transfer.export import export, fingerprint, rows_of
from coupled_arena.store.transfer.importing import import_files
from tests.store import whole
from tests.store.made_up import stores

LOSSLESS = ("parquet", "jsonl", "csv")


def added(done):
    return done.battles, done.votes, done.rationales, done.verdicts, done.scores, done.grades


def counted(store):
    """Return the comparisons that the statistics count, by names."""
    with store.cursor() as cursor:
        return cursor.execute(
            """
            select
                judge, mode, models_a.model, models_b.model, human, verdict, identical, voter,
                category, language, prompt_key
            from comparisons
            join models as models_a on models_a.model_no = model_a
            join models as models_b on models_b.model_no = model_b
            join prompts using (prompt_no)
            left join judges using (judge_no)
            order by all
            """
        ).fetchall()


def standing(store):
    """Return the rationales that stand, whatever their numbers."""
    with store.cursor() as cursor:
        return cursor.execute(
            "select * exclude (seq, given_at), epoch_us(given_at) from current_rationales "
            "order by all"
        ).fetchall()


def wrong(store):
    """Return what is wrong with a store but its moments, which are made up."""
    with store.cursor() as cursor:
        found = [(each.check, each.first) for each in examine(cursor) if each.wrong]
    return [each for each in found if each[0] not in ("future", "order of time", "blind")]


def test_the_whole_store_has_a_value_in_every_column():
    """What comes of a column that `described` gains, the tests on such a store see."""
    with Store.in_memory() as store:
        whole.fill(store)
        with store.cursor() as cursor:
            empty = {
                f"{table.name}.{name}"
                for table in FILES.values()
                for name, value in zip(
                    table.in_file,
                    cursor.execute(
                        f"select {', '.join(f'count({name})' for name in table.in_file)} "
                        f"from ({rows_of(table.name)})"
                    ).fetchall()[0],
                    strict=True,
                )
                if not value
            }
    assert empty == set(), "write them in tests/store/whole.py"


@pytest.mark.slow
@settings(max_examples=3)
@given(made=stores())
def test_an_export_comes_back_to_the_same_fingerprint(made):
    with Store.in_memory() as store, tempfile.TemporaryDirectory() as folder:
        made.fill(store)
        before = fingerprint(store)
        assert wrong(store) == []
        for format in LOSSLESS:
            files = export(store, Path(folder), format)
            again = import_files(store, files)
            assert (again.rejected, added(again)) == ((), (0,) * 6)
            with Store.in_memory() as copy:
                assert import_files(copy, files).rejected == ()
                assert fingerprint(copy) == before, format
                assert counted(copy) == counted(store)
                assert standing(copy) == standing(store)
                assert wrong(copy) == []
                for battle in made.battles:
                    assert copy.battle(battle.id) == store.battle(battle.id)
        (file,) = export(store, Path(folder), "arena")
        again = import_files(store, [file])
        assert (again.rejected, added(again)) == ((), (0,) * 6)
        assert fingerprint(store) == before
        with Store.in_memory() as copy:
            assert import_files(copy, [file]).rejected == ()
            (other,) = export(copy, Path(folder) / "again", "arena")
            assert other.read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_replies_that_come_later_are_counted_as_those_that_came_at_once(tmp_path):
    with Store.open(tmp_path / "whole.duckdb") as store:
        whole.fill(store)
        meant = counted(store)
        export(store, tmp_path / "all", "jsonl")
    replies = tmp_path / "all" / "replies.jsonl"
    lines = replies.read_text().splitlines(keepends=True)
    with Store.open(tmp_path / "parts.duckdb") as store:
        replies.write_text("".join(lines[1::2]))
        import_files(store, sorted((tmp_path / "all").glob("*.jsonl")))
        replies.write_text("".join(lines))
        import_files(store, [replies])
        assert wrong(store) == []
        assert counted(store) == meant
