"""Gates that are stored: judged as in their run, and read once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from coupled_arena.analysis.gate.result import GateSettings, gate_scores
from coupled_arena.analysis.gate.store_scores import read_paired
from coupled_arena.analysis.gate.stored import LiveGates, read_standing
from coupled_arena.battles.batch import BatchPlan
from coupled_arena.battles.gate_runs import in_drawn_order, keep_gates
from coupled_arena.core.records import Mode, Prompt, Sampling, Score, seed_to_hex
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import gates, scores
from coupled_arena.views.report.sections import gates as section
from coupled_arena.views.tables.gate import candidate_table
from coupled_arena.views.words.gate import gate_words
from tests.batches import at_once
from tests.stored import answered

BASE, OTHERS = "base", ("one", "two", "three")
SEED, MARGIN, ALPHA = 2**61 + 7, 0.1, 0.05


def plan_of(prompts, others=OTHERS, mode=Mode.COUPLED, repetitions=1, seed=SEED):
    asked = in_drawn_order([Prompt(f"Question {n}?", f"q{n:03}") for n in range(prompts)], seed)
    return BatchPlan(asked, (BASE, *others), (mode,), repetitions, seed, (Sampling(),))


def answer(store, plan, start=0, end=None, lost=()):
    """Let all models answer alike; on prompts whose number is in `lost` only the base is right."""
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    with at_once(store) as batch:
        for n, (battle, prompt) in [*enumerate(plan.battles())][start:end]:
            texts = [f"{prompt.text} {n in lost}"] * len(battle.models)
            right = [float(name == BASE or n not in lost) for name in battle.models]
            marks = [Score(0, place, "quiz", each, "x") for place, each in enumerate(right)]
            batch.add_battle(answered(battle, prompt, texts), marks)


def verdicts(standings):
    return [each.candidate.verdict for each in standings]


def test_several_candidates_stand_as_their_run_judged_them():
    """Judged together they are known sooner than each alone at its share of the error level."""
    plan = plan_of(200)
    with Store.in_memory() as store:
        kept = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        answer(store, plan, end=70)
        standings = [read_standing(store, each) for each in kept]
        with store.cursor() as cursor:
            known = gates.stored(cursor)
        asked = gate_scores(
            read_paired(store, plan.models, "quiz", Selection()),
            GateSettings(MARGIN, ALPHA, seed=SEED),
        )
        shares = [
            read_standing(store, replace(each, alpha=ALPHA / 3, candidates=())) for each in kept
        ]
    assert {each.candidates for each in known} == {OTHERS}
    assert {each.alpha for each in known} == {ALPHA}
    assert verdicts(standings) == [Verdict.AS_GOOD] * 3
    assert verdicts(shares) == [Verdict.UNKNOWN] * 3  # so 70 prompts tell the two ways apart
    for each, said in zip(standings, asked.candidates, strict=True):
        for name in ("model", "verdict", "known_after", "low", "high", "difference", "further"):
            assert getattr(each.candidate, name) == getattr(said, name), name
    # The report and the tab say what the command says of this candidate, and of all together.
    spoken = gate_words(asked)
    assert set(gate_words(standings[1].report)) <= set(spoken)
    assert "for the 3 candidates together" in " ".join(gate_words(standings[1].report))
    markup = section(SimpleNamespace(gates=tuple(standings)))
    assert all(f"{each} is as good as base" in markup for each in OTHERS)
    rows = candidate_table(asked).records()
    assert candidate_table(standings[2].report).records() == [{**rows[2], **_beside(standings[2])}]


def _beside(standing):
    """Return what a stored gate knows beside the scores, in the columns of the table."""
    row = candidate_table(standing.report).records()[0]
    plain = candidate_table(replace(standing.report, candidates=(standing.candidate,))).records()[0]
    return {name: value for name, value in row.items() if plain[name] != value}


@pytest.mark.slow
def test_a_loss_of_one_candidate_is_of_that_one():
    plan = plan_of(60)
    with Store.in_memory() as store:
        first, second, _ = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
        for battle, prompt in plan.battles():
            right = [float(name != "two") for name in battle.models]
            marks = [Score(0, place, "quiz", each, "x") for place, each in enumerate(right)]
            store.add_battle(answered(battle, prompt), marks)
        assert read_standing(store, first).candidate.difference == 0
        assert read_standing(store, second).candidate.verdict == Verdict.WORSE


def test_a_question_is_stored_once_and_one_of_fewer_candidates_is_another():
    with Store.in_memory() as store:
        first = keep_gates(store, plan_of(8), "quiz", MARGIN, ALPHA)
        assert keep_gates(store, plan_of(8), "quiz", MARGIN, ALPHA) == first
        (alone,) = keep_gates(store, plan_of(8, OTHERS[:1]), "quiz", MARGIN, ALPHA)
        assert (alone.candidates, alone.judged) == ((), ("one",))
        assert alone not in first


def test_a_gate_from_before_stands_by_itself():
    """Old stores have each of several candidates at its share, with no word of the others."""
    plan = plan_of(120)
    with Store.in_memory() as store:
        asks = (BASE, "two", "quiz", MARGIN, ALPHA / 3)
        ids = tuple(battle.id for battle, _ in plan.battles())
        made = "7" * 32, *asks, seed_to_hex(SEED), 1, ids, datetime.now(UTC)
        store.write(lambda cursor: gates.add(cursor, gates.StoredGate(*made)))
        answer(store, plan)
        with store.cursor() as cursor:
            (gate,) = gates.stored(cursor)
        standing = read_standing(store, gate)
    assert gate == gates.StoredGate(*made)
    assert standing.candidate.verdict == Verdict.AS_GOOD
    assert standing.report.judged == 1


def test_what_was_read_is_not_read_again(monkeypatch):
    plan, read = plan_of(40, OTHERS[:1]), []
    whole = gates.scored_prompts

    def counted(cursor, gate, before=0):
        found = whole(cursor, gate, before)
        read.append((before, len(found)))
        return found

    monkeypatch.setattr(gates, "scored_prompts", counted)
    with Store.in_memory() as store:
        (gate,) = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        answer(store, plan, end=10, lost=(3,))
        known = read_standing(store, gate)
        answer(store, plan, start=11, end=30)  # the eleventh ends late
        assert read_standing(store, gate, known).answered == 10
        answer(store, plan, start=10, end=11)
        found = read_standing(store, gate, known)
        at_once_read = read_standing(store, gate)
    assert read == [(0, 10), (10, 0), (10, 20), (0, 30)]
    assert vars(found.rows) == vars(at_once_read.rows)
    assert found.candidate.low == at_once_read.candidate.low
    assert found.candidate.churn == at_once_read.candidate.churn
    assert found.candidate.churn.answers == 30


def test_scores_that_come_after_later_answers_are_read():
    """A battle may be scored long after it was made: then its number is no guide."""
    plan = plan_of(6, OTHERS[:1])
    with Store.in_memory() as store:
        (gate,) = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        battles = [*plan.battles()]
        store.add_battle(answered(*battles[0]))
        answer(store, plan, start=1)
        known = read_standing(store, gate)
        assert known.answered == 0
        marks = [Score(0, place, "quiz", 1.0, "x") for place in range(2)]
        store.write(lambda cursor: scores.add(cursor, battles[0][0].id, marks))
        found = read_standing(store, gate, known)
    assert (found.answered, found.candidate.churn.answers) == (6, 6)


def test_other_battles_renew_what_independent_noise_changes():
    plan = plan_of(12, OTHERS[:1])
    with Store.in_memory() as store:
        (gate,) = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        answer(store, plan)
        live = LiveGates(store, rest=0.0)
        assert live.standing(gate).candidate.churn.text_alone is None
        assert live.standing(gate) is live.standing(gate)
        answer(store, replace(plan, modes=(Mode.INDEPENDENT,)))
        churn = live.standing(gate).candidate.churn
    assert (churn.measured, churn.text_alone.value) == (True, 0)


def test_who_has_something_to_show_does_not_wait():
    plan = plan_of(12, OTHERS[:1])
    with Store.in_memory() as store:
        (gate,) = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        answer(store, plan, end=6)
        live = LiveGates(store, rest=0.0)
        before = live.standing(gate)
        answer(store, plan, start=6)
        with live._counting:
            assert live.standing(gate) is before
        assert live.standing(gate).answered == 12


@pytest.mark.parametrize("mode", [Mode.COUPLED, Mode.INDEPENDENT])
def test_a_standing_names_its_noise(mode):
    plan = plan_of(4, OTHERS[:1], mode)
    with Store.in_memory() as store:
        (gate,) = keep_gates(store, plan, "quiz", MARGIN, ALPHA)
        assert read_standing(store, gate).mode is None
        answer(store, plan, end=1)
        assert read_standing(store, gate).mode is mode
