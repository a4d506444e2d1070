"""The data tab: take battles and votes away for analysis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr
from gradio.processing_utils import save_file_to_cache
from gradio.utils import get_upload_folder
from markupsafe import Markup

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import N_, _
from coupled_arena.core.vote_columns import VOTE_COLUMNS
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_conditions import any_battles
from coupled_arena.store.transfer.export import Hidden, export
from coupled_arena.store.transfer.foreign_rows import TOOLS
from coupled_arena.store.transfer.snapshots import snapshot_needs
from coupled_arena.ui.parts.choices import offered
from coupled_arena.ui.parts.events import QUIET, user_errors
from coupled_arena.ui.parts.headline import headline, nothing_yet

_SAID = N_("You can download and check all answers and votes of this arena.")
_EMPTY = N_("This arena has no answers and votes to download yet.")
_INTRO = N_(
    "Every battle with its prompts, replies, tokens, seed, sampling and arithmetic, every vote, "
    "verdict, score and grade. {} are left out, so that they stay blind; the `export` command "
    "writes those too."
)
_FLAT = N_(
    "The flat table has one row for each pair of models that a vote compares, for pandas and "
    "spreadsheets."
)
_NO_ROOM = N_(
    "The disk of the server has no room for these files. Its operator must free some space."
)
_LEFT_OUT: dict[Hidden, str] = {
    "rounds": N_("Rounds that nobody has voted on yet"),
    "stored": N_("Battles that people are asked to vote on here, and their votes,"),
}
_VOTES = N_("Votes from elsewhere")
_IMPORT = N_(
    "The command `coupled-arena import FILE` imports votes. It reads these columns, and "
    "names the others. Its exit code is 3 if some rows were rejected, and 1 if all were."
)
_TOOLS = N_(
    "It also reads what these tools write: {tools}. `--map` names the columns of other tables."
)


class DataTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    hidden : str
        What the files leave out: see `export`.
    is_host : callable
        Tells of a request whether it is of a host: to these it says how to import votes.
    offer : Markup
        What leads to the example where there is nothing to download.
    """

    def __init__(
        self,
        store: Store,
        hidden: Hidden,
        is_host: Callable[[gr.Request], bool],
        offer: str = "",
    ) -> None:
        self._store = store
        self._hidden: Hidden = hidden
        self._is_host = is_host
        self._offer = offer

    def build(self, tab: gr.Tab) -> None:
        """Lay out the tab inside the current Blocks."""
        said = gr.HTML(self._said(), elem_id="data-said", apply_default_css=False)
        with gr.Column(visible=not self._empty()) as there:
            gr.Markdown(_(_INTRO).format(_(_LEFT_OUT[self._hidden])))
            with gr.Row(equal_height=True):
                choice = gr.Radio(
                    offered(ExportFormat),
                    value=ExportFormat.PARQUET.value,
                    label=_("Format"),
                    info=_(_FLAT),
                    scale=3,
                )
                make = gr.Button(_("Make files"), variant="primary", scale=1, elem_id="make-files")
            files = gr.File(
                label=_("Files"),
                file_count="multiple",
                interactive=False,
                visible=False,
                elem_id="files",
            )
        with gr.Accordion(
            _(_VOTES), open=False, visible=False, elem_id="votes-from-elsewhere"
        ) as elsewhere:
            told = _(_TOOLS).format(tools=", ".join(TOOLS))
            gr.Markdown(f"{_(_IMPORT)} {told}\n\n{_columns()}")
        tab.select(self._shown, None, [said, there, elsewhere], **QUIET)
        make.click(self._export, choice, files, **QUIET)

    def _shown(self, request: gr.Request) -> tuple[Any, ...]:
        there, host = not self._empty(), self._is_host(request)
        return self._said(), gr.Column(visible=there), gr.Accordion(visible=host)

    def _empty(self) -> bool:
        with self._store.cursor() as cursor:
            return not any_battles(cursor, self._hidden)

    def _said(self) -> Markup:
        return nothing_yet(_(_EMPTY), self._offer) if self._empty() else headline(_(_SAID))

    def _export(self, choice: str) -> gr.File:
        kept = get_upload_folder()
        with user_errors(), TemporaryDirectory(prefix="arena-export-") as folder:
            self._check_room(Path(folder))
            written = export(self._store, Path(folder), choice, hidden=self._hidden)
            # Where Gradio would put another copy, which it deletes after some minutes.
            return gr.File([save_file_to_cache(path, kept) for path in written], visible=True)

    def _check_room(self, folder: Path) -> None:
        """Refuse what may take room that the database needs; files are rarely larger than it."""
        needed = snapshot_needs(self._store.path) if self._store.path else 0
        if disk_usage(folder).free < 3 * needed:
            raise StoreError(_(_NO_ROOM))


def _columns() -> str:
    """Return the columns of votes that are read, as a table."""
    names, meaning = _("Columns"), _("Meaning")
    return f"| {names} | {meaning} |\n|---|---|\n" + "\n".join(
        f"| {', '.join(f'`{name}`' for name in column.names)} | {_(column.meaning)} |"
        for column in VOTE_COLUMNS
    )
