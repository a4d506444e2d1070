"""The audit tab: how far to believe a judge, and what more votes would take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.analysis.audit.grades import read_benchmark_estimates
from coupled_arena.analysis.audit.plan import PlanGoal, VotePlan, plan_interval, plan_separation
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.audit.verdicts import AuditEstimates, LiveAudits
from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
from coupled_arena.analysis.style.judge import JudgeStyle
from coupled_arena.api.analyses import audit as audit_of
from coupled_arena.api.checks import SELECTING, selection_of
from coupled_arena.api.experiments import plan
from coupled_arena.core.choices import Truth
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import N_, _
from coupled_arena.core.sql import Cursor
from coupled_arena.store.database import Store
from coupled_arena.store.queries import benchmark_scores, comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts.choices import IS_DARK, Fields
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel, figure_rows
from coupled_arena.ui.parts.headline import (
    NO_VERDICTS,
    headline,
    headline_place,
    hidden,
    how,
    nothing_yet,
    progress_handler,
    section,
)
from coupled_arena.ui.parts.settings_address import SettingsAddress
from coupled_arena.views.addresses import audit_addresses
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import audit_drawings
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.tables.style import judge_style_models, judge_style_traits
from coupled_arena.views.words.audit import audit_details, audit_verdict
from coupled_arena.views.words.methods import AUDIT as AUDIT_METHOD
from coupled_arena.views.words.plan import plan_findings
from coupled_arena.views.words.style import judge_style_warnings, judge_style_words

_PLANNER = N_(
    "Choose a width of the interval, or two models that the leaderboard should separate at "
    "their present distance. The plan assumes that further votes and verdicts are like those "
    "here. The leaderboard always keeps ties."
)
_OF_VOTES = ("ties", "control", "voters")
"""Fields that say nothing of a benchmark, as `LiveAudits.get` takes them."""
_LAYOUT = ((registry.BIAS, registry.AGREEMENT), (registry.JUDGE_WIN_RATES,))


@dataclass(frozen=True)
class AuditChoice:
    """Everything that decides what the audit shows."""

    asked: Mapping[str, Any]
    selection: Selection
    dark: bool


@dataclass(frozen=True)
class KnownChoices:
    """What the store has to choose from.

    Attributes
    ----------
    judges : dict
        Who has given verdicts, and who has graded answers.
    others : dict
        Values of other fields, by the names of options.
    """

    judges: dict[Truth, list[str]]
    others: dict[str, list[str]]


class AuditTab:
    """Components and handlers of the tab."""

    def __init__(
        self, store: Store, audits: LiveAudits, boards: LiveEstimates, offer: str = ""
    ) -> None:
        self._offer = offer
        self._store = store
        self._audits = audits
        self._boards = boards
        self._asked = PlanFields()
        self._style = JudgeStylePanel()
        self._address = SettingsAddress("audit")

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._fields = Fields(audit_of, "audit")
        self._dark = gr.Checkbox(visible=False)
        with gr.Column() as self._chosen:
            self._build_controls()
        self._headline = headline_place("audit-said")
        with gr.Column(elem_classes=["opening"]) as self._first_figure:
            first = figure_panel("audit", registry.EFFICIENCY, first=True)
        with gr.Column() as self._method, how(AUDIT_METHOD):
            self._build_method()
        with gr.Column(visible=False) as self._body:
            self._findings = gr.HTML(elem_id="audit-findings", apply_default_css=False)
            self._plots = {registry.EFFICIENCY: first, **figure_rows("audit", _LAYOUT)}
            with section(N_("Each model in numbers")):
                self._table = gr.HTML(elem_id="audit-table", apply_default_css=False)
            with gr.Accordion(_("Differences between neighbours"), open=False):
                self._leads = gr.HTML(elem_id="audit-leads", apply_default_css=False)
            self._style.build()
            with section(N_("How many more votes")) as self._planner:
                self._plan = self._asked.build([*self._fields.names, "cutoff"])
                gr.on(
                    [each.input for each in self._asked.components],
                    self._plan_again,
                    self._inputs,
                    self._plan,
                    trigger_mode="always_last",
                    **FREE,
                )
        self._address.build()
        self._wire()

    def _wire(self) -> None:
        wiring: dict[str, Any] = {
            "inputs": {self._headline, *self._inputs},
            "outputs": self._outputs,
        }
        calm: dict[str, Any] = {"trigger_mode": "always_last", **FREE}
        refresh = self._with_progress(self._refresh)
        gr.on(self._fields.changes("truth"), refresh, **wiring, **calm)
        self._fields["truth"].input(self._with_progress(self._turn), **wiring, **FREE)
        opened = self._address.on_open(self._open, self._inputs, self._opened_outputs)
        opened.then(refresh, **wiring, **calm)

    def draw_for(self, page: gr.Blocks) -> None:
        """Tell figures which background they have."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)

    def _build_controls(self) -> None:
        build = self._fields.build
        with gr.Row(elem_classes=["at-top"]):
            with gr.Row(visible=False, elem_classes=["at-top"]) as self._truths:
                build("truth", gr.Radio, min_width=160)
                build("metric", visible=False, min_width=120)
            build("judge", min_width=160)
            build("mode", gr.Radio, min_width=240)

    def _build_method(self) -> None:
        build = self._fields.build
        with gr.Row():
            build("ties", gr.Radio)
            build("control", gr.Radio)
        with gr.Row():
            self._fields.build_others()

    @property
    def _inputs(self) -> set[Any]:
        return {self._dark, *self._fields.all, *self._asked.components}

    @property
    def _outputs(self) -> list[Any]:
        shown = [self._headline, self._first_figure, self._findings, self._body]
        shown += [*self._plots.values(), self._table, self._leads, *self._style.outputs]
        asked = [self._planner, *self._asked.models, self._plan]
        return [*shown, *self._offered_fields, *asked, self._address.panel]

    @property
    def _offered_fields(self) -> list[Any]:
        """The components that the store's data change."""
        named = "judge", "metric", "category", "language", *_OF_VOTES
        return [self._truths, *(self._fields[name] for name in named)]

    @property
    def _opened_outputs(self) -> list[Any]:
        fields = dict.fromkeys([*self._fields.all, *self._offered_fields])
        return [self._chosen, self._method, *fields, self._address.panel]

    def _with_progress(self, compute: Callable[..., dict[Any, Any]]) -> Callable[..., Any]:
        """Return a handler that says that it counts, if that takes longer than a moment."""
        count = progress_handler(lambda values, _track: compute(values), self._headline, _counting)

        def handle(values: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
            yield self._told(values)  # who reloads the page meanwhile gets the same
            yield from count(values)

        return handle

    def _open(self, values: dict[Any, Any], event: gr.EventData) -> dict[Any, Any]:
        """Show the settings that an address asks for; without any, what the visitor chose."""
        with user_errors():
            asked, known = self._address.asked(event), self._known()
            if asked:
                judges = [*known.judges[Truth.VOTES], *known.judges[Truth.BENCHMARK]]
                values = values | self._fields.filled(asked, {**known.others, "judge": judges})
            values, offered = self._offered(values, known)
            there = gr.Column(visible=any(known.judges.values()))
            fields = {field: values[field] for field in self._fields.all}
            told = self._told(values, event)
            return {**fields, **offered, self._chosen: there, self._method: there, **told}

    def _turn(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors():
            values, offered = self._offered(values, self._known())
        return {**offered, **self._refresh(values)}

    def _offered(
        self, values: dict[Any, Any], known: KnownChoices
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return what is chosen of what the store has now, and the updates that offer it."""
        fields = self._fields
        truth = Truth(values[fields["truth"]]) if known.judges[Truth.BENCHMARK] else Truth.VOTES
        voted = truth is Truth.VOTES
        there = {**known.others, "judge": known.judges[truth]}
        shown = {"metric": {"visible": not voted and len(there["metric"]) > 1}}
        updates = {
            fields[name]: fields.offering(name, each, values[fields[name]], **shown.get(name, {}))
            for name, each in there.items()
        }
        chosen = {
            fields[name]: fields.still(name, each, values[fields[name]])
            for name, each in there.items()
        }
        of_votes = (fields[name] for name in _OF_VOTES)
        updates |= {
            self._truths: gr.Row(visible=bool(known.judges[Truth.BENCHMARK])),
            **{field: gr.update(visible=voted, value=values[field]) for field in of_votes},
        }
        return {**values, **chosen, fields["truth"]: truth.value}, updates

    def _known(self) -> KnownChoices:
        with self._store.cursor() as cursor:
            return KnownChoices(
                self._judges(cursor),
                {
                    "metric": scores.benchmarks(cursor),
                    "category": comparisons.categories(cursor),
                    "language": comparisons.languages(cursor),
                },
            )

    def _judges(self, cursor: Cursor) -> dict[Truth, list[str]]:
        """Return who has given verdicts, and who has graded answers."""
        return {
            Truth.VOTES: comparisons.judges(cursor),
            Truth.BENCHMARK: benchmark_scores.graders(cursor),
        }

    def _refresh(self, values: dict[Any, Any]) -> dict[Any, Any]:
        return {**self._counted(values), **self._told(values)}

    def _told(self, values: dict[Any, Any], event: gr.EventData | None = None) -> dict[Any, Any]:
        told = self._fields.told(values)
        if values[self._fields["truth"]] != Truth.BENCHMARK:
            told.pop("metric", None)
        return self._address.told(told, event)

    def _counted(self, values: dict[Any, Any]) -> dict[Any, Any]:
        if not values[self._fields["judge"]]:
            return {
                self._headline: nothing_yet(_(NO_VERDICTS), self._offer),
                **hidden(self._first_figure, self._body),
            }
        with user_errors():
            choice = self._read(values)
            found = audit(self._estimates(choice), choice.asked["alpha"])
            if not found.comparisons:
                return {
                    self._headline: headline(audit_verdict(found)),
                    **hidden(self._first_figure, self._body),
                }
            return self._drawn(found, choice, values)

    def _drawn(self, found: Audit, choice: AuditChoice, values: dict[Any, Any]) -> dict[Any, Any]:
        models = [row.model for row in found.models]
        offered, asked = self._asked.offered(models, values)
        voted = choice.asked["truth"] is Truth.VOTES
        return {
            self._headline: headline(audit_verdict(found)),
            self._first_figure: gr.Column(visible=True),
            self._findings: audit_details(found),
            self._body: gr.Column(visible=True),
            self._planner: gr.Accordion(visible=voted),
            **{
                self._plots[figure]: drawn(draw(dark=choice.dark))
                for figure, draw in audit_drawings(found).items()
            },
            self._table: audit_models(found, known=True).html(address=audit_addresses(found)),
            self._leads: audit_differences(found, neighbours=True).html(),
            **self._style.shown(found.style),
            **offered,
            self._plan: self._plan_again(asked) if voted else "",
        }

    def _plan_again(self, values: dict[Any, Any]) -> str:
        choice = self._read(values)
        question = self._asked.goal(values, choice.asked["alpha"])
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
        asked = choice.asked
        if asked["truth"] is Truth.BENCHMARK:
            return read_benchmark_estimates(self._store, choice.selection, asked["metric"])
        return self._audits.get(choice.selection, *(asked[name] for name in _OF_VOTES))

    def _read(self, values: dict[Any, Any]) -> AuditChoice:
        asked = self._fields.read(values)
        of_votes = {name: asked[name] for name in SELECTING if name in asked}
        selection = selection_of(self._store, judge=(asked["judge"],), **of_votes)
        return AuditChoice(asked, selection, dark=bool(values[self._dark]))


def _counting(_share: float) -> str:
    return _("Counting …")


class PlanFields:
    """What a plan for more votes is asked with; what it shares with the audit is chosen there."""

    def build(self, of_audit: Sequence[str]) -> gr.HTML:
        """Lay out the fields inside the current Blocks, and return where the answer goes.

        Parameters
        ----------
        of_audit : sequence of str
            Options that the audit has, too.
        """
        self._fields = Fields(plan, "plan")
        gr.Markdown(_(_PLANNER))
        with gr.Row():
            self._model = gr.Dropdown([], label=_("Model"), elem_id="plan-model", min_width=280)
            self._fields.build("against", min_width=280)
        with gr.Row():
            self._fields.build_others(*of_audit)
        return gr.HTML(elem_id="plan", apply_default_css=False)

    @property
    def models(self) -> list[Any]:
        """The fields whose choices are the audit's models."""
        return [self._model, self._fields["against"]]

    @property
    def components(self) -> list[Any]:
        """All fields."""
        return [self._model, *self._fields.all]

    def offered(
        self, models: Sequence[str], values: dict[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return updates that offer these models, and the values that follow."""
        against = self._fields["against"]
        others = [(_("Separate from {model}").format(model=model), model) for model in models]
        model = values[self._model] if values[self._model] in models else models[0]
        other = values[against] if values[against] in models else ""
        updates = {
            self._model: gr.Dropdown(list(models), value=model),
            against: gr.Dropdown([against.choices[0], *others], value=other),
        }
        return updates, {**values, self._model: model, against: other}

    def goal(self, values: dict[Any, Any], alpha: float) -> PlanGoal:
        """Return the question; without a model nothing is asked."""
        asked = self._fields.read(values)
        against = asked.pop("against")
        return PlanGoal(values[self._model] or "", against, alpha=alpha, **asked)


class JudgeStylePanel:
    """What sways the judge beside people: components that are shown where style is held fixed."""

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        with gr.Column(visible=False, elem_id="audit-style") as self._all:
            gr.Markdown(_("## With style held fixed"))
            self._words = gr.HTML(elem_id="audit-style-words", apply_default_css=False)
            with gr.Column(visible=False) as self._known:
                self._traits = gr.HTML(elem_id="audit-style-traits", apply_default_css=False)
                self._models = gr.HTML(elem_id="audit-style-models", apply_default_css=False)

    @property
    def outputs(self) -> list[Any]:
        """The components that `shown` changes."""
        return [self._all, self._words, self._known, self._traits, self._models]

    def shown(self, style: JudgeStyle | None) -> dict[Any, Any]:
        """Return the panel with a result, or without one."""
        changed: dict[Any, Any] = {self._all: gr.Column(visible=style is not None)}
        if style is None:
            return changed
        warnings = listed(judge_style_warnings(style), "hint")
        changed[self._words] = joined([listed(judge_style_words(style), "findings"), warnings])
        changed[self._known] = gr.Column(visible=bool(style.models))
        if style.models:
            changed[self._traits] = judge_style_traits(style).html() if style.traits else ""
            changed[self._models] = judge_style_models(style).html()
        return changed
