"""What a model is and how large, in words: a reader's first look at it."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.model_sizes import ModelSize
from coupled_arena.core.language import _, number
from coupled_arena.views.markup import nameless

_GIGA, _MEGA = 1e9, 1e6


def size_facts(size: ModelSize) -> Iterator[tuple[str, str]]:
    """Yield what is known of a model by its names: nothing stands for what is not stored."""
    if size.source:
        yield _("Source"), nameless(size.source)
    if precision := _precision(size):
        yield _("Precision"), precision
    if size.weights is not None:
        yield _("Weights"), weights_words(size.weights)
    if size.memory is not None:
        yield _("Memory of the weights"), memory_words(size.memory)
    if size.bytes_per_weight is not None:
        yield _("Bits per weight"), number(8 * size.bytes_per_weight, ".1f")


def memory_words(size: float) -> str:
    """Return bytes in gigabytes of 10^9, or in megabytes where they are few."""
    if size < _GIGA:
        return _("{size} MB").format(size=_digits(size / _MEGA))
    return _("{size} GB").format(size=_digits(size / _GIGA))


def weights_words(weights: int) -> str:
    """Return a number of weights in billions, or in millions where it is small."""
    if weights < _GIGA:
        return _("{n} million").format(n=_digits(weights / _MEGA))
    return _("{n} billion").format(n=_digits(weights / _GIGA))


def _digits(value: float) -> str:
    """Return a number with three digits that count; a larger one whole."""
    return number(value, ",.0f" if value >= 100 else ".3g")


def _precision(size: ModelSize) -> str:
    if size.quantization in ("", "none"):
        return size.dtype
    if not size.dtype:
        return size.quantization
    return _("{quantization}, computed in {dtype}").format(
        quantization=size.quantization, dtype=size.dtype
    )
