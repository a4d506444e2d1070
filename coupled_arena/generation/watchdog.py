"""Ends a process that hangs: it lives, and is not heard of."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)
_LOOK = 10.0  # seconds between looks
_MOST_SILENT = 12  # looks in a row


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
