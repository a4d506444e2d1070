"""The experiments tab: what fewer votes and a judge would have said of the stored votes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, LiveEstimates
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.api.experiments import resample
from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.stats.simulation import resampling
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.stats.simulation.subsets import Sizes, fitting_sizes
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.choices import IS_DARK, Fields
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import drawn, figure_panel
from coupled_arena.ui.parts.headline import NO_VERDICTS, headline, how, nothing_yet
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import resampling_drawings
from coupled_arena.views.words.experiments import resampling_verdict
from coupled_arena.views.words.methods import EXPERIMENTS as METHOD

_TITLE = N_("Experiments")
_SHOWN = (
    registry.SIZE_AGAINST_INTERSECTION,
    registry.BY_NUMBER_OF_VOTES,
    registry.POSITIONS,
    registry.DRAWN_RANK_SETS,
)
_ALPHAS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.025, 0.01)
_UNASKED = N_("Would fewer votes and a judge have ranked the models as well? Run it to see.")
_OURS = (Weighting.STRATIFIED, Covariance.CORRECTED, Cutoff.MAX_T)
_PAPERS = (Weighting.COUNT, Covariance.PUBLISHED, Cutoff.CHI2)


class ExperimentsTab:
    """Components and handlers of the tab."""

    def __init__(self, store: Store, live: LiveEstimates, offer: str = "") -> None:
        self._store = store
        self._example = offer
        self._live = live
        self._stops: dict[str, threading.Event] = {}  # by session, while its experiment runs

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._fields = Fields(resample, "experiment")
        build = self._fields.build
        self._dark = gr.Checkbox(visible=False)
        self._headline = gr.HTML(
            headline(_(_UNASKED)), elem_id="experiment-verdict", apply_default_css=False
        )
        with gr.Column() as self._chosen:
            with gr.Row():
                build("judge")
                self._human = gr.Textbox(
                    label=_("Votes that are kept"), placeholder=_("one or more numbers: 66, 198")
                )
                build("total")
                build("repeats")
            with how(METHOD, N_("How this is computed")), gr.Row():
                build("balanced")
                self._papers = gr.Checkbox(
                    False,
                    label=_("As published: count weighting, published covariance, chi2 cut-off"),
                )
            with gr.Row():
                run = gr.Button(_("Run"), variant="primary", elem_id="run-experiment")
                stop = gr.Button(_("Stop"), elem_id="stop-experiment", visible=False)
        self._offered = gr.State(None)  # sizes that fit the store, until they are changed
        outcome = gr.Markdown(elem_id="experiment-said")
        figures: list[Any] = []
        for figure in _SHOWN:
            with gr.Column(visible=False) as panel:
                figures += [panel, figure_panel("experiment", figure)]
        asked = [run.click, self._human.submit, self._fields["total"].submit]
        gr.on(asked, _stop_there, None, stop, **FREE)
        running = gr.on(
            asked,
            self._run,
            {*self._fields.all, self._human, self._papers, self._dark},
            [outcome, self._headline, *figures],
            api_visibility="private",
            concurrency_limit=1,  # each takes a core for seconds
        )
        running.then(_stop_gone, None, stop, **FREE)  # also after a refusal
        stop.click(self._stop, None, None, **FREE)
        self._fields["judge"].input(self._fit, self._sized, self._sized[1:], **FREE)

    @property
    def _sized(self) -> list[Any]:
        judge, total, balanced = (self._fields[name] for name in ("judge", "total", "balanced"))
        return [judge, self._human, total, balanced, self._offered]

    def offer_when_shown(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Fill the choice of judges and the sizes whenever the tab is selected."""
        page.load(None, None, self._dark, js=IS_DARK, **QUIET)
        outputs = [self._headline, self._chosen, *self._sized]
        tabs.select(self._offer, self._sized, outputs, **QUIET)

    def _offer(
        self,
        chosen: str | None,
        human: str,
        total: float | None,
        balanced: bool,
        offered: Sizes | None,
        event: gr.SelectData,
    ) -> Any:
        if event.value != _(_TITLE):
            return [gr.skip()] * (2 + len(self._sized))
        with self._store.cursor() as cursor:
            names = comparisons.judges(cursor)
        judge = chosen if chosen in names else next(iter(names), None)
        first = gr.skip() if chosen else headline(_(_UNASKED))
        return [
            first if judge else nothing_yet(_(NO_VERDICTS), self._example),
            gr.Column(visible=bool(judge)),
            gr.Dropdown(names, value=judge),
            *self._fit(judge, human, total, balanced, offered),
        ]

    def _fit(
        self,
        judge: str | None,
        human: str,
        total: float | None,
        balanced: bool,
        offered: Sizes | None,
    ) -> list[Any]:
        """Offer sizes that there are comparisons for, unless somebody has chosen others."""
        untouched = not (human or total)
        if offered:
            there = str(offered.human), offered.total, offered.balanced
            untouched = (human, total, balanced) == there
        if not (judge and untouched):
            return [gr.skip()] * 4
        try:
            fitting = fitting_sizes(self._read(judge).judged.with_both)
        except ValueError:  # said when it is run
            return [gr.skip()] * 4
        return [str(fitting.human), fitting.total, fitting.balanced, fitting]

    def _read(self, judge: str) -> BoardEstimates:
        return self._live.get(Selection(judge=judge))

    def _stop(self, request: gr.Request) -> None:
        if event := self._stops.get(request.session_hash or ""):
            event.set()

    def _run(
        self,
        values: dict[Any, Any],
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008  (how Gradio hands it in)
    ) -> list[Any]:
        with user_errors(), self._stoppable(request.session_hash or "") as stopped:
            asked = self._fields.read(values)
            if not (judge := asked["judge"]):
                raise ArenaError(
                    _("There are no verdicts here: let a judge judge, or import some.")
                )
            read = self._read(judge)
            weighting, covariance, cutoff = _PAPERS if values[self._papers] else _OURS

            def track(numbers: range) -> Iterator[int]:
                for number in numbers:
                    progress((number, len(numbers)), unit=_("repeats"))
                    yield number
                    if stopped.is_set():
                        return

            try:
                plan = resampling.ResamplingPlan(
                    total=asked["total"] or 0,
                    human=_numbers(values[self._human]),
                    repeats=asked["repeats"],
                    alphas=_ALPHAS,
                    balanced=asked["balanced"],
                    weighting=weighting,
                    covariance=covariance,
                    cutoff=cutoff,
                )
                result = resampling.resample(read.judged.with_both, plan, track)
            except ValueError as error:
                raise ArenaError(str(error)) from error
            sentence = headline(resampling_verdict(result, judge))
            words = [_words(result), *pooled_words(read.reworded), *result.warnings]
            return [" ".join(words), sentence, *_figures(result, dark=bool(values[self._dark]))]

    @contextmanager
    def _stoppable(self, session: str) -> Iterator[threading.Event]:
        event = self._stops[session] = threading.Event()
        try:
            yield event
        finally:
            self._stops.pop(session, None)


def _stop_there() -> gr.Button:
    return gr.Button(visible=True)


def _stop_gone() -> gr.Button:
    return gr.Button(visible=False)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(item) for item in text.replace(",", " ").split())
    except ValueError:
        words = _("{text!r} are not whole numbers separated by commas.")
        raise ArenaError(words.format(text=text)) from None


def _figures(result: Resampling, *, dark: bool) -> list[Any]:
    """Return, for each figure, whether to show it and what to show."""
    drawings, shown = resampling_drawings(result), list[Any]()
    for figure in _SHOWN:
        draw = drawings.get(figure)
        shown.append(gr.Column(visible=draw is not None))
        shown.append(drawn(draw(dark=dark)) if draw else gr.skip())
    return shown


def _words(result: Resampling) -> str:
    wanted, done = result.plan.repeats, result.repeats
    if done < wanted:
        text = ngettext(
            "Stopped after {done} of {n} repeat.", "Stopped after {done} of {n} repeats.", wanted
        )
        return text.format(done=done, n=wanted)
    return ngettext("{n} repeat.", "{n} repeats.", done).format(n=done)
