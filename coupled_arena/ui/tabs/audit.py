"""The audit tab: how far to believe a judge, and what more votes would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.analysis.audit.benchmark import read_benchmark_estimates
from coupled_arena.analysis.audit.plan import PlanGoal, VotePlan, plan_interval, plan_separation
from coupled_arena.analysis.audit.read import AuditEstimates, LiveAudits, Truth
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.leaderboard.read import LiveEstimates
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, grades
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts.controls import (
    IS_DARK,
    MODES,
    alpha_slider,
    dropdown,
    error_level,
    with_any,
)
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_rows
from coupled_arena.views.figures.audit import (
    agreement_figure,
    bias_figure,
    efficiency_figure,
    powered_figure,
)
from coupled_arena.views.figures.reading import AUDIT
from coupled_arena.views.markup import paragraph
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.words.audit import audit_findings, plan_findings

_TITLE = "Audit"
_TRUTHS = [
    ("People's votes", Truth.VOTES.value),
    ("A benchmark's right answers", Truth.BENCHMARK.value),
]
_TIES = [("Ties as losses", Ties.LOSS.value), ("Ties left out", Ties.DROP.value)]
_INTERVAL = ("An interval of its win rate", "")
_PLANNER = (
    "## How many more votes\n"
    "What an interval of a given width takes, or two models that the leaderboard is to separate "
    "with a given probability at their present distance, if more votes and verdicts are like those "
    "there are. The leaderboard keeps ties, whatever is chosen above."
)
_EMPTY = (
    '<p class="hint">There are no verdicts here yet. Let a judge judge the battles, or import '
    "verdicts with <code>coupled-arena import FILE --judge NAME</code>.</p>"
)
_LAYOUT = (("efficiency", "bias"), ("agreement", "powered"))
_FIGURES = {
    "bias": bias_figure,
    "efficiency": efficiency_figure,
    "agreement": agreement_figure,
    "powered": powered_figure,
}


@dataclass(frozen=True)
class AuditChoice:
    """Everything that decides what the audit shows."""

    selection: Selection
    truth: Truth
    metric: str | None
    ties: Ties
    alpha: float
    dark: bool


class AuditTab:
    """Components and handlers of the tab."""

    def __init__(self, store: Store, audits: LiveAudits, boards: LiveEstimates) -> None:
        self._store = store
        self._audits = audits
        self._boards = boards

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._dark = gr.Checkbox(visible=False)
        self._build_controls()
        self._findings = gr.HTML(elem_id="audit-said", apply_default_css=False)
        with gr.Column(visible=False) as self._body:
            self._plots = figure_rows("audit", _LAYOUT, AUDIT)
            self._table = gr.HTML(elem_id="audit-table", apply_default_css=False)
            with gr.Accordion("Differences between neighbours", open=False):
                self._leads = gr.HTML(elem_id="audit-leads", apply_default_css=False)
            with gr.Column() as self._planner:
                self._build_planner()
        changed = [self._alpha.release, *(each.input for each in self._chosen)]
        wiring: dict[str, Any] = {"inputs": self._inputs, "outputs": self._outputs}
        gr.on(changed, self._refresh, **wiring, trigger_mode="always_last", **FREE)
        self._truth.input(self._turn, **wiring, **FREE)

    def read_when_shown(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Read the store whenever the tab is selected."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        offered = [self._truths, self._truth, self._metric, self._category, self._language]
        tabs.select(self._show, self._inputs, [*self._outputs, *offered], **FREE)

    def _build_controls(self) -> None:
        with gr.Row(visible=False) as self._truths:
            self._truth = gr.Radio(
                _TRUTHS,
                value=Truth.VOTES.value,
                label="Held against",
                info="With a benchmark as the truth, read it for people below.",
                elem_id="audit-truth",
                min_width=280,
            )
            self._metric = gr.Dropdown(
                [], label="Benchmark", elem_id="audit-metric", min_width=220, visible=False
            )
        with gr.Row():
            self._judge = gr.Dropdown([], label="Judge", elem_id="audit-judge", min_width=220)
            self._ties = gr.Radio(
                _TIES, value=Ties.LOSS.value, label="Ties", elem_id="audit-ties", min_width=280
            )
            self._mode = gr.Radio(
                MODES, value="", label="Battles", elem_id="audit-mode", min_width=280
            )
        with gr.Accordion("Error level and filters", open=False), gr.Row():
            self._alpha = alpha_slider("audit-alpha")
            self._category = dropdown([("Any category", "")], "Category", "audit-category")
            self._language = dropdown([("Any language", "")], "Language", "audit-language")

    def _build_planner(self) -> None:
        gr.Markdown(_PLANNER)
        with gr.Row():
            self._model = gr.Dropdown([], label="Model", elem_id="plan-model", min_width=280)
            self._other = gr.Dropdown(
                [_INTERVAL], value="", label="Aim", elem_id="plan-other", min_width=280
            )
        with gr.Row():
            self._width = gr.Number(0.05, label="Width of the interval", step=0.01, min_width=160)
            self._power = gr.Number(0.8, label="Probability to separate", step=0.05, min_width=160)
            self._per_vote = gr.Number(10, label="Verdicts for each vote", minimum=0, min_width=160)
            self._price = gr.Number(None, label="Price of a verdict", minimum=0, min_width=160)
        self._plan = gr.HTML(elem_id="plan", apply_default_css=False)
        gr.on(
            [each.input for each in self._asked],
            self._plan_again,
            self._inputs,
            self._plan,
            trigger_mode="always_last",
            **FREE,
        )

    @property
    def _chosen(self) -> list[Any]:
        filters = [self._ties, self._mode, self._category, self._language]
        return [self._judge, self._metric, *filters]

    @property
    def _asked(self) -> list[Any]:
        return [self._model, self._other, self._width, self._power, self._per_vote, self._price]

    @property
    def _inputs(self) -> set[Any]:
        return {self._dark, self._truth, self._alpha, *self._chosen, *self._asked}

    @property
    def _outputs(self) -> list[Any]:
        shown = [self._findings, self._body, *self._plots.values(), self._table, self._leads]
        asked = [self._planner, self._model, self._other, self._plan]
        return [*shown, self._judge, self._ties, *asked]

    def _show(self, values: dict[Any, Any], event: gr.SelectData) -> dict[Any, Any]:
        if event.value != _TITLE:
            return {self._findings: gr.skip()}
        with user_errors(), self._store.cursor() as cursor:
            known, benchmarks = self._judges(cursor), scores.benchmarks(cursor)
            categories = comparisons.categories(cursor)
            languages = comparisons.languages(cursor)
        metric = values[self._metric]
        metric = metric if metric in benchmarks else next(iter(benchmarks), None)
        truth = values[self._truth] if known[Truth.BENCHMARK] else Truth.VOTES.value
        return {
            self._truths: gr.Row(visible=bool(known[Truth.BENCHMARK])),
            self._truth: truth,
            self._metric: gr.Dropdown(benchmarks, value=metric, visible=len(benchmarks) > 1),
            self._category: gr.Dropdown(with_any("category", categories)),
            self._language: gr.Dropdown(with_any("language", languages)),
            **self._judged(
                {**values, self._truth: truth, self._metric: metric}, known[Truth(truth)]
            ),
        }

    def _turn(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors(), self._store.cursor() as cursor:
            return self._judged(values, self._judges(cursor)[Truth(values[self._truth])])

    def _judged(self, values: dict[Any, Any], judges: list[str]) -> dict[Any, Any]:
        """Offer judges, and show one of them."""
        judge = values[self._judge] if values[self._judge] in judges else next(iter(judges), None)
        return {
            self._judge: gr.Dropdown(judges, value=judge),
            self._ties: gr.Radio(visible=Truth(values[self._truth]) is Truth.VOTES),
            **self._refresh({**values, self._judge: judge}),
        }

    def _judges(self, cursor: comparisons.Cursor) -> dict[Truth, list[str]]:
        """Return who has given verdicts, and who has graded answers."""
        return {Truth.VOTES: comparisons.judges(cursor), Truth.BENCHMARK: grades.graders(cursor)}

    def _refresh(self, values: dict[Any, Any]) -> dict[Any, Any]:
        if not values[self._judge]:
            return {self._findings: _EMPTY, self._body: gr.Column(visible=False)}
        with user_errors():
            choice = self._read(values)
            found = audit(self._estimates(choice), choice.alpha)
            if not found.comparisons:
                return {self._findings: audit_findings(found), self._body: gr.Column(visible=False)}
            return self._drawn(found, choice, values)

    def _drawn(self, found: Audit, choice: AuditChoice, values: dict[Any, Any]) -> dict[Any, Any]:
        models = [row.model for row in found.models]
        others = [_INTERVAL, *((f"Separate from {model}", model) for model in models)]
        model = values[self._model] if values[self._model] in models else models[0]
        other = values[self._other] if values[self._other] in models else ""
        asked = {**values, self._model: model, self._other: other}
        voted = choice.truth is Truth.VOTES
        return {
            self._findings: audit_findings(found),
            self._body: gr.Column(visible=True),
            self._planner: gr.Column(visible=voted),
            **{
                plot: drawn(_FIGURES[name](found, dark=choice.dark))
                for name, plot in self._plots.items()
            },
            self._table: audit_models(found).html(),
            self._leads: audit_differences(found, neighbours=True).html(),
            self._model: gr.Dropdown(models, value=model),
            self._other: gr.Dropdown(others, value=other),
            self._plan: self._plan_again(asked) if voted else "",
        }

    def _plan_again(self, values: dict[Any, Any]) -> str:
        if not (values[self._judge] and values[self._model]):
            return ""
        choice = self._read(values)
        question = PlanGoal(
            model=values[self._model],
            other=values[self._other] or None,
            width=float(values[self._width] or 0),
            power=float(values[self._power] or 0),
            alpha=choice.alpha,
            verdicts_per_vote=float(values[self._per_vote] or 0),
            price=values[self._price],
        )
        try:
            return plan_findings(self._planned(choice, question))
        except ArenaError as error:
            return paragraph(str(error), "hint")

    def _planned(self, choice: AuditChoice, question: PlanGoal) -> VotePlan:
        if question.other is None:
            return plan_interval(self._estimates(choice), question)
        return plan_separation(self._boards.get(choice.selection), question)

    def _estimates(self, choice: AuditChoice) -> AuditEstimates:
        if choice.truth is Truth.BENCHMARK:
            return read_benchmark_estimates(self._store, choice.selection, choice.metric)
        return self._audits.get(choice.selection, choice.ties)

    def _read(self, values: dict[Any, Any]) -> AuditChoice:
        mode = values[self._mode]
        return AuditChoice(
            selection=Selection(
                judge=values[self._judge],
                mode=Mode(mode) if mode else None,
                category=values[self._category] or None,
                language=values[self._language] or None,
            ),
            truth=Truth(values[self._truth]),
            metric=values[self._metric],
            ties=Ties(values[self._ties]),
            alpha=error_level(values[self._alpha]),
            dark=bool(values[self._dark]),
        )
