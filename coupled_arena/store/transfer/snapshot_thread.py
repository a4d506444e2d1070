"""The thread that renews a store's snapshot, whatever happens to the files."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from pathlib import Path

import duckdb

from coupled_arena.core.errors import ArenaError, StoreLostError
from coupled_arena.core.files import reason
from coupled_arena.store.database import Store
from coupled_arena.store.tables import rationales
from coupled_arena.store.transfer.snapshots import snapshot

_log = logging.getLogger(__name__)
_SHARE = 20  # at most one part in so many of the time goes into snapshots


class SnapshotThread:
    """Keeps a copy of the database that other processes can read, renewed when it has changed.

    Parameters
    ----------
    store : Store
    path : Path
        The newest snapshot.
    seconds : float
        Least time between two.

    Attributes
    ----------
    trouble : str
        Why the last attempt failed; empty while all is well.
    copied : tuple of int or None
        `Store.version` as of the newest snapshot of this thread.
    """

    def __init__(self, store: Store, path: Path, seconds: float) -> None:
        self.trouble = ""
        self._store = store
        self._path = path
        self._seconds = seconds
        self.copied: tuple[int, ...] | None = None
        self._copied_rationales = 0
        self._copying: duckdb.DuckDBPyConnection | None = None
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name="snapshots", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; a copy that is being written is abandoned, which leaves the one before."""
        self._leaving.set()
        if cursor := self._copying:
            with suppress(duckdb.Error):  # it has just been closed
                cursor.interrupt()
        self._thread.join()
        try:
            self._store.check_file()
        except StoreLostError:
            self._look()  # what was stored last, no file has that anybody will find

    def _work(self) -> None:
        pause = 0.0
        while not self._leaving.wait(pause):
            started = time.perf_counter()
            self._look()
            # A large store takes seconds to copy: that must stay a small part of the time.
            pause = max(self._seconds, _SHARE * (time.perf_counter() - started))

    def _look(self) -> None:
        """Renew the snapshot if the store has changed, and the trouble."""
        try:
            version, reasons = self._store.version(), self._rationales()
            if (version, reasons) != (self.copied, self._copied_rationales):
                snapshot(self._store, self._path, self._hold)
                self.copied, self._copied_rationales = version, reasons
            self._store.check_file()
        except ArenaError as error:
            self._tell(str(error))
        except Exception as error:  # noqa: BLE001 (whatever it is, the next one may succeed)
            if not self._leaving.is_set():
                self._tell(f"No snapshot of the database was made: {reason(error)}")
        else:
            self.trouble = ""
        finally:
            self._copying = None

    def _rationales(self) -> int:
        with self._store.cursor() as cursor:
            return rationales.newest(cursor)

    def _hold(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._copying = cursor

    def _tell(self, trouble: str) -> None:
        if trouble != self.trouble:
            _log.error("%s", trouble, exc_info=_log.isEnabledFor(logging.DEBUG))
        self.trouble = trouble
