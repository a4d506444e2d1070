"""The risk tab: which model fails least badly, by one metric or a portfolio of metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from coupled_arena.analysis.battles import battles_of_models
from coupled_arena.analysis.risk.replies import VERDICTS, metrics_here, read_stored_scores
from coupled_arena.analysis.risk.result import (
    PORTFOLIO,
    KeptReports,
    RiskReport,
    RiskSettings,
    RiskView,
)
from coupled_arena.analysis.risk.scores import RiskScores, read_risk_scores
from coupled_arena.api.risks import risk
from coupled_arena.core.bounds import UPLOADED
from coupled_arena.core.choices import Copula
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import N_, _
from coupled_arena.core.process import Track
from coupled_arena.core.records import Mode
from coupled_arena.core.tables import ENDINGS
from coupled_arena.stats.risk.dominance_tests import fewest_bootstraps
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.choices import IS_DARK, Fields, translated
from coupled_arena.ui.parts.events import QUIET, UNSHOWN, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel, figure_rows
from coupled_arena.ui.parts.headline import (
    headline,
    headline_place,
    hidden,
    how,
    nothing_yet,
    progress_handler,
    with_progress,
)
from coupled_arena.ui.parts.settings_address import SettingsAddress, read_weights, weights_text
from coupled_arena.ui.parts.uploads import read_once
from coupled_arena.views.addresses import model_address, replies_address
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import risk_drawings
from coupled_arena.views.tables.risk import RiskModel, risk_models, with_battles
from coupled_arena.views.words.methods import RISK as RISK_METHOD
from coupled_arena.views.words.risk import risk_details, risk_verdict

_PAIRINGS = [(N_("The same prompts"), ""), (N_("Independent samples"), "independent")]
_REPLIES_HERE = N_(
    "The replies here, with their length, repetition, refusals, scores and verdicts. Rounds "
    "without a vote are left out, so that they stay blind."
)
_SCORES_FILE = N_(
    "A CSV, JSON or Parquet file with the columns model, prompt, metric and score. Or with "
    "model, prompt and a column for each metric."
)
_MOST_MODELS, _MOST_METRICS, _MOST_SCORES = 30, 10, 400_000  # the command line takes more
_NONE = "-"  # in an address, of a field that is empty and usually is not
_OF_REPLIES = "stored_metrics"  # in an address; those that a portfolio ranks by are others
_SPARE = 2  # times the fewest bootstrap samples that many models take
# Each takes all cores for a second or more.
_ONE: dict[str, Any] = {
    "concurrency_limit": 1,
    "concurrency_id": "risk",
    "api_visibility": "private",
}
_LAYOUT = (
    (registry.QUANTILES, registry.MEAN_RISK),
    (registry.SECOND_ORDER,),
    (registry.FIRST_ORDER,),
)


class RiskTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    stored : StoredReplies
        What is chosen of the replies in the store.
    """

    def __init__(self, stored: StoredReplies, offer: str = "") -> None:
        self._stored = stored
        self._offer = offer
        self._kept = KeptReports()
        self._address = SettingsAddress("risk")

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._scores, self._behind = gr.State(None), gr.State(None)
        self._asked = gr.State({})  # the settings that the address asked for
        self._fields = Fields(risk, "risk")
        self._dark = gr.Checkbox(visible=False)
        with gr.Column() as self._chosen, gr.Row(elem_classes=["at-top"]):
            self._view = gr.Dropdown([], label=_("Rank by"), elem_id="risk-view", min_width=220)
        self._headline = headline_place("risk-said")
        with gr.Column(elem_classes=["opening"]) as self._first_figure:
            tails = figure_panel("risk", registry.TAILS, first=True)
        with gr.Column(visible=False) as self._body:
            with how(RISK_METHOD, N_("How this was computed, and weights")):
                self._build_method()
            self._findings = gr.HTML(elem_id="risk-findings", apply_default_css=False)
            self._table = gr.HTML(elem_id="risk-table", apply_default_css=False)
            self._plots = {registry.TAILS: tails, **figure_rows("risk", _LAYOUT)}
        self._build_sources()
        self._address.build()
        self._wire()

    def _wire(self) -> None:
        opened: dict[str, Any] = {"outputs": self._opened_outputs}
        self._file.upload(self._read, {self._file, self._dark}, **opened, **_ONE)
        self._from_store.click(
            progress_handler(self._read_stored, self._headline, _computing),
            {self._headline, self._dark, *self._stored.inputs},
            **opened,
            **UNSHOWN,
            **_ONE,
        )
        calm: dict[str, Any] = {"trigger_mode": "always_last", **UNSHOWN, **_ONE}
        shown = {self._headline, self._scores, self._behind, self._dark, *self._controls}
        outputs = [self._asked, *self._stored.outputs, self._address.panel]
        asked = self._address.on_open(self._open, self._stored.inputs, outputs)
        asked.then(self._show, {self._asked, *shown, *self._stored.inputs}, **opened, **calm)
        gr.on(
            [
                *(self._view.input, self._pairing.input, *self._fields.changes()),
                *(slider.release for slider in self._weights),
            ],
            progress_handler(self._refresh, self._headline, _computing),
            shown,
            self._outputs,
            **calm,
        )

    def draw_for(self, page: gr.Blocks) -> None:
        """Tell figures which background they have."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)

    def _build_sources(self) -> None:
        title = _("Which replies, or scores from a file")
        with gr.Accordion(title, open=False, elem_id="risk-which"):
            self._from_store = self._stored.build()
            gr.Markdown(_(_SCORES_FILE))
            self._file = gr.File(
                label=_("Scores"), file_types=[*ENDINGS], height=120, elem_id="risk-file"
            )

    def _build_method(self) -> None:
        with gr.Row():
            self._fields.build("metrics", min_width=280)
            self._fields.build("lower_is_better")
        with gr.Row():
            self._weights = [
                gr.Slider(0, 1, 1, step=0.05, visible=False, min_width=200, elem_id=f"weight-{at}")
                for at in range(_MOST_METRICS)
            ]
        with gr.Row():
            self._fields.build("alpha")
            self._fields.build("tail_p")
            self._fields.build("portfolio", gr.Radio)
            self._fields.build_others("judge", "mode", "models")  # of the replies here
            self._pairing = gr.Radio(
                translated(_PAIRINGS), value="", label=_("Models answered"), min_width=280
            )

    @property
    def _controls(self) -> list[Any]:
        return [self._view, self._pairing, *self._fields.all, *self._weights]

    @property
    def _outputs(self) -> list[Any]:
        words = [self._headline, *self._places, self._findings]
        return [*words, self._table, *self._plots.values(), self._address.panel]

    @property
    def _places(self) -> list[gr.Column]:
        return [self._chosen, self._first_figure, self._body]

    @property
    def _opened_outputs(self) -> list[Any]:
        return [self._scores, self._behind, *self._controls, *self._outputs]

    def _open(self, values: dict[Any, Any], event: gr.EventData) -> dict[Any, Any]:
        """Choose replies by an address; without settings they stay as the visitor chose."""
        with user_errors():
            asked = self._address.asked(event)
        offered = self._stored.offered(values, asked)
        return {self._asked: asked, **offered, **self._address.told(asked, event)}

    def _show(self, values: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """Rank by the replies here, unless there is a ranking already and nothing else is asked."""
        if values[self._scores] is not None and not values[self._asked]:
            yield self._told(values)
            return
        try:
            yield from with_progress(partial(self._read_stored, values), self._headline, _computing)
        except gr.Error as error:  # nobody has asked for anything that could be refused
            yield {
                self._headline: nothing_yet(
                    _("Nothing to rank yet. {why}").format(why=error.message), self._offer
                ),
                **hidden(*self._places),
            }

    def _read(self, values: dict[Any, Any]) -> dict[Any, Any]:
        with user_errors():
            with read_once(Path(values[self._file])) as path:
                scores = read_risk_scores(path, name=path.name, bound=UPLOADED)
            return self._opened(scores, None, values)

    def _read_stored(self, values: dict[Any, Any], track: Track = iter) -> dict[Any, Any]:
        with user_errors():
            scores = self._stored.read(values)
            return self._opened(scores, self._stored.behind(values, scores), values, track)

    def _opened(
        self,
        scores: RiskScores,
        behind: BattlesBehind | None,
        values: dict[Any, Any],
        track: Track = iter,
    ) -> dict[Any, Any]:
        """Offer what a new table has, and show it."""
        _check_size(scores)
        names = list(scores.metrics)
        views = names if len(names) == 1 else [PORTFOLIO, *names]
        start = self._start(scores, views, values.get(self._asked) or {})
        opened = {self._scores: scores, self._behind: behind}
        shown = self._refresh({**values, **start, **opened}, track)
        several = len(names) > 1
        chosen, lower = (self._fields[name] for name in ("metrics", "lower_is_better"))
        return {
            **start,
            **shown,
            **opened,
            self._view: gr.Dropdown(views, value=start[self._view], visible=several),
            chosen: gr.Dropdown(names, value=start[chosen], multiselect=True, visible=several),
            lower: gr.Dropdown(names, value=start[lower], multiselect=True),
            **{
                slider: gr.Slider(
                    value=start[slider],
                    label=_("Weight of {name}").format(name=names[at]) if at < len(names) else "",
                    visible=several and at < len(names),
                )
                for at, slider in enumerate(self._weights)
            },
        }

    def _start(
        self, scores: RiskScores, views: list[str], asked: Mapping[str, str]
    ) -> dict[Any, Any]:
        """Return what the controls have for new scores, by an address or else as usual."""
        asked = {name: "" if text == _NONE else text for name, text in asked.items()}
        names = list(scores.metrics)
        usual = {"metrics": names, "lower_is_better": sorted(scores.lower_is_better)}
        fields = self._fields.filled(asked, dict.fromkeys(usual, names))
        fields |= {self._fields[name]: usual[name] for name in usual if name not in asked}
        weights = read_weights(asked.get("weights", ""), names)
        pairings = [value for _label, value in _PAIRINGS]
        pairing = asked.get("pairing", _pairing(scores))
        view = asked.get("view")
        return {
            **fields,
            self._view: view if view in views else views[0],
            self._pairing: pairing if pairing in pairings else _pairing(scores),
            **dict.fromkeys(self._weights, 1.0),
            **{
                slider: min(max(weights.get(name, 1.0), 0.0), 1.0)
                for slider, name in zip(self._weights, names, strict=False)
            },
        }

    def _told(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return the update of the address; scores from a file are in none."""
        scores, behind = values[self._scores], values[self._behind]
        if behind is None:
            return self._address.told({})
        views = [values[self._view]] if len(scores.metrics) == 1 else [PORTFOLIO, *scores.metrics]
        usual = self._start(scores, views, {})
        told = self._fields.told(values)
        for name in ("metrics", "lower_is_better"):
            told.pop(name, None)
            chosen: list[str] = values[self._fields[name]] or []
            if set(chosen) != set(usual[self._fields[name]]):
                told[name] = ",".join(chosen) or _NONE
        weights = {
            name: values[slider]
            for slider, name in zip(self._weights, scores.metrics, strict=False)
            if values[slider] != usual[slider]
        }
        if weights:
            told["weights"] = weights_text(weights)
        for name, field in (("view", self._view), ("pairing", self._pairing)):
            if values[field] != usual[field]:
                told[name] = values[field] or _NONE
        return self._address.told({**behind.asked, **told})

    def _refresh(self, values: dict[Any, Any], track: Track = iter) -> dict[Any, Any]:
        scores: RiskScores | None = values[self._scores]
        if scores is None:
            return hidden(*self._places)
        with user_errors():
            report, view = self._report(scores, values, track)
        dark = bool(values[self._dark])
        return {
            self._headline: headline(risk_verdict(report, view)),
            **self._told(values),
            **{place: gr.Column(visible=True) for place in self._places},
            self._findings: risk_details(report, view),
            self._table: _models(report, view, values[self._behind]),
            **{
                self._plots[figure]: drawn(draw(dark=dark))
                for figure, draw in risk_drawings(report, view).items()
            },
        }

    def _report(
        self, scores: RiskScores, values: dict[Any, Any], track: Track
    ) -> tuple[RiskReport, RiskView]:
        """Rank by what is asked for, and by nothing else: a page should answer at once."""
        wanted, asked = values[self._view], self._fields.read(values)
        joined = wanted == PORTFOLIO and len(scores.metrics) > 1
        names = [name for name in scores.metrics if name in (asked["metrics"] or ())]
        if joined and not names:
            raise ScoreError(_("Choose at least one metric."))
        of_metric = dict(zip(scores.metrics, self._weights, strict=False))
        scores = scores.with_metrics(names if joined else [wanted])
        lower = frozenset(asked["lower_is_better"] or ()) & set(scores.metrics)
        changed = lower ^ scores.lower_is_better
        scores = scores.turned(changed & lower, changed - lower)
        weights = [float(values[of_metric[name]]) for name in scores.metrics]
        settings = RiskSettings(
            paired=False if values[self._pairing] else None,
            alpha=asked["alpha"],
            tail_p=asked["tail_p"],
            copula=asked["portfolio"] if joined else Copula.NONE,
            weights=tuple(weights) if joined and set(weights) != {1.0} else None,
        )
        least = fewest_bootstraps(len(scores.models), settings.plan(scores, paired=False))
        if settings.bootstraps < _SPARE * least:  # too few could tell no two models apart
            settings = replace(settings, bootstraps=_SPARE * least)
        report = self._kept.get(scores, settings, track)
        assert report.view, "one metric or a portfolio is asked for"
        return report, report.view


def _pairing(scores: RiskScores) -> str:
    return "" if scores.paired else "independent"


def _computing(share: float) -> str:
    return _("Ranking the models: {share:.0%} …").format(share=share)


def _models(report: RiskReport, view: RiskView, behind: BattlesBehind | None) -> Markup:
    table = risk_models(report, view)
    if behind is None:
        return table.html()
    return with_battles(table, behind.counts).html(address=behind.address)


def _check_size(scores: RiskScores) -> None:
    """Raise ScoreError where there are more scores than a page takes."""
    total = sum(values.size for values in scores.values)
    if (
        len(scores.metrics) > _MOST_METRICS
        or len(scores.models) > _MOST_MODELS
        or total > _MOST_SCORES
    ):
        text = _(
            "A page takes {models} models, {metrics} metrics and {scores:,} scores at most; the "
            "command line takes more: coupled-arena risk."
        )
        raise ScoreError(
            text.format(models=_MOST_MODELS, metrics=_MOST_METRICS, scores=_MOST_SCORES)
        )


@dataclass(frozen=True)
class BattlesBehind:
    """How many battles each model has answered, of one mode or all.

    Attributes
    ----------
    asked : mapping of str to str
        What was chosen of the replies, as an address has it.
    """

    counts: dict[str, int]
    mode: Mode | None
    asked: Mapping[str, str]

    def address(self, row: RiskModel, column: str) -> str | None:
        """Return where a cell of `tables.risk.with_battles` leads."""
        if not self.counts.get(row.model):
            return None
        to = {
            "model": model_address(row.model),
            "battles": replies_address(row.model, self.mode),
        }
        return to.get(column)


class StoredReplies:
    """Components that choose replies; `read` gives their scores."""

    def __init__(self, store: Store, hidden: Hidden) -> None:
        self._store = store
        self._hidden: Hidden = hidden

    def build(self) -> gr.Button:
        """Lay out the choices inside the current Blocks; return the button that ranks by them."""
        with gr.Column() as self._place:  # on show where there are replies
            gr.Markdown(_(_REPLIES_HERE))
            self._build_choices()
            return gr.Button(_("Rank by the replies here"), elem_id="risk-stored")

    def _build_choices(self) -> None:
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

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return set(self._fields.all)

    @property
    def outputs(self) -> list[Any]:
        """All components that `offered` changes."""
        return [self._place, *self._fields.all]

    def offered(self, values: dict[Any, Any], asked: Mapping[str, str]) -> dict[Any, Any]:
        """Return the fields with what the store has now, chosen as an address asks.

        Parameters
        ----------
        asked : mapping of str to str
            Without settings the fields stay as the visitor chose.
        """
        with self._store.cursor() as cursor:
            models = replies.models(cursor, revealed_only=True)
            metrics = [name for name in metrics_here(cursor) if name != VERDICTS]
            judges = comparisons.judges(cursor)
        fields = self._fields
        if asked:
            known = {"models": models, "metrics": metrics, "judge": judges}
            values = fields.filled({**asked, "metrics": asked.get(_OF_REPLIES, "")}, known)
        return {
            self._place: gr.Column(visible=bool(models)),
            fields["models"]: _several(models, values[fields["models"]]),
            fields["metrics"]: _several(metrics, values[fields["metrics"]]),
            fields["judge"]: fields.offering("judge", judges, values[fields["judge"]]),
            fields["mode"]: values[fields["mode"]],
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
        asked = self._fields.told(values)
        if "metrics" in asked:
            asked[_OF_REPLIES] = asked.pop("metrics")
        return BattlesBehind(counts, mode, asked)


def _several(offered: list[str], chosen: list[str] | None) -> gr.Dropdown:
    still = [name for name in chosen or [] if name in offered]
    return gr.Dropdown(offered, value=still, multiselect=True)
