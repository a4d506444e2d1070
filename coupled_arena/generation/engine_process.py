"""An engine in a process of its own, so that a busy web server does not slow it down.

The process is started again whenever it ends by itself or hangs; what it was decoding is lost.
First the watchdog that ends a process that hangs, then a turn as the web server sees it, then the
engine. This end loads no torch: models and devices are the other end's (`engine_child`).
"""

from __future__ import annotations

import logging
import multiprocessing
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, get_args

from coupled_arena.core.errors import ArenaError, ModelError, PromptError
from coupled_arena.core.language import N_, _, language
from coupled_arena.core.records import Finish
from coupled_arena.generation import engine_child, templates
from coupled_arena.generation.capacity import Capacity, Room
from coupled_arena.generation.engine_messages import (
    Cancel,
    Close,
    Ended,
    Joined,
    Ready,
    Refused,
    Report,
    StandIn,
    StepTimes,
    Stuck,
    Submit,
)
from coupled_arena.generation.loading import LEFT_OUT, LOADS, Late
from coupled_arena.generation.running import Announced, Line, Request, Running

# How a process ends, and the end of one that hangs: it lives, and is not heard of.
#
# While a process loads models nothing is heard of it, and no time can be set for that: a model of
# 70B takes hours from a slow disk, and a small file on a dead mount has no end. A limit that grows
# with the weights would guess the disk. So a load ends where nothing moves, however long it takes
# else. One that computes without an end is not told from a slow machine, and goes on.

_log = logging.getLogger(__name__)
_LOOK = 10.0  # seconds between looks
_QUIET = 3  # looks in a row after which something is wrong
_MOST_SILENT = 12  # after which it will not come right any more
_MOST_STILL = 60  # in a row, while it loads: a mount that comes back takes less
# Hundredths of a second of a processor that count as computing. Threads that only look at a clock
# take a tenth of it in ten minutes, and mapping 100 MB of weights into memory more.
_COMPUTES = 10


class Watchdog:
    """Kills a process once it has not been heard of at twelve looks in a row, ten seconds apart.

    Looks are counted, not seconds: where the machine sleeps, or a terminal stops all processes
    together, nobody can be heard. While it loads, it is killed after sixty looks at which nothing
    had moved.

    Parameters
    ----------
    expects : callable
        Whether the process should be heard of now; else it loads.
    kill : callable
        Ends it.
    moves : callable
        Whether anything has moved since the last look.
    kill_loading : callable
        Ends it while it loads; takes how many seconds nothing has moved.
    """

    def __init__(
        self,
        expects: Callable[[], bool],
        kill: Callable[[], object],
        moves: Callable[[], bool],
        kill_loading: Callable[[float], object],
    ) -> None:
        self._expects = expects
        self._kill = kill
        self._moves = moves
        self._kill_loading = kill_loading
        self._look = _LOOK
        self._silent = self._still = 0  # looks in a row
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    @property
    def quiet(self) -> bool:
        """Whether it has not been heard of at three looks in a row."""
        return self._silent >= _QUIET

    def note_sign(self) -> None:
        """Note that the process has said something."""
        self._silent = 0

    def close(self) -> None:
        """Watch no more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._look):
            expected = self._expects()
            self._silent = self._silent + 1 if expected else 0
            self._still = 0 if expected or self._moves() else self._still + 1
            if self._still >= _MOST_STILL:
                self._kill_loading(self._look * _MOST_STILL)
                return
            if self._silent >= _MOST_SILENT:
                _log.error(
                    "The process that decodes hangs: nothing was heard of it for %.0f s. "
                    "It is killed.",
                    self._look * _MOST_SILENT,
                )
                self._kill()
                return


class Movement:
    """What a process does, and all that it has started, such as a download.

    Parameters
    ----------
    proc : Path
        Where Linux tells it. Elsewhere everything counts as a movement: no load is ended.
    """

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid, self._proc = pid, proc
        self._ticks, self._bytes = 0, -1

    def seen(self) -> bool:
        """Return whether it has computed, read or written since this was last so."""
        try:
            work = [self._work(pid) for pid in self._family(self._pid)]
        except OSError:  # one has just ended, or the system does not tell
            return True
        ticks, moved = (sum(column) for column in zip(*work, strict=True))
        if moved == self._bytes and abs(ticks - self._ticks) < _COMPUTES:
            return False
        self._ticks, self._bytes = ticks, moved
        return True

    def _family(self, pid: int) -> Iterator[int]:
        yield pid
        for thread in (self._proc / str(pid) / "task").iterdir():
            for child in (thread / "children").read_text(encoding="ascii").split():
                yield from self._family(int(child))

    def _work(self, pid: int) -> tuple[int, int]:
        """Return ticks of the processor, and bytes read and written, of files and of disks."""
        folder = self._proc / str(pid)
        # The second field is a name in brackets, which may hold anything.
        fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        counts = dict(
            line.split(": ") for line in (folder / "io").read_text(encoding="ascii").splitlines()
        )
        moved = sum(int(counts[key]) for key in ("rchar", "wchar", "read_bytes", "write_bytes"))
        return sum(map(int, fields.split()[11:13])), moved


def how_ended(process: Any) -> str:
    """Return how a process ended, for the log."""
    code = process.exitcode if process else None
    if code is None:
        return "nobody knows how"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


# A turn as the web server sees it while another process decodes it.

How = Literal["whole", "stopped", "given_up", "failed"]
HOW: tuple[How, ...] = get_args(How)


class RelayedTurn(Running):
    """A turn that another process decodes: its lines are known once it is done."""

    def __init__(
        self, request: Request, lines: tuple[Line, ...], cancel: Callable[[], None]
    ) -> None:
        super().__init__(request, lines)
        self.cancelled = Announced(cancel)

    def grow(self, gained: tuple[str, ...]) -> None:
        """Show what has been added."""
        self.show(tuple(map(str.__add__, self.texts, gained)))

    def move(self, ahead: int | None) -> None:
        """Take over how many turns begin before this one; None: it has begun."""
        self.ahead, self.begun = ahead, ahead is None

    def take_over(self, ended: Ended) -> None:
        """Take over how the turn ended; whoever waits for it is told by `done`."""
        self.begun, self.ahead = ended.begun, None
        self.most_rows, self.error = ended.most_rows, ended.error
        for line, (tokens, text, finish) in zip(self.lines, ended.lines, strict=False):
            line.tokens, line.text, line.finish = tokens, text, finish
        for line, draw in zip(self.lines, ended.draws, strict=False):
            line.draw = draw
        if ended.lines:
            self.show(tuple(line.text for line in self.lines))

    def fail(self, error: ArenaError) -> None:
        """End the turn; what has been said stays in sight."""
        self.error = error
        self.done.set()

    @property
    def how(self) -> How:
        """How it ended: `given_up` before it began, `stopped` where any answer was cut short."""
        if self.error:
            return "failed"
        if not self.begun:
            return "given_up"
        stopped = any(line.finish is Finish.CANCELLED for line in self.lines)
        return "stopped" if stopped else "whole"


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
        self.speeds: dict[str, float] = {}
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
                self._take_message(here.recv())
                watchdog.note_sign()
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

    def _take_message(self, message: object) -> None:
        if isinstance(message, Report):
            self._take_report(message)
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

    def _take_report(self, report: Report) -> None:
        self._failing, self.speeds = report.failing, report.speeds or self.speeds
        for number, gained in report.grown.items():
            self._runs[number].grow(gained)
        for number, ahead in report.places.items():
            self._runs[number].move(ahead)
        for number, ended in report.ended.items():
            with self._gate:
                running = self._runs.pop(number)
            running.take_over(ended)
            self.ended[running.how] += 1
            running.done.set()

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
            self.ended["failed"] += 1
            running.fail(ModelError(_(_LOST)))
        return ready_since, len(lost)


def _send(pipe: Connection, outbox: queue.SimpleQueue[object]) -> None:
    """Write what is in an outbox, so that nobody else waits for the child to read it."""
    while (message := outbox.get()) is not None:
        try:
            pipe.send(message)
        except OSError:
            return  # who reads from the child knows by now
