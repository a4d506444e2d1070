"""Programs that nobody has read, run against their tests without harm.

A program and its tests run in two processes, each locked before either begins. See `lock` for what
they cannot do, `inside` for how they talk. No variable that their starter has set reaches them.
What they print goes nowhere, and is an error from 1 MiB on. Each is one process without threads and
cannot become more; it ends with its time, or with the process that started it.

Two things are not prevented. A program that has learned the right values by heart passes. One that
finds a fault in the kernel behind the calls that are left to it is free. Only the standard library
can be imported, and of it what the program's text names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from select import POLLIN, poll
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any

from coupled_arena.core.errors import TaskError
from coupled_arena.tasks.sandbox_lock import supported

_ROOT = Path(__file__).resolve().parents[2]
_START = f"""
import sys
sys.path.append({str(_ROOT)!r})
from coupled_arena.tasks.sandbox_child import main
sys.path.pop()
main()
"""
# No site, no folder of the user's; the same order of sets in every run.
_COMMAND = [sys.executable, "-P", "-s", "-S", "-X", "utf8", "-W", "ignore", "-c", _START]
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_VERDICT = 1 << 16  # bytes
_LAST_BREATH = 1.0  # seconds in which a process that no longer answers may end by itself


class ProgramResult(StrEnum):
    """How a program's tests ended."""

    PASSED = "passed"
    FAILED = "failed"  # a wrong value, or an error
    TIMED_OUT = "timed out"
    KILLED = "killed"  # it crashed, or the kernel ended it


@dataclass(frozen=True)
class Ran:
    """How a program's tests ended, and why in a few words."""

    outcome: ProgramResult
    reason: str = ""


@dataclass(frozen=True)
class Limits:
    """What a program, and its tests, may use.

    Attributes
    ----------
    cpu : int
        Processor time in seconds.
    wall : float
        Time on the clock in seconds, start included.
    memory : int
        Address space in bytes.
    """

    cpu: int = 5
    wall: float = 30.0
    memory: int = 512 << 20


@dataclass(frozen=True)
class Sandbox:
    """Runs programs against tests; several threads may share one.

    Attributes
    ----------
    unsafe : bool
        Run programs without the lock, where the system has none: they can then do whatever the
        person can who started this. Time and memory stay bounded.
    """

    limits: Limits = field(default_factory=Limits)
    unsafe: bool = False

    def ready(self) -> None:
        """Raise TaskError unless programs can be run without harm, or harm was asked for."""
        passed = "def check(candidate):\n    assert candidate(1) == 2"
        ran = self.run(["def f(x):\n    return x + 1"], "", passed, "f")
        if ran.outcome is not ProgramResult.PASSED:
            raise TaskError(f"Programs cannot be run on this machine: {ran.reason}.")

    def run(self, readings: list[str], stub: str, tests: str, entry_point: str) -> Ran:
        """Run a program against its tests.

        Parameters
        ----------
        readings : list of str
            The program; of several readings of one answer, the first that compiles counts.
        stub, tests : str
            Python of the data set: what stands before the tests, and the tests, which define
            ``check(candidate)``.
        entry_point : str
            The function that is tested.

        Raises
        ------
        TaskError
            This system has no lock.
        """
        if not (self.unsafe or supported()):
            raise TaskError(
                "Programs written by a model are run only where they can do no harm, which takes "
                "Linux on x86-64 or arm64: score there, or in a container."
            )
        deadline = time.monotonic() + self.limits.wall
        calls, answers = os.pipe(), os.pipe()
        with ExitStack() as running:
            try:
                program = self._order("program", readings, entry_point)
                ends = [(calls[0], "rb"), (answers[1], "wb")]
                candidate = running.enter_context(_started(program, ends))
                checks = self._order("tests", [stub, tests], entry_point)
                ends = [(calls[1], "wb"), (answers[0], "rb")]
                checker = running.enter_context(_started(checks, ends))
            finally:
                for end in (*calls, *answers):
                    os.close(end)
            verdict = _verdict(checker, deadline)
            return _ran(verdict, candidate, checker, deadline)

    def _order(self, role: str, sources: list[str], entry_point: str) -> dict[str, Any]:
        return {
            "role": role,
            "sources": sources,
            "entry_point": entry_point,
            "seconds": self.limits.cpu,
            "memory": self.limits.memory,
            "locked": not self.unsafe,
            "parent": os.getpid(),
        }


@contextmanager
def _started(order: dict[str, Any], pipes: list[tuple[int, str]]) -> Iterator[Popen[bytes]]:
    """Start one of the two processes; on leaving, end it."""
    with tempfile.TemporaryFile() as orders:
        orders.write(json.dumps(order | {"pipes": pipes}).encode())
        orders.seek(0)
        process = Popen(
            _COMMAND,
            stdin=orders,
            stdout=PIPE,
            stderr=DEVNULL,
            env=_ENVIRONMENT,
            pass_fds=[number for number, _ in pipes],
            start_new_session=True,  # Ctrl-C is not an answer
        )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _verdict(checker: Popen[bytes], deadline: float) -> dict[str, Any] | None:
    """Return what the tests told, or None if they told nothing in time."""
    assert checker.stdout is not None
    waiting, line = poll(), b""
    waiting.register(checker.stdout, POLLIN)
    while not line.endswith(b"\n") and len(line) < _VERDICT:
        left = deadline - time.monotonic()
        if left <= 0 or not waiting.poll(1000 * left):
            return None
        part = os.read(checker.stdout.fileno(), _VERDICT)
        if not part:
            return None
        line += part
    with suppress(ValueError):  # tests that write there themselves
        verdict = json.loads(line)
        return verdict if isinstance(verdict, dict) else None
    return None


def _ran(
    verdict: dict[str, Any] | None,
    candidate: Popen[bytes],
    checker: Popen[bytes],
    deadline: float,
) -> Ran:
    if verdict and "refused" in verdict:
        raise TaskError(
            f"Programs cannot be locked in on this machine ({verdict['refused']}): score on "
            "another, or in a container that allows seccomp."
        )
    if verdict and verdict["passed"]:
        return Ran(ProgramResult.PASSED)
    if verdict is None and time.monotonic() >= deadline:
        return Ran(ProgramResult.TIMED_OUT, "it took too long")
    for process in (candidate, checker):
        with suppress(TimeoutExpired):
            code = process.wait(_LAST_BREATH)
            if code == -signal.SIGXCPU:
                return Ran(ProgramResult.TIMED_OUT, "it used up its processor time")
            if code < 0:
                return Ran(ProgramResult.KILLED, f"it was ended by {signal.Signals(-code).name}")
    why = verdict["reason"] if verdict else "the tests ended without a result"
    return Ran(ProgramResult.FAILED, why)
