"""What a plan for more votes is asked with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gradio as gr

from coupled_arena.analysis.audit.plan import PlanGoal
from coupled_arena.core.language import _
from coupled_arena.ui.parts.choices import INTERVAL, PLANNER
from coupled_arena.ui.parts.controls import translated


class PlanFields:
    """The fields, and the question that they ask."""

    def build(self) -> gr.HTML:
        """Lay out the fields inside the current Blocks, and return where the answer goes."""
        gr.Markdown(_(PLANNER))
        with gr.Row():
            self._model = gr.Dropdown([], label=_("Model"), elem_id="plan-model", min_width=280)
            self._other = gr.Dropdown(
                translated([INTERVAL]),
                value="",
                label=_("Aim"),
                elem_id="plan-other",
                min_width=280,
            )
        with gr.Row():
            number = partial(gr.Number, min_width=160)
            self._width = number(0.05, label=_("Width of the interval"), step=0.01)
            self._power = number(0.8, label=_("Probability to separate"), step=0.05)
            self._per_vote = number(10, label=_("Verdicts for each vote"), minimum=0)
            self._price = number(None, label=_("Price of a verdict"), minimum=0)
        return gr.HTML(elem_id="plan", apply_default_css=False)

    @property
    def models(self) -> list[Any]:
        """The fields whose choices are the audit's models."""
        return [self._model, self._other]

    @property
    def components(self) -> list[Any]:
        """All fields."""
        return [*self.models, self._width, self._power, self._per_vote, self._price]

    def offered(
        self, models: Sequence[str], values: dict[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return updates that offer these models, and the values that follow."""
        others = [
            *translated([INTERVAL]),
            *((_("Separate from {model}").format(model=model), model) for model in models),
        ]
        model = values[self._model] if values[self._model] in models else models[0]
        other = values[self._other] if values[self._other] in models else ""
        updates = {
            self._model: gr.Dropdown(list(models), value=model),
            self._other: gr.Dropdown(others, value=other),
        }
        return updates, {**values, self._model: model, self._other: other}

    def goal(self, values: dict[Any, Any], alpha: float) -> PlanGoal:
        """Return the question; without a model nothing is asked."""
        return PlanGoal(
            model=values[self._model] or "",
            other=values[self._other] or None,
            width=float(values[self._width] or 0),
            power=float(values[self._power] or 0),
            alpha=alpha,
            verdicts_per_vote=float(values[self._per_vote] or 0),
            price=values[self._price],
        )
