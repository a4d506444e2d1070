"""Which of the stored replies the risk tab is to rank models by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.analysis.battles import battles_of_models
from coupled_arena.analysis.risk.replies import VERDICTS, metrics_here, read_stored_scores
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.api.risks import risk
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.choices import Fields
from coupled_arena.ui.parts.events import QUIET
from coupled_arena.views.addresses import model_address, replies_address


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
        self._fields = Fields(risk, "risk")
        with gr.Row():
            self._fields.build("models", min_width=240)
            self._fields.build(
                "metrics",
                info=_("None: those that most replies have."),
                min_width=240,
                elem_id="risk-stored-metrics",
            )
            self._fields.build("judge")
            self._fields.build("mode", gr.Radio)

    def offer_when_shown(self, tabs: gr.Tabs, title: str) -> None:
        """Fill the choices whenever the tab of this title is selected."""

        def offer(values: dict[Any, Any], event: gr.SelectData) -> dict[Any, Any]:
            return self._offer(values) if event.value == title else {offered[0]: gr.skip()}

        offered = [self._fields[name] for name in ("models", "metrics", "judge")]
        tabs.select(offer, self.inputs, offered, **QUIET)

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return set(self._fields.all)

    def _offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with self._store.cursor() as cursor:
            models = replies.models(cursor, revealed_only=True)
            metrics = [name for name in metrics_here(cursor) if name != VERDICTS]
            judges = comparisons.judges(cursor)
        fields = self._fields
        return {
            fields["models"]: _several(models, values[fields["models"]]),
            fields["metrics"]: _several(metrics, values[fields["metrics"]]),
            fields["judge"]: fields.offering("judge", judges, values[fields["judge"]]),
        }

    def read(self, values: dict[Any, Any]) -> RiskScores:
        """Return the scores of the chosen replies as they are now, blind rounds left out.

        Raises
        ------
        ArenaError
            There are none, or a choice is not in the store any more.
        """
        asked = self._fields.read(values)
        judge, metrics = asked["judge"], asked["metrics"]
        return read_stored_scores(
            self._store,
            Selection(judge, asked["mode"].mode, asked["models"]),
            [*metrics, *([VERDICTS] if judge else [])] if metrics else None,
            revealed_only=True,
        )

    def behind(self, values: dict[Any, Any], scores: RiskScores) -> BattlesBehind:
        """Return the battles that each model of these scores has answered."""
        mode = self._fields.read(values)["mode"].mode
        counts = battles_of_models(self._store, scores.models, self._hidden, mode)
        return BattlesBehind(counts, mode)


def _several(offered: list[str], chosen: list[str] | None) -> gr.Dropdown:
    still = [name for name in chosen or [] if name in offered]
    return gr.Dropdown(offered, value=still, multiselect=True)
