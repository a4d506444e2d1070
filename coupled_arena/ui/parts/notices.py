"""Quiet lines on the page: who one votes as, how old the backup is, which part does not answer.

What exactly is wrong stands in the log; visitors cannot mend it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.battles.judge_runs.request import LiveJudge
from coupled_arena.core.language import _, ngettext
from coupled_arena.generation.running import Worker
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.ui.parts.events import FREE
from coupled_arena.ui.parts.visitor import annotator_of, member_of
from coupled_arena.views.markup import joined, paragraph


class Notice:
    """The line; what exactly is wrong stands in the log.

    Parameters
    ----------
    words_of : callable
        Returns what is amiss, empty while all is well.
    seconds : float
        Between looks.
    """

    def __init__(self, words_of: Callable[[], str], elem_id: str, seconds: float) -> None:
        self._words_of = words_of
        self._elem_id = elem_id
        self._seconds = seconds

    def build(self) -> None:
        """Lay out the line inside the current Blocks."""
        shown = gr.State("")
        line = gr.HTML(self._words, elem_id=self._elem_id, apply_default_css=False)
        gr.Timer(self._seconds).tick(self._refresh, shown, [shown, line], **FREE)

    def _refresh(self, shown: str) -> Any:
        words = self._words()
        return (words, words) if words != shown else (gr.skip(), gr.skip())

    def _words(self) -> str:
        words = self._words_of()
        return paragraph(words, "hint") if words else ""


def example_notice(*, beside: bool) -> None:
    """Lay out that the store is an example, inside the current Blocks.

    Parameters
    ----------
    beside : bool
        Whether it is below a path of another arena, to which a link leads back.
    """
    words = _(
        "This is an example. The answers and scores are real. The votes and the judge's verdicts "
        "are made up. You may vote and try everything; nothing is kept."
    )
    said = _WAY.format(words, "../", _("Back to the arena")) if beside else paragraph(words, "hint")
    gr.HTML(said, elem_id="example-notice", apply_default_css=False)


# Who one votes as, for whoever came by a link of their own or has signed in.

_WAY = Markup('<p class="hint">{} <a href="{}">{}</a></p>')


def annotator_notice(page: gr.Blocks, *, signs_in: bool = False) -> None:
    """Lay out the line inside the current Blocks, which are those of the page.

    Parameters
    ----------
    signs_in : bool
        Whether people may sign in: whoever has not is told where.
    """
    line = gr.HTML(elem_id="annotator", apply_default_css=False, visible=False)

    def words(request: gr.Request) -> Any:
        shown = _annotator_words(request, signs_in=signs_in)
        return gr.HTML(shown, visible=True) if shown else gr.skip()

    page.load(words, None, line, **FREE)


def _annotator_words(request: gr.Request, *, signs_in: bool) -> str:
    if member := member_of(request):
        line = _("You are signed in as {name}.").format(name=member.name)
        return joined([_WAY.format(line, "logout", _("Sign out"))])
    if annotator := annotator_of(request):
        return paragraph(_("You vote as {name}.").format(name=annotator.name), "hint")
    return joined([_WAY.format("", "login", _("Sign in"))]) if signs_in else ""


# A line on how old the backup is.


class BackupNotice:
    """The line, as of when its tab is looked at; the log says what exactly is wrong."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup

    def build(self, tab: gr.Tab) -> None:
        """Lay out the line inside the current Blocks."""
        line = gr.HTML(self._words, elem_id="backup-notice", apply_default_css=False)
        tab.select(self._words, None, line, **FREE)

    def _words(self) -> str:
        return paragraph(_backup_line(self._backup.age, waits=bool(self._backup.trouble)), "hint")


def _backup_line(age: float | None, *, waits: bool) -> str:
    if age is None:
        if waits:
            return _(
                "There is no backup of this database yet. It cannot be sent at the moment; "
                "the next attempt follows."
            )
        return _("There is no backup of this database yet.")
    if waits:
        text = _(
            "The backup has all data until {ago}. It cannot be sent at the moment; the next "
            "attempt follows."
        )
    else:
        text = _("The backup has all data until {ago}.")
    return text.format(ago=_ago(age))


def _ago(seconds: float) -> str:
    minutes = round(seconds / 60)
    if not minutes:
        return _("a moment ago")
    if minutes < 120:
        return ngettext("{n} minute ago", "{n} minutes ago", minutes).format(n=minutes)
    return ngettext("{n} hour ago", "{n} hours ago", minutes // 60).format(n=minutes // 60)


# A quiet line while the live judge does not answer.


_JUDGE_LOOK = 3.0  # seconds between looks


def judge_notice(judge: LiveJudge) -> Notice:
    """Return the line."""

    def says() -> str:
        if judge.answering:
            return ""
        return _(
            "The judge {judge} does not answer at the moment. Votes count as usual, and its "
            "verdicts will follow."
        ).format(judge=judge.name)

    return Notice(says, "judge-notice", _JUDGE_LOOK)


# A quiet line while models are left out because their servers do not answer.


_MODEL_LOOK = 10.0  # seconds between looks


def model_notice(worker: Worker) -> Notice:
    """Return the line; it names no model, for a round tells nothing of who takes part."""

    def says() -> str:
        if not worker.away:
            return ""
        return ngettext(
            "One model is away: battles go on without, until the server answers.",
            "{n} models are away: battles go on without, until the server answers.",
            worker.away,
        ).format(n=worker.away)

    return Notice(says, "model-notice", _MODEL_LOOK)
