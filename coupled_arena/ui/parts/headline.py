"""The sentence that a tab begins with, and behind one click how it was computed.

Where a computation takes seconds, the sentence says meanwhile how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import gradio as gr
from markupsafe import Markup, escape

from coupled_arena.core.language import N_, _
from coupled_arena.core.process import Track
from coupled_arena.views.markup import joined, paragraph

HOW = N_("How this was computed, and filters")
NO_VERDICTS = N_("There are no verdicts here yet: let a judge judge, or import some.")

_WAITING = '<p class="headline waiting">{}</p>'


def headline_place(elem_id: str) -> gr.HTML:
    """Lay out the place of the sentence inside the current Blocks: as tall before it is known."""
    return gr.HTML(
        waiting(_("Counting …")),
        elem_id=elem_id,
        elem_classes=["verdict"],
        apply_default_css=False,
    )


def waiting(sentence: str) -> str:
    """Return what is said until the sentence is known as the value of that place."""
    return _WAITING.format(escape(sentence))


def headline(sentence: str) -> Markup:
    """Return a sentence as the value of that place."""
    return paragraph(sentence, "headline")


def nothing_yet(sentence: str, offer: str) -> Markup:
    """Return what a tab without data says as the value of that place.

    Parameters
    ----------
    offer : str
        What leads to the example; empty where there is none.
    """
    return joined([headline(sentence), offer])


def hidden(*parts: gr.Column) -> dict[Any, Any]:
    """Return the updates that leave nothing but the sentence."""
    return {part: gr.Column(visible=False) for part in parts}


def how(text: str, title: str = HOW) -> gr.Accordion:
    """Return what opens at a click, with these words at its top; its controls go inside."""
    folded = gr.Accordion(_(title), open=False)
    with folded:
        gr.HTML(joined([paragraph(_(text), "method")]), apply_default_css=False)
    return folded


def section(title: str) -> gr.Accordion:
    """Return a part of a tab that can be folded; on a phone it is, see `assets/phone.js`."""
    return gr.Accordion(_(title), open=True, elem_classes=["section"])


# How far a computation is that takes seconds, told while it runs.


Updates = dict[Any, Any]  # component: its value, as Gradio's handlers return them

_LOOK = 0.3  # seconds; what is sooner over needs no words


def with_progress(
    compute: Callable[[Track], Updates], place: gr.HTML, sentence_of: Callable[[float], str]
) -> Iterator[Updates]:
    """Compute in another thread; yield what there is to say meanwhile, then the result.

    Parameters
    ----------
    compute : callable
        Is handed what it goes through its steps with.
    place : gr.HTML
        Where a tab has its sentence.
    sentence_of : callable
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
            yield {place: waiting(sentence_of(share))}
        yield result.result()


def progress_handler(
    compute: Callable[[Updates, Track], Updates],
    place: gr.HTML,
    sentence_of: Callable[[float], str],
) -> Callable[[Updates], Iterator[Updates]]:
    """Return a handler that does the same for what somebody asks for, which may be refused.

    Its inputs have the place of the sentence. After a refusal the one before stands there again, as
    what it speaks of is still on show.
    """

    def handle(values: Updates) -> Iterator[Updates]:
        shown = False
        try:
            for update in with_progress(partial(compute, values), place, sentence_of):
                yield update
                shown = True
        except gr.Error:
            if shown:
                yield {place: values[place]}
            raise

    return handle
