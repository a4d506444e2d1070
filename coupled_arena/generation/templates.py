"""Chat templates, rendered in a process that may be lost.

A template is a program that comes with a model. One that is harmless at the start can take all
memory, or never end, with another question. So none is rendered in a process that serves people:
a bound that it passes costs this one question.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from select import POLLIN, poll
from typing import Any

from coupled_arena.core.errors import PromptError

_PATIENCE = 30.0  # seconds; it keeps bounds of its own, in seconds of the processor
# Seconds for its imports, which take as long as the machine is busy and no template can prolong.
_START_PATIENCE = 600.0
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from coupled_arena.generation.template_child import serve; serve()"
)


def rendered(
    template: str,
    conversations: Sequence[Sequence[Mapping[str, str]]],
    options: Mapping[str, Any],
) -> list[str]:
    """Return conversations as a template writes them, up to the beginning of the next answer.

    Raises
    ------
    PromptError
        The template refuses one, or takes more time or memory than a template may.
    """
    plain = [[dict(message) for message in messages] for messages in conversations]
    taken, texts = _RENDERER.ask(json.dumps([template, plain, dict(options)]).encode() + b"\n")
    if not taken:
        raise PromptError(f"A chat template refuses this conversation: {texts}")
    return list(texts)


def start() -> None:
    """Start the process now, so that the first question need not wait for it."""
    _RENDERER.start()


class _Renderer:
    """The process, started when it is needed and again when it was lost."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._read = b""  # beyond the last line: on a busy machine two lines come at once
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def start(self) -> None:
        with self._turn:
            self._running()

    def ask(self, order: bytes) -> tuple[bool, Any]:
        """Return whether the template takes it, and its texts or why not."""
        with self._turn:
            process = self._running()
            try:
                process.stdin.write(order)  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                if not self._ready:
                    self._line(process, _START_PATIENCE)
                    self._ready = True
                answer = self._line(process, _PATIENCE)
            except BaseException as error:
                self._end()  # Ctrl-C, too: an answer that nobody waits for would be the next one's
                if isinstance(error, OSError | EOFError | TimeoutError):
                    return False, "it ends the process that reads it, or takes too long"
                raise
        taken, texts = json.loads(answer)
        return taken, texts

    def close(self) -> None:
        with self._turn:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the process that asks
            )
        return self._process

    def _end(self) -> None:
        process, self._process, self._ready, self._read = self._process, None, False, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _forget(self) -> None:
        """Leave the process to the one that this one was forked from."""
        self._process, self._ready, self._turn = None, False, threading.Lock()
        self._read = b""

    def _line(self, process: subprocess.Popen[bytes], patience: float) -> bytes:
        """Return the next line of a process; each part of it must come within so many seconds."""
        assert process.stdout is not None
        number, waiting = process.stdout.fileno(), poll()
        waiting.register(number, POLLIN)
        while b"\n" not in self._read:
            if not waiting.poll(1000 * patience):
                raise TimeoutError
            part = os.read(number, 1 << 20)
            if not part:
                raise EOFError
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line


_RENDERER = _Renderer()
