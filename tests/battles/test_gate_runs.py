"""Prompts of a gate count in the order in which they were drawn, and end the run once it knows."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.battles.batch import BatchPlan, Marker, generate, run_benchmark
from coupled_arena.battles.gate_runs import GateWatcher
from coupled_arena.core.records import Mode, Prompt, Sampling, Score, seed_to_hex
from coupled_arena.stats.gate.betting import Gate, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.tasks.registry import TASKS
from tests.stored import answered

MODELS = "base", "candidate"


def plan_of(prompts, repetitions=1, models=MODELS):
    asked = tuple(Prompt(f"Question {n}?") for n in range(prompts))
    return BatchPlan(asked, models, (Mode.COUPLED,), repetitions, 7, (Sampling(),))


def ids(plan):
    return [battle.id for battle, _ in plan.battles()]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_ends_first_prompts_count_as_they_were_drawn(seed):
    """An answer is the sooner there the better the candidate does: that must not matter."""
    rng = np.random.default_rng(seed)
    plan, answers = plan_of(200, repetitions=2), rng.integers(0, 2, (200, 2, 2)).astype(float)
    differences = (answers[..., 1] - answers[..., 0]).mean(axis=1)
    watcher = GateWatcher(plan, Gate.start(0.1, 0.05))
    names = ids(plan)
    order = np.argsort(-(answers[..., 1] - answers[..., 0]).ravel(), kind="stable")
    most = 0
    for done, at in enumerate(order.tolist(), 1):
        base, candidate = answers.reshape(-1, 2)[at]
        watcher.take(names[at], {"base": base, "candidate": candidate})
        ended = np.isin(np.arange(400), order[:done]).reshape(200, 2).all(axis=1)
        most = 200 if ended.all() else int(ended.argmin())
        assert watcher.gate.seen == most
    straight = Gate.start(0.1, 0.05).after(differences[:, None])
    assert np.allclose(watcher.gate.bets.above, straight.bets.above, rtol=1e-9, atol=1e-9)
    assert watcher.gate.known_after == straight.known_after


def test_a_run_ends_once_it_is_known_and_asks_no_more(models):
    """What is stored are the first prompts of the plan, those under way included."""
    plan = replace(plan_of(300, models=("ann", "bob")), samplings=(Sampling(max_new_tokens=4),))
    watcher = GateWatcher(plan, Gate.start(0.1, 0.05))

    def equal(battle):
        return [Score(0, place, "right", 1.0) for place in range(2)]

    with Store.in_memory() as store:
        store.write(lambda cursor: scores.declare(cursor, "right", source="benchmark"))
        made = generate(plan, models, store, at_once=8, mark=equal, watcher=watcher, progress=False)
        stored = store.battles_of(seed_to_hex(plan.seed))
    assert watcher.gate.verdicts == (Verdict.AS_GOOD,)
    known = watcher.gate.known_after[0]
    assert known <= made.battles <= known + 8 + 1
    assert stored == set(ids(plan)[: made.battles])
    assert watcher.gate.seen == made.battles


@pytest.mark.slow
def test_a_run_goes_on_from_what_is_stored(tmp_path):
    path = tmp_path / "quiz.jsonl"
    row = {"category": "sums", "question": "1 + 1?", "prefix": "It is", "answer": "2"}
    path.write_text("\n".join(json.dumps(row | {"id": str(n)}) for n in range(40)))
    marker = Marker(TASKS["quiz"], TASKS["quiz"].read(path))
    plan = BatchPlan(marker.prompts, MODELS, (Mode.COUPLED,), 2, 5, (Sampling(),))
    with Store.in_memory() as store:
        for n, (battle, prompt) in enumerate(plan.battles()):
            right = [" 2." if name == "base" or n % 8 else " 3" for name in battle.models]
            store.add_battle(answered(battle, prompt, right))
        other = replace(plan, models=("base", "third"))
        store.add_battle(answered(*next(other.battles()), [" 2.", " 3"]))  # of the same experiment
        watcher = GateWatcher(plan, Gate.start(0.1, 0.05))
        run_benchmark(plan, marker, {}, store, at_once=1, watcher=watcher, progress=False)
    assert watcher.gate.seen == 40
    assert watcher.gate.difference == pytest.approx([-1 / 8])
    assert watcher.words().startswith("[-")


def test_time_and_one_look_decide_when_no_prompt_begins():
    plan = plan_of(2000)
    once = GateWatcher(plan, Gate.start(0.1, 0.05), early=False)
    always = GateWatcher(plan, Gate.start(0.1, 0.05))
    for battle in ids(plan)[:400]:
        for watcher in (once, always):
            watcher.take(battle, {"base": 1.0, "candidate": 1.0})
    assert (once.known, once.enough()) == (True, False)
    assert (always.known, always.enough()) == (True, True)
    assert not GateWatcher(plan, Gate.start(0.1, 0.05), seconds=60).enough()
    assert GateWatcher(plan, Gate.start(0.1, 0.05), seconds=0).enough()
