"""Which of the stored replies the risk tab is to rank models by."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.analysis.risk.read import VERDICTS, metrics_here, read_stored_scores
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.controls import MODES, dropdown
from coupled_arena.ui.parts.events import QUIET

_NO_JUDGE = ("None", "")


class StoredReplies:
    """Components that choose replies; `read` gives their scores."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the choices inside the current Blocks."""
        with gr.Accordion("Which replies here", open=False, elem_id="risk-which"), gr.Row():
            self._models = gr.Dropdown(
                [],
                label="Models",
                info="None: all that can be compared.",
                multiselect=True,
                elem_id="risk-models",
                min_width=240,
            )
            self._metrics = gr.Dropdown(
                [],
                label="Metrics",
                info="None: those that most replies have.",
                multiselect=True,
                elem_id="risk-stored-metrics",
                min_width=240,
            )
            self._judge = dropdown([_NO_JUDGE], "Verdicts of", "risk-judge")
            self._mode = gr.Radio(
                MODES, value="", label="Battles", elem_id="risk-mode", min_width=280
            )

    def offer_when_shown(self, tabs: gr.Tabs, title: str) -> None:
        """Fill the choices whenever the tab of this title is selected."""

        def offer(values: dict[Any, Any], event: gr.SelectData) -> dict[Any, Any]:
            return self._offer(values) if event.value == title else {self._models: gr.skip()}

        tabs.select(offer, self.inputs, [self._models, self._metrics, self._judge], **QUIET)

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return {self._models, self._metrics, self._judge, self._mode}

    def _offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with self._store.cursor() as cursor:
            models = replies.models(cursor, revealed_only=True)
            metrics = [name for name in metrics_here(cursor) if name != VERDICTS]
            judges = comparisons.judges(cursor)
        judge = values[self._judge] if values[self._judge] in judges else ""
        return {
            self._models: _several(models, values[self._models]),
            self._metrics: _several(metrics, values[self._metrics]),
            self._judge: gr.Dropdown([_NO_JUDGE, *((name, name) for name in judges)], value=judge),
        }

    def read(self, values: dict[Any, Any]) -> RiskScores:
        """Return the scores of the chosen replies as they are now, blind rounds left out.

        Raises
        ------
        ArenaError
            There are none, or a choice is not in the store any more.
        """
        judge, mode = values[self._judge] or None, values[self._mode]
        metrics = list(values[self._metrics] or [])
        return read_stored_scores(
            self._store,
            Selection(
                judge, Mode(mode) if mode else None, tuple(values[self._models] or ()) or None
            ),
            [*metrics, *([VERDICTS] if judge else [])] if metrics else None,
            revealed_only=True,
        )


def _several(offered: list[str], chosen: list[str] | None) -> gr.Dropdown:
    still = [name for name in chosen or [] if name in offered]
    return gr.Dropdown(offered, value=still, multiselect=True)
