"""The thread that drives the lockstep engine, so that many visitors share its batches.

Whatever fails in it costs rounds, at worst all that run, and never the thread.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from coupled_arena.core.errors import ModelError
from coupled_arena.core.language import N_, _
from coupled_arena.generation.engine_messages import StepTimes
from coupled_arena.generation.lockstep import LockstepEngine, decoding_failed
from coupled_arena.generation.noise import compile_noise_loop
from coupled_arena.generation.running import Request, Running

_log = logging.getLogger(__name__)
_LAST_STEP = 3.0  # seconds
_FAILING = 3  # a single bad question fails once; a broken device every time
_STOPPED = N_("The engine has stopped: restart the arena.")


class EngineWorker:
    """Runs an engine in a thread of its own.

    Parameters
    ----------
    engine : LockstepEngine
        From now on only this worker may step it.
    measured : callable, optional
        Told what the steps of each whole block took.
    """

    hung = quiet = False  # nobody can end a thread, or hear of it
    away = 0  # who drives an engine here has all models it will have
    left_out: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, engine: LockstepEngine, measured: Callable[[StepTimes], object] = lambda _: None
    ) -> None:
        self._engine = engine
        self._measured = measured
        self._steps = StepTimes()
        self._inbox: queue.SimpleQueue[Running | None] = queue.SimpleQueue()
        self._open = True
        self._step_began: float | None = None
        self._gate = threading.Lock()  # nothing may enter the inbox once it has been emptied
        self._thread = threading.Thread(target=self._work, name="lockstep-engine", daemon=True)
        self._thread.start()

    @property
    def battles(self) -> int:
        """How many turns are waiting or running."""
        return self._engine.battles + self._inbox.qsize()

    @property
    def waiting(self) -> int:
        """How many of them have not begun."""
        return self._engine.waiting + self._inbox.qsize()

    @property
    def alive(self) -> bool:
        """Whether the thread runs and takes in turns."""
        return self._open and self._thread.is_alive()

    @property
    def failing(self) -> bool:
        """Whether step after step has failed, and none gone well since."""
        return self._engine.failures >= _FAILING

    @property
    def speeds(self) -> dict[str, float]:
        """The tokens that each model has written in a second of its own steps."""
        return self._engine.speeds()

    @property
    def stepping(self) -> float:
        """For how many seconds a step has gone on; 0 between two."""
        began = self._step_began
        return 0.0 if began is None else time.monotonic() - began

    def check(self, request: Request) -> None:
        """Raise PromptLengthError where the memory never holds such a turn."""
        self._engine.prepare(request)

    def submit(self, request: Request) -> Running:
        """Hand in a turn: poll its `texts`, wait for `done`, set `cancelled` to stop it.

        Raises
        ------
        PromptError
            Too many wait already, or there would never be room for this one.
        """
        running = self._engine.prepare(request)
        self._engine.capacity.check(self.battles)
        self.take(running)
        return running

    def take(self, running: Running) -> None:
        """Take in a turn that the engine has prepared."""
        with self._gate:
            if self._open:
                self._inbox.put(running)
            else:
                running.fail(ModelError(_(_STOPPED)))

    def close(self) -> None:
        """End every turn and the thread."""
        self._inbox.put(None)
        self._thread.join(_LAST_STEP)  # a step of a large model may take longer than one can wait

    def _work(self) -> None:
        try:
            self._compile()
            while self._take_in():
                self._step_began = began = time.monotonic()
                try:
                    self._engine.step()
                except Exception as error:  # noqa: BLE001 - everybody's thread: nothing may end it
                    _log.exception("A step failed; all running battles were dropped")
                    self._engine.fail_all(decoding_failed(error))
                self._step_began = None
                self._measure(time.monotonic() - began)
        finally:
            self._stop_serving()

    def _measure(self, seconds: float) -> None:
        self._steps.add(seconds, self._engine.take_tokens())
        if self._steps.is_block:
            self._measured(self._steps)
            self._steps = StepTimes()

    def _compile(self) -> None:
        try:
            compile_noise_loop()  # now, not in the first visitor's round
        except Exception:  # noqa: BLE001 - as above; should it fail again, that costs a round
            _log.exception("The noise loop was not compiled in advance")

    def _stop_serving(self) -> None:
        with self._gate:
            self._open = False
            while not self._inbox.empty():
                if running := self._inbox.get():
                    self._engine.add(running)
        self._engine.fail_all(ModelError(_(_STOPPED)))

    def _take_in(self) -> bool:
        """Add what has arrived, waiting if nothing runs; return False once asked to close."""
        while not self._engine.battles or not self._inbox.empty():
            running = self._inbox.get()
            if running is None:
                return False
            self._engine.add(running)
        return True
