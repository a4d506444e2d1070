"""Results that follow the store: computed again only after a change of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from coupled_arena.store.database import Store

K = TypeVar("K")
V = TypeVar("V", bound="Dated")


class Dated(Protocol):
    """What says of which moment it is."""

    @property
    def version(self) -> tuple[int, ...]:
        """`Store.version` before anything was read."""
        ...


class Kept(Generic[K, V]):
    """Results that are computed again only when the store has changed; for any thread."""

    _MOST = 32  # what visitors look at now

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the result for a key; the same object until the store changes."""
        # The whole of it under the lock: sessions that ask during a computation wait for its
        # result instead of repeating it.
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None or kept.version != self._store.version():
                kept = compute()
            self._kept[key] = kept
            while len(self._kept) > self._MOST:
                self._kept.pop(next(iter(self._kept)))
            return kept
