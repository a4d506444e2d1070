"""The risk tab: which model fails least badly, by one metric or a portfolio of metrics."""

from __future__ import annotations

from collections.abc import Iterator
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
from coupled_arena.ui.parts.uploads import read_once
from coupled_arena.views.addresses import model_address, replies_address
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import risk_drawings
from coupled_arena.views.tables.risk import RiskModel, risk_models, with_battles
from coupled_arena.views.words.methods import RISK as RISK_METHOD
from coupled_arena.views.words.risk import risk_details, risk_verdict

_TITLE = N_("Risk")
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

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._scores, self._behind = gr.State(None), gr.State(None)
        self._fields = Fields(risk, "risk")
        self._dark = gr.Checkbox(visible=False)
        self._headline = headline_place("risk-said")
        with gr.Column(elem_classes=["opening"]) as self._first_figure:
            tails = figure_panel("risk", registry.TAILS, first=True)
        with gr.Column(visible=False) as self._body:
            self._build_controls()
            self._findings = gr.HTML(elem_id="risk-findings", apply_default_css=False)
            self._table = gr.HTML(elem_id="risk-table", apply_default_css=False)
            self._plots = {registry.TAILS: tails, **figure_rows("risk", _LAYOUT)}
        self._build_sources()
        opened: dict[str, Any] = {"outputs": self._opened_outputs}
        self._file.upload(self._read, {self._file, self._dark}, **opened, **_ONE)
        self._from_store.click(
            progress_handler(self._read_stored, self._headline, _computing),
            {self._headline, self._dark, *self._stored.inputs},
            **opened,
            **UNSHOWN,
            **_ONE,
        )
        gr.on(
            [
                *(self._view.input, self._pairing.input, *self._fields.changes()),
                *(slider.release for slider in self._weights),
            ],
            progress_handler(self._refresh, self._headline, _computing),
            {self._headline, self._scores, self._behind, self._dark, *self._controls},
            self._outputs,
            trigger_mode="always_last",
            **UNSHOWN,
            **_ONE,
        )

    def wire(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Tell figures which background they have, and show and offer what the store has."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        self._stored.offer_when_shown(tabs, _(_TITLE))
        inputs = {self._scores, self._dark, *self._stored.inputs}
        tabs.select(self._show, inputs, self._opened_outputs, **UNSHOWN, **_ONE)

    def _build_sources(self) -> None:
        title = _("Which replies, or scores from a file")
        with gr.Accordion(title, open=False, elem_id="risk-which"):
            self._from_store = self._stored.build()
            gr.Markdown(_(_SCORES_FILE))
            self._file = gr.File(
                label=_("Scores"), file_types=[*ENDINGS], height=120, elem_id="risk-file"
            )

    def _build_controls(self) -> None:
        with gr.Row():
            self._view = gr.Dropdown([], label=_("Rank by"), elem_id="risk-view", min_width=220)
            self._fields.build("metrics", min_width=280)
            self._fields.build("lower_is_better")
        with gr.Row():
            self._weights = [
                gr.Slider(0, 1, 1, step=0.05, visible=False, min_width=200, elem_id=f"weight-{at}")
                for at in range(_MOST_METRICS)
            ]
        with how(RISK_METHOD, N_("How this was computed")), gr.Row():
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
        words = [self._headline, self._first_figure, self._body, self._findings]
        return [*words, self._table, *self._plots.values()]

    @property
    def _opened_outputs(self) -> list[Any]:
        return [self._scores, self._behind, *self._controls, *self._outputs]

    def _show(self, values: dict[Any, Any], event: gr.SelectData) -> Iterator[dict[Any, Any]]:
        """Rank by the replies here, unless there is a ranking already."""
        if event.value != _(_TITLE) or values[self._scores] is not None:
            yield {self._headline: gr.skip()}
            return
        try:
            yield from with_progress(partial(self._read_stored, values), self._headline, _computing)
        except gr.Error as error:  # nobody has asked for anything that could be refused
            yield {
                self._headline: nothing_yet(
                    _("Nothing to rank yet. {why}").format(why=error.message), self._offer
                ),
                **hidden(self._first_figure, self._body),
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
        pairing = "" if scores.paired else "independent"
        metrics, lower = self._fields["metrics"], self._fields["lower_is_better"]
        start = {
            **{each: each.value for each in self._fields.all},
            self._view: views[0],
            metrics: names,
            lower: sorted(scores.lower_is_better),
            self._pairing: pairing,
            **dict.fromkeys(self._weights, 1.0),
        }
        opened = {self._scores: scores, self._behind: behind}
        shown = self._refresh({**values, **start, **opened}, track)
        several = len(names) > 1
        return {
            **start,
            **shown,
            **opened,
            self._view: gr.Dropdown(views, value=views[0], visible=several),
            metrics: gr.Dropdown(names, value=names, multiselect=True, visible=several),
            lower: gr.Dropdown(names, value=start[lower], multiselect=True),
            **{
                slider: gr.Slider(
                    value=1.0,
                    label=_("Weight of {name}").format(name=names[at]) if at < len(names) else "",
                    visible=several and at < len(names),
                )
                for at, slider in enumerate(self._weights)
            },
        }

    def _refresh(self, values: dict[Any, Any], track: Track = iter) -> dict[Any, Any]:
        scores: RiskScores | None = values[self._scores]
        if scores is None:
            return hidden(self._first_figure, self._body)
        with user_errors():
            report, view = self._report(scores, values, track)
        dark = bool(values[self._dark])
        return {
            self._headline: headline(risk_verdict(report, view)),
            self._first_figure: gr.Column(visible=True),
            self._body: gr.Column(visible=True),
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
    """How many battles each model has answered, of one mode or all."""

    counts: dict[str, int]
    mode: Mode | None

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

    def offer_when_shown(self, tabs: gr.Tabs, title: str) -> None:
        """Fill the choices whenever the tab of this title is selected."""

        def offer(values: dict[Any, Any], event: gr.SelectData) -> dict[Any, Any]:
            return self._offer(values) if event.value == title else {offered[0]: gr.skip()}

        known = [self._fields[name] for name in ("models", "metrics", "judge")]
        offered = [self._place, *known]
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
            self._place: gr.Column(visible=bool(models)),
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
