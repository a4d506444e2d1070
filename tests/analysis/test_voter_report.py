"""Of each person: whether they say the same twice, by which side they go, how fast they are."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.stats import binomtest

import coupled_arena as ca
from coupled_arena.analysis.voter_report import read_voters
from coupled_arena.core.records import Vote, new_id
from coupled_arena.stats.told_effects import FEWEST_VOTES
from coupled_arena.store.database import Store
from coupled_arena.store.tables import repeats, votes
from coupled_arena.views.tables.votes import voters_answer, voters_text
from coupled_arena.views.words.votes import told_words
from tests.stored import MODELS, fill

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cast(store, battle, voter, ranks, seconds=0.0, told=None):
    """Cast a vote at a time; the names are told so many seconds later, or not at all."""
    at = NOON + timedelta(seconds=seconds)
    store.cast(Vote(new_id(), battle.id, voter, ranks, cast_at=at), reveal=False)
    if told is not None:
        row = [battle.id, voter, at + timedelta(seconds=told)]
        store.write(lambda cursor: cursor.execute("insert into reveals values (?, ?, ?)", row))


def say_again(store, battle, voter, ranks):
    second = repeats.SecondVote(Vote(new_id(), battle.id, voter, ranks), (1, 0))
    store.write(lambda cursor: repeats.add(cursor, second))


def habits(store):
    return {row.voter: row.habits for row in read_voters(store).rows}


def test_who_says_the_same_twice(store):
    made = fill(store, [f"{n}?" for n in range(8)])
    for battle in made:
        cast(store, battle, "eve", (1, 2))
        cast(store, battle, "mia", (1, 1))
    for battle, ranks in zip(made, [(1, 2), (1, 2), (2, 1), (1, 1)], strict=False):
        say_again(store, battle, "eve", ranks)
    say_again(store, made[0], "mia", (1, 1))
    found = habits(store)
    assert (found["eve"].same.of, found["eve"].same.share) == (4, 0.5)
    expected = binomtest(2, 4).proportion_ci(0.95, "wilson")
    assert (found["eve"].same.low, found["eve"].same.high) == pytest.approx((*expected,), abs=1e-6)
    assert (found["mia"].same.of, found["mia"].same.share) == (1, 1.0)


def test_by_which_side_somebody_goes(store):
    made = fill(store, [f"{n}?" for n in range(10)])
    for n, battle in enumerate(made):
        cast(store, battle, "eve", (1, 2) if n < 6 else (2, 1) if n < 8 else (1, 1))
        cast(store, battle, "mia", (1, 1))
    found = habits(store)
    assert (found["eve"].first.of, found["eve"].first.share) == (8, 0.75)
    expected = binomtest(6, 8).proportion_ci(0.95, "wilson")
    assert (found["eve"].first.low, found["eve"].first.high) == pytest.approx(
        (*expected,), abs=1e-6
    )
    assert found["mia"].first.of == 0
    assert np.isnan(found["mia"].first.share)


def test_how_fast_somebody_is_between_breaks(store):
    made = fill(store, [f"{n}?" for n in range(6)])
    for battle, seconds in zip(made, [0, 10, 24, 30, 5000, 5012], strict=True):
        cast(store, battle, "eve", (1, 2), seconds)
    cast(store, made[0], "mia", (1, 2), 3)
    found = habits(store)
    assert found["eve"].median_seconds == pytest.approx(11)  # of 10, 14, 6 and 12
    assert np.isnan(found["mia"].median_seconds)


def campaign(store, people, drift=0.0, told=0.5):
    """People vote on everything, in orders of their own; after each reveal they like one more."""
    rng = random.Random(5)
    made = [
        battle
        for pair in (MODELS[:2], MODELS[1:], MODELS[::2])
        for battle in fill(store, [f"{pair} {n}?" for n in range(14)], pair)
    ]
    rows = []
    for person in range(people):
        for n, battle in enumerate(rng.sample(made, len(made))):
            sign = {0: 1, 1: -1}.get(
                battle.models.index(MODELS[0]) if MODELS[0] in battle.models else 2, 0
            )
            first = rng.random() < 0.5 + sign * drift * np.log1p(n) / np.log1p(30)
            at = NOON + timedelta(seconds=n)
            rows.append((battle.id, f"p{person}", (1, 2) if first else (2, 1), at))

    def write(cursor):
        votes.insert(cursor, [Vote(new_id(), b, v, r, cast_at=at) for b, v, r, at in rows])
        if told is not None:
            later = timedelta(seconds=told)
            values = [
                [b for b, *_ in rows],
                [v for _, v, *_ in rows],
                [at + later for *_, at in rows],
            ]
            cursor.execute("insert into reveals select unnest(?), unnest(?), unnest(?)", values)

    store.write(write)


def test_reveals_that_change_votes_are_told(store):
    campaign(store, 40, drift=0.35)
    found = read_voters(store)
    assert found.told.rows[0].model == MODELS[0]
    assert found.told.rows[0].low > 0
    assert found.told.p_value < 0.05
    assert "People vote otherwise after 30 reveals: the share of votes for ann-model" in (
        told_words(found)
    )
    assert "People vote otherwise" in voters_text(found)


def test_reveals_that_change_nothing(store):
    campaign(store, 14)
    found = read_voters(store)
    assert len(found.told.rows) == len(MODELS)
    assert told_words(found).startswith("Nothing shows that reveals change votes.")
    answer = json.loads(json.dumps(voters_answer(found)))
    assert answer["told"]["models"][0].keys() == {"model", "change", "low", "high"}
    assert answer["told"]["votes"] >= FEWEST_VOTES


def test_too_few_votes_are_one_line(store):
    campaign(store, 3)
    found = read_voters(store)
    assert found.told.rows == ()
    assert told_words(found).startswith("Do reveals change votes? Too few votes to tell: ")
    assert "of 10 voters" in told_words(found)
    assert voters_answer(found)["told"]["p_value"] is None


def test_who_was_told_nothing_says_nothing_of_it(store, tmp_path):
    campaign(store, 3, told=None)
    found = read_voters(store)
    assert found.told is None
    assert told_words(found) == ""
    assert voters_answer(found)["told"] is None


def test_python_and_the_table_have_them(tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        battle, *_ = fill(store, ["One?"])
        cast(store, battle, "eve", (1, 2))
        say_again(store, battle, "eve", (1, 2))
    result = ca.voters(ca.open(tmp_path / "arena.duckdb"))
    row = result.to_frame("voters").iloc[0]
    assert (row["repeats"], row["same"], row["first_side"]) == (1, 1.0, 1.0)
