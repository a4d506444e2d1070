"""The audit tab: how far to believe a judge, and what more votes would take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.analysis.audit.benchmark import read_benchmark_estimates
from coupled_arena.analysis.audit.live import LiveAudits
from coupled_arena.analysis.audit.plan import PlanGoal, VotePlan, plan_interval, plan_separation
from coupled_arena.analysis.audit.read import AuditEstimates
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.leaderboard.read import LiveEstimates
from coupled_arena.core.choices import Battles, Control, Ties, Truth
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import N_, _
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, grades
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts.choices import NO_VERDICTS
from coupled_arena.ui.parts.computing import telling
from coupled_arena.ui.parts.controls import (
    IS_DARK,
    alpha_slider,
    dropdown,
    error_level,
    offered,
    with_any,
)
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel, figure_rows
from coupled_arena.ui.parts.judge_style_panel import JudgeStylePanel
from coupled_arena.ui.parts.opening import hidden, how, said, verdict
from coupled_arena.ui.parts.plan_fields import PlanFields
from coupled_arena.views.addresses import audit_addresses
from coupled_arena.views.figures.audit import (
    agreement_figure,
    bias_figure,
    efficiency_figure,
    powered_figure,
)
from coupled_arena.views.figures.reading import AUDIT
from coupled_arena.views.markup import paragraph
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.words.audit import audit_details, audit_verdict
from coupled_arena.views.words.methods import AUDIT as AUDIT_METHOD
from coupled_arena.views.words.plan import plan_findings

_TITLE = N_("Audit")
_LAYOUT = (("bias", "agreement"), ("powered",))
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
    control: Control
    alpha: float
    dark: bool


class AuditTab:
    """Components and handlers of the tab."""

    def __init__(self, store: Store, audits: LiveAudits, boards: LiveEstimates) -> None:
        self._store = store
        self._audits = audits
        self._boards = boards
        self._asked = PlanFields()
        self._style = JudgeStylePanel()

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._dark = gr.Checkbox(visible=False)
        self._said = verdict("audit-said")
        with gr.Column(elem_classes=["opening"]) as self._opening:
            opened = figure_panel("audit-efficiency", AUDIT["efficiency"], opening=True)
        self._build_controls()
        with gr.Column(visible=False) as self._body:
            self._findings = gr.HTML(elem_id="audit-findings", apply_default_css=False)
            self._plots = {"efficiency": opened, **figure_rows("audit", _LAYOUT, AUDIT)}
            self._table = gr.HTML(elem_id="audit-table", apply_default_css=False)
            with gr.Accordion(_("Differences between neighbours"), open=False):
                self._leads = gr.HTML(elem_id="audit-leads", apply_default_css=False)
            self._style.build()
            with gr.Column() as self._planner:
                self._plan = self._asked.build()
                gr.on(
                    [each.input for each in self._asked.components],
                    self._plan_again,
                    self._inputs,
                    self._plan,
                    trigger_mode="always_last",
                    **FREE,
                )
        changed = [self._alpha.release, *(each.input for each in self._chosen)]
        wiring: dict[str, Any] = {"inputs": {self._said, *self._inputs}, "outputs": self._outputs}
        gr.on(changed, self._telling(self._refresh), **wiring, trigger_mode="always_last", **FREE)
        self._truth.input(self._telling(self._turn), **wiring, **FREE)

    def read_when_shown(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Read the store whenever the tab is selected."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        offered = [self._truths, self._truth, self._metric, self._category, self._language]
        inputs = {self._said, *self._inputs}
        tabs.select(self._show, inputs, [*self._outputs, *offered], **FREE)

    def _build_controls(self) -> None:
        with gr.Row(visible=False) as self._truths:
            self._truth = gr.Radio(
                offered(Truth),
                value=Truth.VOTES.value,
                label=_("Held against"),
                info=_("With a benchmark as the truth, read it for people below."),
                elem_id="audit-truth",
                min_width=280,
            )
            self._metric = gr.Dropdown(
                [], label=_("Benchmark"), elem_id="audit-metric", min_width=220, visible=False
            )
        with gr.Row():
            self._judge = gr.Dropdown([], label=_("Judge"), elem_id="audit-judge", min_width=220)
            self._ties = gr.Radio(
                offered(Ties),
                value=Ties.LOSS.value,
                label=_("Ties"),
                elem_id="audit-ties",
                min_width=280,
            )
            self._mode = gr.Radio(
                offered(Battles),
                value=Battles.ALL.value,
                label=_("Battles"),
                elem_id="audit-mode",
                min_width=280,
            )
        self._control = self._style.build_choice()
        with how(AUDIT_METHOD), gr.Row():
            self._alpha = alpha_slider("audit-alpha")
            self._category = dropdown([(_("Any category"), "")], _("Category"), "audit-category")
            self._language = dropdown([(_("Any language"), "")], _("Language"), "audit-language")

    @property
    def _chosen(self) -> list[Any]:
        filters = [self._ties, self._mode, self._category, self._language]
        return [self._judge, self._metric, *filters, self._control]

    @property
    def _inputs(self) -> set[Any]:
        return {self._dark, self._truth, self._alpha, *self._chosen, *self._asked.components}

    @property
    def _outputs(self) -> list[Any]:
        shown = [self._said, self._opening, self._findings, self._body]
        shown += [*self._plots.values(), self._table, self._leads, *self._style.outputs]
        asked = [self._planner, *self._asked.models, self._plan]
        return [*shown, self._judge, self._ties, self._control, *asked]

    def _telling(self, compute: Callable[..., dict[Any, Any]]) -> Callable[..., Any]:
        """Return a handler that says that it counts, if that takes longer than a moment."""
        return telling(lambda values, _track: compute(values), self._said, _counting)

    def _show(self, values: dict[Any, Any], event: gr.SelectData) -> Iterator[dict[Any, Any]]:
        if event.value == _(_TITLE):
            yield from self._telling(self._opened)(values)
        else:
            yield {self._said: gr.skip()}

    def _opened(self, values: dict[Any, Any]) -> dict[Any, Any]:
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
            self._category: gr.Dropdown(with_any(_("Any category"), categories)),
            self._language: gr.Dropdown(with_any(_("Any language"), languages)),
            **self._judged(
                {**values, self._truth: truth, self._metric: metric}, known[Truth(truth)]
            ),
        }

    def _turn(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors(), self._store.cursor() as cursor:
            return self._judged(values, self._judges(cursor)[Truth(values[self._truth])])

    def _judged(self, values: dict[Any, Any], judges: list[str]) -> dict[Any, Any]:
        """Offer judges, and show one of them."""
        voted = Truth(values[self._truth]) is Truth.VOTES
        judge = values[self._judge] if values[self._judge] in judges else next(iter(judges), None)
        return {
            self._judge: gr.Dropdown(judges, value=judge),
            self._ties: gr.Radio(visible=voted),
            self._control: gr.Radio(visible=voted),
            **self._refresh({**values, self._judge: judge}),
        }

    def _judges(self, cursor: comparisons.Cursor) -> dict[Truth, list[str]]:
        """Return who has given verdicts, and who has graded answers."""
        return {Truth.VOTES: comparisons.judges(cursor), Truth.BENCHMARK: grades.graders(cursor)}

    def _refresh(self, values: dict[Any, Any]) -> dict[Any, Any]:
        if not values[self._judge]:
            return {self._said: _(NO_VERDICTS), **hidden(self._opening, self._body)}
        with user_errors():
            choice = self._read(values)
            found = audit(self._estimates(choice), choice.alpha)
            if not found.comparisons:
                return {self._said: said(audit_verdict(found)), **hidden(self._opening, self._body)}
            return self._drawn(found, choice, values)

    def _drawn(self, found: Audit, choice: AuditChoice, values: dict[Any, Any]) -> dict[Any, Any]:
        models = [row.model for row in found.models]
        offered, asked = self._asked.offered(models, values)
        voted = choice.truth is Truth.VOTES
        return {
            self._said: said(audit_verdict(found)),
            self._opening: gr.Column(visible=True),
            self._findings: audit_details(found),
            self._body: gr.Column(visible=True),
            self._planner: gr.Column(visible=voted),
            **{
                plot: drawn(_FIGURES[name](found, dark=choice.dark))
                for name, plot in self._plots.items()
            },
            self._table: audit_models(found, known=True).html(address=audit_addresses(found)),
            self._leads: audit_differences(found, neighbours=True).html(),
            **self._style.shown(found.style),
            **offered,
            self._plan: self._plan_again(asked) if voted else "",
        }

    def _plan_again(self, values: dict[Any, Any]) -> str:
        choice = self._read(values)
        question = self._asked.goal(values, choice.alpha)
        if not choice.selection.judge or not question.model:
            return ""
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
        return self._audits.get(choice.selection, choice.ties, choice.control)

    def _read(self, values: dict[Any, Any]) -> AuditChoice:
        return AuditChoice(
            selection=Selection(
                judge=values[self._judge],
                mode=Battles(values[self._mode]).mode,
                category=values[self._category] or None,
                language=values[self._language] or None,
            ),
            truth=Truth(values[self._truth]),
            metric=values[self._metric],
            ties=Ties(values[self._ties]),
            control=Control(values[self._control]),
            alpha=error_level(values[self._alpha]),
            dark=bool(values[self._dark]),
        )


def _counting(_share: float) -> str:
    return _("Counting …")
