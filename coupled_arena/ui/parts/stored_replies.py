"""Which of the stored replies the risk tab is to rank models by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.analysis.battles import battles_of_models
from coupled_arena.analysis.risk.read import VERDICTS, metrics_here, read_stored_scores
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.choices import Battles
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.visibility import Hidden
from coupled_arena.ui.parts.controls import dropdown, offered, translated
from coupled_arena.ui.parts.events import QUIET
from coupled_arena.views.addresses import model_address, replies_address

_NO_JUDGE = (N_("None"), "")


@dataclass(frozen=True)
class BattlesBehind:
    """How many battles each model has answered, of one mode or all."""

    counts: dict[str, int]
    mode: Mode | None

    def address(self, row: dict[str, Any], column: str) -> str | None:
        """Return where a cell of `tables.risk.with_battles` leads."""
        if not self.counts.get(row["model"]):
            return None
        to = {
            "model": model_address(row["model"]),
            "battles": replies_address(row["model"], self.mode),
        }
        return to.get(column)


class StoredReplies:
    """Components that choose replies; `read` gives their scores."""

    def __init__(self, store: Store, hidden: Hidden) -> None:
        self._store = store
        self._hidden: Hidden = hidden

    def build(self) -> None:
        """Lay out the choices inside the current Blocks."""
        with gr.Row():
            self._models = gr.Dropdown(
                [],
                label=_("Models"),
                info=_("None: all that can be compared."),
                multiselect=True,
                elem_id="risk-models",
                min_width=240,
            )
            self._metrics = gr.Dropdown(
                [],
                label=_("Metrics"),
                info=_("None: those that most replies have."),
                multiselect=True,
                elem_id="risk-stored-metrics",
                min_width=240,
            )
            self._judge = dropdown(translated([_NO_JUDGE]), _("Verdicts of"), "risk-judge")
            self._mode = gr.Radio(
                offered(Battles),
                value=Battles.ALL.value,
                label=_("Battles"),
                elem_id="risk-mode",
                min_width=280,
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
            self._judge: gr.Dropdown(
                [*translated([_NO_JUDGE]), *((name, name) for name in judges)], value=judge
            ),
        }

    def read(self, values: dict[Any, Any]) -> RiskScores:
        """Return the scores of the chosen replies as they are now, blind rounds left out.

        Raises
        ------
        ArenaError
            There are none, or a choice is not in the store any more.
        """
        judge = values[self._judge] or None
        metrics = list(values[self._metrics] or [])
        return read_stored_scores(
            self._store,
            Selection(
                judge, Battles(values[self._mode]).mode, tuple(values[self._models] or ()) or None
            ),
            [*metrics, *([VERDICTS] if judge else [])] if metrics else None,
            revealed_only=True,
        )

    def behind(self, values: dict[Any, Any], scores: RiskScores) -> BattlesBehind:
        """Return the battles that each model of these scores has answered."""
        mode = Battles(values[self._mode]).mode
        counts = battles_of_models(self._store, scores.models, self._hidden, mode)
        return BattlesBehind(counts, mode)


def _several(offered: list[str], chosen: list[str] | None) -> gr.Dropdown:
    still = [name for name in chosen or [] if name in offered]
    return gr.Dropdown(offered, value=still, multiselect=True)
