"""The process that decodes for a web server: an `EngineWorker` at the other end of a pipe.

It lives for as long as the server holds its end of the pipe.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from typing import Any

from coupled_arena.core.errors import ArenaError, ModelError
from coupled_arena.core.language import _, install
from coupled_arena.core.logs import TextLines, keep_parts
from coupled_arena.core.process import threads_beside_a_server
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.engine_messages import (
    Cancel,
    Ended,
    Joined,
    Ready,
    Refused,
    Report,
    StandIn,
    Stuck,
    Submit,
)
from coupled_arena.generation.language_model import LanguageModel, brings_noise, is_served
from coupled_arena.generation.loading import Late, LateModels, join
from coupled_arena.generation.running import Announced, Running

CADENCE = 0.05  # seconds between reports of growing texts, of all turns together
BEAT = 5.0  # seconds after which a report is made though nothing has changed
Load = Callable[[], Mapping[str, LanguageModel]]


def run(pipe: Connection, load: Load, capacity: Capacity, late: Late, language: str) -> None:
    """Load models and decode what arrives, until the other end of the pipe is closed."""
    # Ctrl-C reaches all processes of a terminal, and a host's SIGTERM all of a service: the server
    # stores the rounds that run, and needs this process for it.
    for stopped in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stopped, signal.SIG_IGN)
    install(language)  # of what those who wait are told
    _Child(_Pipe(pipe)).serve(load, capacity, late)


class _Pipe:
    """One end of a pipe that several threads write to."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._writing = threading.Lock()

    def send(self, message: object) -> None:
        """Send, or end this process: nobody is there to decode for."""
        with self._writing:
            try:
                self._pipe.send(message)
            except OSError:
                os._exit(0)

    def receive(self) -> Any:
        """Return the next message; None once the other end is closed."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            return None


class _LogOverPipe(QueueHandler):
    """Hands the log to the server, which has the only one."""

    def __init__(self, pipe: _Pipe) -> None:
        super().__init__(queue=pipe)  # type: ignore[arg-type]
        self.setFormatter(TextLines("%(message)s"))

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Return what goes over the pipe: plain words, and what JSON says of them."""
        keep_parts(record)
        return super().prepare(record)

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send a record."""
        pipe: Any = self.queue
        pipe.send(record)


class _Child:
    """Turns by the numbers that the server gave them."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe
        self._runs: dict[int, Running] = {}
        self._seen: dict[int, tuple[str, ...]] = {}  # texts that the server has
        self._placed: dict[int, int | None] = {}  # places that it has
        self._changing = threading.Lock()
        self._ended = threading.Event()
        self._loaded = threading.Event()

    def serve(self, load: Load, capacity: Capacity, late: Late) -> None:
        """Load models and report for as long as the engine lives."""
        import torch

        from coupled_arena.generation.lockstep import LockstepEngine
        from coupled_arena.generation.worker import EngineWorker

        log = logging.getLogger("coupled_arena")
        log.handlers, log.propagate = [_LogOverPipe(self._pipe)], False
        log.setLevel(logging.INFO)
        threading.Thread(target=self._listen, name="engine-orders", daemon=True).start()
        if threads := threads_beside_a_server():
            torch.set_num_threads(threads)
        try:
            models = dict(load())
        except ArenaError as error:
            self._pipe.send(Refused(error))
            return
        self._engine = LockstepEngine(models, capacity)
        self._worker = EngineWorker(self._engine, self._pipe.send)
        self._longest_step = capacity.step_seconds or math.inf
        self._loaded.set()
        stand_ins = {name: _stand_in(model) for name, model in models.items()}
        missing = {name: asks for name, asks in late.items() if name not in models}
        self._pipe.send(Ready(stand_ins, self._engine.room.tokens, len(missing)))

        def joins(model: LanguageModel) -> None:
            models[model.name] = model  # known here before anybody can ask for it
            self._pipe.send(Joined(_stand_in(model), late_models.away))

        late_models = LateModels(missing, partial(join, models=models), joins)
        self._report_for_life()

    def _listen(self) -> None:
        while isinstance(order := self._pipe.receive(), Submit | Cancel):
            self._loaded.wait()
            if isinstance(order, Submit):
                self._submit(order)
            elif running := self._runs.get(order.number):
                running.cancelled.set()
        os._exit(0)  # at once, whatever a step still does

    def _submit(self, order: Submit) -> None:
        strangers = {c.model for c in order.request.contenders} - set(self._engine.models)
        if strangers:
            text = _("{models} could not be loaded again.")
            self._refuse(order, ModelError(text.format(models=", ".join(sorted(strangers)))))
            return
        try:
            running = self._engine.prepare(order.request)
        except ArenaError as error:  # there is less memory than before the process was started anew
            self._refuse(order, error)
            return
        running.done = Announced(self._ended.set)
        with self._changing:
            self._runs[order.number] = running
            self._seen[order.number] = running.texts
        self._worker.take(running)
        self._ended.set()  # wakes the reporter

    def _refuse(self, order: Submit, error: ArenaError) -> None:
        ended = Ended((), begun=False, most_rows=0, error=error)
        self._pipe.send(Report({}, {}, {order.number: ended}, failing=False))

    def _report_for_life(self) -> None:
        failing, due, reported = False, 0.0, 0.0
        while self._worker.alive or self._runs:
            self._ended.wait(CADENCE if self._runs or failing else BEAT)
            self._ended.clear()
            if (seconds := self._worker.stepping) > self._longest_step:
                self._pipe.send(Stuck(seconds))
                return
            ended = self._take_ended()
            grown: dict[int, tuple[str, ...]] = {}
            places: dict[int, int | None] = {}
            if time.monotonic() >= due:
                due = time.monotonic() + CADENCE
                grown, places = self._take_grown(), self._take_places()
            before, failing = failing, self._worker.failing
            beats = time.monotonic() - reported >= BEAT
            if grown or places or ended or failing != before or beats:
                speeds = self._engine.speeds() if ended else {}
                self._pipe.send(Report(grown, places, ended, failing, speeds))
                reported = time.monotonic()

    def _take_ended(self) -> dict[int, Ended]:
        with self._changing:
            over = [number for number, run in self._runs.items() if run.done.is_set()]
            for number in over:
                del self._seen[number]
                self._placed.pop(number, None)
            return {number: _result(self._runs.pop(number)) for number in over}

    def _take_grown(self) -> dict[int, tuple[str, ...]]:
        grown: dict[int, tuple[str, ...]] = {}
        with self._changing:
            for number, running in self._runs.items():
                if running.done.is_set():  # the next report tells it whole
                    continue
                texts, seen = running.texts, self._seen[number]
                gained = tuple(new[len(old) :] for new, old in zip(texts, seen, strict=True))
                if any(gained):
                    grown[number] = gained
                    self._seen[number] = texts
        return grown

    def _take_places(self) -> dict[int, int | None]:
        with self._changing:
            places = {
                number: running.ahead
                for number, running in self._runs.items()
                if running.begun or running.ahead is not None
            }
            changed = places.items() - self._placed.items()
            self._placed = places
        return dict(changed)


def _result(running: Running) -> Ended:
    lines = tuple(
        (line.tokens, line.text, line.finish) for line in running.lines if line.finish is not None
    )
    draws = tuple(line.draw for line in running.lines)
    return Ended(lines, running.begun, running.most_rows, running.error, draws)


def _stand_in(model: Any) -> StandIn:
    # Plain strings: that of torch's version is one of torch's own, which the server need not load.
    arithmetic = {key: str(value) for key, value in model.arithmetic.items()}
    return StandIn(
        *(model.name, model.tokenization, model.perplexity, arithmetic),
        served=is_served(model),
        server_noise="theirs" if brings_noise(model) else "arena",
    )
