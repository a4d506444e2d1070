"""A key-value cache with a slot for each row, written in place.

A row's keys begin at the first column, so that a row which joins or leaves moves no other's; at
most as many rows are copied as leave. Where slots or columns run out they double, and they are
given back once three quarters lie idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_LEAST = 64  # columns


class Slots(CacheLayerMixin):
    """Keys and values of one layer.

    Attributes
    ----------
    keys, values : tensors, shape (slots, key-value heads, columns, d)
        Zero behind a row's last key: what multiplies them by a weight of 0 must get 0.
    """

    keys: Any
    values: Any

    def __init__(self) -> None:
        super().__init__()
        self._rows = self._columns = torch.zeros(0, dtype=torch.int64)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take on the shape of what is to be kept, with no slots yet."""
        self.keys, self.values = (
            x.new_zeros((0, x.shape[1], 0, x.shape[3])) for x in (key_states, value_states)
        )
        self.is_initialized = True

    def begin(self, columns: torch.Tensor) -> None:
        """Say in which column of each row the next keys go."""
        self._columns, self._rows = columns, torch.arange(len(columns), device=columns.device)

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one key and value a row, and return all; what belongs to no row is left out."""
        rows = len(self._rows)
        self.keys[self._rows, :, self._columns] = key_states[:rows, :, 0]
        self.values[self._rows, :, self._columns] = value_states[:rows, :, 0]
        return self.keys[:rows], self.values[:rows]

    def fill(self, row: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Begin a row, with what reading its prompt has left."""
        for slots, new in ((self.keys, keys), (self.values, values)):
            slots[row, :, : new.shape[-2]] = new[0]
            slots[row, :, new.shape[-2] :] = 0  # of whoever was here before

    def move(self, row: int, to: int) -> None:
        """Copy one row over another."""
        self.keys[to], self.values[to] = self.keys[row], self.values[row]

    def reserve(self, rows: int, columns: int, most: int | None = None) -> None:
        """Make room for so many rows and columns, and little more; what is there stays.

        Where `most` tokens do not allow for more rows, the columns get all that they allow.
        """
        slots, width = self.keys.shape[0], self.keys.shape[2]
        wanted = _room(slots, rows, 1), _room(width, columns, _LEAST)
        if most is not None and wanted[0] * wanted[1] > most:
            wanted = rows, max(columns, min(wanted[1], most // max(rows, 1)))
        if wanted != (slots, width):
            keys, values = (_resized(x, *wanted) for x in (self.keys, self.values))
            self.keys, self.values = keys, values

    def get_seq_length(self) -> int:
        """Return how many columns there are."""
        return self.keys.shape[2] if self.is_initialized else 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many keys a query sees at most, and the first of them."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """Return -1: there is no most."""
        return -1


class SlotCache(Cache):
    """All layers of a model.

    Parameters
    ----------
    most_tokens : int, optional
        Rows times columns that there may be; whoever adds rows sees to it that they fit.
    """

    def __init__(self, most_tokens: int | None = None) -> None:
        super().__init__(layer_class_to_replicate=Slots)
        self._most = most_tokens

    @property
    def used(self) -> list[Slots]:
        """The layers that have keys."""
        layers: list[Any] = self.layers
        return [layer for layer in layers if layer.is_initialized]

    def reserve(self, rows: int, columns: int) -> None:
        """Make room in every layer; where memory falls short, what is there stays."""
        for layer in self.used:
            layer.reserve(rows, columns, self._most)

    def fill(self, first: int, caches: Sequence[Cache]) -> None:
        """Begin rows, with what reading their prompts has left."""
        for at, cache in enumerate(caches, first):
            for slots, layer in _pairs(self, cache):
                if layer.is_initialized:
                    slots.fill(at, layer.keys, layer.values)

    def shape_like(self, cache: Cache) -> None:
        """Have the layers that a prompt's cache has."""
        while len(self.layers) < len(cache.layers):
            self.layers.append(Slots())
        for slots, layer in _pairs(self, cache):
            if layer.is_initialized and not slots.is_initialized:
                slots.lazy_initialization(layer.keys, layer.values)

    def begin(self, columns: torch.Tensor) -> None:
        """Say in which column of each row the next keys go."""
        for layer in self.used:
            layer.begin(columns)

    def keep(self, rows: Sequence[int]) -> list[int]:
        """Move what is kept to the first slots; return the slot of each row."""
        free = iter(sorted(set(range(len(rows))).difference(rows)))
        places = [row if row < len(rows) else next(free) for row in rows]
        for row, to in zip(rows, places, strict=True):
            if row != to:
                for layer in self.used:
                    layer.move(row, to)
        return places


def _pairs(ours: SlotCache, read: Cache) -> Iterator[tuple[Slots, Any]]:
    mine: list[Any] = ours.layers
    return zip(mine, read.layers, strict=True)


def _room(there: int, wanted: int, least: int) -> int:
    if wanted > there:
        return max(wanted, 2 * there, least)
    idle = wanted <= there // 4 and there > least
    return max(2 * wanted, least) if idle else there


def _resized(old: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    new = old.new_zeros((rows, old.shape[1], columns, old.shape[3]))
    rows, columns = min(rows, old.shape[0]), min(columns, old.shape[2])
    new[:rows, :, :columns] = old[:rows, :, :columns]
    return new
