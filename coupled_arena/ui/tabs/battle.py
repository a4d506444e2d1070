"""The battle tab: ask, watch anonymous answers grow, vote, see who it was."""

from __future__ import annotations

import random
from typing import Any

import gradio as gr

from coupled_arena.battles.arena import Arena
from coupled_arena.battles.visible import RoundView
from coupled_arena.core.prompts import Library
from coupled_arena.core.records import Prompt
from coupled_arena.ui.parts.answer_stream import events_path
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.round_panel import cast, round_panel, show
from coupled_arena.ui.parts.visitor import visitor

Shown = tuple[Any, ...]
_ANY = "any category"
_INTRO = (
    "Ask anything. Anonymous models answer side by side; you say which answer is better, "
    "then you see who they were."
)


class BattleTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    arena : Arena
    library : Library
    size : int
        How many models answer unless the visitor chooses otherwise.
    """

    def __init__(self, arena: Arena, library: Library, size: int) -> None:
        self._arena = arena
        self._library = library
        self._most = min(4, len(arena.models))
        self._size = size

    def build(self, page: gr.Blocks) -> None:
        """Lay out the tab inside the current Blocks, which are those of the page."""
        round_id = gr.State(None)
        gr.Markdown(_INTRO)
        question, ask = _question_row()
        with gr.Accordion("Question library and number of models", open=False):
            category, chosen = self._library_picker()
            size = gr.Radio(
                [(f"{n} models", n) for n in range(2, self._most + 1)],
                value=self._size,
                label="Answers side by side",
                elem_id="size",
            )
        panel = round_panel()
        continuing, more, send = _follow_up_row()

        category.change(self._of_category, category, chosen, **QUIET)
        chosen.input(lambda text: text, chosen, question, **QUIET)
        shown = [round_id, panel, continuing]
        # Not in the queue: its events come over one stream, which closes with the last of them. A
        # question asked just then was lost, three in a hundred where packets were late.
        page.load(self._resume, None, shown, queue=False, **QUIET)
        # Where one is lost on its way, the next must not wait for it.
        looked = panel.look(self._look, round_id, shown, trigger_mode="multiple", **FREE)
        again = panel.again(self._again, [round_id, size], shown, **FREE)
        following = panel.next(self._next, [category, size], shown, **FREE)
        continued = gr.on(
            [send.click, more.submit],
            self._follow_up,
            [round_id, more],
            shown,
            trigger_mode="multiple",  # the server says why it does not take another one yet
            **FREE,
        )
        gr.on(
            [ask.click, question.submit],
            self._ask,
            [question, size],
            shown,
            cancels=[looked, again, following, continued],
            **FREE,
        )
        panel.stop(self._stop, round_id, None, **FREE)
        panel.vote(self._vote, round_id, [panel, continuing], **FREE)

    def _library_picker(self) -> tuple[gr.Dropdown, gr.Dropdown]:
        with gr.Row():
            category = gr.Dropdown(
                [_ANY, *self._library.categories], value=_ANY, label="Category", scale=1
            )
            chosen = gr.Dropdown(
                self._texts(_ANY), value=None, label="Question", scale=4, elem_id="library"
            )
        return category, chosen

    def _texts(self, category: str) -> list[str]:
        prompts = self._library.prompts if category == _ANY else self._library.of(category)
        return [prompt.text for prompt in prompts]

    def _of_category(self, category: str) -> gr.Dropdown:
        return gr.Dropdown(choices=self._texts(category), value=None)

    async def _ask(self, question: str, size: int, request: gr.Request) -> Shown:
        with user_errors():
            prompt = self._library.identify(question or "")
            if (round_id := self._just_asked(prompt, size, visitor(request))) is not None:
                return self._begun(round_id, request)
            return self._asked(prompt, size, request)

    def _just_asked(self, prompt: Prompt, size: int, owner: str) -> str | None:
        """Return the round of who asked the same before there were words: a double click."""
        if (round_id := self._arena.newest(owner)) is None:
            return None
        view = self._arena.view(owner, round_id)
        same = len(view.turns) == 1 and (view.turns[0].prompt, view.size) == (prompt.text, size)
        return round_id if view.running and same and not any(view.turns[0].answers) else None

    async def _next(self, category: str, size: int, request: gr.Request) -> Shown:
        with user_errors():
            text = random.choice(self._texts(category))
            return self._asked(self._library.identify(text), size, request)

    async def _again(self, round_id: str, size: int, request: gr.Request) -> Shown:
        with user_errors():
            view = self._arena.view(visitor(request), round_id or "")
            prompt = self._library.identify(view.turns[0].prompt)
            return self._asked(prompt, size, request)

    def _asked(self, prompt: Prompt, size: int, request: gr.Request) -> Shown:
        return self._begun(self._arena.ask(visitor(request), prompt, size), request)

    async def _follow_up(self, round_id: str, question: str, request: gr.Request) -> Shown:
        with user_errors():
            self._arena.follow_up(visitor(request), round_id or "", question or "")
            return self._begun(round_id, request)

    def _begun(self, round_id: str, request: gr.Request, *, resumed: bool = False) -> Shown:
        """Return a round; if answers are being written, the page is about to follow them."""
        owner = visitor(request)
        view = self._arena.view(owner, round_id)
        if view.running:
            self._arena.expect(owner, round_id)
        return _shown(round_id, view, request, resumed=resumed)

    async def _resume(self, request: gr.Request) -> Shown:
        if (round_id := self._arena.newest(visitor(request))) is None:
            return (gr.skip(),) * 3
        return await self._look(round_id, request)

    async def _look(self, round_id: str, request: gr.Request) -> Shown:
        """Return a round as it is, for a page that has been loaded or whose stream has ended."""
        with user_errors():
            await self._arena.look(visitor(request), round_id or "")
            return self._begun(round_id, request, resumed=True)

    def _stop(self, round_id: str, request: gr.Request) -> None:
        with user_errors():
            self._arena.stop(visitor(request), round_id or "")

    def _vote(self, round_id: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        return cast(self._arena, round_id, request, event), gr.Row(visible=False)


def _shown(round_id: str, view: RoundView, request: gr.Request, *, resumed: bool) -> Shown:
    events = events_path(round_id, len(view.turns) - 1, request)
    panel = show(view, events=events, resumed=resumed)
    return round_id, panel, gr.Row(visible=_may_continue(view))


def _may_continue(view: RoundView) -> bool:
    """While answers are written the row stays, so that nobody loses the box they write in."""
    return not (view.reveal or view.error)


def _question_row() -> tuple[gr.Textbox, gr.Button]:
    with gr.Row(equal_height=True):
        question = gr.Textbox(
            label="Your question",
            placeholder="Ask anything. Enter sends, Shift+Enter breaks the line.",
            lines=1,  # with more, Gradio sends on Shift+Enter; it grows by itself
            max_lines=8,
            scale=6,
            elem_id="question",
        )
        ask = gr.Button("Ask", variant="primary", scale=1, min_width=110, elem_id="ask")
    return question, ask


def _follow_up_row() -> tuple[gr.Row, gr.Textbox, gr.Button]:
    with gr.Row(visible=False, equal_height=True) as continuing:
        more = gr.Textbox(
            label="Follow-up question",
            lines=1,
            max_lines=6,
            scale=6,
            elem_id="follow-up",
        )
        send = gr.Button("Continue", scale=1, min_width=110, elem_id="continue")
    return continuing, more, send
