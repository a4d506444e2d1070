"""Times of files in any unit and spelling; rows of older versions with times that cannot be."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import duckdb
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.store.database import Store
from coupled_arena.store.queries import battle_search
from coupled_arena.store.queries.battle_search import BattleFilter
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of

SECONDS = 1742315940.55
MOMENT = datetime(2025, 3, 18, 16, 39, 0, 550_000, UTC)
YEAR_57181 = "to_timestamp(1742315940550)"  # how an older version read milliseconds


def row(time, **more):
    told = {"question_id": "q", "model_a": "red", "model_b": "blue", "winner": "model_a"}
    return told | {"judge": "v1", "timestamp": time} | more


def write(path, *rows):
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def times(store):
    with store.cursor() as cursor:
        found = cursor.execute(
            "select created_at at time zone 'UTC', cast_at at time zone 'UTC' "
            "from battles join votes using (battle) order by seq"
        ).fetchall()
    return [(made.replace(tzinfo=UTC), cast.replace(tzinfo=UTC)) for made, cast in found]


ONE_TIME = (
    *(SECONDS, int(SECONDS * 1e3), int(SECONDS * 1e3) * 10**3, int(SECONDS * 1e3) * 10**6),
    *("1742315940.55", "1742315940550", "1742315940550.0", "1.742315940550e12"),
    *("2025-03-18T16:39:00.550Z", "2025-03-18 16:39:00.55", "2025-03-18T17:39:00.55+01:00"),
    *("2025-03-18 16:39:00.550000000", "2025-03-18T16:39:00.550000+00:00"),
)
ONE_DAY = ("20250318", "2025-03-18", "Tue, 18 Mar 2025 00:00:00 GMT")
NO_TIME = (
    *("infinity", "-infinity", 0, 946684799, -5, 1e300, "soon", "18/03/2025 16:39", "epoch"),
    *("1999-12-31", "9999-01-01", "57181-01-01", 17423159405500000000000),
)
MISSING = (None, "", "NaN", float("nan"), "NaT", "None")


def imported(store, tmp_path, given):
    """Import a row for each time; rows of one file are read one by one."""
    rows = [row(time, question_id=f"q{n}") for n, time in enumerate(given)]
    return import_files(store, [write(tmp_path / "rows.jsonl", *rows)])


@pytest.mark.parametrize(
    ("given", "meant"), [(ONE_TIME, MOMENT), (ONE_DAY, datetime(2025, 3, 18, tzinfo=UTC))]
)
def test_every_unit_and_spelling_is_the_same_time(store, tmp_path, given, meant):
    assert imported(store, tmp_path, given).rejected == ()
    assert times(store) == [(meant, meant)] * len(given)


def test_what_cannot_be_a_time_rejects_its_row(store, tmp_path):
    done = imported(store, tmp_path, (*NO_TIME, MOMENT.isoformat()))
    assert done.votes == 1
    assert [each.line for each in done.rejected] == list(range(1, len(NO_TIME) + 1))
    for rejected in done.rejected:
        assert rejected.reason.startswith("timestamp '")
        assert rejected.reason.endswith(
            "is not a time between 2000 and tomorrow: write it as 2026-01-31 09:30"
        )


def test_a_missing_time_is_that_of_the_import(store, tmp_path):
    before = datetime.now(UTC)
    assert imported(store, tmp_path, MISSING).rejected == ()
    found = times(store)
    assert len(found) == len(MISSING)
    assert all(cast >= before for _, cast in found)


@pytest.mark.parametrize(
    ("unit", "zone"),
    first_of(
        *(("s", None), ("ms", "Europe/Berlin"), ("us", None), ("ns", "Europe/Berlin")),
        *(pytest.param(unit, "Europe/Berlin", marks=pytest.mark.slow) for unit in ("s", "us")),
        *(pytest.param(unit, None, marks=pytest.mark.slow) for unit in ("ms", "ns")),
    ),
)
def test_columns_of_pandas(store, tmp_path, unit, zone):
    moment = pd.Series([MOMENT.replace(microsecond=0)]).dt.tz_convert(zone or "UTC")
    column = moment if zone else moment.dt.tz_localize(None)
    frame = pd.DataFrame([row(None)]).assign(timestamp=column.dt.as_unit(unit))
    frame.to_parquet(tmp_path / "rows.parquet")
    numbers = frame.assign(timestamp=column.dt.as_unit(unit).astype("int64"))  # as `to_json` has it
    numbers.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.parquet", "rows.jsonl", "rows.csv"):
        done = import_files(store, [tmp_path / name], dataset=name)
        assert (done.votes, done.rejected) == (1, ())
    whole = MOMENT.replace(microsecond=0)
    assert times(store) == [(whole, whole)] * 3


@pytest.mark.slow
def test_an_export_that_went_through_pandas_comes_back(store, tmp_path, new_battle, new_vote):
    battle = new_battle("x", "y")
    store.add_battle(battle)
    store.cast(new_vote(battle))
    export(store, tmp_path, "jsonl")
    for name in ("battles", "votes"):
        path = tmp_path / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for each in rows:
            for column in {"created_at", "cast_at", "revealed_at"} & each.keys():
                each[column] = int(datetime.fromisoformat(each[column]).timestamp() * 1000)
        write(path, *rows)
    with Store.in_memory() as copy:
        done = import_files(copy, [tmp_path / "battles.jsonl", tmp_path / "votes.jsonl"])
        assert (done.battles, done.votes, done.rejected) == (1, 1, ())
        assert abs((times(copy)[0][0] - battle.created_at).total_seconds()) < 0.001


@pytest.fixture
def damaged(tmp_path):
    """Make a database with times in columns as an older version may have left them."""
    db = tmp_path / "arena.duckdb"
    said = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Yo."}]
    texts = {"conversation_a": said, "conversation_b": said[:1]}
    rows = [row(SECONDS, question_id=n, **texts) for n in ("ms", "day", "never", "fine")]
    with Store.open(db) as store:
        import_files(store, [write(tmp_path / "rows.jsonl", *rows)])
    odd = {"ms": YEAR_57181, "day": "to_timestamp(20250318)", "never": "timestamptz 'infinity'"}
    with duckdb.connect(str(db)) as connection:
        for name, time in odd.items():
            of_it = f"battle = (select battle from turns where prompt_id = '{name}')"
            connection.execute(f"update battles set created_at = {time} where {of_it}")
            connection.execute(f"update votes set cast_at = {time} where {of_it}")
        connection.execute(
            "insert into exclusions "
            "select nextval('exclusion_seq'), 'x', 'v9', null, 'infinity', 'why', 'who', now()"
        )
    return db


@pytest.mark.parametrize(
    "command",
    first_of(
        *(["battles"], ["leaderboard"], ["voters"], ["exclusions"]),
        *(["export", "--out", "OUT", "--format", each] for each in ("jsonl", "csv", "parquet")),
        *(["export", "--out", "OUT", "--format", each] for each in ("flat", "flat-csv", "arena")),
        ["report", "--out", "OUT"],
    ),
    ids=" ".join,
)
def test_commands_survive(call, damaged, tmp_path, command):
    code, _, err = call(*(tmp_path / "out" if a == "OUT" else a for a in command), "--db", damaged)
    assert (code, "Traceback" in err) == (0, False)


def test_the_api_survives(damaged):
    store = ca.open(damaged)
    assert len(store.flat()) == len(store.votes()) == len(store.battles()) == 4
    assert str(store.battles()["created_at"].max())[:4] == "9999"


def test_pages_of_battles_go_on_after_any(damaged):
    with Store.open(damaged) as store, store.cursor() as cursor:
        found, wanted = [], BattleFilter()
        while page := battle_search.page(cursor, wanted, "nothing", size=1):
            found.append(page[0].battle)
            wanted = BattleFilter(before=page[0].battle)
    assert len(set(found)) == len(found) == 4


@pytest.mark.slow
def test_doctor_finds_and_mends_them(call, damaged):
    code, out, _ = call("doctor", damaged, "--json")
    answer = json.loads(out)
    assert (code, answer["mended"]) == (1, None)
    (found,) = [each for each in answer["checks"] if each["check"] == "times"]
    assert (found["wrong"], "--mend" in found["advice"]) == (7, True)
    code, out, _ = call("doctor", damaged, "--mend", "--json")
    answer = json.loads(out)
    assert (code, answer["whole"]) == (0, True)
    assert {
        (each["table"], each["column"]): (each["put_right"], each["replaced"])
        for each in answer["mended"]["times"]
    } == {
        ("battles", "created_at"): (2, 1),
        ("votes", "cast_at"): (2, 1),
        ("exclusions", "until"): (0, 1),
    }
    (copy,) = damaged.parent.glob("arena.duckdb.before-mending-*")
    assert answer["mended"]["copy"] == str(copy)
    _, kept, _ = call("doctor", copy, "--json")
    assert [c["wrong"] for c in json.loads(kept)["checks"] if c["check"] == "times"] == [7]
    with Store.open(damaged, read_only=True) as store:
        ms, day, never, fine = times(store)
    assert (ms, fine) == ((MOMENT, MOMENT),) * 2
    assert day == (datetime(2025, 3, 18, tzinfo=UTC),) * 2
    assert never[0] == never[1] > MOMENT
    code, out, _ = call("doctor", damaged, "--mend")
    assert (code, out.splitlines()[0]) == (0, "Nothing was to mend.")
    assert len(list(damaged.parent.glob("*before-mending*"))) == 1


def test_mending_says_what_it_did(call, damaged):
    _, out, _ = call("doctor", damaged, "--mend")
    assert "MENDED votes.cast_at: 2 put right, 1 replaced by the nearest known time." in out
    assert "The file as it was before: " in out


@pytest.mark.slow
def test_nothing_is_mended_while_another_process_owns_it(call, damaged, python):
    script = (
        "import sys\nfrom pathlib import Path\nfrom coupled_arena.store.database import Store\n"
        "with Store.open(Path(sys.argv[1])):\n    print('open', flush=True)\n    sys.stdin.read()"
    )
    owner = python(script, damaged)
    assert owner.stdout.readline() == "open\n"
    code, out, err = call("doctor", damaged, "--mend")
    assert (code, out) == (1, "")
    assert "is in use by process" in err
    assert not list(damaged.parent.glob("*before-mending*"))


def test_no_database_is_made_to_be_mended(call, tmp_path):
    assert call("doctor", tmp_path / "none.duckdb", "--mend")[0] == 1
    assert not (tmp_path / "none.duckdb").exists()


@pytest.mark.slow
def test_a_mended_vote_moves_into_an_exclusion(call, damaged):
    with Store.open(damaged) as store:
        store.write(
            lambda cursor: cursor.execute(
                "insert into exclusions values "
                "(nextval('exclusion_seq'), 'y', null, '2025-03-18 16:00Z', '2025-03-18 17:00Z', "
                "'why', 'who', now())"
            )
        )
    call("doctor", damaged, "--mend")
    _, out, _ = call("doctor", damaged, "--json")
    assert json.loads(out)["whole"]


@pytest.mark.slow
def test_copies_meet_though_one_was_not_mended(call, damaged, tmp_path):
    with Store.open(damaged) as store:
        files = export(store, tmp_path / "before", "jsonl")[:3]
    call("doctor", damaged, "--mend")
    with Store.open(damaged) as store:
        done = import_files(store, files)
    assert (done.battles, done.votes) == (0, 0)
    assert {each.reason for each in done.rejected if "infinity" not in each.reason} == set()
