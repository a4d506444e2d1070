"""An engine in a process of its own, so that a busy web server does not slow it down.

The process is started again whenever it ends by itself or hangs; what it was decoding is lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import queue
import threading
import time
from collections import Counter
from concurrent.futures import Future
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from coupled_arena.core.errors import ModelError, PromptError
from coupled_arena.core.language import N_, _, language
from coupled_arena.generation import engine_child, templates
from coupled_arena.generation.capacity import Capacity, Room
from coupled_arena.generation.engine_messages import (
    Cancel,
    Close,
    Joined,
    Ready,
    Refused,
    Report,
    StandIn,
    Stuck,
    Submit,
)
from coupled_arena.generation.late_models import Late
from coupled_arena.generation.loading import LEFT_OUT, LOADS
from coupled_arena.generation.relayed_turn import HOW, How, RelayedTurn
from coupled_arena.generation.running import Line, Request, Running
from coupled_arena.generation.step_times import StepTimes
from coupled_arena.generation.watchdog import Movement, Watchdog, how_ended

_log = logging.getLogger(__name__)
_LAST_STEP = 3.0  # seconds
_LONGEST_PAUSE = 60.0  # seconds before another start
_STEADY = 60.0  # seconds; who decodes for as long has not been started in vain
_LOST = N_("The process that decodes has ended.")
_WAIT = N_("The models are being loaded again. Ask again in a minute.")
# A fork server shares neither sockets nor database with this process, and starts another child
# without importing again what takes seconds.
_METHODS = multiprocessing.get_all_start_methods()
_PROCESSES: Any = multiprocessing.get_context("forkserver" if "forkserver" in _METHODS else "spawn")
_PRELOADED = ["coupled_arena.generation.huggingface", "coupled_arena.generation.worker"]


class EngineProcess:
    """Runs a lockstep engine in a child process; see `EngineWorker`, whose interface it has.

    Parameters
    ----------
    load : callable
        Returns the models; called in the child, so it must be a function that can be imported, or
        a partial of one.
    capacity : Capacity
    late : mapping of str to callable
        What loads models that may come later, by name; called in the child, too.

    Attributes
    ----------
    models : dict of str to StandIn
        Those that were loaded.
    away : int
        How many of the late ones have not come yet.
    left_out : dict of str to str
        Why models cannot take part, by name.
    room : Room
        What they have room for.
    ended : Counter of str
        Turns that are over, by how they ended.
    steps : StepTimes
        What the steps took that were decoded, in whole blocks.
    hung : bool
        The process was killed because it hung, and no other decodes yet.

    Raises
    ------
    ArenaError
        What the first loading raised.
    """

    def __init__(
        self, load: engine_child.Load, capacity: Capacity | None = None, late: Late | None = None
    ) -> None:
        self.models: dict[str, StandIn] = {}
        self.away = 0
        self.left_out: dict[str, str] = {}
        self._loading, self._fatal, self._stuck = "", dict[str, str](), dict[str, str]()
        self.room = Room(self.models, None)
        self.ended: Counter[How] = Counter(dict.fromkeys(HOW, 0))
        self.steps = StepTimes()
        self._load, self._capacity, self._late = load, capacity or Capacity(), late or {}
        self._numbers = count()
        self._gate = threading.Lock()  # around what follows
        self._runs: dict[int, RelayedTurn] = {}
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._ready_since: float | None = None
        self._process: Any = None
        self._watchdog: Watchdog | None = None
        self._failing = self.hung = False
        self._closing = threading.Event()
        self._first: Future[None] = Future()
        if _PROCESSES.get_start_method() == "forkserver":
            _PROCESSES.set_forkserver_preload(_PRELOADED)
        self._thread = threading.Thread(target=self._keep, name="engine-process", daemon=True)
        self._thread.start()
        try:
            self._first.result()
        except BaseException:  # Ctrl-C, too
            self.close()
            raise

    @property
    def battles(self) -> int:
        """How many turns are waiting or running."""
        return len(self._runs)

    @property
    def waiting(self) -> int:
        """How many of them have not begun."""
        with self._gate:
            return sum(not running.begun for running in self._runs.values())

    @property
    def alive(self) -> bool:
        """Whether turns are taken in."""
        return self._ready_since is not None

    @property
    def failing(self) -> bool:
        """Whether step after step has failed, and none gone well since."""
        return self._failing

    @property
    def quiet(self) -> bool:
        """Whether nothing has been heard of the process for half a minute."""
        return self._watchdog is not None and self._watchdog.quiet

    def check(self, request: Request) -> None:
        """Raise PromptLengthError where the memory never holds such a turn."""
        self._lines(request)

    def submit(self, request: Request) -> Running:
        """Hand in a turn: poll its `texts`, wait for `done`, set `cancelled` to stop it.

        Raises
        ------
        PromptError
            The process has ended, and its successor loads models; or too many wait already, or
            there would never be room for this one.
        """
        lines = self._lines(request)
        with self._gate:
            if not self.alive:
                raise PromptError(_(_WAIT))
            self._capacity.check(self.battles)
            number = next(self._numbers)
            running = RelayedTurn(request, lines, partial(self._outbox.put, Cancel(number)))
            self._runs[number] = running
            self._outbox.put(Submit(number, request))
        return running

    def close(self) -> None:
        """End every turn and the process."""
        with self._gate:
            self._closing.set()
            self._outbox.put(Close())
        self._thread.join(_LAST_STEP)
        if self._thread.is_alive() and self._process:
            self._process.kill()
            self._thread.join(_LAST_STEP)

    def _lines(self, request: Request) -> tuple[Line, ...]:
        lines = tuple(Line(c, request, self.models[c.model]) for c in request.contenders)
        self.room.check(lines)
        return lines

    def _keep(self) -> None:
        """Start the process, and again whenever it has ended by itself."""
        in_vain = 0
        while not self._closing.is_set():
            ready_since, lost = self._live()
            if self._closing.is_set():
                break
            if not self.models:
                if not self._blame():
                    break
                continue
            steady = ready_since is not None and time.monotonic() - ready_since > _STEADY
            in_vain = 0 if steady else in_vain + 1
            pause = min(_LONGEST_PAUSE, 2.0 ** (in_vain - 1) - 1) if in_vain else 0.0
            _log.error(
                "The process that decodes has ended (%(how)s); battles lost: %(lost)d. "
                "It is started again%(pause)s.",
                {
                    "how": how_ended(self._process),
                    "lost": lost,
                    "pause": f" in {pause:.0f} s" if pause else "",
                },
            )
            self._closing.wait(pause)
        if not self._first.done():
            why = f"The process that loads the models has ended ({how_ended(self._process)})."
            self._first.set_exception(ModelError(why))

    def _live(self) -> tuple[float | None, int]:
        """See a child through its life; return since when it was ready, and how many it cost."""
        here, there = _PROCESSES.Pipe()
        self._loading = ""
        with self._gate:
            if self._closing.is_set():
                return None, 0
            outbox = self._outbox = queue.SimpleQueue()
        load: Any = self._load
        if fatal := self._fatal | self._stuck:
            load = partial(load, fatal=fatal)
        work = (there, load, self._capacity, self._late, language())
        child = _PROCESSES.Process(target=engine_child.run, args=work, name="engine", daemon=True)
        child.start()
        self._process = child
        there.close()
        sender = threading.Thread(target=_send, args=(here, outbox), daemon=True)
        sender.start()
        watchdog = self._watchdog = Watchdog(
            lambda: self.alive, self._end_hung, Movement(child.pid).seen, self._end_still
        )
        try:
            while True:
                self._hear(here.recv())
                watchdog.hear()
        except (EOFError, OSError):
            pass  # it has ended
        finally:
            watchdog.close()
            child.join(_LAST_STEP)
            child.kill()
            child.join()
            outbox.put(None)
            sender.join()
            here.close()
        return self._lose_all()

    def _hear(self, message: object) -> None:
        if isinstance(message, Report):
            self._failing = message.failing
            for number, gained in message.grown.items():
                self._runs[number].grow(gained)
            for number, ahead in message.places.items():
                self._runs[number].move(ahead)
            for number, ended in message.ended.items():
                with self._gate:
                    running = self._runs.pop(number)
                running.end(ended)
                self.ended[running.how] += 1
        elif isinstance(message, StepTimes):
            self.steps.join(message)
        elif isinstance(message, logging.LogRecord):
            self._note(message)
            logging.getLogger(message.name).handle(message)
        elif isinstance(message, Stuck):
            _log.error(
                "A step of the process that decodes has not ended for %(seconds).0f s; "
                "step_seconds allows %(allowed).0f. It is killed.",
                {"seconds": message.seconds, "allowed": self._capacity.step_seconds},
            )
            self._end_hung()
        elif isinstance(message, Ready):
            self.models.update(message.models)
            self.away = message.away
            self._loading = ""
            self.room.tokens = message.kv_tokens
            self._ready_since = time.monotonic()
            templates.start()
            self.hung = False
            _log.info("Process %(pid)d decodes", {"pid": self._process.pid})
            if not self._first.done():
                self._first.set_result(None)
        elif isinstance(message, Joined):
            self.models[message.model.name] = message.model
            self.away = message.away
            self.left_out.pop(message.model.name, None)
        elif isinstance(message, Refused):
            if self._first.done():
                _log.error("%s", message.error)
                self._stuck.clear()  # a mount may be back: too few are left without them
            else:
                self._first.set_exception(message.error)

    def _note(self, record: logging.LogRecord) -> None:
        """Keep which model is being loaded, and which cannot be."""
        if loads := getattr(record, LOADS, None):
            self._loading = loads[0]
            self.left_out.pop(self._loading, None)
        elif name := getattr(record, LEFT_OUT, ""):
            self._loading = ""
            self.left_out[name] = record.getMessage().partition(": ")[2]

    def _blame(self) -> bool:
        """Leave out the model during whose loading the first process ended, if it was one."""
        name = self._loading
        if not name or self._first.done():
            return False
        if name not in self._stuck:
            self._fatal[name] = f"ends the process that loads it ({how_ended(self._process)})"
        return True

    def _end_hung(self) -> None:
        self.hung = True
        self._process.kill()

    def _end_still(self, seconds: float) -> None:
        """End a process in which loading does not go on; the next does without that model."""
        if self._loading:
            self._stuck[self._loading] = (
                f"does not load: nothing was read or computed for {seconds:.0f} s"
            )
        self._process.kill()

    def _lose_all(self) -> tuple[float | None, int]:
        with self._gate:
            ready_since, self._ready_since = self._ready_since, None
            lost, self._runs = self._runs, {}
        self._failing = False
        for running in lost.values():
            running.fail(ModelError(_(_LOST)))
            self.ended[running.how] += 1
        return ready_since, len(lost)


def _send(pipe: Connection, outbox: queue.SimpleQueue[object]) -> None:
    """Write what is in an outbox, so that nobody else waits for the child to read it."""
    while (message := outbox.get()) is not None:
        try:
            pipe.send(message)
        except OSError:
            return  # who reads from the child knows by now
