"""The risk tab: which model fails least badly, by one metric or a portfolio of metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from coupled_arena.analysis.risk.files import read_risk_scores
from coupled_arena.analysis.risk.result import (
    PORTFOLIO,
    RiskReport,
    RiskSettings,
    RiskView,
    risk_report,
)
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.portfolio import Copula
from coupled_arena.ui.parts.controls import IS_DARK, alpha_slider, error_level
from coupled_arena.ui.parts.events import QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_rows
from coupled_arena.ui.parts.stored_replies import StoredReplies
from coupled_arena.views.figures.reading import RISK
from coupled_arena.views.figures.risk import (
    quantile_figure,
    radar_figure,
    tail_figure,
    violation_figure,
)
from coupled_arena.views.tables.risk import risk_models
from coupled_arena.views.words.risk import risk_findings

_TITLE = "Risk"
_MOST_METRICS, _MOST_MODELS, _MOST_SCORES = 10, 20, 400_000  # of one page; else the command line
_PAIRINGS = [("The same prompts", ""), ("Independent samples", "independent")]
_COPULAS = [
    ("Independent copula", Copula.INDEPENDENT.value),
    ("Empirical copula", Copula.EMPIRICAL.value),
]
# Each takes all cores for a second or more.
_ONE: dict[str, Any] = {
    "concurrency_limit": 1,
    "concurrency_id": "risk",
    "api_visibility": "private",
}
_INTRO = (
    "Averages hide tails. Upload a table of scores: a CSV file with the columns model, prompt, "
    "metric and score, or model, prompt and one for each metric. Or take the replies here, with "
    "their length, repetition and refusals, and whatever scores and verdicts they have. Rounds "
    "that nobody has voted on yet are left out, so that they stay blind."
)
_LAYOUT = (("tail", "quantiles"), ("order2", "order1"), ("radar",))
_FIGURES: dict[str, Callable[..., Any]] = {
    "tail": tail_figure,
    "quantiles": quantile_figure,
    "order2": partial(violation_figure, order=Order.SECOND),
    "order1": partial(violation_figure, order=Order.FIRST),
    "radar": radar_figure,
}


class RiskTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    stored : StoredReplies
        What is chosen of the replies in the store.
    """

    def __init__(self, stored: StoredReplies) -> None:
        self._stored = stored

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        gr.Markdown(_INTRO)
        self._scores = gr.State(None)
        self._dark = gr.Checkbox(visible=False)
        with gr.Row():
            self._file = gr.File(
                label="Scores", file_types=[".csv"], height=120, elem_id="risk-file", scale=1
            )
            from_store = gr.Button("Scores of the replies here", elem_id="risk-stored", scale=1)
        self._stored.build()
        with gr.Column(visible=False) as self._body:
            self._build_controls()
            self._findings = gr.HTML(elem_id="risk-said", apply_default_css=False)
            self._table = gr.HTML(elem_id="risk-table", apply_default_css=False)
            self._plots = figure_rows("risk", _LAYOUT, RISK)
        opened: dict[str, Any] = {"outputs": [self._scores, *self._controls, *self._outputs]}
        self._file.upload(self._read, {self._file, self._dark}, **opened, **_ONE)
        from_store.click(self._read_stored, {self._dark, *self._stored.inputs}, **opened, **_ONE)
        gr.on(
            [
                *(each.input for each in self._chosen),
                *(slider.release for slider in (*self._weights, self._alpha, self._tail)),
            ],
            self._refresh,
            {self._scores, self._dark, *self._controls},
            self._outputs,
            trigger_mode="always_last",
            show_progress="hidden",
            **_ONE,
        )

    def wire(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Tell figures which background they have, and offer what the store has."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        self._stored.offer_when_shown(tabs, _TITLE)

    def _build_controls(self) -> None:
        with gr.Row():
            self._view = gr.Dropdown([], label="Rank by", elem_id="risk-view", min_width=220)
            self._metrics = gr.Dropdown(
                [], label="Metrics", multiselect=True, elem_id="risk-metrics", min_width=280
            )
            self._lower = gr.Dropdown(
                [], label="Lower is better", multiselect=True, elem_id="risk-lower", min_width=220
            )
        with gr.Row():
            self._weights = [
                gr.Slider(0, 1, 1, step=0.05, visible=False, min_width=200, elem_id=f"weight-{at}")
                for at in range(_MOST_METRICS)
            ]
        with gr.Accordion("Error level, tail and copula", open=False), gr.Row():
            self._alpha = alpha_slider("risk-alpha")
            self._tail = gr.Slider(0.01, 1, 0.05, step=0.01, label="Share of the worst: the tail")
            self._copula = gr.Radio(
                _COPULAS, value=Copula.INDEPENDENT.value, label="Portfolio", min_width=280
            )
            self._pairing = gr.Radio(_PAIRINGS, value="", label="Models answered", min_width=280)

    @property
    def _chosen(self) -> list[Any]:
        return [self._view, self._metrics, self._lower, self._copula, self._pairing]

    @property
    def _controls(self) -> list[Any]:
        return [*self._chosen, *self._weights, self._alpha, self._tail]

    @property
    def _outputs(self) -> list[Any]:
        return [self._body, self._findings, self._table, *self._plots.values()]

    def _read(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors():
            path = Path(values[self._file])
            return self._opened(read_risk_scores(path, name=path.name), values)

    def _read_stored(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors():
            return self._opened(self._stored.read(values), values)

    def _opened(self, scores: RiskScores, values: dict[Any, Any]) -> dict[Any, Any]:
        """Offer what a new table has, and show it."""
        _check_size(scores)
        names = list(scores.metrics)
        views = names if len(names) == 1 else [PORTFOLIO, *names]
        pairing = "" if scores.paired else "independent"
        start = {
            self._view: views[0],
            self._metrics: names,
            self._lower: sorted(scores.lower_is_better),
            self._copula: Copula.INDEPENDENT.value,
            self._pairing: pairing,
            self._alpha: 0.05,
            self._tail: 0.05,
            **dict.fromkeys(self._weights, 1.0),
        }
        shown = self._refresh({**values, **start, self._scores: scores})
        several = len(names) > 1
        return {
            **start,
            **shown,
            self._scores: scores,
            self._view: gr.Dropdown(views, value=views[0], visible=several),
            self._metrics: gr.Dropdown(names, value=names, multiselect=True, visible=several),
            self._lower: gr.Dropdown(names, value=start[self._lower], multiselect=True),
            **{
                slider: gr.Slider(
                    value=1.0,
                    label=f"Weight of {names[at]}" if at < len(names) else "",
                    visible=several and at < len(names),
                )
                for at, slider in enumerate(self._weights)
            },
        }

    def _refresh(self, values: dict[Any, Any]) -> dict[Any, Any]:
        scores: RiskScores | None = values[self._scores]
        if scores is None:
            return {self._body: gr.Column(visible=False)}
        with user_errors():
            report, view = self._report(scores, values)
        dark = bool(values[self._dark])
        return {
            self._body: gr.Column(visible=True),
            self._findings: risk_findings(report, view),
            self._table: risk_models(report, view).html(),
            **{
                plot: drawn(_FIGURES[name](report, view, dark=dark))
                for name, plot in self._plots.items()
            },
        }

    def _report(self, scores: RiskScores, values: dict[Any, Any]) -> tuple[RiskReport, RiskView]:
        """Rank by what is asked for, and by nothing else: a page should answer at once."""
        wanted = values[self._view]
        joined = wanted == PORTFOLIO and len(scores.metrics) > 1
        names = [name for name in scores.metrics if name in (values[self._metrics] or [])]
        if joined and not names:
            raise ScoreError("Choose at least one metric.")
        of_metric = dict(zip(scores.metrics, self._weights, strict=False))
        scores = scores.with_metrics(names if joined else [wanted])
        lower = frozenset(values[self._lower] or []) & set(scores.metrics)
        changed = lower ^ scores.lower_is_better
        scores = scores.turned(changed & lower, changed - lower)
        weights = [float(values[of_metric[name]]) for name in scores.metrics]
        settings = RiskSettings(
            paired=False if values[self._pairing] else None,
            alpha=error_level(values[self._alpha]),
            tail_p=float(values[self._tail]),
            copula=Copula(values[self._copula]) if joined else None,
            weights=tuple(weights) if joined and set(weights) != {1.0} else None,
        )
        report = risk_report(scores, settings, by_metric=False)
        assert report.view, "one metric or a portfolio is asked for"
        return report, report.view


def _check_size(scores: RiskScores) -> None:
    total = sum(values.size for values in scores.values)
    if (
        len(scores.metrics) > _MOST_METRICS
        or len(scores.models) > _MOST_MODELS
        or total > _MOST_SCORES
    ):
        raise ScoreError(
            f"A page takes {_MOST_MODELS} models, {_MOST_METRICS} metrics and {_MOST_SCORES:,} "
            "scores at most; the command line takes more: coupled-arena risk."
        )
