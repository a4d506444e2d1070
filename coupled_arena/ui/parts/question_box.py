"""Where questions are written in the battle tab, and how long ones are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import gradio as gr

from coupled_arena.core.language import _


def question_row() -> tuple[gr.Textbox, gr.Button]:
    """Lay out where a question is written, and what asks it."""
    with gr.Row(equal_height=True):
        question = gr.Textbox(
            label=_("Your question"),
            placeholder=_("Ask anything. Enter sends, Shift+Enter breaks the line."),
            lines=1,  # with more, Gradio sends on Shift+Enter; it grows by itself
            max_lines=8,
            scale=6,
            elem_id="question",
        )
        ask = gr.Button(_("Ask"), variant="primary", scale=1, min_width=110, elem_id="ask")
    return question, ask


def follow_up_row() -> tuple[gr.Row, gr.Textbox, gr.Button]:
    """Lay out the same for a question that goes on with a round: a row that is hidden at first."""
    with gr.Row(visible=False, equal_height=True) as continuing:
        more = gr.Textbox(
            label=_("Follow-up question"),
            lines=1,
            max_lines=6,
            scale=6,
            elem_id="follow-up",
        )
        send = gr.Button(_("Continue"), scale=1, min_width=110, elem_id="continue")
    return continuing, more, send


# Questions that take long to read are read beside the event loop, on which everybody waits.

T = TypeVar("T")
LONG = 2_000  # characters; fewer are read as ids in some milliseconds


class Reader:
    """Does work on long questions one after the other, in a thread.

    One thread, so that of two equal questions the second finds the round of the first. Long
    questions in any number leave processors to everybody else.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="long-questions")

    async def read(self, characters: int, work: Callable[[], T]) -> T:
        """Do work on so many characters: at once where they are few."""
        if characters <= LONG:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
