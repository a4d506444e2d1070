"""Running sequences of a transformers network: three kinds of batch, and prompts read in chunks.

`LoneBatch` holds one sequence, of networks whose layers keep a state. `PaddedBatch` pads on the
left, for masks that the network makes itself, as for windows. `RowBatch` gives each row a slot.
None of them knows noise, sampling or battles: they take token ids and give next-token logits.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from itertools import pairwise
from typing import Any

import torch
from transformers.cache_utils import (
    Cache,
    CacheLayerMixin,
    DummyLayer,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from coupled_arena.generation.devices import to_device

# Where a prompt is cut must depend on nothing else, for rounding depends on it.
CHUNK = 512  # tokens


# What keeps keys alone, whole or a window of them: a batch can pad and stack these.
_KEYS_ALONE = (DynamicLayer, DynamicSlidingWindowLayer, DummyLayer)


def empty_cache(network: Any) -> DynamicCache:
    """Return a cache for one text, with a place for what the network's layers keep.

    Windows of keys are left to the masks: batches want all keys of a row.
    """
    own = DynamicCache(config=network.config)
    return DynamicCache() if _keeps_keys(own) else own


def keeps_keys(network: Any) -> bool:
    """Tell whether keys and values are all that a network's layers keep of a text."""
    named = _cache_name(type(network)) in ("cache", "past_key_values")
    return named and _keeps_keys(DynamicCache(config=network.config))


def _keeps_keys(cache: DynamicCache) -> bool:
    return all(type(layer) in _KEYS_ALONE for layer in cache.layers)


@functools.cache
def _cache_name(network: type) -> str | None:
    """Return the name by which networks of a class take a cache: one for all since 5.24."""
    names, takes = ("cache", "cache_params", "past_key_values"), inspect.signature(network.forward)
    return next((name for name in names if name in takes.parameters), None)


def cache_option(network: Any, cache: Cache) -> dict[str, Cache]:
    """Return a cache under the name by which a network takes it."""
    return {_cache_name(type(network)) or "past_key_values": cache}


class PromptReading:
    """One prompt, read by itself.

    Parameters
    ----------
    network : PreTrainedModel
    chunk : int
        Most tokens read at once. A network whose layers keep more than keys reads all at once:
        some of these begin each chunk of several tokens with an empty state.

    Attributes
    ----------
    cache : DynamicCache
        Keys and values of what has been read.
    logits : tensor, shape (1, v)
        After the last token that has been read.
    length : int
        Tokens of the whole prompt.
    """

    logits: torch.Tensor

    def __init__(self, network: Any, prompt: Sequence[int], chunk: int = CHUNK) -> None:
        self.cache = empty_cache(network)
        self.length = len(prompt)
        self._network = network
        self._prompt = list(prompt)
        self._read = 0
        self._chunk = chunk if _keeps_keys(self.cache) else max(1, self.length)

    @property
    def left(self) -> int:
        """How many tokens are still to be read."""
        return self.length - self._read

    @property
    def next(self) -> int:
        """How many of them are in the next chunk."""
        return min(self._chunk, self.left)

    @torch.inference_mode()
    def read(self) -> None:
        """Read the next chunk; after an error no more can be read."""
        end = self._read + self.next
        device = self._network.device
        output = self._network(
            input_ids=to_device(torch.tensor([self._prompt[self._read : end]]), device),
            position_ids=torch.arange(self._read, end, device=device)[None],
            use_cache=True,
            logits_to_keep=1,
            **cache_option(self._network, self.cache),
        )
        self.logits, self._read = output.logits[:, -1], end

    def finish(self) -> None:
        """Read all that is left."""
        while self.left:
            self.read()


def whole_readings(
    network: Any,
    prompts: Sequence[Sequence[int]],
    begun: Mapping[tuple[int, ...], PromptReading] | None = None,
) -> list[PromptReading]:
    """Return the reading of each prompt, the same one for equal prompts; finish those begun."""
    known = begun or {}
    different = dict.fromkeys(map(tuple, prompts))
    readings = {p: known.get(p) or PromptReading(network, p) for p in different}
    for reading in readings.values():
        reading.finish()
    return [readings[tuple(prompt)] for prompt in prompts]


@torch.inference_mode()
def read_along(
    network: Any, prompt: Sequence[int], tokens: Sequence[int], most: int
) -> Iterator[torch.Tensor]:
    """Yield the next-token logits after a prompt, and after each of the tokens that follow it.

    Parameters
    ----------
    most : int
        How many positions are read at once, and yielded together.

    Yields
    ------
    tensor, shape (m, v)
        All have ``most`` rows but the last.
    """
    # Whole chunks of the prompt first, as any prompt is read; what is left goes with the tokens.
    reading = PromptReading(network, prompt[: (len(prompt) - 1) // CHUNK * CHUNK])
    together = _keeps_keys(reading.cache)
    if not together:
        reading = PromptReading(network, prompt[:-1])
    reading.finish()
    follows, first = [*prompt[reading.length :], *tokens], len(prompt) - 1 - reading.length
    blocks = [0, *range(first + most, len(follows), most), len(follows)]
    for begin, end in pairwise(blocks):
        # A network that keeps a state reads one token at a time, as it writes.
        steps = [(begin, end)] if together else [(at, at + 1) for at in range(begin, end)]
        parts = [
            _read_on(network, reading, follows[low:high], low, high - max(low, first))
            for low, high in steps
        ]
        yield torch.cat(parts)


def _read_on(
    network: Any, reading: PromptReading, ids: list[int], at: int, kept: int
) -> torch.Tensor:
    """Read tokens, the first of them so many after a reading; return the last logits."""
    device, begin = network.device, reading.length + at
    output = network(
        input_ids=to_device(torch.tensor([ids]), device),
        position_ids=torch.arange(begin, begin + len(ids), device=device)[None],
        use_cache=True,
        logits_to_keep=kept,
        **cache_option(network, reading.cache),
    )
    return output.logits[0, -kept:]


# One running sequence of a model whose layers keep a state, which no padding may reach.


class LoneBatch:
    """A batch of one sequence at most.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Its next-token logits.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._cache, self._length = empty_cache(network), 0
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Begin the sequence."""
        if not prompts:
            return
        if len(prompts) + len(self.logits) > 1:
            raise ValueError("This model decodes one reply at a time.")
        (reading,) = whole_readings(self._network, prompts, read)
        # States are written in place, and the reading stays as it is for who joins later.
        self._cache, self._length = deepcopy(reading.cache), reading.length
        self.logits = reading.logits

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token and compute the next logits."""
        output = self._network(
            input_ids=tokens[:, None],
            position_ids=tokens.new_full((1, 1), self._length),
            use_cache=True,
            logits_to_keep=1,
            **cache_option(self._network, self._cache),
        )
        self.logits, self._length = output.logits[:, -1], self._length + 1

    def keep(self, rows: Sequence[int]) -> None:
        """Keep the sequence, or none."""
        if not rows:
            self._cache, self._length = empty_cache(self._network), 0
            self.logits = self.logits[:0]


# Running sequences of a model that makes its own masks: one cache, padded on the left.


class PaddedBatch:
    """Sequences of different lengths in one left-padded key-value cache.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Next-token logits of each sequence.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._cache = DynamicCache()
        self._mask = torch.zeros((0, 0), dtype=torch.int64, device=network.device)
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Append new prompts as rows, each read once and in the shape it has by itself."""
        self._join([self._alone(one) for one in whole_readings(self._network, prompts, read)])

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits."""
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        self.logits = self._forward(tokens[:, None], self._mask, self._cache)

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order, and drop columns that only pad."""
        chosen = torch.tensor(rows, dtype=torch.int64, device=self._mask.device)
        self._mask, self.logits = self._mask[chosen], self.logits[chosen]
        padding = int((self._mask.cumsum(1) == 0).sum(1).min()) if len(rows) else 0
        self._mask = self._mask[:, padding:]
        for layer in self._layers(self._cache):
            layer.keys = layer.keys[chosen, :, padding:]
            layer.values = layer.values[chosen, :, padding:]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self._network(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            **cache_option(self._network, cache),
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _alone(self, reading: PromptReading) -> PaddedBatch:
        """Return a batch of one prompt, whose reading stays as it is for who joins later."""
        alone = PaddedBatch(self._network)
        alone._cache, alone.logits = copy(reading.cache), reading.logits
        alone._cache.layers = list(map(copy, reading.cache.layers))
        alone._mask = self._mask.new_ones((1, reading.length))
        return alone

    def _join(self, others: Sequence[PaddedBatch]) -> None:
        """Append the rows of others, all padded on the left to the longest, or change nothing."""
        parts = [self, *others] if len(self._mask) else list(others)
        length = max(part._mask.shape[1] for part in parts)

        def stack(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
            pad = torch.nn.functional.pad
            return torch.cat([pad(x, (0, 0, length - x.shape[-2], 0)) for x in tensors])

        mask = stack(part._mask[..., None] for part in parts)[..., 0]
        logits = torch.cat([part.logits for part in parts])
        rows, joined = len(parts[0]._mask), []
        try:
            for layers in zip(*(self._layers(part._cache) for part in parts), strict=True):
                first, width = layers[0], layers[0].keys.shape[-2]
                keys = stack(layer.keys for layer in layers)
                first.values = stack(layer.values for layer in layers)
                first.keys = keys
                joined.append((first, width))
        except BaseException:  # memory falls short: what has grown is a view of what it was
            for layer, width in joined:
                layer.keys = layer.keys[:rows, :, -width:]
                layer.values = layer.values[:rows, :, -width:]
            raise
        self._cache, self._mask, self.logits = parts[0]._cache, mask, logits

    @staticmethod
    def _layers(cache: DynamicCache) -> list[Any]:
        layers: list[Any] = cache.layers
        return [layer for layer in layers if layer.is_initialized]


# A key-value cache with a slot for each row, written in place.
#
# A row's keys begin at the first column, so that a row which joins or leaves moves no other's; at
# most as many rows are copied as leave. Where slots or columns run out they double, and they are
# given back once three quarters lie idle.

_LEAST = 64  # columns
_ALIGNED = 8  # a mask of so many columns need not be copied for a GPU's kernels


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
        self._seen: int | None = None

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take on the shape of what is to be kept, with no slots yet."""
        self.keys, self.values = (
            x.new_zeros((0, x.shape[1], 0, x.shape[3])) for x in (key_states, value_states)
        )
        self.is_initialized = True

    def begin(self, columns: torch.Tensor, seen: int | None) -> None:
        """Say in which column of each row the next keys go, and how many columns are returned."""
        self._columns, self._rows = columns, torch.arange(len(columns), device=columns.device)
        self._seen = seen

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one key and value a row, and return all seen; what is of no row is left out."""
        rows = len(self._rows)
        self.keys[self._rows, :, self._columns] = key_states[:rows, :, 0]
        self.values[self._rows, :, self._columns] = value_states[:rows, :, 0]
        return self.keys[:rows, :, : self._seen], self.values[:rows, :, : self._seen]

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

    def begin(self, columns: torch.Tensor, seen: int | None = None) -> None:
        """Say in which column of each row the next keys go; all see so many columns, or all."""
        for layer in self.used:
            layer.begin(columns, seen)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max((layer.get_seq_length() for layer in self.used), default=0)

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


# Running sequences of a model whose masks are made here, so that it need not look at one.


class RowBatch:
    """Sequences of different lengths, each in a slot of its own.

    Parameters
    ----------
    masked : bool
        Attention is the library's, and takes a mask of all columns. Else it takes how many keys
        each row has, and goes over those alone.

    Attributes
    ----------
    logits : tensor, shape (n, v)
        Next-token logits of each sequence.
    """

    def __init__(
        self, network: Any, most_tokens: int | None = None, *, masked: bool = False
    ) -> None:
        self._network = network
        self._masked = masked
        self._cache = SlotCache(most_tokens)
        self._lengths: list[int] = []  # of the slots, as are the columns
        self._columns = torch.zeros(0, dtype=torch.int64, device=network.device)
        self._slots: list[int] = []  # of the rows
        self.logits = torch.zeros((0, 0), device=network.device)

    @torch.inference_mode()
    def add(
        self, prompts: Sequence[Sequence[int]], read: Mapping[tuple[int, ...], Any] | None = None
    ) -> None:
        """Append new prompts as rows, each read once and in the shape it has by itself."""
        new = whole_readings(self._network, prompts, read)
        if not new:
            return
        old, lengths = len(self._lengths), [*self._lengths, *map(len, prompts)]
        logits = torch.cat([*([self.logits] if old else []), *(one.logits for one in new)])
        self._cache.shape_like(new[0].cache)
        self._cache.reserve(len(lengths), max(lengths) + 1)
        self._cache.fill(old, [one.cache for one in new])
        self._settle(lengths, [*self._slots, *range(old, len(lengths))], logits)

    @torch.inference_mode()
    def advance(self, tokens: torch.Tensor) -> None:
        """Append one token to every row and compute the next logits.

        Processors multiply one row of 16-bit numbers in another order than several. So it is
        computed twice, to come out as it does in company.
        """
        self._cache.reserve(len(self._lengths), max(self._lengths) + 1)
        mask = self._begin()
        slots = None
        if self._slots != sorted(self._slots):
            slots = to_device(torch.tensor(self._slots), self._columns.device)
            tokens = torch.empty_like(tokens).scatter_(0, slots, tokens)
        alone = self._network.dtype.itemsize < 4 and len(tokens) == 1 and not self._masked
        repeats = 2 if alone else 1
        output = self._network(
            input_ids=tokens.repeat(repeats)[:, None],
            # Four dimensions, as of a mask that is ready: it is handed on as it is.
            attention_mask=mask,
            position_ids=self._columns.repeat(repeats)[:, None],
            **cache_option(self._network, self._cache),
            use_cache=True,
            logits_to_keep=1,
        )
        logits = output.logits[: len(tokens), -1]
        self.logits = logits if slots is None else logits[slots]
        self._lengths = [length + 1 for length in self._lengths]
        self._columns = self._columns + 1

    def _begin(self) -> torch.Tensor:
        """Say where the next keys go; return what attention is told of the keys of each row."""
        if not self._masked:
            self._cache.begin(self._columns)
            return (self._columns + 1)[:, None, None, None]
        seen = min(self._cache.width, -(-(max(self._lengths) + 1) // _ALIGNED) * _ALIGNED)
        self._cache.begin(self._columns, seen)
        columns = torch.arange(seen, device=self._columns.device)
        return (columns <= self._columns[:, None])[:, None, None, :]

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        chosen = to_device(torch.tensor(rows, dtype=torch.int64), self._columns.device)
        slots = [self._slots[row] for row in rows]
        lengths = [0] * len(rows)
        places = self._cache.keep(slots)
        for slot, place in zip(slots, places, strict=True):
            lengths[place] = self._lengths[slot]
        self._settle(lengths, places, self.logits[chosen])
        self._cache.reserve(len(lengths), max(lengths, default=-1) + 1)

    def _settle(self, lengths: list[int], slots: list[int], logits: torch.Tensor) -> None:
        columns = torch.tensor(lengths, dtype=torch.int64)
        self._columns = to_device(columns, self._columns.device)
        self._lengths, self._slots, self.logits = lengths, slots, logits
