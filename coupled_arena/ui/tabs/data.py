"""The data tab: take battles and votes away for analysis."""

from __future__ import annotations

import tempfile
from pathlib import Path

import gradio as gr

from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import ExportFormat, Hidden, export
from coupled_arena.ui.parts.events import QUIET, user_errors

_INTRO = (
    "Every battle with its prompts, replies, tokens, seed, sampling and arithmetic, every vote, "
    "verdict, score and grade. {} are left out, so that they stay blind; the `export` command "
    "writes those too."
)
_LEFT_OUT: dict[Hidden, str] = {
    "rounds": "Rounds that nobody has voted on yet",
    "stored": "Battles that people are asked to vote on here, and their votes,",
}
_FORMATS: list[tuple[str, ExportFormat]] = [
    ("Parquet", "parquet"),
    ("JSON lines", "jsonl"),
    ("CSV", "csv"),
    ("Chatbot Arena rows", "arena"),
]


class DataTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    store : Store
    hidden : str
        What the files leave out: see `export`.
    """

    def __init__(self, store: Store, hidden: Hidden) -> None:
        self._store = store
        self._hidden: Hidden = hidden

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        gr.Markdown(_INTRO.format(_LEFT_OUT[self._hidden]))
        with gr.Row(equal_height=True):
            choice = gr.Radio(_FORMATS, value="parquet", label="Format", scale=3)
            make = gr.Button("Make files", variant="primary", scale=1, elem_id="make-files")
        files = gr.File(label="Files", file_count="multiple", interactive=False, elem_id="files")
        make.click(self._export, choice, files, **QUIET)

    def _export(self, choice: ExportFormat) -> list[str]:
        folder = Path(tempfile.mkdtemp(prefix="arena-export-"))
        with user_errors():
            written = export(self._store, folder, choice, hidden=self._hidden)
        return [str(path) for path in written]
