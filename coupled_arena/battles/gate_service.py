"""Gates in the app: two models answer a benchmark beside the battles of visitors.

There is one run at a time. It takes the places that visitors leave it, and stores each battle with
its scores. It ends once it is known whether the candidate is as good. The same question goes on
where it was. What was found is not kept here: it follows from the store.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from coupled_arena.analysis.gate.paired import check_different
from coupled_arena.analysis.gate.result import GateSettings
from coupled_arena.battles.batch import BatchPlan, Keeper, Marker, by_model, take_up
from coupled_arena.battles.gate_runs import (
    GateWatcher,
    in_drawn_order,
    keep_gates,
    seed_of_run,
)
from coupled_arena.core.errors import ArenaError, PromptError, PromptLengthError, ScoreError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import (
    Battle,
    Finish,
    Mode,
    Prompt,
    Sampling,
    Score,
)
from coupled_arena.generation.running import Running, Worker
from coupled_arena.generation.turns import Models, next_request, with_turn
from coupled_arena.stats.gate.betting import Gate
from coupled_arena.store.database import Store
from coupled_arena.store.tables.gates import StoredGate
from coupled_arena.tasks.task import DRAWN_AS_PUBLISHED

_log = logging.getLogger(__name__)
_LOOK = 0.05  # seconds between looks at the battles under way
_LAST_BATTLE = 5.0  # seconds that scoring the last one may take when the arena closes
_BROKEN = N_("The run broke off; the log says why. Start it again: it goes on where it was.")
_BUSY = N_("Another run goes on: wait for its end, or stop it.")


@dataclass(frozen=True)
class Share:
    """How much of an engine a run takes.

    Attributes
    ----------
    most_at_once : int
        Battles that decode together.
    """

    most_at_once: int

    def places(self, others: int, *, crowded: bool) -> int:
        """Return how many battles of a run may be under way beside so many of visitors.

        Without visitors it is a quarter of all places. Beside visitors it is a quarter of what
        runs, and one at least. While visitors wait for places it is none.
        """
        if crowded:
            return 0
        quarter = self.most_at_once // 4
        return max(1, min(quarter, others // 3) if others else quarter)


@dataclass(frozen=True)
class Asked:
    """What somebody asks: whether a candidate is as good as a base, by this benchmark."""

    base: str
    candidate: str
    task: str
    margin: float
    alpha: float = 0.05

    @property
    def key(self) -> tuple[str, str, str, float, float]:
        """The same, as `StoredGate.asks` has it."""
        return self.base, self.candidate, self.task, self.margin, self.alpha

    def check(self) -> None:
        """Raise ScoreError where the models are one, or a number is out of range."""
        check_different((self.base, self.candidate))
        GateSettings(self.margin, self.alpha).check()


class Gates:
    """Everybody's gates.

    Parameters
    ----------
    models : mapping of str to LanguageModel
    worker : Worker
        Decodes for visitors, too.
    store : Store
    tasks : mapping of str to callable
        The benchmarks that there are data for; each returns what scores its questions.
    sampling : Sampling
        How models draw, but for what benchmarks have of their own.
    share : Share
    """

    def __init__(
        self,
        models: Models,
        worker: Worker,
        store: Store,
        tasks: Mapping[str, Callable[[], Marker]],
        sampling: Sampling,
        share: Share,
    ) -> None:
        self._models, self._worker, self._store = models, worker, store
        self._tasks, self._share = tasks, share
        self._sampling = replace(sampling, **DRAWN_AS_PUBLISHED)
        self._changing = threading.Lock()
        self._newest: GateRun | None = None
        self._closed = False

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are loaded."""
        return tuple(self._models)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The benchmarks that may be chosen."""
        return tuple(self._tasks)

    @property
    def running(self) -> GateRun | None:
        """The run that goes on, if one does."""
        newest = self._newest
        return newest if newest and not newest.ended.is_set() else None

    def trouble(self, gate: str) -> ArenaError | None:
        """Return what ended the newest run, where it is of this gate and did not end by itself."""
        newest = self._newest
        return newest.trouble if newest and newest.gate.id == gate else None

    def speeds(self, gate: str) -> Mapping[str, float]:
        """Return the tokens a second of its models, of the newest run if it is of this gate."""
        newest = self._newest
        return newest.speeds if newest and newest.gate.id == gate else {}

    def start(self, asked: Asked) -> StoredGate:
        """Begin to answer a question, or go on where its last run ended.

        Raises
        ------
        ScoreError
            Another run goes on, or the question is none.
        TaskError
            The benchmark's data are not there, or this machine cannot score its answers.
        """
        asked.check()
        with self._changing:
            if self.running or self._closed:
                raise ScoreError(_(_BUSY))
            run = self._prepared(asked)
            self._newest = run
            run.begin()
            return run.gate

    def stop(self) -> None:
        """End the run that goes on; what is answered stays."""
        if running := self.running:
            running.stopping.set()

    def close(self) -> None:
        """End the run, and begin no other."""
        with self._changing:
            self._closed = True
        if running := self.running:
            running.stopping.set()
            if not running.ended.wait(_LAST_BATTLE):
                _log.warning("A gate did not end in time; its last battle is made again.")

    def _prepared(self, asked: Asked) -> GateRun:
        if not {asked.base, asked.candidate} <= set(self._models):
            raise ScoreError(_("One of these models is not loaded: choose from the list."))
        if asked.task not in self._tasks:
            raise ScoreError(_("There are no data for this benchmark here."))
        self._store.check_file()
        marker = self._tasks[asked.task]()
        marker.task.ready()
        seed = seed_of_run(
            *(self._store, asked.task, (asked.margin, asked.alpha)),
            partial(self._plan, asked, marker),
        )
        plan = self._plan(asked, marker, seed)
        (gate,) = keep_gates(self._store, plan, asked.task, asked.margin, asked.alpha)
        watcher = GateWatcher(plan, Gate.start(asked.margin, asked.alpha))
        engine = self._models, self._worker
        return GateRun(gate, plan, marker, watcher, *engine, self._store, self._share)

    def _plan(self, asked: Asked, marker: Marker, seed: int) -> BatchPlan:
        return BatchPlan(
            prompts=in_drawn_order(marker.prompts, seed),
            models=(asked.base, asked.candidate),
            modes=(Mode.COUPLED,),
            repetitions=1,
            seed=seed,
            samplings=(replace(self._sampling, max_new_tokens=marker.task.max_new_tokens),),
        ).settled(self._models)


class NoGates:
    """Nobody's gates: no models are there, so none runs, and none can be started."""

    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    running: None = None

    def trouble(self, _gate: str) -> None:
        """Return why a run broke off: none was there."""

    def speeds(self, _gate: str) -> Mapping[str, float]:
        """Return the tokens a second of a run: none was there."""
        return {}

    def start(self, _asked: Asked) -> None:
        """Refuse to start one."""
        raise ScoreError(_("One of these models is not loaded: choose from the list."))

    def stop(self) -> None:
        """End the run that goes on: there is none."""


@dataclass(frozen=True, eq=False)
class _UnderWay:
    """A battle that is being answered."""

    battle: Battle
    prompt: Prompt
    running: Running


class GateRun:
    """A gate at work, in a thread of its own.

    Attributes
    ----------
    gate : StoredGate
    stopping : Event
        Set it to end the run.
    ended : Event
    crowded : bool
        Whether the run leaves all places to visitors who wait.
    trouble : ArenaError or None
        Why it ended, where neither anybody stopped it nor all was known or answered.
    speeds : mapping of str to float
        Tokens a second of its models on a processor, when its last battle ended.
    """

    def __init__(
        self,
        gate: StoredGate,
        plan: BatchPlan,
        marker: Marker,
        watcher: GateWatcher,
        models: Models,
        worker: Worker,
        store: Store,
        share: Share,
    ) -> None:
        self.gate = gate
        self.stopping, self.ended = threading.Event(), threading.Event()
        self.crowded = False
        self.trouble: ArenaError | None = None
        self.speeds: Mapping[str, float] = {}
        self._plan, self._marker, self._watcher = plan, marker, watcher
        self._models, self._worker, self._store, self._share = models, worker, store, share
        self._waiting: deque[tuple[Battle, Prompt]] = deque()
        self._under_way: list[_UnderWay] = []  # in the order of the plan
        self._leaving: list[Running] = []  # that have given up their places

    def begin(self) -> None:
        """Let the thread begin."""
        threading.Thread(target=self._work, name="gate", daemon=True).start()

    def _work(self) -> None:
        try:
            take_up(self._plan, self._marker, self._store, self._watcher)
            done = self._store.battles_of(self.gate.experiment)
            planned = self._plan.battles()
            self._waiting.extend(each for each in planned if each[0].id not in done)
            self._answer_all()
        except ArenaError as error:
            self.trouble = error
            _log.warning("A gate broke off: %s", error)
        except Exception:  # noqa: BLE001 - nobody else hears of what happens in this thread
            self.trouble = ArenaError(_(_BROKEN))
            _log.exception("A gate broke off")
        finally:
            for each in self._under_way:
                each.running.cancelled.set()
            self.ended.set()

    def _answer_all(self) -> None:
        while (self._waiting or self._under_way) and not self.stopping.is_set():
            if self._watcher.enough():
                return
            self._take_places()
            if not self._take_ended():
                self.stopping.wait(_LOOK)

    def _take_places(self) -> None:
        """Take the places that there are now; give back those that are too many."""
        self._leaving = [running for running in self._leaving if not running.done.is_set()]
        places, waited_for = self._places()
        while len(self._under_way) > places:
            last = self._under_way.pop()  # what is first in order is needed first
            last.running.cancelled.set()
            self._leaving.append(last.running)
            self._waiting.appendleft((last.battle, last.prompt))
        while self._waiting and len(self._under_way) < places and not waited_for:
            battle, prompt = self._waiting[0]
            request = next_request(self._models, battle, prompt)
            try:
                running = self._worker.submit(request)
            except PromptLengthError:
                raise
            except PromptError:
                if not self._worker.alive:
                    raise
                return  # visitors have taken the last places
            self._waiting.popleft()
            self._under_way.append(_UnderWay(battle, prompt, running))

    def _places(self) -> tuple[int, bool]:
        """Return how many battles may be under way, and whether visitors wait for their first word.

        What has just been handed in waits for a step, too, so that no battle ends for that.
        """
        own = [*(each.running for each in self._under_way), *self._leaving]
        own = [running for running in own if not running.done.is_set()]
        together = self._worker.battles
        others = max(together - len(own), 0)
        waiting = self._worker.waiting - sum(not running.begun for running in own)
        self.crowded = others > 0 and together > self._share.most_at_once
        return self._share.places(others, crowded=self.crowded), others > 0 and waiting > 0

    def _take_ended(self) -> bool:
        """Score and store the battles that have ended; return whether there were any.

        Raises
        ------
        ArenaError
            A model failed, an answer cannot be scored, or the store cannot be written. Whatever
            else has ended is stored before.
        """
        ended = [each for each in self._under_way if each.running.done.is_set()]
        self._under_way = [each for each in self._under_way if each not in ended]
        found: list[tuple[Battle, Sequence[Score]]] = []
        with Keeper(self._store) as keeper:
            for each in ended:
                if each.running.error:
                    continue
                if any(line.finish in (None, Finish.CANCELLED) for line in each.running.lines):
                    self._waiting.appendleft((each.battle, each.prompt))  # cut short: made again
                    continue
                battle = with_turn(each.battle, each.prompt, each.running, self._models)
                found.append((battle, self._marker(battle)))
                keeper.take(*found[-1])
        for battle, marks in found:
            self._watcher.take(battle.id, by_model(battle, marks))
        if found:
            names = self._plan.models
            self.speeds = {name: n for name, n in self._worker.speeds.items() if name in names}
        for each in ended:
            if each.running.error:
                raise each.running.error
        return bool(ended)
