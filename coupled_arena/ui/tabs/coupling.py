"""The coupling tab: how many samples coupled generation saves, and would save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.analysis.coupling.savings import (
    Coupling,
    StoredScores,
    battles_of_pairs,
    coupling,
    nearest_drawn,
    read_protocol_scores,
)
from coupled_arena.analysis.coupling.score_tables import read_subject_scores
from coupled_arena.api.analyses import coupling as coupling_of
from coupled_arena.core.bounds import UPLOADED
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Drawn
from coupled_arena.core.tables import ENDINGS
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.store.database import Store
from coupled_arena.store.queries import benchmark_scores
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts.choices import IS_DARK, Fields
from coupled_arena.ui.parts.events import QUIET, UNSHOWN, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel, figure_rows
from coupled_arena.ui.parts.headline import headline, headline_place, hidden, how, nothing_yet
from coupled_arena.ui.parts.settings_address import SettingsAddress
from coupled_arena.ui.parts.uploads import read_once
from coupled_arena.views.addresses import coupling_addresses
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import coupling_drawings
from coupled_arena.views.markup import paragraph
from coupled_arena.views.tables.coupling import coupling_pairs, with_battles
from coupled_arena.views.words.coupling import (
    calculator_findings,
    coupling_details,
    coupling_verdict,
)
from coupled_arena.views.words.methods import COUPLING as COUPLING_METHOD

_LAYOUT = ((registry.SAVINGS,), (registry.VARIANCE, registry.COVARIANCE))
_DRAWN = ("temperature", "top_p", "sampler")
_ASKED = ("error", "repetitions")  # of the prompts that it would take
_MOST_SCORES = 2_000_000  # of one page; else the command line
# A bootstrap and a thousand sub-samplings take a core for a second.
_ONE: dict[str, Any] = {
    "concurrency_limit": 1,
    "concurrency_id": "coupling",
    "api_visibility": "private",
}
_EMPTY = N_("No answers here have scores under both protocols: run a benchmark, or open a table.")
_UPLOAD = N_(
    "A CSV, JSON or Parquet file. Its column Noise says Coupled or Independent, and each "
    "model has a column of scores. The prompts follow each other, each with all its "
    "repetitions."
)
_CALCULATOR = N_(
    "## What would coupling save me\nThe prompts here are a pilot study. The answer is the "
    "number of similar prompts that show the difference of the two models."
)


class CouplingTab:
    """Components and handlers of the tab."""

    def __init__(self, store: Store, hidden: Hidden, offer: str = "") -> None:
        self._store = store
        self._offer = offer
        self._hidden: Hidden = hidden
        self._address = SettingsAddress("coupling")

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._fields = Fields(coupling_of, "coupling")
        build = self._fields.build
        self._dark = gr.Checkbox(visible=False)
        self._uploaded, self._shown = gr.State(None), gr.State(None)
        with gr.Column() as self._chosen, gr.Row(elem_classes=["at-top"]):
            build("metric", min_width=120)
            build("category", min_width=120)
            for name in _DRAWN:
                build(name, gr.Dropdown, visible=False, min_width=120)
            self._pair = gr.Dropdown(
                [], label=_("Pair"), elem_id="coupling-pair", scale=2, min_width=280
            )
        self._headline = headline_place("coupling-said")
        with gr.Column(elem_classes=["opening"]) as self._first_figure:
            first = figure_panel("coupling", registry.CURVES, first=True)
        with gr.Column() as self._method, how(COUPLING_METHOD, N_("How this was computed")):
            self._fields.build_others("error", "repetitions", "seeds")
        with gr.Column(visible=False) as self._body:
            self._findings = gr.HTML(elem_id="coupling-findings", apply_default_css=False)
            self._plots = {registry.CURVES: first, **figure_rows("coupling", _LAYOUT)}
            self._build_calculator()
            self._table = gr.HTML(elem_id="coupling-table", apply_default_css=False)
        with gr.Accordion(_("A table of scores from elsewhere"), open=False):
            gr.Markdown(_(_UPLOAD))
            with gr.Row():
                build("seeds")
                self._file = gr.File(
                    label=_("Scores"), file_types=[*ENDINGS], height=120, elem_id="coupling-file"
                )
        self._address.build()
        self._bind()

    def draw_for(self, page: gr.Blocks) -> None:
        """Tell figures which background they have."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)

    def _build_calculator(self) -> None:
        gr.Markdown(_(_CALCULATOR))
        with gr.Row():
            self._fields.build("error")
            self._fields.build("repetitions")
        self._needed = gr.HTML(elem_id="coupling-needed", apply_default_css=False)

    def _bind(self) -> None:
        calm: dict[str, Any] = {**UNSHOWN, **_ONE, "trigger_mode": "always_last"}
        chosen = [*self._fields.changes(*_ASKED, "seeds"), self._pair.input]
        gr.on(chosen, self._refresh, self._inputs, self._outputs, **calm)
        fields = dict.fromkeys([*self._fields.all, self._pair, self._address.panel])
        opened = self._address.on_open(self._open_at, self._inputs, list(fields))
        opened.then(self._refresh, self._inputs, self._outputs, **calm)
        asked = [self._fields[name].change for name in _ASKED]
        gr.on(asked, self._calculate, {*self._fields.all, self._shown}, self._needed, **calm)
        self._file.upload(self._open, {*self._inputs, self._file}, self._outputs, **_ONE)
        self._file.clear(self._close, self._inputs, self._outputs, **_ONE)

    @property
    def _inputs(self) -> set[Any]:
        return {*self._fields.all, self._pair, self._uploaded, self._dark, self._shown}

    @property
    def _of_the_store(self) -> dict[str, Any]:
        return {name: self._fields[name] for name in ("metric", "category", *_DRAWN)}

    @property
    def _outputs(self) -> list[Any]:
        shown = [
            self._shown,
            self._headline,
            self._first_figure,
            self._chosen,
            self._method,
            self._findings,
            self._body,
            *self._plots.values(),
            self._needed,
            self._table,
        ]
        fields = [*self._of_the_store.values(), self._pair, self._uploaded]
        return [*fields, *shown, self._address.panel]

    def _open_at(self, values: dict[Any, Any], event: gr.EventData) -> dict[Any, Any]:
        """Set the fields by an address; without settings they stay as the visitor chose."""
        with user_errors():
            asked = self._address.asked(event)
            fields = self._fields.filled(asked, self._known(asked.get("metric"))) if asked else {}
            values = {**values, **fields}
            _, offered = self._offered(values)
            if pair := asked.get("pair"):
                offered[self._pair] = gr.Dropdown([pair], value=pair)
            told = self._address.told({**self._told(values), **asked}, event)
            return {**fields, **offered, **told}

    def _known(self, metric: str | None) -> dict[str, list[Any]]:
        """Return what these scores of the store can be chosen by."""
        with self._store.cursor() as cursor:
            known = list(scores.metrics(cursor))
            if metric not in known:
                return {"metric": known, "category": []}
            categories = benchmark_scores.scored_categories(cursor, metric)
            drawings = benchmark_scores.drawings(cursor, metric)
        of_drawn = {name: [getattr(each, name) for each in drawings] for name in _DRAWN}
        return {"metric": known, "category": categories, **of_drawn}

    def _told(self, values: dict[Any, Any]) -> dict[str, str]:
        """Return the settings as an address has them; scores from a file are in none."""
        told = self._fields.told(values)
        if values[self._uploaded] is not None:
            for name in self._of_the_store:
                told.pop(name, None)
        return told

    def _open(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors():
            with read_once(Path(values[self._file])) as path:
                read = read_subject_scores(
                    path, self._fields.read(values)["seeds"], name=path.name, bound=UPLOADED
                )
            if 2 * read.table.coupled.size > _MOST_SCORES:
                text = _(
                    "A page takes {most:,} scores at most; the command line takes more: "
                    "coupled-arena coupling --scores FILE."
                )
                raise ScoreError(text.format(most=_MOST_SCORES))
        stored = StoredScores(path.name, read.table, left_out=read.left_out)
        return {**self._refresh({**values, self._uploaded: stored}), self._uploaded: stored}

    def _close(self, values: dict[Any, Any]) -> dict[Any, Any]:
        return {**self._refresh({**values, self._uploaded: None}), self._uploaded: None}

    def _refresh(self, values: dict[Any, Any]) -> dict[Any, Any]:
        values, offered = self._offered(values)
        if values[self._uploaded] is None and not values[self._fields["metric"]]:
            return {
                self._headline: nothing_yet(_(_EMPTY), self._offer),
                **hidden(self._first_figure, self._chosen, self._method, self._body),
                **offered,
            }
        offered |= {part: gr.Column(visible=True) for part in (self._chosen, self._method)}
        try:
            stored = self._read(values)
        except ScoreError as error:  # others may be chosen instead
            why = _("These scores say nothing yet. {why}").format(why=error)
            return {
                **self._address.told(self._told(values)),
                self._headline: headline(why),
                **hidden(self._first_figure, self._body),
                **offered,
            }
        alpha, dark = self._fields.read(values)["alpha"], bool(values[self._dark])
        found = coupling(stored, alpha)
        named = {_name(pair): pair for pair in found.pairs}
        pair = named.get(values[self._pair], found.by_saving[0])
        drawings = coupling_drawings(found, pair)
        chosen = {"pair": values[self._pair]} if values[self._pair] in named else {}
        return {
            **offered,
            **self._address.told({**self._told(values), **chosen}),
            self._pair: gr.Dropdown([*named], value=_name(pair)),
            self._shown: pair,
            self._headline: headline(coupling_verdict(found, pair)),
            self._first_figure: gr.Column(visible=True),
            self._findings: coupling_details(found, pair),
            self._body: gr.Column(visible=True),
            **{self._plots[each]: drawn(draw(dark=dark)) for each, draw in drawings.items()},
            self._needed: self._calculate({**values, self._shown: pair}),
            self._table: self._pairs(found, uploaded=values[self._uploaded] is not None),
        }

    def _pairs(self, found: Coupling, *, uploaded: bool) -> Markup:
        table = coupling_pairs(found)
        if uploaded:
            return table.html()
        counts = battles_of_pairs(self._store, found.scores, self._hidden)
        return with_battles(table, counts).html(address=coupling_addresses(found.scores, counts))

    def _offered(self, values: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return what is chosen of the scores here, and what may be chosen instead."""
        fields = self._of_the_store
        if values[self._uploaded] is not None:
            return values, {each: gr.Dropdown(visible=False) for each in fields.values()}
        metric, category = fields["metric"], fields["category"]
        with self._store.cursor() as cursor:
            known = [
                name
                for name in scores.metrics(cursor)
                if benchmark_scores.scored_models(cursor, name)
            ]
            if not known:
                shown = {each: gr.Dropdown(visible=True) for each in (metric, category)}
                return {**values, metric: None}, shown
            chosen = values[metric] if values[metric] in known else known[0]
            categories = benchmark_scores.scored_categories(cursor, chosen)
            drawings = benchmark_scores.drawings(cursor, chosen)
        wanted = Drawn(**{name: values[fields[name]] for name in _DRAWN})
        way, choices = nearest_drawn(drawings, wanted)
        of_category = values[category] if values[category] in categories else ""
        drawn = {fields[name]: getattr(way, name) for name in choices}
        offering = self._fields.offering
        return {**values, metric: chosen, category: of_category, **drawn}, {
            metric: offering("metric", known, chosen, visible=True),
            category: offering("category", categories, of_category, visible=True),
            **{
                fields[name]: gr.Dropdown(there, value=getattr(way, name), visible=len(there) > 1)
                for name, there in choices.items()
            },
        }

    def _read(self, values: dict[Any, Any]) -> StoredScores:
        if values[self._uploaded] is not None:
            return values[self._uploaded]
        asked = self._fields.read(values)
        way = Drawn(**{name: asked[name] for name in _DRAWN})
        return read_protocol_scores(self._store, asked["metric"], None, asked["category"], way)

    def _calculate(self, values: dict[Any, Any]) -> str:
        pair: PairSavings | None = values[self._shown]
        if pair is None:
            return ""
        asked = self._fields.read(values)
        try:
            return calculator_findings(
                pair, asked["error"] or 0, asked["repetitions"], asked["alpha"]
            )
        except ScoreError as refused:
            return paragraph(str(refused), "hint")


def _name(pair: PairSavings) -> str:
    return f"{pair.model_a} | {pair.model_b}"
