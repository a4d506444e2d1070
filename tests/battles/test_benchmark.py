"""A benchmark run on battles that another command has generated already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.battles.batch import BatchPlan, Marker, run_benchmark
from coupled_arena.core.records import Mode, Sampling
from coupled_arena.store.database import Store
from coupled_arena.tasks.registry import TASKS
from tests.stored import answered


@pytest.fixture
def marker(tmp_path):
    path = tmp_path / "quiz.jsonl"
    row = '{"id": "a", "category": "sums", "question": "1 + 1?", "prefix": "It is", "answer": "2"}'
    path.write_text(row)
    return Marker(TASKS["quiz"], TASKS["quiz"].read(path))


def test_what_is_stored_without_a_score_gets_one(marker):
    plan = BatchPlan(marker.prompts, ("ann", "bob"), tuple(Mode)[:2], 2, 5, (Sampling(),))
    with Store.in_memory() as store:
        for battle, prompt in plan.battles():
            elsewhere = replace(prompt, id=None, category=None)  # as from a list of prompts
            store.add_battle(answered(battle, elsewhere, [" 2.", " 3"]))
        scored = run_benchmark(plan, marker, {}, store, at_once=1, progress=False)
        with store.cursor() as cursor:
            rows = cursor.execute("select place, score, answer from scores").fetchall()
        again = run_benchmark(plan, marker, {}, store, at_once=1, progress=False)
    assert sorted(rows) == [(0, 1.0, "2")] * 4 + [(1, 0.0, "3")] * 4
    assert (scored.made.battles, scored.made.skipped) == (0, 4)
    assert sum(accuracy.answers for accuracy in scored.accuracies[Sampling()]) == 8
    assert again.accuracies == scored.accuracies
