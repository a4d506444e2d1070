"""A line on how old the backup is."""

from __future__ import annotations

import gradio as gr

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
        age = self._backup.age
        held = (
            "There is no backup of this database yet"
            if age is None
            else f"The backup has all that was stored until {_ago(age)}"
        )
        waits = "; it cannot be sent at the moment, and is tried again" * bool(self._backup.trouble)
        return paragraph(f"{held}{waits}.", "hint")


def _ago(seconds: float) -> str:
    minutes = round(seconds / 60)
    if not minutes:
        return "a moment ago"
    if minutes < 120:
        return f"{minutes} minute{'s' * (minutes > 1)} ago"
    return f"{minutes // 60} hours ago"
