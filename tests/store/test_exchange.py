from __future__ import annotations

import csv
import json
import os
import threading
from datetime import UTC, datetime

import duckdb
import pytest

from coupled_arena.core.errors import StoreBusyError, StoreError
from coupled_arena.core.records import Origin, Score
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer import snapshots
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.snapshots import open_for_reading, snapshot, snapshot_path
from tests.patience import until

TABLES = [
    *("battles", "replies", "votes", "rationales", "verdicts", "scores", "grades", "exclusions"),
    *("repeats", "gates"),
]
MOMENT = datetime(2026, 3, 1, 2, 3, 4, 567891, UTC)

READ = """
import sys
from pathlib import Path
from coupled_arena.store.database import Store
from tests.counted import counted
with Store.open(Path(sys.argv[1]), read_only=True) as store:
    print(store.version(), counted(store), flush=True)
"""

OWN = """
import sys
from pathlib import Path
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
path = Path(sys.argv[1])
with Store.open(path) as store:
    print("owned", flush=True)
    sys.stdin.readline()
    snapshot(store, snapshot_path(path))
    print("copied", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def filled(store, new_battle, new_vote):
    """A store with one battle, a superseded vote, a current one, and a verdict."""
    battle = new_battle(id="b1", created_at=MOMENT, turns=2, seed=10)
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2, id="old", cast_at=MOMENT), reveal=False)
    store.cast(new_vote(battle, 1, 1, id="new", both_bad=True, cast_at=MOMENT))
    with store.cursor() as cursor:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) "
            "values ('judge', 'strong', 'abc', '{\"swap\": \"both\"}')"
        )
        cursor.execute(
            "insert into rationales (rationale, vote, criteria, comment, given_at) "
            "values ('r', 'new', ['clarity'], 'it''s\n\"neither\"', ?)",
            [MOMENT],
        )
        cursor.execute(
            """
            insert into verdicts
                (verdict, battle, judge, first_place, second_place, raw, judged_at)
            values ('v', 'b1', 'judge', 1, 0, 'I "cannot",\nsay', ?)
            """,
            [MOMENT],
        )
    return store


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_jsonl_says_all_there_is(filled, tmp_path):
    out = tmp_path / "deep" / "it's an export"
    written = export(filled, out, "jsonl")
    assert written == [out / f"{table}.jsonl" for table in TABLES]
    read = dict(zip(TABLES, map(read_jsonl, written), strict=True))
    battles, replies, votes, rationales, verdicts, *others = read.values()
    assert others == [[], [], [], [], []]  # scores, grades, exclusions, repeats, gates
    assert battles == [
        {
            "battle": "b1",
            "created_at": "2026-03-01T02:03:04.567891Z",
            "origin": "arena",
            "mode": "coupled",
            "seed": "000000000000000a",
            "nonce": "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "commitment": filled.battle("b1").commitment,
            "models": ["alpha", "beta"],
            "prompts": ["Why 0?", "Why 1?"],
            "prompt_id": "p0",
            "category": "math",
            "language": "en",
            "system": "Be brief.",
            "prefixes": ["Well, ", "Well, "],
            "temperature": 1.3,
            "top_k": 40,
            "top_p": 0.5,
            "max_new_tokens": 99,
            "coupling": "bytes",
            "experiment": "7",
            "repetition": 3,
            "arithmetic": {"torch": "2.9", "dtype": "float32"},
            "prompt_ids": ["p0", "p1"],
            "categories": ["math", "math"],
            "languages": ["en", "en"],
            "systems": ["Be brief.", "Be brief."],
            "told_to": None,
            "told_at": None,
            "chance": 0.125,
        }
    ]
    assert [(r["turn"], r["place"], r["model"]) for r in replies] == [
        *((0, 0, "alpha"), (0, 1, "beta"), (1, 0, "alpha"), (1, 1, "beta")),
    ]
    assert replies[3] == {
        "battle": "b1",
        "turn": 1,
        "place": 1,
        "model": "beta",
        "text": '1: it\'s\n"beta" \0 ñ',
        "tokens": [1, 2**31 - 1],
        "finish": "length",
    }
    (told,) = {vote.pop("revealed_at") for vote in votes}
    assert datetime.fromisoformat(told) > MOMENT
    common = {
        "battle": "b1",
        "voter": "ann",
        "source": "human",
        "early": False,
        "excluded": False,
        "named": False,
        "shown": None,
        "cast_at": "2026-03-01T02:03:04.567891Z",
        "models": ["alpha", "beta"],
    }
    assert votes == [
        {"seq": 1, "vote": "old", "ranks": [1, 2], "both_bad": False, "current": False} | common,
        {"seq": 2, "vote": "new", "ranks": [1, 1], "both_bad": True, "current": True} | common,
    ]
    assert rationales == [
        {
            "seq": 1,
            "rationale": "r",
            "vote": "new",
            "battle": "b1",
            "voter": "ann",
            "criteria": ["clarity"],
            "comment": 'it\'s\n"neither"',
            "given_at": "2026-03-01T02:03:04.567891Z",
            "current": True,
        }
    ]
    assert verdicts == [
        {
            "seq": 1,
            "verdict": "v",
            "battle": "b1",
            "judge": "judge",
            "first_place": 1,
            "second_place": 0,
            "outcome": None,
            "raw": 'I "cannot",\nsay',
            "probability": None,
            "judged_at": "2026-03-01T02:03:04.567891Z",
            "model": "strong",
            "prompt_hash": "abc",
            "sampling": '{"swap": "both"}',
            **dict.fromkeys(("p_first", "p_second", "p_tie")),
        }
    ]


def test_csv_holds_lists_as_json(filled, tmp_path):
    tables = {}
    for path in export(filled, tmp_path, "csv"):
        with path.open(newline="", encoding="utf-8") as file:
            tables[path.stem] = list(csv.DictReader(file))
    battle = tables["battles"][0]
    assert json.loads(battle["prompts"]) == ["Why 0?", "Why 1?"]
    assert json.loads(battle["arithmetic"]) == {"torch": "2.9", "dtype": "float32"}
    assert battle["seed"] == "000000000000000a"
    assert battle["created_at"] == "2026-03-01T02:03:04.567891Z"
    assert json.loads(tables["replies"][1]["tokens"]) == [0, 2**31 - 1]
    assert tables["replies"][1]["text"] == '0: it\'s\n"beta" \0 ñ'
    assert [json.loads(vote["ranks"]) for vote in tables["votes"]] == [[1, 2], [1, 1]]
    assert tables["verdicts"][0]["raw"] == 'I "cannot",\nsay'


def test_parquet_keeps_its_types(filled, tmp_path):
    paths = dict(zip(TABLES, export(filled, tmp_path, "parquet"), strict=True))
    with duckdb.connect() as reader:
        reader.execute("set TimeZone = 'UTC'")
        battle = reader.execute(
            "select seed, models, prompts, arithmetic, created_at::text from read_parquet(?)",
            [str(paths["battles"])],
        ).fetchall()
        tokens = reader.execute(
            "select tokens from read_parquet(?)", [str(paths["replies"])]
        ).fetchall()
    assert battle == [
        (
            *("000000000000000a", ["alpha", "beta"], ["Why 0?", "Why 1?"]),
            *({"torch": "2.9", "dtype": "float32"}, "2026-03-01 02:03:04.567891+00"),
        )
    ]
    assert tokens == [([turn, 2**31 - 1],) for turn in (0, 0, 1, 1)]


def test_the_category_is_that_of_the_first_turn(store, new_battle, tmp_path):
    battle = new_battle(turns=2)
    first = type(battle.prompts[0])("plain")
    store.add_battle(new_battle(turns=2, prompts=(first, battle.prompts[1])))
    exported = read_jsonl(export(store, tmp_path, "jsonl")[0])[0]
    assert (exported["prompt_id"], exported["category"], exported["language"]) == (None,) * 3


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_an_empty_store_exports_empty_tables(store, tmp_path, format):
    paths = export(store, tmp_path, format)
    with duckdb.connect() as reader:
        for path in paths:
            read = {"jsonl": "json", "csv": "csv", "parquet": "parquet"}[format]
            assert reader.execute(f"select * from read_{read}('{path}')").fetchall() == []


def test_an_export_replaces_older_files_and_leaves_no_others(filled, tmp_path):
    (tmp_path / "votes.jsonl").write_text("foreign")
    (tmp_path / "notes.txt").write_text("kept")
    export(filled, tmp_path, "jsonl")
    assert len(read_jsonl(tmp_path / "votes.jsonl")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["notes.txt", *(f"{table}.jsonl" for table in TABLES)]
    )


def test_an_export_that_fails_leaves_nothing_half_written(filled, tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=r"Nothing can be written to .*Choose another folder"):
            export(filled, out, "csv")
    folder = tmp_path / "out"
    (folder / "battles.csv").mkdir(parents=True)
    with pytest.raises(StoreError, match="Is a directory"):
        export(filled, folder, "csv")
    assert [path.name for path in folder.iterdir()] == ["battles.csv"]


def test_a_blind_battle_stays_out_of_a_revealed_export(store, new_battle, new_vote, tmp_path):
    shown, early, silent = (new_battle(id=name) for name in ("shown", "early", "silent"))
    batch = new_battle(id="batch", origin=Origin.GENERATE)
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    for battle in (shown, early, silent, batch):
        store.add_battle(battle, [Score(0, 0, "quiz", 1.0)])
    store.cast(new_vote(shown))
    store.cast(new_vote(early), reveal=False)
    store.cast(new_vote(batch), reveal=False)
    with store.cursor() as cursor:
        cursor.execute(
            "insert into rationales (rationale, vote, criteria, comment, given_at) "
            "select vote, vote, [], '', now() from votes"
        )
        cursor.execute(
            """
            insert into verdicts
                (verdict, battle, judge, first_place, second_place, raw, judged_at)
            select battle, battle, 'j', 0, 1, '', now() from battles
            """
        )
        cursor.execute(
            "insert into grades (grade, answer_key, judge, raw, graded_at) "
            "select distinct answer_key, answer_key, 'j', '', now() from benchmark_answers"
        )
    told = [read_jsonl(path) for path in export(store, tmp_path, "jsonl", hidden="rounds")]
    everything = [read_jsonl(path) for path in export(store, tmp_path, "jsonl")]
    of_battles = (*told[:7], *everything[:7])  # the last file is about voters
    ids = [{row["battle"] for row in rows} for rows in of_battles]
    blind = {"early", "silent"}
    assert ids[:7] == [{"shown", "batch"}] * 7
    assert ids[7:] == [{"shown", "batch"} | blind] * 2 + [
        *[{"shown", "batch", "early"}] * 2,
        *[{"shown", "batch"} | blind] * 3,
    ]


@pytest.mark.slow
def test_a_snapshot_is_a_whole_store_for_another_process(tmp_path, python, new_battle, new_vote):
    path = tmp_path / 'it\'s "here".duckdb'
    copy = snapshot_path(path)
    battle = new_battle()
    with Store.open(path) as store:
        store.add_battle(battle)
        store.cast(new_vote(battle, voter="ann"))
        snapshot(store, copy)
        store.cast(new_vote(battle, voter="bob"))
        reader = python(READ, copy)
        pairs = [("alpha", "beta", "human", "first", 1)]
        assert reader.communicate()[0] == f"{(1, 1, 0, 0)} {pairs}\n"
        snapshot(store, copy)
        assert python(READ, copy).stdout.readline().startswith("(2, 1, 0, 0)")
    with Store.open(copy) as restored:
        assert restored.battle(battle.id) == battle
        restored.cast(new_vote(battle, voter="eve"))
        assert restored.version() == (3, 1, 0, 0)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [path.name, copy.name, copy.name.replace(".snapshot", ".snapshot-hour")]
    )


def test_a_snapshot_clears_what_a_killed_one_left(filled, tmp_path):
    copy = tmp_path / "arena.snapshot.duckdb"
    for name in (f"{copy.name}.partial", f"{copy.name}.partial.wal"):
        (tmp_path / name).write_text("half written" * 1000)
    snapshot(filled, copy)
    assert [file.name for file in tmp_path.iterdir()] == [copy.name]
    with Store.open(copy, read_only=True) as store:
        assert store.version() == filled.version()


def test_an_interrupted_snapshot_leaves_nothing_half_written(filled, tmp_path, monkeypatch):
    copy = tmp_path / "arena.snapshot.duckdb"
    snapshot(filled, copy)
    whole = copy.read_bytes()

    def interrupted(cursor, path):
        copied(cursor, path)
        raise duckdb.InterruptException("Interrupted!")

    copied = snapshots._copy_database
    monkeypatch.setattr(snapshots, "_copy_database", interrupted)
    with pytest.raises(duckdb.InterruptException):
        snapshot(filled, copy)
    assert [file.name for file in tmp_path.iterdir()] == [copy.name]
    assert copy.read_bytes() == whole


def test_a_snapshot_that_cannot_be_written_keeps_the_last(filled, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / "copy.duckdb", tmp_path / "file" / "copy.duckdb"):
        with pytest.raises(StoreError, match="No snapshot can be written to"):
            snapshot(filled, path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="Is a directory"):
        snapshot(filled, tmp_path / "folder")
    snapshot(filled, tmp_path / "copy.duckdb")  # nothing is left attached


@pytest.mark.slow
def test_snapshots_and_exports_agree_while_votes_arrive(tmp_path, new_battle, new_vote):
    stop = threading.Event()
    with Store.open(tmp_path / "arena.duckdb") as store:

        def write():
            while not stop.is_set():
                battle = new_battle()
                store.add_battle(battle)
                store.cast(new_vote(battle))

        writers = [threading.Thread(target=write) for _ in range(2)]
        for writer in writers:
            writer.start()
        try:
            for n in range(4):
                until(lambda: store.version()[0] > n)  # noqa: B023 (called at once)
                snapshot(store, tmp_path / f"{n}.duckdb")
                battles, _, votes, *_ = map(read_jsonl, export(store, tmp_path, "jsonl"))
                assert 0 <= len(battles) - len(votes) <= 2
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        final = store.version()
    seen = []
    for n in range(4):
        with Store.open(tmp_path / f"{n}.duckdb", read_only=True) as copy, copy.cursor() as cursor:
            count, orphans, reveals = cursor.execute(
                """
                select
                    (select count(*) from votes),
                    (select count(*) from votes where battle not in (select battle from battles)),
                    (select count(*) from reveals)
                """
            ).fetchall()[0]
            assert (orphans, reveals) == (0, count)
            seen.append(copy.version()[0])
    assert seen == sorted(seen)
    assert seen[0] < seen[-1] <= final[0]


def test_two_snapshots_at_once_both_succeed(filled, tmp_path):
    failures = []

    def take():
        try:
            snapshot(filled, tmp_path / "copy.duckdb")
        except (StoreError, duckdb.Error) as error:
            failures.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Store.open(tmp_path / "copy.duckdb", read_only=True) as store:
        assert store.version() == filled.version()


def test_a_reader_takes_the_live_file_or_the_newest_snapshot(tmp_path, python, new_battle):
    path = tmp_path / "arena.duckdb"
    battle = new_battle()
    with Store.open(path) as store:
        store.add_battle(battle)
    live, age = open_for_reading(path)
    with live:
        assert (live.path, age) == (path, None)

    owner = python(OWN, path)
    assert owner.stdout.readline() == "owned\n"
    with pytest.raises(StoreBusyError, match=rf"process {owner.pid}\..*no snapshot "):
        open_for_reading(path)
    owner.stdin.write("copy\n")
    owner.stdin.flush()
    assert owner.stdout.readline() == "copied\n"
    written = snapshot_path(path).stat().st_mtime
    os.utime(snapshot_path(path), (written, written - 100))
    copy, age = open_for_reading(path)
    with copy:
        assert copy.path == tmp_path / "arena.snapshot.duckdb"
        assert 100 <= age < 160
        assert copy.battle(battle.id) == battle
