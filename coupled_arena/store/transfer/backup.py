"""The thread that keeps a backup elsewhere, for disks that are forgotten; and the way back."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import duckdb

from coupled_arena.core.errors import ArenaError, BackupError, StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor
from coupled_arena.store.database import Store
from coupled_arena.store.transfer import backup_chunks
from coupled_arena.store.transfer.importing import import_within
from coupled_arena.store.transfer.snapshots import count_rows
from coupled_arena.store.transfer.staged_rows import ImportOptions
from coupled_arena.store.transfer.targets import BackupTarget

_log = logging.getLogger(__name__)
_AGAIN = 30.0  # seconds until a place that failed is asked again, at most
_LATE = 3  # times between two chunks; one is usual, and a slow place may take another
_LAST = 10.0  # seconds that the last chunk gets


class Backup:
    """Sends what is new in a store, every few minutes and at the end.

    What the backup holds and an empty store lacks, it brings back first.

    Parameters
    ----------
    minutes : float
        Time between two chunks.

    Attributes
    ----------
    trouble : str
        Why the last attempt failed; empty while all is well.

    Raises
    ------
    BackupError
        The place cannot be reached, and the store has nothing yet.
    StoreError
        The backup is broken, or another arena's.
    """

    def __init__(self, store: Store, place: BackupTarget, minutes: float) -> None:
        self.trouble = ""
        self._store = store
        self._place = place
        self._seconds = 60 * minutes
        self._complete: float | None = None
        self._begun = time.time()
        self._next = 0  # number of the next chunk; 0 while it is not known what was sent
        self._sent: dict[str, int] = {}  # rows by table, as of the last chunk
        self._pending: tuple[Path, float, dict[str, int]] | None = None
        self._cursor = store.cursor()  # its temporary table has the keys of what was sent
        self._folder = Path(tempfile.mkdtemp(prefix="coupled-arena-backup-"))
        try:
            self._begin()
        except BaseException:
            self._leave()
            raise
        self._leaving, self._late = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="backup", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """Seconds since the backup had all that the store had; None if it never had."""
        return None if self._complete is None else max(time.time() - self._complete, 0.0)

    @property
    def is_late(self) -> bool:
        """Whether it is incomplete for more than three times the usual time."""
        since = self._begun if self._complete is None else self._complete
        return time.time() - since > _LATE * self._seconds

    def close(self) -> None:
        """Send what is new, if the place answers soon enough, and stop."""
        self._leaving.set()
        self._thread.join(_LAST)
        if self._thread.is_alive():
            self._report(f"The backup {self._place} does not answer.")
            self._late.set()
            self._cursor.interrupt()
            self._thread.join(1)
        if self.trouble:
            _log.warning(
                "The backup lacks what is new; the next start beside this database adds it."
            )
        self._leave()

    def _begin(self) -> None:
        try:
            self._compare()
        except BackupError as error:
            if not count_rows(self._cursor):
                raise
            self._report(str(error))

    def _leave(self) -> None:
        with suppress(duckdb.Error):  # a copy that does not end
            self._cursor.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _work(self) -> None:
        pause = 0.0
        while not self._leaving.wait(pause):
            self._look()
            pause = min(self._seconds, _AGAIN) if self.trouble else self._seconds
        if not self._late.is_set():
            self._look()

    def _look(self) -> None:
        """Send new rows, and update `trouble`."""
        try:
            if not self._next:
                self._compare()
            if self._pending:
                self._send(*self._pending)
            if new := self._freeze():
                self._send(*new)
        except ArenaError as error:
            self._report(str(error))
        except Exception as error:  # noqa: BLE001 (whatever it is, the next one may succeed)
            self._report(f"No backup was made: {reason(error)}")
        else:
            if self.trouble:
                _log.info("The backup %s is complete again.", self._place)
            self.trouble = ""

    def _freeze(self) -> tuple[Path, float, dict[str, int]] | None:
        """Write the next chunk, with its moment; None if there is nothing new."""
        moment, rows = time.time(), dict(count_rows(self._cursor).rows)
        if rows != self._sent:  # rows are never deleted, nor changed
            shutil.rmtree(self._folder / f"{self._next:06}", ignore_errors=True)
            if chunk := backup_chunks.freeze(self._cursor, self._folder, self._next):
                self._pending = chunk, moment, rows
                return self._pending
        self._complete, self._sent = moment, rows
        return None

    def _send(self, chunk: Path, moment: float, rows: dict[str, int]) -> None:
        self._place.send(chunk)
        backup_chunks.mark_sent(self._cursor, chunk)
        backup_chunks.settle(self._cursor)
        shutil.rmtree(chunk)
        self._pending, self._next = None, self._next + 1
        self._complete, self._sent = moment, rows

    def _compare(self) -> None:
        """Read the chunks that were sent, and bring back the rows that the store lacks."""
        with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
            place = str(self._place)
            chunks = backup_chunks.whole_chunks(self._place.fetch(Path(folder)), place)
            backup_chunks.prepare(self._cursor)
            for chunk in chunks:
                backup_chunks.mark_sent(self._cursor, chunk)
            if backup_chunks.lacking(self._cursor):
                self._bring_back(chunks)
        self._next = len(chunks) + 1

    def _bring_back(self, chunks: list[Path]) -> None:
        held = count_rows(self._cursor)
        if held and not backup_chunks.related(self._cursor):
            raise StoreError(
                f"The backup {self._place} is of another arena: no battle of it is in the database "
                f"{self._store.path}. Name another place under [backup], or another database."
            )
        with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
            files = backup_chunks.join(self._cursor, chunks, Path(folder))
            self._store.write(lambda cursor: self._merge(cursor, files))
        now = count_rows(self._cursor)
        _log.info("Brought back from the backup %s: there are now %s", self._place, now)

    def _merge(self, cursor: Cursor, files: list[Path]) -> None:
        done = import_within(cursor, files, ImportOptions())
        for wrong in done.rejected:
            raise StoreError(
                f"The backup {self._place} does not fit the database {self._store.path}: "
                f"{wrong.reason}. Nothing was changed; name another place under [backup]."
            )

    def _report(self, trouble: str) -> None:
        if trouble != self.trouble:
            _log.warning(
                "%s It is tried again.", trouble, exc_info=_log.isEnabledFor(logging.DEBUG)
            )
        self.trouble = trouble
