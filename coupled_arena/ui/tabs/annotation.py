"""The battle tab over stored battles: one after the other, voted on blind."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.battles.annotation import Annotation
from coupled_arena.store.pending.battles import Progress
from coupled_arena.ui.parts.events import FREE, user_errors
from coupled_arena.ui.parts.round_panel import cast, round_panel, show
from coupled_arena.ui.parts.visitor import visitor

_INTRO = (
    "Anonymous models have answered the same question. Say which answer is better, then you see "
    "who they were."
)


class AnnotationTab:
    """Components and handlers of the tab."""

    def __init__(self, annotation: Annotation) -> None:
        self._annotation = annotation

    def build(self, page: gr.Blocks) -> None:
        """Lay out the tab inside the current Blocks, which are those of the page."""
        round_id = gr.State(None)
        gr.Markdown(_INTRO)
        progress = gr.Markdown(elem_id="progress")
        start = gr.Button("Start", variant="primary", elem_id="start")
        panel = round_panel()

        shown = [round_id, panel, start, progress]
        page.load(self._resume, None, shown, **FREE)
        start.click(self._start, None, shown, **FREE)
        panel.next(self._next, None, shown, **FREE)
        panel.skip(self._skip, round_id, shown, **FREE)
        panel.vote(self._vote, round_id, [panel, progress], **FREE)

    def _resume(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        progress = progress_text(self._annotation.progress(owner))
        if (round_id := self._annotation.opened(owner)) is None:
            return gr.skip(), gr.skip(), gr.skip(), progress
        with user_errors():
            view = show(self._annotation.view(owner, round_id), resumed=True)
        return round_id, view, gr.Button(visible=False), progress

    def _progress(self, request: gr.Request) -> str:
        return progress_text(self._annotation.progress(visitor(request)))

    def _start(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        with user_errors():
            if self._annotation.next(owner) is None:  # skipped ones come when nothing else is left
                self._annotation.look_again(owner)
        return self._next(request)

    def _next(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        with user_errors():
            round_id = self._annotation.next(owner)
            progress = self._annotation.progress(owner)
            if round_id:
                view = show(self._annotation.view(owner, round_id))
                return round_id, view, gr.Button(visible=False), progress_text(progress)
        skipped = self._annotation.skipped(owner)
        again = gr.Button("Show the skipped ones again", visible=skipped > 0)
        return None, None, again, over_text(progress, skipped)

    def _skip(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        with user_errors():
            self._annotation.skip(visitor(request), round_id or "")
        return self._next(request)

    def _vote(self, round_id: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        return cast(self._annotation, round_id, request, event), self._progress(request)


def progress_text(progress: Progress) -> str:
    """Return how far the voting is, in words."""
    have = "has" if progress.voted == 1 else "have"
    line = f"{progress.voted:,} of {progress.battles:,} battles {have} a vote; you cast "
    line += f"{progress.yours:,}."
    if not progress.identical:
        return line
    return f"{line} Ties of identical answers, counted without asking you: {progress.identical:,}."


def over_text(progress: Progress, skipped: int) -> str:
    """Return what a voter is told when nothing is left."""
    but = f" but the {skipped:,} you skipped" if skipped else ""
    return (
        f"You have voted on everything there is{but}; {progress.battles:,} battles in all. "
        f"Thank you! {progress_text(progress)}"
    )
