"""How a process ends, and the end of one that hangs: it lives, and is not heard of."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_LOOK = 10.0  # seconds between looks
_QUIET = 3  # looks in a row after which something is wrong
_MOST_SILENT = 12  # after which it will not come right any more


class Watchdog:
    """Kills a process once it has not been heard of at twelve looks in a row, ten seconds apart.

    Looks are counted, not seconds: where the machine sleeps, or a terminal stops all processes
    together, nobody can be heard.

    Parameters
    ----------
    expects : callable
        Whether the process should be heard of now.
    kill : callable
        Ends it.
    """

    def __init__(self, expects: Callable[[], bool], kill: Callable[[], object]) -> None:
        self._expects = expects
        self._kill = kill
        self._look = _LOOK
        self._silent = 0  # looks in a row
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    @property
    def quiet(self) -> bool:
        """Whether it has not been heard of at three looks in a row."""
        return self._silent >= _QUIET

    def hear(self) -> None:
        """Note that the process has said something."""
        self._silent = 0

    def close(self) -> None:
        """Watch no more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._look):
            self._silent = self._silent + 1 if self._expects() else 0
            if self._silent >= _MOST_SILENT:
                _log.error(
                    "The process that decodes hangs: nothing was heard of it for %.0f s. "
                    "It is killed.",
                    self._look * _MOST_SILENT,
                )
                self._kill()
                return


def how_ended(process: Any) -> str:
    """Return how a process ended, for the log."""
    code = process.exitcode if process else None
    if code is None:
        return "nobody knows how"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
