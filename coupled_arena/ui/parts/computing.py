"""How far a computation is that takes seconds, told while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import gradio as gr

from coupled_arena.stats.progress import Track
from coupled_arena.ui.parts.opening import waiting

Updates = dict[Any, Any]  # component: its value, as Gradio's handlers return them

_LOOK = 0.3  # seconds; what is sooner over needs no words


def told(
    compute: Callable[[Track], Updates], place: gr.HTML, say: Callable[[float], str]
) -> Iterator[Updates]:
    """Compute in another thread; yield what there is to say meanwhile, then the result.

    Parameters
    ----------
    compute : callable
        Is handed what it goes through its steps with.
    place : gr.HTML
        Where a tab has its sentence.
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
            yield {place: waiting(say(share))}
        yield result.result()


def telling(
    compute: Callable[[Updates, Track], Updates], place: gr.HTML, say: Callable[[float], str]
) -> Callable[[Updates], Iterator[Updates]]:
    """Return a handler that does the same for what somebody asks for, which may be refused.

    Its inputs have the place of the sentence: after a refusal the one before stands there again,
    as what it speaks of is still on show.
    """

    def handle(values: Updates) -> Iterator[Updates]:
        spoken = False
        try:
            for update in told(partial(compute, values), place, say):
                yield update
                spoken = True
        except gr.Error:
            if spoken:
                yield {place: values[place]}
            raise

    return handle
