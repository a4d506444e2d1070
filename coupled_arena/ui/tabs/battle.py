"""The battle tab: ask, watch anonymous answers grow, vote, see who it was."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import Any

import gradio as gr

from coupled_arena.battles.arena import Arena
from coupled_arena.battles.blind_view import RoundView
from coupled_arena.battles.judge_feedback import JudgedRounds
from coupled_arena.battles.limits import Limits, Origins
from coupled_arena.battles.replay import Redecoder
from coupled_arena.core.language import _
from coupled_arena.core.prompts import Library
from coupled_arena.core.records import Battle, Prompt
from coupled_arena.store.queries.battle_record import own_rounds
from coupled_arena.ui.parts.answer_stream import events_path
from coupled_arena.ui.parts.events import FREE, QUIET, sent, user_errors
from coupled_arena.ui.parts.first_divergence import divergence_reason
from coupled_arena.ui.parts.first_steps import INTRO, FirstSteps
from coupled_arena.ui.parts.judge_feedback import decide, judge_view
from coupled_arena.ui.parts.panel import panel as panel_of
from coupled_arena.ui.parts.question_box import Reader, follow_up_row, question_row
from coupled_arena.ui.parts.round_panel import cast, confirm, explain, round_panel, show, undo
from coupled_arena.ui.parts.visitor import address_of, visitor
from coupled_arena.views.own_votes import own_rounds_view

Shown = tuple[Any, ...]
_LISTED = 10  # own battles


class BattleTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    size : int
        How many models answer unless the visitor chooses otherwise.
    redecoder : Redecoder or None
        Makes the draw again at which answers parted.
    feedback : JudgedRounds, optional
        The judge, where there is one.
    limits : Limits, optional
        How much one may ask and vote; as much as one likes without them.
    origins : Origins, optional
        Keeps where votes come from.
    steps : FirstSteps, optional
        What to do where nobody has voted yet.
    """

    def __init__(
        self,
        arena: Arena,
        library: Library,
        size: int,
        redecoder: Redecoder | None,
        feedback: JudgedRounds | None = None,
        limits: Limits | None = None,
        origins: Origins | None = None,
        steps: FirstSteps | None = None,
    ) -> None:
        self._steps = steps
        self._arena = arena
        self._limits = limits or Limits()
        self._counted = self._limits, origins
        self._redecoder = redecoder
        self._feedback = feedback
        self._library = library
        self._most = min(4, len(arena.models))
        self._size = size
        self._reader = Reader()

    def build(self, page: gr.Blocks) -> None:
        """Lay out the tab inside the current Blocks, which are those of the page."""
        round_id = gr.State(None)
        self._introduce()
        question, ask = question_row()
        category = gr.State("")
        starters, chosen, size = self._starting_parts()
        panel = round_panel()
        continuing, more, send = follow_up_row()
        self._build_history()

        shown = [round_id, panel, continuing]
        # Not in the queue: its events come over one stream, which closes with the last of them. A
        # question asked just then was lost, three in a hundred where packets were late.
        chosen.input(None, chosen, question, js="text => text", **QUIET)
        page.load(self._resume, None, shown, queue=False, **QUIET)
        # Where one is lost on its way, the next must not wait for it.
        looked = panel.look(self._look, round_id, shown, trigger_mode="multiple", **FREE)
        repeated = panel.again(self._repeat, [round_id, size], shown, **FREE)
        following = panel.next(self._next, [category, size], shown, **FREE)
        continued = gr.on(
            [send.click, more.submit],
            self._follow_up,
            [round_id, more],
            shown,
            trigger_mode="multiple",  # the server says why it does not take another one yet
            **FREE,
        )
        started = starters.start(
            self._start,
            size,
            [*shown, category, starters],
            cancels=[looked, repeated, following, continued],
            **FREE,
        )
        gr.on(
            [ask.click, question.submit],
            self._ask,
            [question, size],
            shown,
            cancels=[looked, repeated, following, continued, started],
            **FREE,
        )
        panel.stop(self._stop, round_id, None, **FREE)
        panel.part(self._part, round_id, panel, trigger_mode="multiple", **FREE)
        self._take_votes(round_id, panel, continuing)

    def _introduce(self) -> None:
        if self._steps:
            self._steps.build()
        else:
            gr.Markdown(_(INTRO))

    def _build_history(self) -> None:
        history = panel_of("history", "patch", "history")
        history.look(self._history, None, history, trigger_mode="multiple", **FREE)

    def _take_votes(self, round_id: gr.State, panel: gr.HTML, continuing: gr.Row) -> None:
        presses = (panel.vote, self._vote), (panel.undo, self._undo), (panel.names, self._names)
        for event, handler in (*presses, (panel.judge, self._judge)):
            event(handler, round_id, [panel, continuing], **FREE)
        # Where one is lost on its way, the next must not wait for it.
        panel.explain(self._explain, round_id, panel, trigger_mode="multiple", **FREE)

    def _starting_parts(self) -> tuple[gr.HTML, gr.Dropdown, gr.Radio]:
        """Lay out what asks at one click, what chooses a question, and how many models answer."""
        starters = panel_of("starters", "patch", "starters", value=self._starters(None))
        with gr.Accordion(_("Question library and number of models"), open=False):
            chosen = gr.Dropdown(
                [(f"{each.category}: {each.text}", each.text) for each in self._library.prompts],
                value=None,
                label=_("Question"),
                elem_id="library",
            )
            size = gr.Radio(
                [(_("{n} models").format(n=n), n) for n in range(2, self._most + 1)],
                value=self._size,
                label=_("Answers side by side"),
                elem_id="size",
            )
        return starters, chosen, size

    def _starters(self, chosen: str | None) -> dict[str, Any]:
        return {"categories": self._library.categories, "chosen": chosen}

    def _texts(self, category: str) -> list[str]:
        prompts = self._library.of(category) or self._library.prompts
        return [prompt.text for prompt in prompts]

    async def _start(self, size: int, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """Ask a question at random; the next ones are of the same category."""
        wanted = sent(event, "category")
        category = str(wanted) if wanted in self._library.categories else ""
        return *await self._next(category, size, request), category, self._starters(category)

    def _history(self, request: gr.Request) -> dict[str, Any]:
        with self._arena.store.cursor() as cursor:
            return own_rounds_view(own_rounds(cursor, visitor(request), _LISTED))

    async def _ask(self, question: str, size: int, request: gr.Request) -> Shown:
        with user_errors():
            prompt = self._library.identify(question or "")
            return await self._asked(prompt, size, request, typed=True)

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
            return await self._asked(self._library.identify(text), size, request)

    async def _repeat(self, round_id: str, size: int, request: gr.Request) -> Shown:
        with user_errors():
            view = self._arena.view(visitor(request), round_id or "")
            prompt = self._library.identify(view.turns[0].prompt)
            return await self._asked(prompt, size, request)

    async def _asked(
        self, prompt: Prompt, size: int, request: gr.Request, *, typed: bool = False
    ) -> Shown:
        owner = visitor(request)

        def asked() -> str:
            if typed and (just := self._just_asked(prompt, size, owner)) is not None:
                return just
            with self._limits.question(owner, address_of(request)):
                return self._arena.ask(owner, prompt, size)

        return self._begun(await self._reader.read(len(prompt.text), asked), request)

    async def _follow_up(self, round_id: str, question: str, request: gr.Request) -> Shown:
        with user_errors():
            owner, name, text = visitor(request), round_id or "", question or ""
            length = self._arena.view(owner, name).characters + len(text)
            asked = partial(self._arena.follow_up, owner, name, text)
            with self._limits.question(owner, address_of(request)):
                await self._reader.read(length, asked)
            return self._begun(round_id, request)

    def _begun(self, round_id: str, request: gr.Request, *, resumed: bool = False) -> Shown:
        """Return a round; if answers are being written, the page is about to follow them."""
        owner = visitor(request)
        view = self._arena.view(owner, round_id)
        if view.running:
            self._arena.expect(owner, round_id)
        events = events_path(round_id, len(view.turns) - 1, request)
        panel = self._show(view, round_id, request, events=events, resumed=resumed)
        return round_id, panel, gr.update(visible=_may_continue(view))

    async def _resume(self, request: gr.Request) -> Shown:
        round_id = self._arena.newest(visitor(request))
        return await self._look(round_id, request) if round_id else (gr.skip(),) * 3

    async def _look(self, round_id: str, request: gr.Request) -> Shown:
        """Return a round as it is, for a page that has been loaded or whose stream has ended."""
        with user_errors():
            await self._arena.look(visitor(request), round_id or "")
            return self._begun(round_id, request, resumed=True)

    def _stop(self, round_id: str, request: gr.Request) -> None:
        with user_errors():
            self._arena.stop(visitor(request), round_id or "")

    async def _part(
        self, round_id: str, request: gr.Request, event: gr.EventData
    ) -> dict[str, Any]:
        """Say why answers parted, or why that cannot be said."""
        owner = visitor(request)

        def revealed() -> Battle:
            return self._arena.revealed_battle(owner, round_id or "")

        return await divergence_reason(self._redecoder, owner, revealed, event)

    def _vote(self, round_id: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        view = cast(self._arena, round_id, request, event, *self._counted)
        return self._changed(view, round_id, request)

    def _undo(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        return self._changed(undo(self._arena, round_id, request), round_id, request)

    def _names(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        return self._changed(confirm(self._arena, round_id, request), round_id, request)

    def _explain(self, round_id: str, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        view = explain(self._arena, round_id, request, event)
        return self._show(view, round_id, request) if view else gr.skip()

    async def _judge(
        self, round_id: str, request: gr.Request, event: gr.EventData
    ) -> tuple[Any, ...]:
        with user_errors():
            await self._arena.look(visitor(request), round_id or "")  # what is over is stored
        await asyncio.to_thread(decide, self._feedback, round_id, request, event)
        return self._changed(self._arena.view(visitor(request), round_id), round_id, request)

    def _changed(self, view: RoundView, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        return self._show(view, round_id, request), gr.update(visible=_may_continue(view))

    def _show(
        self, view: RoundView, round_id: str, request: gr.Request, **options: Any
    ) -> dict[str, Any]:
        panel = show(view, self._arena.store, voter=visitor(request), **options)
        return panel | judge_view(self._feedback, view, round_id, request)


def _may_continue(view: RoundView) -> bool:
    """While answers are written the row stays, so that nobody loses the box they write in."""
    return not (view.recorded or view.judging or view.reveal or view.error)
