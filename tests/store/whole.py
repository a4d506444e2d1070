"""A little of everything that a database can hold, written by the program's own ways."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Mode, Outcome, Score, Source
from coupled_arena.core.verdicts import Probabilities, Verdict
from coupled_arena.store.tables import (
    derived_rows,
    exclusions,
    gates,
    judges,
    repeats,
    scores,
    votes,
)
from coupled_arena.store.work_queues.judging import PendingSolutions
from tests.store.conftest import make_battle, make_vote

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(minutes):
    return NOON + timedelta(minutes=minutes)


def fill(store):
    """Fill a store: two and three models, a model against itself, equal answers, all decisions."""
    battles = [
        make_battle("alpha", "beta", turns=2, id="0" * 31 + "a"),
        make_battle("alpha", "beta", "gamma", id="0" * 31 + "b", mode=Mode.INDEPENDENT),
        make_battle("gamma", "gamma", id="0" * 31 + "c", mode=Mode.UNKNOWN),
        make_battle("beta", "alpha", id="0" * 31 + "d"),
        make_battle("beta", "gamma", id="0" * 31 + "e"),
        make_battle("beta", "gamma", id="0" * 31 + "f"),
    ]
    same = tuple(replace(reply, text="The same.") for reply in battles[3].replies)
    battles[3] = replace(battles[3], replies=same)
    telling = replace(battles[5].replies[0], text="I am SmolLM2.")
    battles[5] = replace(battles[5], replies=(telling, *battles[5].replies[1:]))
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    for number, battle in enumerate(battles):
        marks = [
            Score(0, place, "quiz", place % 2, "4" if place else None)
            for place in range(len(battle.models))
        ]
        store.add_battle(replace(battle, created_at=at(number)), marks)
    _vote(store, battles)
    _judge(store, battles)
    _decide(store)


def _vote(store, battles):
    first = make_vote(battles[0], 1, 2, id="v1", cast_at=at(10))
    store.cast(first, reveal=False)
    store.cast(replace(first, id="v2", ranks=(2, 1), cast_at=at(11)))
    store.cast(make_vote(battles[0], 1, 1, id="v3", voter="bob", both_bad=True, cast_at=at(12)))
    store.cast(make_vote(battles[1], 3, 1, 1, id="v4", voter="bob", cast_at=at(13)))
    store.cast(make_vote(battles[2], 1, 2, id="v5", voter="eve", cast_at=at(14)))
    equal = make_vote(battles[3], 1, 1, id="v6", source=Source.IDENTICAL, cast_at=at(15))
    store.cast(equal)
    store.cast(make_vote(battles[3], 1, 2, id="v7", voter="eve", cast_at=at(16)))
    held = make_vote(battles[4], 2, 1, id="v8", voter="bob", cast_at=at(17))
    store.write_along(votes.hold, votes.Casting(held))
    store.cast(make_vote(battles[4], 2, 1, id="v9", voter="dan", cast_at=at(17)))
    store.cast(make_vote(battles[5], 1, 2, id="v10", voter="dan", cast_at=at(17)))
    _turn(store, "v9")
    given = (("r1", "v2", "ann"), ("r2", "v4", "bob"), ("r3", "v8", "bob"))
    for name, vote, voter in given:
        why = Rationale(name, vote, (Criterion.STYLE,), "so", at(18))
        store.write(lambda cursor, why=why, voter=voter: votes.give_reasons(cursor, why, voter))
    store.write(lambda cursor: votes.add_reveals(cursor, [(battles[4].id, "somebody who asked")]))
    said = make_vote(battles[1], 2, 1, 1, id="w4", voter="bob", cast_at=at(19))
    second = repeats.SecondVote(said, (2, 1, 0), (Criterion.STYLE,), "again")
    store.write(lambda cursor: repeats.add(cursor, second))
    asked = ("alpha", "beta", "quiz", 0.02, 0.05)
    planned = (battles[0].id, battles[3].id, "0" * 32)
    together = "beta", "gamma"
    gate = gates.StoredGate("g1", *asked, "00000000000000ff", 1, planned, at(21), together)
    store.write(lambda cursor: gates.add(cursor, gate))


def _turn(store, vote):
    """Let a vote be on the answers in the other order, as `import` writes it."""

    def turn(cursor):
        cursor.execute("update votes set shown = [1, 0] where vote = ?", [vote])
        derived_rows.refresh(cursor, "true", {})

    store.write(turn)


def _judge(store, battles):
    for judge in ("one", "two"):
        store.write(lambda cursor, judge=judge: judges.bind(cursor, judge, "model", "hash", "{}"))
    likely = Probabilities(0.6, 0.3, 0.1)
    said = [
        *((0, "one", 0, 1, Outcome.FIRST, likely), (0, "one", 1, 0, Outcome.FIRST, likely)),
        *((1, "one", 0, 1, Outcome.TIE, None), (1, "one", 1, 0, Outcome.BOTH_BAD, None)),
        *((1, "one", 2, 0, Outcome.SECOND, likely), (1, "two", 1, 2, Outcome.SECOND, None)),
        *((3, "two", 0, 1, None, None), (4, "two", 1, 0, Outcome.FIRST, None)),
    ]
    made = [
        Verdict(
            *(f"j{n}", battles[b].id, judge, i, j, outcome, "raw"),
            probability=0.9 if likely else None,
            probabilities=likely,
            judged_at=at(20),
        )
        for n, (b, judge, i, j, outcome, likely) in enumerate(said)
    ]
    store.write(lambda cursor: judges.add_verdicts(cursor, made))
    again = replace(made[0], id="j9", outcome=Outcome.SECOND)
    store.write(lambda cursor: judges.add_verdicts(cursor, [again]))
    with PendingSolutions(store, "two") as pending:
        asked = [solution for page in pending.pages() for solution in page]
        pending.add([one.answered("two", True, "yes", 0.8) for one in asked])


def _decide(store):
    decision = exclusions.Decision("mistaken", "keeper", at(30))
    for rule in (
        exclusions.Exclusion("x1", "eve", None, at(15), decision),
        exclusions.Exclusion("x2", None, at(12), at(13), decision),
        exclusions.Exclusion("x3", "bob", None, None, decision),
    ):
        store.write(lambda cursor, rule=rule: exclusions.exclude(cursor, rule))
    store.write(lambda cursor: exclusions.include(cursor, "x3", decision))
