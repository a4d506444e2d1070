"""The tab that asks whether a model is as good as another: a run that everybody sees go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from coupled_arena.analysis.gate.churn import with_speeds
from coupled_arena.analysis.gate.stored import GateStanding, LiveGates
from coupled_arena.api.gates import gate
from coupled_arena.battles.gate_service import Asked, Gates, NoGates
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import N_, _, filled
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.tables.gates import StoredGate
from coupled_arena.ui.parts.choices import IS_DARK, Fields
from coupled_arena.ui.parts.events import FREE, QUIET, sent, user_errors, words_of
from coupled_arena.ui.parts.figure_panel import NARROW, drawn, figure_panel
from coupled_arena.ui.parts.headline import headline, headline_place, how, nothing_yet
from coupled_arena.ui.parts.panel import panel
from coupled_arena.views.addresses import (
    GateAddress,
    gate_address,
    read_gate_address,
    short_gate_address,
)
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import gate_drawings
from coupled_arena.views.figures.gate_card import card_figure
from coupled_arena.views.markup import joined, link, paragraph, shown
from coupled_arena.views.tables.gate_runs import gate_card, gate_costs, gate_flips, gate_runs
from coupled_arena.views.words.gate_runs import progress_words, standing_verdict
from coupled_arena.views.words.methods import GATE as METHOD

TITLE = N_("As good as?")
_UNASKED = N_("Is a model as good as another? Choose two, and press Start.")
_ALONE = N_("This takes two models: fewer are loaded.")
_NO_MODELS = N_(
    "No model is loaded here. Choose a stored run below. To start a run, open this tab in an arena "
    "with models: coupled-arena serve."
)
_NOT_YOURS = N_("Only admins of this arena may start and stop runs.")
_REFRESH = 1.0  # seconds
_MOST = 20  # runs in the list
_FIGURES = registry.GATE_CLOSING, registry.GATE_FLIPS, registry.GATE_COSTS


@dataclass(frozen=True)
class GateView:
    """All that decides what the tab shows: while it is the same nothing is drawn."""

    asked: Asked | None
    gate: str | None
    answered: int
    read: int  # answers, also of battles that tell what independent noise changes
    runs: tuple[tuple[str, int], ...]
    running: str | None
    crowded: bool
    trouble: str
    may_start: bool
    dark: bool


class GateTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    gates : Gates or None
        None where no models are: then stored runs can be looked at.
    store : Store
    may_start : callable
        Tells of a request whether it may start and stop runs.
    offer : Markup
        What leads to the example where nothing has run yet.
    """

    def __init__(
        self,
        gates: Gates | None,
        store: Store,
        may_start: Callable[[gr.Request], bool],
        offer: str = "",
    ) -> None:
        self._gates = gates or NoGates()
        self._offer = offer
        self._live = LiveGates(store)
        self._may_start = may_start

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._fields = Fields(gate, "gate")
        self._dark = gr.Checkbox(visible=False)
        self._seen = gr.State(None)  # the view on show in this session
        self._run = gr.State(None)  # the run that an address names
        self._timer = gr.Timer(_REFRESH, active=False)
        self._headline = headline_place("gate-said")
        with gr.Row():
            with gr.Column(
                elem_classes=["opening"], visible=False, scale=2, min_width=NARROW
            ) as first:
                closing = figure_panel("gate", registry.GATE_CLOSING, first=True)
            with gr.Column(scale=1, min_width=280):
                self._card = gr.HTML(elem_id="gate-card", apply_default_css=False)
                self._picture = panel("gate-picture", "gate_picture")
                self._progress = gr.HTML(elem_id="gate-progress", apply_default_css=False)
        with gr.Column(visible=len(self._gates.models) > 1):  # else nothing can be started
            self._build_controls()
        with gr.Row(visible=False) as self._flips:
            with gr.Column(min_width=NARROW):
                self._lost = gr.HTML(elem_id="gate-lost", apply_default_css=False)
            with gr.Column(min_width=NARROW):
                self._gained = gr.HTML(elem_id="gate-gained", apply_default_css=False)
        with gr.Column(visible=False) as second:
            flips = figure_panel("gate", registry.GATE_FLIPS)
        with gr.Row(visible=False) as self._beside:
            with gr.Column(min_width=NARROW):
                self._costs = gr.HTML(elem_id="gate-cost-table", apply_default_css=False)
            with gr.Column(visible=False, min_width=NARROW) as third:
                costs = figure_panel("gate", registry.GATE_COSTS)
        places = (first, closing), (second, flips), (third, costs)
        self._plots = dict(zip(_FIGURES, places, strict=True))
        with gr.Column(visible=False) as self._past:
            gr.Markdown(_("## Runs"))
            self._runs = gr.HTML(elem_id="gate-runs", apply_default_css=False)
        self._address = panel("gate", "settings")
        self._wire()

    def _build_controls(self) -> None:
        models, tasks = list(self._gates.models), list(self._gates.tasks)
        chosen = [*models[:2], None, None][:2]
        with gr.Row():
            self._models = [
                gr.Dropdown(models, value=value, label=label, elem_id=name, min_width=220)
                for label, name, value in zip(
                    (_("Base"), _("Candidate")),
                    ("gate-base", "gate-candidate"),
                    chosen,
                    strict=True,
                )
            ]
            self._task = gr.Dropdown(
                tasks,
                value=next(iter(tasks), None),
                label=_("Benchmark"),
                elem_id="gate-task",
                min_width=160,
            )
            self._fields.build("margin")
        with how(METHOD, N_("How this is computed")), gr.Row():
            self._fields.build("alpha")
        with gr.Row():
            self._start = gr.Button(_("Start"), variant="primary", elem_id="gate-start")
            self._stop = gr.Button(_("Stop"), elem_id="gate-stop", visible=False)

    def _wire(self) -> None:
        wiring: dict[str, Any] = {"inputs": self._inputs, "outputs": self._outputs}
        self._timer.tick(self._refresh, **wiring, **FREE)
        self._address.look(self._open, **wiring, trigger_mode="multiple", **FREE)
        changed = [each.input for each in (*self._models, self._task)] + self._fields.changes()
        gr.on(changed, self._choose, **wiring, trigger_mode="always_last", **FREE)
        self._start.click(self._begin, **wiring, **FREE)
        self._stop.click(self._end, **wiring, **FREE)

    def live_only_while_shown(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Let the timer run only while this tab is the one on show."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        tabs.select(_timer_for_tab, None, self._timer, **QUIET)

    @property
    def _chosen(self) -> list[Any]:
        return [*self._models, self._task, *self._fields.all]

    @property
    def _inputs(self) -> set[Any]:
        return {self._dark, self._seen, self._run, *self._chosen}

    @property
    def _outputs(self) -> list[Any]:
        figures = [part for both in self._plots.values() for part in both]
        return [
            *(self._seen, self._run, self._headline, *figures, *self._chosen),
            *(self._start, self._stop, self._progress, self._card, self._picture),
            *(self._flips, self._lost, self._gained, self._beside, self._costs),
            *(self._past, self._runs, self._address),
        ]

    def _refresh(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Draw what is new; called each second."""
        with user_errors():
            return self._drawn(values, request)

    def _choose(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Show the newest run of what was chosen."""
        with user_errors():
            drawn_now = self._drawn({**values, self._run: None}, request)
            return {**drawn_now, self._run: None, self._address: self._told(values, None)}

    def _open(
        self, values: dict[Any, Any], request: gr.Request, event: gr.EventData
    ) -> dict[Any, Any]:
        """Show what an address asks for; without settings what goes on, or was last."""
        query, number = sent(event, "query"), sent(event, "number")
        with user_errors():
            asked = read_gate_address(query if isinstance(query, str) else "")
            found = self._asked_for(asked, first=values[self._seen] is None)
            fields = self._filled(values, found, asked)
            values = {**values, **{field: value for field, (value, _) in fields.items()}}
            values[self._run] = run = asked.gate and found and found.id
            return {
                **{field: change for field, (_, change) in fields.items()},
                **self._drawn(values, request),
                self._run: run,
                self._address: {**self._told(values, run), "number": number},
            }

    def _begin(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Start what was chosen, or go on with it."""
        with user_errors():
            self._check(request)
            asked = self._read(values)
            if asked is None:
                raise ArenaError(_(_ALONE))
            self._gates.start(asked)
            values = {**values, self._run: None}
            told = self._told(values, None)
            return {**self._drawn(values, request), self._run: None, self._address: told}

    def _end(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Stop the run that goes on."""
        with user_errors():
            self._check(request)
            if running := self._gates.running:
                self._gates.stop()
                running.ended.wait(1.0)
            return self._drawn(values, request)

    def _check(self, request: gr.Request) -> None:
        if not self._may_start(request):
            raise ArenaError(_(_NOT_YOURS))

    def _read(self, values: dict[Any, Any]) -> Asked | None:
        base, candidate = (values[field] for field in self._models)
        task = values[self._task]
        if not (base and candidate and task):
            return None
        numbers = self._fields.read(values)
        return Asked(base, candidate, task, round(numbers["margin"], 6), numbers["alpha"])

    def _asked_for(self, asked: GateAddress, *, first: bool) -> StoredGate | None:
        """Return the run that an address names; of one without settings what goes on, or was last.

        Only where the page has shown none: else it shows what the visitor chose.
        """
        known = self._live.all()
        if asked.gate:
            return next((each for each in known if each.id == asked.gate), None)
        if asked.base or asked.candidate or not first:
            return None
        running = self._gates.running
        return running.gate if running else next(iter(known), None)

    def _filled(
        self, values: dict[Any, Any], found: StoredGate | None, asked: GateAddress
    ) -> dict[Any, tuple[Any, Any]]:
        """Return of each field its value and its update, by a run or else by an address."""
        given = GateAddress(*found.asks) if found else asked
        known = self._live.all()
        models = dict.fromkeys(
            [*self._gates.models, *(name for each in known for name in each.asks[:2])]
        )
        tasks = dict.fromkeys([*self._gates.tasks, *(each.metric for each in known)])
        fields: dict[Any, tuple[Any, Any]] = {}
        named = zip(
            (*self._models, self._task),
            (given.base, given.candidate, given.task),
            (models, models, tasks),
            strict=True,
        )
        for field, name, there in named:
            value = name if name in there else values[field]
            fields[field] = value, gr.Dropdown(list(there), value=value)
        for name, number in (("margin", given.margin), ("alpha", given.alpha)):
            field = self._fields[name]
            if number is not None:
                number = min(max(number, field.minimum), field.maximum)
                fields[field] = number, number
        return fields

    def _told(self, values: dict[Any, Any], run: str | None) -> dict[str, Any]:
        asked = self._read(values)
        return {"address": GateAddress(*asked.key, run).query} if asked else {}

    def _drawn(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Return what differs from what this session shows."""
        asked, known = self._read(values), self._live.all()
        shown_run = next((each for each in known if each.id == values[self._run]), None)
        chosen = next(self._chosen_runs(asked, known), None) if asked else None
        if shown_run is None:
            shown_run = chosen
        if shown_run is None and not self._gates.models:  # nothing can be chosen
            shown_run = next(iter(known), None)
        standing = self._live.standing(shown_run) if shown_run else None
        listed = [self._live.standing(each) for each in known[:_MOST]]
        running = self._gates.running
        trouble = self._gates.trouble(shown_run.id) if shown_run else None
        view = GateView(
            asked,
            shown_run and shown_run.id,
            standing.answered if standing else 0,
            len(standing.rows.answers) if standing else 0,
            tuple((each.gate.id, each.answered) for each in listed),
            running.gate.id if running else None,
            running.crowded if running else False,
            words_of(trouble) if trouble else "",
            self._may_start(request),
            bool(values[self._dark]),
        )
        if values[self._seen] == view:
            return {self._seen: gr.skip()}
        over = chosen is not None and self._live.standing(chosen).over
        return {
            self._seen: view,
            self._runs: gate_runs(listed, view.running),
            self._past: gr.Column(visible=bool(listed)),
            self._start: gr.Button(interactive=view.may_start and not running and not over),
            self._stop: gr.Button(visible=view.may_start and running is not None),
            self._progress: self._said(view, standing),
            **self._result(view, standing),
        }

    def _chosen_runs(self, asked: Asked, known: Iterable[StoredGate]) -> Iterator[StoredGate]:
        """Yield the runs that Start would go on with: of one candidate, and coupled."""
        for each in known:
            alike = each.asks == asked.key and not each.candidates
            if alike and self._live.standing(each).mode is not Mode.INDEPENDENT:
                yield each

    def _said(self, view: GateView, standing: GateStanding | None) -> Any:
        """Return how far the run on show is, what ended it, and that another one goes on."""
        parts: list[Any] = []
        here = view.running is not None and view.running == view.gate
        if standing:
            parts.append(paragraph(progress_words(standing, running=here, crowded=view.crowded)))
        if view.trouble and not here:
            parts.append(paragraph(view.trouble, "broken"))
        running = self._gates.running
        if running and not here:
            text = filled(
                _("{candidate} against {base} by {metric} goes on."),
                candidate=running.gate.candidate,
                base=running.gate.base,
                metric=running.gate.metric,
            )
            parts.append(link(gate_address(running.gate), shown(text)))
        if not self._gates.models:
            parts.append(paragraph(_(_NO_MODELS), "hint"))
        elif not view.may_start:
            parts.append(paragraph(_(_NOT_YOURS), "hint"))
        return joined(parts)

    def _result(self, view: GateView, standing: GateStanding | None) -> dict[Any, Any]:
        """Return sentence, figures, card and flips of the run on show."""
        if standing is None:
            nothing = _(_UNASKED if len(self._gates.models) > 1 else _ALONE)
            offer = "" if view.runs else self._offer
            hidden = {part: gr.Column(visible=False) for part, _plot in self._plots.values()}
            return {
                **hidden,
                self._headline: nothing_yet(nothing, offer),
                self._card: "",
                self._picture: {},
                self._flips: gr.Row(visible=False),
                self._beside: gr.Row(visible=False),
            }
        if standing.report and (speeds := self._gates.speeds(standing.gate.id)):
            standing = replace(standing, report=with_speeds(standing.report, speeds))
        here = view.running == view.gate
        found, drawings = standing.candidate, dict[Any, Any]()
        if standing.report and found:
            drawings |= gate_drawings(standing.report, found)
            if not found.flips:
                del drawings[registry.GATE_FLIPS]
        costs, picture = gate_costs(standing), card_figure(standing)
        changed: dict[Any, Any] = {
            self._headline: headline(standing_verdict(standing)),
            self._card: gate_card(standing, running=here),
            self._picture: _saved(picture, standing.gate) if picture else {},
            self._flips: gr.Row(visible=found is not None),
            self._lost: gate_flips(standing, lost=True),
            self._gained: gate_flips(standing, lost=False),
            self._beside: gr.Row(visible=bool(costs)),
            self._costs: costs,
        }
        for figure, (part, plot) in self._plots.items():
            there = figure in drawings
            changed[part] = gr.Column(visible=there)
            if there:
                changed[plot] = drawn(drawings[figure](dark=view.dark))
        return changed


def _saved(picture: go.Figure, gate: StoredGate) -> dict[str, Any]:
    """Return a picture for the script that saves it, with the address that it is to tell."""
    return {"figure": json.loads(picture.to_json() or "{}"), "address": short_gate_address(gate)}


def _timer_for_tab(event: gr.SelectData) -> gr.Timer:
    return gr.Timer(_REFRESH, active=event.value == _(TITLE))
