"""Noise and draw on the device, in Triton: for rows of logits, the ids that the arena draws.

The noise words are those of `noise`, bit for bit; the law and the draw are those of `sampling`. No
noise is kept, the host waits for nothing, and blocks without a possible token make no noise.
``TRITON_INTERPRET=1`` runs the same kernels on a processor, as the tests do where no GPU is named.

Four kernels follow each other. The first finds each row's threshold: the least logit that min-p,
top-k and top-p leave. The second draws in blocks of the vocabulary. The third takes the best block
and draws the end of the answer. The last leaves the drawn token as the only possible one.
"""

# pyright: reportIndexIssue=false
# ruff: noqa: ANN001, ANN202, SIM102 - kernels know no Python types, and no `and` of tensors

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]

_MULTIPLIER_0 = tl.constexpr(0xD2511F53)
_MULTIPLIER_1 = tl.constexpr(0xCD9E8D57)
_WEYL_0 = tl.constexpr(0x9E3779B9)
_WEYL_1 = tl.constexpr(0xBB67AE85)
_LEAST = tl.constexpr(-(2**31))
_LARGEST = tl.constexpr(
    3.4028234663852886e38
)  # of 32 bits: infinity would end in what is no number
_BLOCK = 1024  # tokens of a program that draws
_SCAN = 8192  # tokens of a step of a program that reads a whole row
_SCAN_WARPS = 32  # of such a program: it is a row's only one, and waits for memory

# Columns of the two tables, a row a slot of vLLM's batch.
NOT_OURS, ANY_STOP, FIRST_STOP = range(3)  # kinds: which id stands for the end of the answer
INTEGERS, REALS = 7, 3
_INTEGERS, _REALS = tl.constexpr(INTEGERS), tl.constexpr(REALS)


@dataclass
class Slots:
    """What is known of each request, on the device.

    Attributes
    ----------
    integers : int64 tensor, shape (slots, 7)
        Kind, seed (signed), turn, the position of the first token, top-k (0 for all), how many
        stops, how many tokens are forced.
    reals : float64 tensor, shape (slots, 3)
        Temperature, top-p, min-p.
    stops : int64 tensor, shape (slots, s)
        Ids that end the answer, in order; s is a power of 2.
    forced : int64 tensor, shape (slots, f)
        Ids of an answer that is known before, as of a proof; the last one is repeated.
    """

    integers: torch.Tensor
    reals: torch.Tensor
    stops: torch.Tensor
    forced: torch.Tensor


def draw_rows(
    logits: torch.Tensor,
    keys: torch.Tensor,
    slots: Slots,
    slot_of: torch.Tensor,
    written: torch.Tensor,
) -> torch.Tensor:
    """Draw the next token of each row, and leave it as the only possible one.

    Parameters
    ----------
    logits : float32 tensor, shape (n, w)
        Changed in place; of rows that are not ours nothing is.
    keys : int64 tensor, shape (v + 1,)
        Noise keys of the vocabulary's outcomes, the end of the answer last; v is at most w.
    slots : Slots
    slot_of : int64 tensor, shape (n,)
        The slot of each row's request; negative for none.
    written : int64 tensor, shape (n,)
        How many tokens the answer has before this row's. Rows of a draft count its tokens.

    Returns
    -------
    int64 tensor, shape (n,)
        Ids; -1 for rows that are not ours.
    """
    rows, width = len(logits), len(keys) - 1
    blocks = triton.cdiv(width, _BLOCK)
    device = logits.device
    thresholds = torch.empty(rows, dtype=torch.int32, device=device)
    best = torch.empty(rows, blocks, dtype=torch.float64, device=device)
    ids = torch.empty(rows, blocks, dtype=torch.int64, device=device)
    drawn = torch.full((rows,), -1, dtype=torch.int64, device=device)
    given: tuple[Any, ...] = (logits, logits.stride(0), slots.integers, slots.reals, slot_of)
    stops = slots.stops.shape[1]
    _threshold_kernel[(rows,)](*given, thresholds, width, SCAN=_SCAN, num_warps=_SCAN_WARPS)
    _draw_kernel[(rows, blocks)](
        *given, written, keys, slots.stops, thresholds, best, ids, width, STOPS=stops, BLOCK=_BLOCK
    )
    _finish_kernel[(rows,)](
        *given,
        *(written, keys, slots.stops, slots.forced, thresholds, best, ids, drawn, width, blocks),
        STOPS=stops,
        FORCED_WIDTH=slots.forced.shape[1],
        BLOCKS=triton.next_power_of_2(blocks),
    )
    whole = logits.shape[1]
    _leave_kernel[(rows, triton.cdiv(whole, _BLOCK))](
        logits, logits.stride(0), drawn, whole, BLOCK=_BLOCK
    )
    return drawn


def words_of(seed: int, turn: int, positions: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return the noise words that the kernels read, int64 of shape (n, v), for tests of them."""
    words = torch.empty(len(positions), len(keys), dtype=torch.int64, device=keys.device)
    blocks = triton.cdiv(len(keys), _BLOCK)
    _words_kernel[(len(positions), blocks)](
        torch.tensor([seed, turn], device=keys.device),
        positions,
        keys,
        words,
        len(keys),
        BLOCK=_BLOCK,
    )
    return words


@triton.jit
def _word(seed, turn, position, key):
    """Return Philox's word of each key, uint32, as `noise.noise_words` has it."""
    zero = (key & 0).to(tl.uint32)
    k0 = (seed & 0xFFFFFFFF).to(tl.uint32) + zero
    k1 = ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32) + zero
    c0 = (position // 4).to(tl.uint32) + zero
    c1 = (key & 0xFFFFFFFF).to(tl.uint32)
    c2 = ((key >> 32) & 0xFFFFFFFF).to(tl.uint32)
    c3 = turn.to(tl.uint32) + zero
    m0 = zero + _MULTIPLIER_0
    m1 = zero + _MULTIPLIER_1
    for _ in tl.static_range(10):
        high_0, low_0 = tl.umulhi(c0, m0), c0 * m0
        high_1, low_1 = tl.umulhi(c2, m1), c2 * m1
        c0 = high_1 ^ c1 ^ k0
        c1 = low_1
        c2 = high_0 ^ c3 ^ k1
        c3 = low_0
        k0 = k0 + _WEYL_0
        k1 = k1 + _WEYL_1
    lane = position % 4
    return tl.where(lane == 0, c0, tl.where(lane == 1, c1, tl.where(lane == 2, c2, c3)))


@triton.jit
def _gumbel(seed, turn, position, key):
    """Return standard Gumbel noise, float64."""
    uniform = (_word(seed, turn, position, key).to(tl.float64) + 0.5) / 4294967296.0
    return -tl.log(-tl.log(uniform))


@triton.jit
def _finite(logits):
    """Return logits of which none is infinite above or no number; zero has one sign."""
    known = tl.where(logits == logits, logits, float("-inf"))
    return tl.minimum(known, _LARGEST) + 0.0


@triton.jit
def _rank(logits):
    """Return int32 numbers in the order of float32 ones."""
    bits = logits.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _count(logits_ptr, threshold, width, SCAN: tl.constexpr):
    """Return how many of a row's logits reach a threshold."""
    found = tl.zeros((), dtype=tl.int64)
    for start in range(0, width, SCAN):
        at = start + tl.arange(0, SCAN)
        rank = _rank(_finite(tl.load(logits_ptr + at, mask=at < width, other=float("-inf"))))
        found += tl.sum(((rank >= threshold) & (at < width)).to(tl.int64), axis=0)
    return found


@triton.jit
def _mass(logits_ptr, threshold, highest, temperature, width, SCAN: tl.constexpr):
    """Return the weight of a row's tokens that reach a threshold; the likeliest one weighs 1."""
    found = tl.zeros((), dtype=tl.float64)
    for start in range(0, width, SCAN):
        at = start + tl.arange(0, SCAN)
        logits = _finite(tl.load(logits_ptr + at, mask=at < width, other=float("-inf")))
        weight = tl.exp((logits.to(tl.float64) - highest) / temperature)
        found += tl.sum(tl.where((_rank(logits) >= threshold) & (at < width), weight, 0.0), axis=0)
    return found


@triton.jit
def _highest(logits_ptr, width, SCAN: tl.constexpr):
    """Return a row's largest logit."""
    found = tl.full((), float("-inf"), dtype=tl.float32)
    for start in range(0, width, SCAN):
        at = start + tl.arange(0, SCAN)
        logits = _finite(tl.load(logits_ptr + at, mask=at < width, other=float("-inf")))
        found = tl.maximum(found, tl.max(logits, axis=0))
    return found


@triton.jit
def _least_from(logits_ptr, floor, most, width, SCAN: tl.constexpr):
    """Return the least rank of a row's logits that are no lower than a floor."""
    found = most
    for start in range(0, width, SCAN):
        at = start + tl.arange(0, SCAN)
        logits = _finite(tl.load(logits_ptr + at, mask=at < width, other=float("-inf")))
        kept = (logits.to(tl.float64) >= floor) & (at < width)
        ranks = tl.where(kept, _rank(logits).to(tl.int64), most)
        found = tl.minimum(found, tl.min(ranks, axis=0))
    return found


@triton.jit
def _of_top_k(logits_ptr, low, most, top_k, width, SCAN: tl.constexpr):
    """Return the largest rank that so many tokens reach."""
    high = most
    while low < high:
        middle = low + (high - low + 1) // 2
        if _count(logits_ptr, middle, width, SCAN) >= top_k:
            low = middle
        else:
            high = middle - 1
    return low


@triton.jit
def _of_top_p(logits_ptr, low, most, top_p, above, temperature, width, SCAN: tl.constexpr):
    """Return the largest rank from which on tokens have the wanted share of the probability."""
    wanted = top_p * _mass(logits_ptr, low, above, temperature, width, SCAN)
    high = most
    while low < high:
        middle = low + (high - low + 1) // 2
        if _mass(logits_ptr, middle, above, temperature, width, SCAN) >= wanted:
            low = middle
        else:
            high = middle - 1
    return low


@triton.jit
def _threshold_kernel(
    logits_ptr,
    stride,
    integers_ptr,
    reals_ptr,
    slots_ptr,
    thresholds_ptr,
    width,
    SCAN: tl.constexpr,
):
    """Find the least rank that min-p, top-k and top-p leave, by halving: nothing is sorted."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + row).to(tl.int64)
    if slot < 0:
        return
    integers, reals = integers_ptr + slot * _INTEGERS, reals_ptr + slot * _REALS
    temperature, top_p, min_p = tl.load(reals), tl.load(reals + 1), tl.load(reals + 2)
    tl.store(thresholds_ptr + row, _LEAST)
    if (tl.load(integers) == 0) | (temperature == 0):
        return
    top_k = tl.load(integers + 4)
    logits_ptr += row * stride
    highest = _highest(logits_ptr, width, SCAN)
    if highest == float("-inf"):
        return
    most, above = _rank(highest).to(tl.int64), highest.to(tl.float64)
    low = tl.full((), _LEAST, dtype=tl.int64)
    if min_p > 0:
        low = _least_from(logits_ptr, above + temperature * tl.log(min_p), most, width, SCAN)
    if (top_k > 0) & (top_k < width):
        if _count(logits_ptr, low, width, SCAN) > top_k:
            low = _of_top_k(logits_ptr, low, most, top_k, width, SCAN)
    if top_p < 1:
        low = _of_top_p(logits_ptr, low, most, top_p, above, temperature, width, SCAN)
    tl.store(thresholds_ptr + row, low.to(tl.int32))


@triton.jit
def _possible(logits_ptr, at, width, threshold_ptr):
    """Return some of a row's logits, and which of them are possible."""
    logits = _finite(tl.load(logits_ptr + at, mask=(at >= 0) & (at < width), other=float("-inf")))
    kept = (at >= 0) & (at < width) & (_rank(logits) >= tl.load(threshold_ptr))
    return logits.to(tl.float64), kept & (logits > float("-inf"))


@triton.jit
def _noise_of(integers, written_ptr, keys_ptr, at, kept):
    """Return the noise of tokens at a row's position."""
    position = tl.load(integers + 3) + tl.load(written_ptr)
    keys = tl.load(keys_ptr + at, mask=kept, other=0)
    return _gumbel(tl.load(integers + 1), tl.load(integers + 2), position, keys)


# A line an argument would hide what the kernels do.
# fmt: off
@triton.jit
def _draw_kernel(
    logits_ptr, stride, integers_ptr, reals_ptr, slots_ptr, written_ptr, keys_ptr, stops_ptr,
    thresholds_ptr, best_ptr, ids_ptr, width, STOPS: tl.constexpr, BLOCK: tl.constexpr,
):
    """Draw among the tokens of a block that do not end the answer."""
    row = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    slot = tl.load(slots_ptr + row).to(tl.int64)
    if slot < 0:
        return
    integers = integers_ptr + slot * _INTEGERS
    if tl.load(integers) == 0:
        return
    at = block * BLOCK + tl.arange(0, BLOCK)
    scores, kept = _possible(logits_ptr + row * stride, at, width, thresholds_ptr + row)
    for each in range(0, tl.load(integers + 5)):
        kept = kept & (at != tl.load(stops_ptr + slot * STOPS + each))
    place = row * tl.num_programs(1) + block
    tl.store(best_ptr + place, float("-inf"))
    tl.store(ids_ptr + place, 0)
    if tl.max(kept.to(tl.int32), axis=0) == 0:
        return
    temperature = tl.load(reals_ptr + slot * _REALS)
    if temperature > 0:
        noise = _noise_of(integers, written_ptr + row, keys_ptr, at, kept)
        scores = scores / temperature + noise
    best, index = tl.max(tl.where(kept, scores, float("-inf")), axis=0, return_indices=True)
    tl.store(best_ptr + place, best)
    tl.store(ids_ptr + place, block * BLOCK + index.to(tl.int64))


@triton.jit
def _finish_kernel(
    logits_ptr, stride, integers_ptr, reals_ptr, slots_ptr, written_ptr, keys_ptr, stops_ptr,
    forced_ptr, thresholds_ptr, best_ptr, ids_ptr, drawn_ptr, width, blocks,
    STOPS: tl.constexpr, FORCED_WIDTH: tl.constexpr, BLOCKS: tl.constexpr,
):
    """Take the best block's token or the end of the answer; or the token that is known before."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots_ptr + row).to(tl.int64)
    if slot < 0:
        return
    integers = integers_ptr + slot * _INTEGERS
    kind, forced = tl.load(integers), tl.load(integers + 6)
    if kind == 0:
        return
    if forced > 0:
        last = tl.minimum(tl.load(written_ptr + row), forced - 1)
        tl.store(drawn_ptr + row, tl.load(forced_ptr + slot * FORCED_WIDTH + last))
        return
    among = tl.arange(0, BLOCKS)
    bests = tl.load(best_ptr + row * blocks + among, mask=among < blocks, other=float("-inf"))
    best, index = tl.max(bests, axis=0, return_indices=True)
    tl.store(drawn_ptr + row, tl.load(ids_ptr + row * blocks + index))
    each = tl.arange(0, STOPS)
    stops_ptr += slot * STOPS
    stops = tl.where(each < tl.load(integers + 5), tl.load(stops_ptr + each), -1)
    scores, kept = _possible(logits_ptr + row * stride, stops, width, thresholds_ptr + row)
    if tl.max(kept.to(tl.int32), axis=0) == 0:
        return
    temperature = tl.load(reals_ptr + slot * _REALS)
    written_ptr += row
    end, own = _end_of_answer(
        scores, kept, stops, temperature, integers, written_ptr, keys_ptr, width
    )
    if end > best:
        first = tl.min(tl.where((stops >= 0) & (stops < width), stops, width), axis=0)
        _, which = tl.max(own, axis=0, return_indices=True)
        tl.store(drawn_ptr + row, tl.where(kind == 1, tl.load(stops_ptr + which), first))


@triton.jit
def _end_of_answer(scores, kept, stops, temperature, integers, written_ptr, keys_ptr, width):
    """Return the score of the end of the answer, and those of each token that ends it."""
    if temperature > 0:
        scores = tl.where(kept, scores / temperature, float("-inf"))
        most = tl.max(scores, axis=0)
        end = most + tl.log(tl.sum(tl.exp(scores - most), axis=0))
        place = tl.load(integers + 3) + tl.load(written_ptr)
        end += _gumbel(
            tl.load(integers + 1), tl.load(integers + 2), place, tl.load(keys_ptr + width)
        )
        own = scores + _noise_of(integers, written_ptr, keys_ptr, stops, kept)
    else:
        own = tl.where(kept, scores, float("-inf"))
        end = tl.max(own, axis=0)
    return end, own


# fmt: on


@triton.jit
def _leave_kernel(logits_ptr, stride, drawn_ptr, width, BLOCK: tl.constexpr):
    """Make the drawn token the only possible one."""
    row = tl.program_id(0).to(tl.int64)
    drawn = tl.load(drawn_ptr + row)
    if drawn < 0:
        return
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    left = tl.where(at == drawn, 0.0, float("-inf"))
    tl.store(logits_ptr + row * stride + at, left, mask=at < width)


@triton.jit
def _words_kernel(place_ptr, positions_ptr, keys_ptr, words_ptr, width, BLOCK: tl.constexpr):
    """Write the words behind the noise."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keys = tl.load(keys_ptr + at, mask=at < width, other=0)
    words = _word(tl.load(place_ptr), tl.load(place_ptr + 1), tl.load(positions_ptr + row), keys)
    tl.store(words_ptr + row * width + at, words.to(tl.int64), mask=at < width)
