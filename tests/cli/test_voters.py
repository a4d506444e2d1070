"""Voters on the command line: who is unlike the others, how fast, and what is left out."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from coupled_arena.core.records import Source
from coupled_arena.store.database import Store
from coupled_arena.store.tables.guards import note_origins
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """Nine honest voters, and eve, who is for beta whenever it is there, within one minute."""
    db, rng = tmp_path_factory.mktemp("voters") / "arena.duckdb", np.random.default_rng(4)
    with Store.open(db) as store, at_once(store) as batch:
        for n in range(720):
            eve = n >= 360 and n % 12 == 0
            models = [("alpha", "beta"), ("beta", "alpha")][n % 5 % 2]
            battle = make_battle(*models, "gamma", replies=(), prompts=())
            batch.add_battle(battle)
            ahead = models.index("beta") if eve else rng.integers(3)
            ranks = [(1, 2, 2), (2, 1, 2), (1, 1, 1)][ahead]
            moment = NOON + timedelta(seconds=n / 12) if eve else NOON + timedelta(minutes=n)
            voter = "eve" if eve else f"honest {n % 9}"
            batch.cast(make_vote(battle, *ranks, voter=voter, cast_at=moment))
        same = make_battle("alpha", "beta")
        batch.add_battle(same)
        batch.cast(make_vote(same, 1, 1, voter="nobody", source=Source.IDENTICAL))
    return db


@pytest.mark.slow
def test_who_is_unlike_the_others(call, db):
    code, out, err = call("voters", "--db", db, "--json")
    assert code == 0, err
    answer = json.loads(out)
    first = answer["voters"][0]
    assert (first["voter"], first["votes"], first["bet"]) == ("eve", 30, "for beta")
    assert first["share"] == pytest.approx(30 / 720)
    assert (first["most_in_a_minute"], first["suspect"], answer["suspects"]) == (30, True, 1)
    assert {row["most_in_a_minute"] for row in answer["voters"][1:]} == {1}
    assert sum(row["votes"] for row in answer["voters"]) == answer["votes"] == 720
    text = call("voters", "--db", db)[1]
    assert "10 voters, 720 votes: 1 too unlike the others" in text
    assert "for beta" in text


@pytest.mark.parametrize(
    ("times", "most"),
    [
        (None, None),
        ("2026-03-01", None),
        ("2026-03-01T12:00:07Z", 40),
        ("2026-03-01T12:00:07.123Z", 40),
        (NOON.timestamp() + 7, 40),
    ],
    ids=("none", "days", "a second", "a thousandth", "a second as a number"),
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_imported_votes_without_times_have_no_pace(call, tmp_path, monkeypatch, times, most, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    rows = [
        {
            "question_id": f"{judge} {n}",
            "model_a": "alpha",
            "model_b": "beta",
            "winner": "model_a",
            "judge": judge,
        }
        | ({} if times is None else {"tstamp": times})
        for judge in ("ann", "bob", "cleo")
        for n in range(40)
    ]
    path, db = tmp_path / "votes.jsonl", tmp_path / "arena.duckdb"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert call("import", path, "--db", db)[0] == 0
    assert call("import", path, "--db", db)[0] == 0  # nothing new
    answer = json.loads(call("voters", "--db", db, "--json")[1])
    assert [row["votes"] for row in answer["voters"]] == [40] * 3
    assert {row["most_in_a_minute"] for row in answer["voters"]} == {most}
    assert {row["median_seconds"] for row in answer["voters"]} == {None if most is None else 0.0}
    assert answer["bursts"] == []
    assert "nan" not in call("voters", "--db", db)[1].lower()
    monkeypatch.undo()
    time.tzset()


def test_what_is_excluded_is_left_out(call, db, tmp_path):
    copy = tmp_path / "arena.duckdb"
    copy.write_bytes(db.read_bytes())
    why = ("--reason", "for beta", "--by", "keeper")
    assert call("exclude", "--voter", "eve", *why, "--db", copy)[0] == 0
    assert json.loads(call("voters", "--db", copy, "--json")[1])["suspects"] == 0
    both = call("voters", "--db", copy, "--json", "--excluded", "include")[1]
    assert both == call("voters", "--db", db, "--json")[1]


def test_without_votes(call, tmp_path):
    db = tmp_path / "empty.duckdb"
    Store.open(db).close()
    assert call("voters", "--db", db)[1] == "No votes yet.\n"
    code, _, err = call("voters", "--db", db, "--alpha", "2")
    assert (code, err.count("\n")) == (1, 1)


@pytest.mark.slow
def test_a_script_with_new_cookies_is_a_burst_from_one_place_and_can_be_left_out(call, tmp_path):
    db, rng = tmp_path / "arena.duckdb", np.random.default_rng(3)
    moments = [*sorted(rng.uniform(0, 48 * 3600, 48)), *np.linspace(40 * 3600, 40.1 * 3600, 40)]
    places = {}
    with Store.open(db) as store:
        with at_once(store) as batch:
            for n, seconds in enumerate(moments):
                battle = make_battle("alpha", "beta", replies=(), prompts=())
                batch.add_battle(battle)
                moment = NOON + timedelta(seconds=float(seconds))
                vote = make_vote(battle, 1, 2, voter=f"cookie {n}", cast_at=moment)
                batch.cast(vote)
                places[vote.id] = "script" if n >= 48 else f"home {n % 9}"
        store.write(lambda cursor: note_origins(cursor, places))
    answer = json.loads(call("voters", "--db", db, "--json")[1])
    burst = next(row for row in answer["bursts"] if row["seconds"] == 3600)
    assert burst["since"] == "2026-03-03T04:00:00+00:00"
    assert burst["voters"] >= 40
    assert burst["p_value"] < 1e-6
    first = answer["origins"][0]
    assert first == {"origin": "script", "votes": 40, "voters": 40, "share": 40 / 88}
    text = call("voters", "--db", db)[1]
    assert "When more voted than usual:" in text
    assert "Where most votes came from:" in text
    why = ("--reason", "a script", "--by", "keeper")
    code, out, err = call("exclude", "--origin", "script", *why, "--db", db, "--json")
    assert code == 0, err
    assert sum(row["votes"] for row in json.loads(out)["exclusions"]) == 40
    assert json.loads(call("voters", "--db", db, "--json")[1])["bursts"] == []
    code, _, err = call("exclude", "--origin", "nowhere", *why, "--db", db)
    assert (code, err) == (1, "Error: No vote came from 'nowhere'.\n")
