"""Benchmarks as batch runs: every answer is stored with its score, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from coupled_arena.battles.batch import BatchPlan, Generated, generate
from coupled_arena.core.records import Battle, Prompt, Sampling, Score, seed_to_hex
from coupled_arena.generation.turns import Models
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.tables.scores import Accuracy
from coupled_arena.tasks.task import Item, Task


class Marker:
    """Scores the replies of a battle on one of a task's questions.

    Attributes
    ----------
    task : Task
    prompts : tuple of Prompt
        The questions.
    """

    def __init__(self, task: Task, items: Iterable[Item]) -> None:
        self.task = task
        self._items = {item.prompt: item for item in items}
        self.prompts: tuple[Prompt, ...] = tuple(self._items)

    def __call__(self, battle: Battle) -> list[Score]:
        """Return a score for each model's first reply."""
        item = self._items[battle.prompts[0]]
        replies = [reply for reply in battle.replies if reply.turn == 0]
        graded = self.task.score_all([(item, reply.text) for reply in replies])
        return [
            # Of a program it says how it ended: the program itself is the reply.
            Score(0, reply.place, self.task.name, grade.score, grade.note or grade.read)
            for reply, grade in zip(replies, graded, strict=True)
        ]


@dataclass(frozen=True)
class Scored:
    """What a benchmark run made, and how often each model is right.

    Attributes
    ----------
    made : Generated
    accuracies : mapping of Sampling to tuple of Accuracy
        Of all answers that were asked for in the same words and drawn alike, whatever the seed.
    """

    made: Generated
    accuracies: Mapping[Sampling, tuple[Accuracy, ...]]


def run_benchmark(
    plan: BatchPlan,
    marker: Marker,
    models: Models,
    store: Store,
    *,
    at_once: int,
    kv_tokens: int | None = None,
    progress: bool = True,
) -> Scored:
    """Answer and score what is not stored yet of a plan on a task's questions.

    Raises
    ------
    TaskError
        This machine cannot score the answers; nothing was generated.
    KeyboardInterrupt
        What is done is stored; the same plan goes on from there.
    """
    marker.task.ready()
    plan = plan.settled(models)
    store.write(lambda cursor: scores.declare(cursor, marker.task.name, source="benchmark"))
    _mark_stored(plan, marker, store)
    made = generate(
        plan,
        models,
        store,
        at_once=at_once,
        kv_tokens=kv_tokens,
        mark=marker,
        progress=progress,
    )
    with store.cursor() as cursor:
        words = {(prompt.system, prompt.text, prompt.prefix) for prompt in plan.prompts}
        name = marker.task.name
        found = {each: scores.accuracies(cursor, name, each, words) for each in plan.samplings}
    return Scored(made, found)


def _mark_stored(plan: BatchPlan, marker: Marker, store: Store) -> None:
    """Score the plan's battles that another command has generated."""
    with store.cursor() as cursor:
        left = scores.unscored(cursor, marker.task.name, seed_to_hex(plan.seed))
    for planned, prompt in plan.battles():
        if planned.id in left:
            battle = store.battle(planned.id)
            store.add_battle(battle, marker(replace(battle, prompts=(prompt,))))
