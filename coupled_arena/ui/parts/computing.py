"""How far a computation is that takes seconds, told while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from coupled_arena.stats.progress import Track

V = TypeVar("V")

_LOOK = 0.3  # seconds; what is sooner over needs no words


def told(compute: Callable[[Track], V], say: Callable[[float], V]) -> Iterator[V]:
    """Compute in another thread; yield what there is to say meanwhile, then the result.

    Parameters
    ----------
    compute : callable
        Is handed what it goes through its steps with.
    say : callable
        Is handed the share of the steps that have been taken.
    """
    share = 0.0

    def track(steps: range) -> Iterator[int]:
        nonlocal share
        for number, step in enumerate(steps, 1):
            yield step
            share = number / len(steps)

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(compute, track)
        while not wait([result], _LOOK).done:
            yield say(share)
        yield result.result()
