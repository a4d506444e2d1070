"""Exports that come back, and copies that merge, by the command line."""

from __future__ import annotations

import json

import pandas
import pytest

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import fingerprint
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        battle = make_battle(turns=2)
        store.add_battle(battle)
        store.cast(make_vote(battle, 1, 2))
    return path


def fingerprint_of(path):
    with Store.open(path, read_only=True) as store:
        return fingerprint(store)


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("by_folder", first_of(True, False))
def test_an_export_is_imported_whole(call, tmp_path, db, format, by_folder):
    out, copy = tmp_path / "out", tmp_path / "copy.duckdb"
    assert call("export", "--out", out, "--format", format, "--db", db)[0] == 0
    files = [out] if by_folder else sorted(out.iterdir())
    code, printed, err = call("import", *files, "--db", copy, "--json")
    assert code == 0, err
    done = json.loads(printed)
    assert (done["battles"], done["votes"], done["rejected"]) == (1, 1, [])
    assert fingerprint_of(copy) == fingerprint_of(db)


def test_pandas_reads_an_export(call, tmp_path, db):
    assert call("export", "--out", tmp_path, "--format", "parquet", "--db", db)[0] == 0
    (battle,) = pandas.read_parquet(tmp_path / "battles.parquet").itertuples()
    (vote,) = pandas.read_parquet(tmp_path / "votes.parquet").itertuples()
    with Store.open(db, read_only=True) as store:
        assert store.battle(battle.battle).models == tuple(battle.models)
    assert (vote.battle, list(vote.ranks)) == (battle.battle, [1, 2])


@pytest.mark.slow
def test_several_copies_at_once(call, tmp_path, db):
    """What two annotators send, in two formats, is one battle with three votes."""
    folders = []
    for voter, format in (("x", "csv"), ("y", "parquet")):
        copy, out = tmp_path / f"{voter}.duckdb", tmp_path / voter
        copy.write_bytes(db.read_bytes())
        with Store.open(copy) as store, store.cursor() as cursor:
            ((battle,),) = cursor.execute("select battle from battles").fetchall()
            store.cast(make_vote(store.battle(battle), 2, 1, voter=voter))
        assert call("export", "--out", out, "--format", format, "--db", copy)[0] == 0
        folders.append(out)
    code, out, _ = call("import", *folders, "--db", db)
    assert code == 0
    assert "0 new battles, 2 new votes" in out
    code, out, _ = call("leaderboard", "--db", db, "--json")
    assert {model["human_votes"] for model in json.loads(out)["models"]} == {3}


def test_a_folder_that_holds_no_export(call, tmp_path):
    code, _, err = call("import", tmp_path, "--db", tmp_path / "new.duckdb")
    assert code == 1
    assert "holds no export, such as battles.parquet" in err


def test_logs_of_a_harness_are_no_votes(call, tmp_path):
    """The sentence is about the log, and not said where another file is the one unknown."""
    log = tmp_path / "logs" / "org__small" / "samples_sums_2026-11-27T10-00-00.jsonl"
    log.parent.mkdir(parents=True)
    row = {"doc_id": 0, "doc": {"question": "1 + 1?"}, "target": "2", "arguments": [["1 + 1?"]]}
    row |= {"resps": [["2"]], "filtered_resps": ["2"], "exact_match": 1.0}
    log.write_text(json.dumps(row) + "\n")
    for path, what in ((log, "is a log"), (tmp_path / "logs", "holds logs")):
        code, _, err = call("import", path, "--db", tmp_path / "new.duckdb")
        assert code == 1
        assert f"{path} {what} of lm-evaluation-harness, with scores and no votes." in err
        assert "`gate --scores`" in err
    summary = {"evalId": "e", "results": {"version": 3, "timestamp": "t", "results": []}}
    log = tmp_path / "results.json"
    log.write_text(json.dumps(summary, indent=2))  # no rows at all
    code, _, err = call("import", log, "--db", tmp_path / "new.duckdb")
    assert code == 1
    assert f"{log} is a log of promptfoo, with scores and no votes." in err
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    code, _, err = call("import", other, log, "--db", tmp_path / "new.duckdb")
    assert code == 1
    assert f"{other} is in no form that is known" in err
