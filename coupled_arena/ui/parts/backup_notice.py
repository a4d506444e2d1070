"""A line on how old the backup is."""

from __future__ import annotations

import gradio as gr

from coupled_arena.core.language import _, ngettext
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.ui.parts.events import FREE
from coupled_arena.views.markup import paragraph


class BackupNotice:
    """The line, as of when its tab is looked at; the log says what exactly is wrong."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup

    def build(self, tab: gr.Tab) -> None:
        """Lay out the line inside the current Blocks."""
        line = gr.HTML(self._words, elem_id="backup-notice", apply_default_css=False)
        tab.select(self._words, None, line, **FREE)

    def _words(self) -> str:
        return paragraph(_line(self._backup.age, waits=bool(self._backup.trouble)), "hint")


def _line(age: float | None, *, waits: bool) -> str:
    if age is None:
        if waits:
            return _(
                "There is no backup of this database yet; it cannot be sent at the moment, and is "
                "tried again."
            )
        return _("There is no backup of this database yet.")
    if waits:
        text = _(
            "The backup has all that was stored until {ago}; it cannot be sent at the moment, and "
            "is tried again."
        )
    else:
        text = _("The backup has all that was stored until {ago}.")
    return text.format(ago=_ago(age))


def _ago(seconds: float) -> str:
    minutes = round(seconds / 60)
    if not minutes:
        return _("a moment ago")
    if minutes < 120:
        return ngettext("{n} minute ago", "{n} minutes ago", minutes).format(n=minutes)
    return ngettext("{n} hour ago", "{n} hours ago", minutes // 60).format(n=minutes // 60)
