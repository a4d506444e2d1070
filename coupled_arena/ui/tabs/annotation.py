"""The battle tab over stored battles: one after the other, voted on blind."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.battles.annotation import Annotation
from coupled_arena.battles.blind_view import RoundView
from coupled_arena.battles.judge_feedback import JudgedRounds
from coupled_arena.battles.limits import Limits, Origins
from coupled_arena.core.choices import Reveals
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.store.work_queues.battles import Progress
from coupled_arena.ui.parts.events import FREE, sent, user_errors
from coupled_arena.ui.parts.judge_feedback import judge_view
from coupled_arena.ui.parts.round_panel import cast, confirm, explain, round_panel, show, undo
from coupled_arena.ui.parts.visitor import address_of, visitor
from coupled_arena.views.markup import joined, paragraph

_INTROS = {
    Reveals.EACH: N_(
        "Anonymous models have answered the same question. Say which answer is better, then you "
        "see who they were."
    ),
    Reveals.END: N_(
        "Anonymous models have answered the same question. Say which answer is better. You see who "
        "they were once your share is done."
    ),
    Reveals.NEVER: N_(
        "Anonymous models have answered the same question. Say which answer is better."
    ),
}
_OPEN = Markup('<p>{} <a href="./">{}</a></p>')


class AnnotationTab:
    """Components and handlers of the tab."""

    def __init__(
        self,
        annotation: Annotation,
        judged: JudgedRounds | None = None,
        limits: Limits | None = None,
        origins: Origins | None = None,
    ) -> None:
        self._annotation = annotation
        self._limits = limits or Limits()
        self._counted = self._limits, origins
        self._judged = judged

    def build(self, page: gr.Blocks) -> None:
        """Lay out the tab inside the current Blocks, which are those of the page."""
        round_id = gr.State(None)
        gr.Markdown(_(_INTROS[self._annotation.reveal]))
        progress = gr.HTML(elem_id="progress", apply_default_css=False)
        start = gr.Button(_("Start"), variant="primary", elem_id="start")
        panel = round_panel()

        shown, changed = [round_id, panel, start, progress], [panel, progress, round_id, start]
        page.load(self._resume, None, shown, **FREE)
        start.click(self._start, None, shown, **FREE)
        panel.next(self._go_on, None, shown, **FREE)
        panel.skip(self._skip, round_id, shown, **FREE)
        for event, handler in (
            (panel.vote, self._vote),
            (panel.undo, self._undo),
            (panel.names, self._names),
            (panel.look, self._look),
            (panel.back, self._back),
        ):
            event(handler, round_id, changed, **FREE)
        panel.explain(self._explain, round_id, panel, trigger_mode="multiple", **FREE)

    def _resume(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        progress = self._progress(owner)
        if (round_id := self._annotation.opened(owner)) is None:
            return gr.skip(), gr.skip(), gr.skip(), progress
        with user_errors():
            view = self._annotation.view(owner, round_id)
            view = self._show(view, round_id, request, resumed=True)
        return round_id, view, gr.update(visible=False), progress

    def _start(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        with user_errors():
            if self._annotation.next(owner) is None:  # skipped ones come when nothing else is left
                self._annotation.look_again(owner)
        return self._next(request)

    def _go_on(self, request: gr.Request) -> tuple[Any, ...]:
        with user_errors():
            self._annotation.go_on(visitor(request))
        return self._next(request)

    def _next(self, request: gr.Request) -> tuple[Any, ...]:
        owner = visitor(request)
        with user_errors():
            round_id = self._annotation.next(owner)
            if round_id:
                view = self._show(self._annotation.view(owner, round_id), round_id, request)
                return round_id, view, gr.update(visible=False), self._progress(owner)
        skipped = self._annotation.skipped(owner)
        again = gr.Button(_("Show the skipped ones again"), visible=skipped > 0)
        return None, None, again, self._progress(owner, over_text(skipped))

    def _progress(self, owner: str, said: str = "") -> Markup:
        progress = self._annotation.progress(owner)
        bar = progress_bar(progress, said)
        if self._annotation.reveal is Reveals.EACH or not self._annotation.opens(owner, progress):
            return bar
        line = _("Names, boards and battles are open to you now.")
        return joined([bar, _OPEN.format(line, _("Show them"))])

    def _moved_on(self, round_id: str, request: gr.Request) -> tuple[Any, ...] | None:
        """Return what to show in place of a battle that is not open; None where it is.

        Another page of the voter has gone on, or the battle was open for too long.
        """
        opened = self._annotation.opened(visitor(request))
        if round_id and round_id == opened:
            return None
        if opened:
            gr.Warning(_("You have gone on in another window. This is the battle you are at."))
            name, panel, start, progress = self._resume(request)
            return panel, progress, name, start
        # Their round stays in the session's state: who only claims the session changes nothing.
        gr.Warning(_("This battle is not open any more. Press Start to go on."))
        start = gr.Button(_("Start"), visible=True)
        return None, gr.skip(), gr.skip(), start

    def _skip(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        if moved := self._moved_on(round_id, request):
            panel, progress, round_id, start = moved
            return round_id, panel, start, progress
        with user_errors():
            owner = visitor(request)
            with self._limits.question(owner, address_of(request)):  # it asks for another one
                self._annotation.skip(owner, round_id or "")
        return self._next(request)

    def _vote(self, round_id: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        if moved := self._moved_on(round_id, request):
            return moved
        view = cast(self._annotation, round_id, request, event, *self._counted)
        with user_errors():
            owner = visitor(request)
            moved_on = sent(event, "go_on") is True and self._annotation.move_on(owner)
        return self._elsewhere(request) if moved_on else self._changed(view, round_id, request)

    def _back(self, round_id: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """Return to the battle of the last vote, which is undone unless reasons are to be given."""
        if moved := self._moved_on(round_id, request):
            return moved
        with user_errors():
            undone = sent(event, "undo") is True
            self._annotation.look_back(visitor(request), undo=undone)
        return self._elsewhere(request)

    def _elsewhere(self, request: gr.Request) -> tuple[Any, ...]:
        """Return what to show of another battle than the page has on show."""
        owner = visitor(request)
        with user_errors():
            round_id = self._annotation.opened(owner) or ""
            view = self._annotation.view(owner, round_id)
            panel = self._show(view, round_id, request)
        return panel, self._progress(owner), round_id, gr.update(visible=False)

    def _undo(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        if moved := self._moved_on(round_id, request):
            return moved
        return self._changed(undo(self._annotation, round_id, request), round_id, request)

    def _names(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        if moved := self._moved_on(round_id, request):
            return moved
        return self._changed(confirm(self._annotation, round_id, request), round_id, request)

    def _explain(self, round_id: str, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        view = explain(self._annotation, round_id, request, event)
        return self._show(view, round_id, request) if view else gr.skip()

    def _look(self, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        if moved := self._moved_on(round_id, request):
            return moved
        with user_errors():
            view = self._annotation.look(visitor(request), round_id or "")
        return self._changed(view, round_id, request)

    def _show(
        self, view: RoundView, round_id: str, request: gr.Request, **told: Any
    ) -> dict[str, Any]:
        owner = visitor(request)
        panel = show(view, self._annotation.store, voter=owner, **told)
        last = self._annotation.last(owner)
        return (
            panel
            | judge_view(self._judged, view, round_id, request)
            | {"last": last and asdict(last)}
        )

    def _changed(self, view: RoundView, round_id: str, request: gr.Request) -> tuple[Any, ...]:
        panel = self._show(view, round_id, request)
        progress = self._progress(visitor(request))
        return panel, progress, gr.skip(), gr.skip()


def progress_bar(progress: Progress, said: str = "") -> Markup:
    """Return how far this voter is as a bar, and how far the voting is in words."""
    bar = Markup('<progress max="{}" value="{}" aria-label="{}">{}</progress>').format(
        max(1, progress.asked),
        progress.done,
        _("Your part"),
        _("{done:,} of {asked:,}").format(done=progress.done, asked=progress.asked),
    )
    left = progress.asked - progress.done
    words = ngettext("{n:,} left.", "{n:,} left.", left).format(n=left) if left else ""
    parts = (said, words, progress_text(progress))
    return joined([bar, paragraph(" ".join(filter(None, parts)))])


def progress_text(progress: Progress) -> str:
    """Return how far the voting is, in words."""
    line = ngettext(
        "{done:,} of {asked:,} done. {voted:,} of {battles:,} battles has a vote; "
        "you cast {yours:,}.",
        "{done:,} of {asked:,} done. {voted:,} of {battles:,} battles have a vote; "
        "you cast {yours:,}.",
        progress.voted,
    ).format(
        done=progress.done,
        asked=progress.asked,
        voted=progress.voted,
        battles=progress.battles,
        yours=progress.yours,
    )
    if not progress.identical:
        return line
    ties = _("Ties of identical answers, counted without asking you: {n:,}.")
    return f"{line} {ties.format(n=progress.identical)}"


def over_text(skipped: int) -> str:
    """Return what a voter is told when nothing is left."""
    if not skipped:
        return _("You have voted on everything there is. Thank you!")
    said = _("You have voted on everything there is but the {n:,} you skipped. Thank you!")
    return said.format(n=skipped)
