"""Batch runs: battles generated in bulk, interrupted and continued; benchmarks likewise."""

from __future__ import annotations

import hashlib
import json
import math
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Self

from tqdm import tqdm

from coupled_arena.core.process import on_interrupt
from coupled_arena.core.records import Battle, Mode, Origin, Prompt, Sampling, Score, seed_to_hex
from coupled_arena.core.settings import resource
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.running import Running
from coupled_arena.generation.turns import Models, check_sampler, next_request, settled, with_turn
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.tables.scores import Accuracy
from coupled_arena.tasks.data_files import locate
from coupled_arena.tasks.task import Item, Task, Wording

if TYPE_CHECKING:
    from coupled_arena.generation.lockstep import LockstepEngine


@dataclass(frozen=True)
class BatchPlan:
    """What a batch run is to make: every prompt, repetition, sampling and mode.

    Attributes
    ----------
    seed : int
        The experiment's seed; with prompt and repetition it fixes each battle's noise, which is
        the same under all samplings.
    repetitions : int
        Seeds per prompt.
    """

    prompts: tuple[Prompt, ...]
    models: tuple[str, ...]
    modes: tuple[Mode, ...]
    repetitions: int
    seed: int
    samplings: tuple[Sampling, ...]

    @property
    def size(self) -> int:
        """How many battles are planned."""
        repeated = self.repetitions * len(self.samplings) * len(self.modes)
        return len(self.prompts) * repeated

    def settled(self, models: Models) -> BatchPlan:
        """Return the plan with each coupling chosen that it leaves to the models' vocabularies.

        Raises
        ------
        ModelError
            Some of the models cannot draw so.
        """
        chosen = [settled(sampling, self.models, models) for sampling in self.samplings]
        here = [name for name in self.models if name in models]  # what is stored needs none
        for sampling in chosen:
            check_sampler(here, sampling, models)
        return replace(self, samplings=tuple(dict.fromkeys(chosen)))

    def battles(self) -> Iterator[tuple[Battle, Prompt]]:
        """Yield the planned battles, unanswered; the same plan yields the same ids and seeds."""
        keys = list(self._keys())
        # A prompt's battles follow each other, for those that begin together read it once.
        for prompt, key in zip(self.prompts, keys, strict=True):
            each = product(range(self.repetitions), self.samplings, self.modes)
            yield from ((self._battle(key, *one), prompt) for one in each)

    def _keys(self) -> Iterator[object]:
        """Yield what each prompt's seeds follow from: its text, and how often it has occurred."""
        seen: Counter[str] = Counter()
        for prompt in self.prompts:
            asked = (prompt.system, prompt.prefix, seen[prompt.text])
            yield [prompt.text, *asked] if any(asked) else prompt.text
            seen[prompt.text] += 1

    def _battle(self, key: object, repetition: int, sampling: Sampling, mode: Mode) -> Battle:
        seed = int.from_bytes(_digest(8, self.seed, key, repetition), "little")
        identity = (self.seed, key, repetition, mode, self.models, asdict(sampling))
        battle_id = _digest(16, *identity).hex()
        # Whoever votes must not know a side by its place, nor by the same question's other mode.
        order = list(self.models)
        random.Random(battle_id).shuffle(order)
        return Battle(
            id=battle_id,
            models=tuple(order),
            mode=mode,
            seed=seed,
            nonce=secrets.token_bytes(16),
            sampling=sampling,
            origin=Origin.GENERATE,
            prompts=(),
            replies=(),
            experiment=seed_to_hex(self.seed),
            repetition=repetition,
        )


def _digest(size: int, *parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=size).digest()


@dataclass(frozen=True)
class Generated:
    """What a batch run made; ``skipped`` battles were already stored.

    Attributes
    ----------
    speeds : mapping of str to float
        Tokens that each model on this machine's processor wrote in a second of its own.
    """

    battles: int
    replies: int
    tokens: int
    seconds: float
    skipped: int
    speeds: Mapping[str, float] = field(default_factory=dict[str, float])


Mark = Callable[[Battle], Sequence[Score]]
"""Scores the replies of a battle."""


def _unmarked(_: Battle) -> Sequence[Score]:
    return ()


class Watcher:
    """Follows a run as its battles end, and may end it before its plan is done."""

    def take(self, battle: str, scores: Mapping[str, float]) -> None:
        """Take in the scores by model of a battle that has ended."""

    def enough(self) -> bool:
        """Return whether no further battle needs to begin; those under way are finished."""
        return False

    def words(self) -> str:
        """Return what the bar says beside the speed."""
        return ""


def generate(
    plan: BatchPlan,
    models: Models,
    store: Store,
    *,
    at_once: int,
    kv_tokens: int | None = None,
    mark: Mark = _unmarked,
    watcher: Watcher | None = None,
    progress: bool = True,
) -> Generated:
    """Decode the battles of a plan that are not stored yet, and store each within a second.

    Parameters
    ----------
    at_once : int
        Battles that decode in one batch.
    kv_tokens : int, optional
        Tokens whose keys and values each model holds at most; else what free memory allows.
    mark : callable
        What it returns for a battle is stored with it, in one transaction.
    watcher : Watcher, optional
        Is told of each battle, and may end the run.
    progress : bool
        Show a bar on stderr.

    Raises
    ------
    KeyboardInterrupt, ModelError
        Interrupted, or a model failed. What is done is stored; the same plan goes on from there.
    """
    from coupled_arena.generation.lockstep import LockstepEngine  # the app plans without torch

    plan = plan.settled(models)
    watcher = watcher or Watcher()
    started = time.perf_counter()
    stored = store.battles_of(seed_to_hex(plan.seed))
    missing = [(battle, prompt) for battle, prompt in plan.battles() if battle.id not in stored]
    skipped = plan.size - len(missing)
    battles = replies = tokens = 0
    interrupted = threading.Event()  # an exception in the middle of a write comes out as another
    with (
        on_interrupt(interrupted.set),
        tqdm(total=plan.size, initial=skipped, unit="battle", disable=not progress) as bar,
    ):
        engine = LockstepEngine(models, Capacity(kv_tokens=kv_tokens))
        with Keeper(store) as keeper:
            for ended in _decode_all(missing, engine, at_once, interrupted, watcher.enough):
                for battle in ended:
                    marks = mark(battle)
                    keeper.take(battle, marks)
                    watcher.take(battle.id, by_model(battle, marks))
                    battles += 1
                    replies += len(battle.replies)
                    tokens += sum(len(reply.tokens) for reply in battle.replies)
                keeper.store_in_time()
                seconds = time.perf_counter() - started
                said = f"{tokens / seconds:.0f} tokens/s", watcher.words()
                bar.set_postfix_str(", ".join(filter(None, said)), refresh=False)
                bar.update(len(ended))
    seconds = time.perf_counter() - started
    return Generated(battles, replies, tokens, seconds, skipped, engine.speeds())


class Keeper:
    """Stores battles as they end, those of a second together: many cost little more than one.

    What it holds is stored when its block ends, however that ends.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._held: list[tuple[Battle, Sequence[Score]]] = []
        self._stored_at = -math.inf

    def take(self, battle: Battle, marks: Sequence[Score]) -> None:
        """Hold a battle with its scores; both are stored, or neither."""
        self._held.append((battle, marks))

    def store_in_time(self) -> None:
        """Store what it holds, unless others were stored within the last second."""
        if self._clock() - self._stored_at >= 1:
            self.store()

    def store(self) -> None:
        """Store what it holds."""
        if self._held:
            self._store.add_battles(self._held)
            self._held, self._stored_at = [], self._clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store()


def by_model(battle: Battle, marks: Iterable[Score]) -> dict[str, float]:
    """Return the score of each model in a battle."""
    return {battle.models[each.place]: each.score for each in marks}


def _decode_all(
    missing: Iterable[tuple[Battle, Prompt]],
    engine: LockstepEngine,
    at_once: int,
    interrupted: threading.Event,
    enough: Callable[[], bool],
) -> Iterator[list[Battle]]:
    """Yield the battles that end at each step, refilling the batch: none waits for the slowest.

    Once it is enough, those under way end: battles that are stored are the first of the plan.
    """
    waiting = iter(missing)
    active: list[tuple[Battle, Prompt, Running]] = []
    while True:
        # Not one by one: battles on the same prompt that begin together read it once.
        room = at_once - len(active)
        more = room >= at_once // 4 and not enough()
        while more and len(active) < at_once and (following := next(waiting, None)):
            battle, prompt = following
            # As many are under way as before: how long they last follows from when they begin.
            battle = replace(battle, created_at=datetime.now(UTC))
            running = engine.prepare(next_request(engine.models, battle, prompt))
            engine.add(running)
            active.append((battle, prompt, running))
        if not active:
            return
        engine.step()
        if interrupted.is_set():
            raise KeyboardInterrupt
        ended = [entry for entry in active if entry[2].done.is_set()]
        active = [entry for entry in active if not entry[2].done.is_set()]
        whole = [entry for entry in ended if not entry[2].error]
        yield [with_turn(battle, prompt, run, engine.models) for battle, prompt, run in whole]
        for _, _, run in ended:
            if run.error:
                raise run.error


# Benchmarks as batch runs: every answer is stored with its score, or not at all.


class Marker:
    """Scores the replies of a battle on one of a task's questions.

    Attributes
    ----------
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


def marker_for(
    task: Task, data: str | None, wording: Wording | None = None, limit: int | None = None
) -> Marker:
    """Return what scores the questions of a file; the quiz has one of its own.

    Raises
    ------
    TaskError
        There is no such file, or it has none of the task's questions.
    """
    own = data is None and task.name == "quiz"
    path = resource("data/quiz.jsonl") if own else locate(data or "", task.published)
    return Marker(task, map((wording or Wording()).of, task.read(path)[:limit]))


@dataclass(frozen=True)
class Scored:
    """What a benchmark run made, and how often each model is right.

    Attributes
    ----------
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
    watcher: Watcher | None = None,
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
    take_up(plan, marker, store, watcher)
    made = generate(
        plan,
        models,
        store,
        at_once=at_once,
        kv_tokens=kv_tokens,
        mark=marker,
        watcher=watcher,
        progress=progress,
    )
    with store.cursor() as cursor:
        words = {(prompt.system, prompt.text, prompt.prefix) for prompt in plan.prompts}
        name = marker.task.name
        found = {each: scores.accuracies(cursor, name, each, words) for each in plan.samplings}
    return Scored(made, found)


def take_up(plan: BatchPlan, marker: Marker, store: Store, watcher: Watcher | None = None) -> None:
    """Score the plan's battles that another command has generated; tell of all that are scored."""
    store.write(lambda cursor: scores.declare(cursor, marker.task.name, source="benchmark"))
    with store.cursor() as cursor:
        left = scores.unscored(cursor, marker.task.name, seed_to_hex(plan.seed))
    for planned, prompt in plan.battles():
        if planned.id in left:
            battle = store.battle(planned.id)
            store.add_battle(battle, marker(replace(battle, prompts=(prompt,))))
    if watcher:
        with store.cursor() as cursor:
            found = scores.of_experiment(cursor, marker.task.name, seed_to_hex(plan.seed))
        for name, marks in found.items():
            watcher.take(name, marks)
