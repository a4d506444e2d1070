"""How a process ends, and the end of one that hangs: it lives, and is not heard of.

While a process loads models nothing is heard of it, and no time can be set for that: a model of 70B
takes hours from a slow disk, and a small file on a dead mount has no end. A limit that grows with
the weights would guess the disk. So a load ends where nothing moves, however long it takes else.
One that computes without an end is not told from a slow machine, and goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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

    def hear(self) -> None:
        """Note that the process has said something."""
        self._silent = 0

    def close(self) -> None:
        """Watch no more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._look):
            heard = self._expects()
            self._silent = self._silent + 1 if heard else 0
            self._still = 0 if heard or self._moves() else self._still + 1
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
    pid : int
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
