"""The leaderboard tab: who wins how often, live; below its handlers, what visitors choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components.plot import PlotData

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, LiveEstimates
from coupled_arena.analysis.leaderboard.by_category import LiveCategories
from coupled_arena.analysis.leaderboard.memory import with_sizes
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.analysis.model_sizes import LiveSizes
from coupled_arena.analysis.reasons import read_reasons
from coupled_arena.analysis.style.result import LiveStyle
from coupled_arena.api.checks import SELECTING, selection_of
from coupled_arena.api.rankings import BoardSettings, leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.language import N_, _
from coupled_arena.core.verdicts import MOST_JUDGES
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, reasons
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import BY_DEFAULT, Counting, excluded
from coupled_arena.ui.parts.board_panels import MemoryPanel, StylePanel
from coupled_arena.ui.parts.choices import IS_DARK, Fields
from coupled_arena.ui.parts.events import FREE, QUIET, user_errors
from coupled_arena.ui.parts.figure_panel import NARROW, drawn, figure_panel
from coupled_arena.ui.parts.headline import headline, headline_place, how, nothing_yet
from coupled_arena.ui.parts.settings_address import SettingsAddress, read_weights, weights_text
from coupled_arena.ui.parts.visitor import visitor
from coupled_arena.views.addresses import BoardAddresses, listed_among
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.leaderboard import (
    mode_figure,
    mode_pairs_figure,
    pair_heatmap,
    rank_figure,
    size_figure,
    win_rate_figure,
)
from coupled_arena.views.markup import paragraph
from coupled_arena.views.tables.board_page import board_table, category_table
from coupled_arena.views.tables.leaderboard import pair_table
from coupled_arena.views.tables.reasons import reason_table
from coupled_arena.views.words import methods
from coupled_arena.views.words.leaderboard import judge_words, mode_words
from coupled_arena.views.words.verdict import board_headline

_TITLE = N_("Leaderboard")
MOST_MIXED = 8
"""Categories that have a slider."""

_REFRESH = 0.6  # seconds between looks at the store's version while the tab is shown


class LeaderboardTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}
        Battles that tell nothing of a model, as in the Past battles tab.
    trends : LiveTrends
        Lines of the board with the votes that count by default.
    """

    def __init__(
        self,
        store: Store,
        live: LiveEstimates,
        styles: LiveStyle,
        hidden: Hidden,
        trends: LiveTrends,
        offer: str = "",
    ) -> None:
        self._store = store
        self._sizes_known = LiveSizes(store, hidden)
        self._offer_example = offer
        self._boards = {BY_DEFAULT: (live, styles, trends, LiveCategories(store))}
        for too, named in ((True, False), (False, True), (True, True)):
            other = store.counting(excluded=too, named=named)
            self._boards[other.counted] = (
                *(LiveEstimates(other), LiveStyle(other)),
                *(LiveTrends(other), LiveCategories(other)),
            )
        self._style = StylePanel()
        self._memory = MemoryPanel()
        self._controls = BoardControls(store)
        self._address = SettingsAddress("leaderboard")

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        # (choice, version, what was counted, what was drawn) on show in this session
        self._seen = gr.State(None)
        self._timer = gr.Timer(_REFRESH, active=False)
        self._open_heat = gr.State(False)
        self._open_why = gr.State(False)
        with gr.Column() as self._chosen:
            self._controls.build()
        self._headline = headline_place("board-said")
        self._table = gr.HTML(elem_id="board", apply_default_css=False)
        with gr.Column() as self._method, how(methods.BOARD):
            gr.HTML(paragraph(_(methods.LINES), "method"), apply_default_css=False)
            self._controls.build_method()
        with gr.Accordion(
            _("By category, and your own mix"), open=False, elem_id="board-by-category"
        ) as self._by_category:
            self._controls.build_mix()
            self._heat = gr.HTML(elem_id="board-categories", apply_default_css=False)
        with gr.Accordion(
            _("Why people preferred one to the other"), open=False, elem_id="board-why"
        ) as self._why:
            self._reasons = gr.HTML(elem_id="board-reasons", apply_default_css=False)
        self._style.build()
        with gr.Column(visible=False) as self._pictures:
            with gr.Row():
                with gr.Column(min_width=NARROW):
                    self._ranks = figure_panel("board", registry.RANK_SETS)
                with gr.Column(min_width=NARROW):
                    self._rates = figure_panel("board", registry.WIN_RATES)
            with gr.Column(visible=False) as self._judge:
                self._sizes = figure_panel("board", registry.RANK_SET_SIZES)
                self._saved = gr.HTML(elem_id="board-saved", apply_default_css=False)
            self._memory.build()
            self._pairs = figure_panel("board", registry.PAIRS)
            self._pair_table = gr.HTML(elem_id="board-pair-table", apply_default_css=False)
        with gr.Column(visible=False) as self._modes:
            gr.Markdown(_("## Coupled against independent"))
            self._changes = gr.HTML(elem_id="board-changes", apply_default_css=False)
            self._mode_models = figure_panel("board", registry.MODES)
            self._mode_pairs = figure_panel("board", registry.MODE_PAIRS)
        self._address.build()
        wiring: dict[str, Any] = {"inputs": self._inputs, "outputs": self._outputs}
        self._timer.tick(self._refresh, **wiring, **FREE)
        self._address.on_open(self._open, **wiring)
        opened = {"inputs": self._inputs, "outputs": [self._heat, self._open_heat]}
        self._by_category.expand(self._show_categories, **opened, **FREE)
        self._by_category.collapse(lambda: False, None, self._open_heat, **FREE)
        why = {"inputs": self._inputs, "outputs": [self._reasons, self._open_why]}
        self._why.expand(self._show_reasons, **why, **FREE)
        self._why.collapse(lambda: False, None, self._open_why, **FREE)
        gr.on(self._controls.changes, self._redraw, **wiring, trigger_mode="always_last", **FREE)

    @property
    def _inputs(self) -> set[Any]:
        return {self._seen, self._open_heat, self._open_why, *self._controls.inputs}

    @property
    def _outputs(self) -> list[Any]:
        outputs = [
            *(self._seen, self._headline, self._chosen, self._method, self._table, self._pictures),
            *(self._ranks, self._rates, self._pairs),
            *(self._pair_table, self._judge, self._sizes, self._saved, *self._style.outputs),
            *self._memory.outputs,
            *(self._modes, self._changes, self._mode_models, self._mode_pairs),
            *(self._address.panel, self._by_category, self._heat, self._why, self._reasons),
            *(*self._controls.settings, *self._controls.offered),
        ]
        return list(dict.fromkeys(outputs))

    def live_only_while_shown(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Let the timer run only while this tab is the one on show."""
        page.load(None, None, self._controls.dark, js=IS_DARK, **QUIET)
        tabs.select(_timer_for_tab, None, self._timer, **QUIET)
        offered = self._controls.offered
        tabs.select(self._offer, self._controls.inputs, offered, **FREE)

    def _offer(self, values: dict[Any, Any], event: gr.SelectData) -> dict[Any, Any]:
        if event.value != _(_TITLE):
            return {self._controls.judged: gr.skip()}
        return self._controls.offer(values)

    # One function for two events would share one queue.
    def _redraw(self, values: dict[Any, Any], request: gr.Request) -> Iterator[dict[Any, Any]]:
        yield from self._refresh(values, request)

    def _open(
        self, values: dict[Any, Any], request: gr.Request, event: gr.EventData
    ) -> Iterator[dict[Any, Any]]:
        """Show the settings that an address asks for; without any, what the visitor chose."""
        with user_errors():
            asked = self._address.asked(event)
            chosen = self._controls.filled(asked) if asked else {}
            values = {**values, **chosen}
            offered = self._controls.offer(values) if asked else {}
            yield {
                **offered,
                **{field: chosen[field] for field in chosen if field not in offered},
                **self._address.told(self._controls.told(values), event),
            }
        yield from self._refresh(values, request)

    def _refresh(self, values: dict[Any, Any], request: gr.Request) -> Iterator[dict[Any, Any]]:
        """Yield the table as soon as it is known, then the figures."""
        with user_errors():
            choice = self._controls.read(values, request)
            seen = values[self._seen]
            if seen and seen[:2] == (choice, self._store.version()):
                yield {self._seen: gr.skip()}
                return
            if seen and seen[0] != choice:
                yield self._address.told(self._controls.told(values))
            live, styles, trends, _categories = self._boards[choice.counting]
            settings = choice.settings
            estimates = live.get(
                choice.selection,
                settings.method,
                judge_alone=settings.source is BoardSource.JUDGE,
            )
            there = self._any_compared()
            counted = _counted(estimates), there  # the first verdicts change no count of votes
            if seen and (seen[0], seen[2]) == (choice, counted):
                yield {self._seen: (choice, estimates.version, *seen[2:])}
                return
            board = settings.concluded(estimates)
            to = BoardAddresses(board, mine=choice.selection.voter is not None)
            said = board_headline(board)
            trend = trends.get(estimates, board.source, board.alpha, wait=False)
            yield {
                self._headline: headline(said) if there else nothing_yet(said, self._offer_example),
                self._chosen: gr.Column(visible=there),
                self._method: gr.Column(visible=there),
                self._by_category: gr.Accordion(visible=there and self._controls.mixable),
                self._why: gr.Accordion(visible=there and self._has_reasons()),
                self._table: board_table(board, to.standing, trend, lines=True) if there else "",
            }
            drawing = self._drawn(settings.styled(board, styles.get), choice, to)
            if not (seen and seen[2] == counted and seen[0].counts_like(choice)):
                drawing |= self._drawn_of_counts(board, choice, to)
            figures = {plot.elem_id: hash(figure.plot) for plot, figure in _figures(drawing)}
            before = seen[3] if seen else {}
            for plot, _ in _figures(drawing):
                if figures[plot.elem_id] == before.get(plot.elem_id):
                    drawing[plot] = gr.skip()
            yield {self._seen: (choice, estimates.version, counted, before | figures), **drawing}
            if trend is None and (late := trends.get(estimates, board.source, board.alpha)):
                yield {self._table: board_table(board, to.standing, late, lines=True)}
            yield from self._opened(board, choice, values)

    def _opened(self, board: Leaderboard, choice: BoardChoice, values: Any) -> Iterator[Any]:
        if values[self._open_why]:
            yield {self._reasons: self._reasons_of(choice)}
        if values[self._open_heat]:
            yield {self._heat: self._categories(board, choice)}

    def _show_categories(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Return the table of categories, which is computed only for those who open it."""
        with user_errors():
            choice = self._controls.read(values, request)
            settings = choice.settings
            board = settings.concluded(
                self._boards[choice.counting][0].get(
                    choice.selection,
                    settings.method,
                    judge_alone=settings.source is BoardSource.JUDGE,
                )
            )
            return {self._heat: self._categories(board, choice), self._open_heat: True}

    def _show_reasons(self, values: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
        """Return the reasons by pair, which are counted only for those who open them."""
        with user_errors():
            choice = self._controls.read(values, request)
            return {self._reasons: self._reasons_of(choice), self._open_why: True}

    def _reasons_of(self, choice: BoardChoice) -> str:
        alpha = choice.settings.alpha
        return reason_table(read_reasons(self._store, choice.selection, alpha), alpha)

    def _categories(self, board: Leaderboard, choice: BoardChoice) -> str:
        categories = self._boards[choice.counting][3]
        found = categories.get(board.estimates, board.source, board.alpha, board.cutoff)
        return category_table(board, found)

    def _any_compared(self) -> bool:
        """Tell whether some choice has something to show: verdicts alone are a judge's board."""
        with self._store.cursor() as cursor:
            return comparisons.any_there(cursor)

    def _has_reasons(self) -> bool:
        with self._store.cursor() as cursor:
            return reasons.any_there(cursor)

    def _drawn(self, board: Leaderboard, choice: BoardChoice, to: BoardAddresses) -> dict[Any, Any]:
        """Return what depends on the error level."""
        there = board.estimate is not None
        changed: dict[Any, Any] = {self._pictures: gr.Column(visible=there)}
        if board.estimate is not None:
            rows = [at for row in board.standings if (at := to.model(row.model))]
            changed[self._ranks] = drawn(rank_figure(board, dark=choice.dark), rows)
            changed[self._rates] = drawn(win_rate_figure(board, dark=choice.dark), rows)
            sized = with_sizes(board, self._sizes_known.get)
            changed |= self._memory.shown(sized, dark=choice.dark)
        powered = (
            BoardSource.PPR in board.estimates.by_source and choice.selection.judge is not None
        )
        changed |= self._style.shown(board.style, dark=choice.dark)
        changed[self._judge] = gr.Column(visible=powered)
        if powered:
            changed[self._saved] = judge_words(board)
            changed[self._sizes] = drawn(size_figure(board, dark=choice.dark))
        return changed

    def _drawn_of_counts(
        self, board: Leaderboard, choice: BoardChoice, to: BoardAddresses
    ) -> dict[Any, Any]:
        """Return what is the same at every error level."""
        changed: dict[Any, Any] = {}
        if board.estimate is not None:
            names = [row.model for row in board.standings]
            cells = [[to.pair(a, b) if a != b else None for b in names] for a in names]
            changed[self._pairs] = drawn(pair_heatmap(board, dark=choice.dark), cells)
            changed[self._pair_table] = pair_table(board, to.pair)
        compared = board.estimates.modes is not None
        changed[self._modes] = gr.Column(visible=compared)
        if compared:
            changed[self._changes] = mode_words(board)
            changed[self._mode_models] = drawn(mode_figure(board, dark=choice.dark))
            changed[self._mode_pairs] = drawn(mode_pairs_figure(board, dark=choice.dark))
        return changed


def _timer_for_tab(event: gr.SelectData) -> gr.Timer:
    return gr.Timer(_REFRESH, active=event.value == _(_TITLE))


def _figures(drawing: dict[Any, Any]) -> list[tuple[gr.Plot, PlotData]]:
    return [(plot, value) for plot, value in drawing.items() if isinstance(value, PlotData)]


def _counted(estimates: BoardEstimates) -> int:
    """Return a number that changes with what is shown: few new battles without votes do."""
    votes, judged = estimates.votes, estimates.judged
    arrays = (votes.counts, estimates.identical.counts, judged.labelled, judged.unlabelled)
    return hash(
        (
            *(votes.models, estimates.idle, estimates.mixed),
            *(estimates.left_out, estimates.reworded, estimates.excluded),
            *(array.tobytes() for array in arrays),
        )
    )


_DRAWN_ANEW = ("alpha", "cutoff", "sets", "control")  # without counting anew


@dataclass(frozen=True)
class BoardChoice:
    """Everything that decides what a board shows."""

    settings: BoardSettings
    selection: Selection
    dark: bool
    counting: Counting = BY_DEFAULT

    def counts_like(self, other: BoardChoice) -> bool:
        """Return whether the other choice counts the same comparisons in the same way."""
        same = {name: getattr(self.settings, name) for name in _DRAWN_ANEW}
        return self == replace(other, settings=replace(other.settings, **same))


class BoardControls:
    """The components; `read` makes a `BoardChoice` of their values."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the controls inside the current Blocks."""
        self._fields = Fields(leaderboard, "board")
        build = self._fields.build
        self.dark = gr.Checkbox(visible=False)
        with gr.Row(elem_classes=["at-top"]):
            build("mode", gr.Radio, min_width=160)
            with gr.Row(visible=False, scale=2, elem_classes=["at-top"]) as self.judged:
                build("source", gr.Radio, scale=2, min_width=160)
                build("judge", scale=1, min_width=120)

    def build_method(self) -> None:
        """Lay out the other controls inside the current Blocks."""
        build = self._fields.build
        self.more_judges = gr.Dropdown(
            [],
            multiselect=True,
            max_choices=MOST_JUDGES - 1,
            label=_("More judges"),
            info=_(
                "Added to people's votes, each with its own weight, where all of them have judged."
            ),
            visible=False,
            elem_id="board-more-judges",
        )
        build("control", gr.Radio)
        build("alpha")
        with gr.Row():
            for name in ("weighting", "covariance", "cutoff"):
                build(name)
        with gr.Row():
            self._fields.build_others("category", "language")
        with gr.Row():
            build("category")
            build("language")
            self.all_votes = gr.Checkbox(
                label=_("Excluded votes count, too"),
                info=_("The board with the votes that are otherwise left out."),
                visible=False,
                elem_id="board-all-votes",
            )
            self.named = gr.Checkbox(
                label=_("Votes on answers that name a model count, too"),
                info=_("Readers of such an answer may have known its model."),
                visible=False,
                elem_id="board-named",
            )
            self.mine = gr.Checkbox(
                label=_("My votes only"),
                info=_("A leaderboard of your votes only."),
                elem_id="board-mine",
            )

    def build_mix(self) -> None:
        """Lay out a slider for each category, inside the current Blocks."""
        gr.HTML(
            paragraph(_("Your mix: what each category weighs. All at 0: no mix."), "hint"),
            apply_default_css=False,
        )
        self._named = gr.State([])  # the categories of the sliders
        with gr.Row():
            self._weights = [
                gr.Slider(
                    *(0, 10),
                    value=0,
                    step=1,
                    visible=False,
                    min_width=160,
                    elem_id=f"board-mix-{place}",
                )
                for place in range(1, MOST_MIXED + 1)
            ]

    @property
    def mixable(self) -> bool:
        """Whether there are categories to mix."""
        return len(self._mixed()) > 1

    def _mixed(self) -> list[str]:
        """Return the categories that have a slider: those with the most votes."""
        with self._store.cursor() as cursor:
            return list(comparisons.counted_by_category(cursor, Selection()))[:MOST_MIXED]

    def _mix(self, values: dict[Any, Any]) -> dict[str, float]:
        weights = (values[each] or 0 for each in self._weights)
        named = zip(values[self._named], weights, strict=False)
        return {name: min(max(weight, 0), 10) for name, weight in named if weight}

    def _mixing(self, weights: dict[str, float]) -> dict[Any, Any]:
        """Return the sliders for the categories that there are now."""
        named = self._mixed()
        empty = [None] * (MOST_MIXED - len(named))
        return {
            self._named: named,
            **{
                slider: gr.Slider(visible=False, value=0)
                if name is None
                else gr.Slider(visible=True, label=name, value=weights.get(name, 0))
                for slider, name in zip(self._weights, [*named, *empty], strict=True)
            },
        }

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return {self.dark, self._named, *self._weights, *self._fields.all, *self._other_fields}

    @property
    def changes(self) -> list[Any]:
        """Events after which the board may have to be drawn again."""
        return [
            *self._fields.changes(),
            *(component.input for component in self._other_fields),
            *(slider.release for slider in self._weights),
        ]

    @property
    def _other_fields(self) -> list[Any]:
        """What is no option of the analysis: of the store, or of who asks."""
        return [self.more_judges, self.all_votes, self.named, self.mine]

    def read(self, values: dict[Any, Any], request: gr.Request) -> BoardChoice:
        """Return what the visitor chose; whose votes are "mine" only the request says."""
        asked = self._fields.read(values)
        source, judge = asked["source"], asked.pop("judge")
        more = values[self.more_judges] if source is BoardSource.PPR else []
        judges = () if source is BoardSource.HUMAN or not judge else (judge, *(more or ()))
        given = {name: asked[name] for name in SELECTING if name in asked}
        selection = selection_of(self._store, judge=judges, **given)
        voter = visitor(request) if values[self.mine] else None
        return BoardChoice(
            settings=BoardSettings.of({**asked, "mix": self._mix(values)}),
            selection=replace(selection, voter=voter),
            dark=bool(values[self.dark]),
            counting=Counting(bool(values[self.all_votes]), bool(values[self.named])),
        )

    @property
    def settings(self) -> list[Any]:
        """The components that an address fills."""
        return [*self._fields.all, *self._other_fields, self._named, *self._weights]

    @property
    def _flags(self) -> dict[str, Any]:
        return {"all_votes": self.all_votes, "named": self.named, "mine": self.mine}

    def told(self, values: dict[Any, Any]) -> dict[str, str]:
        """Return what the visitor chose as an address has it: what differs from the first board."""
        told = self._fields.told(values)
        told.pop("judge", None)
        if (values[self._fields["source"]] or BoardSource.HUMAN) != BoardSource.HUMAN:
            judges = values[self._fields["judge"]], *(values[self.more_judges] or ())
            told["judge"] = ",".join(filter(None, judges))
        if mix := self._mix(values):
            told["mix"] = weights_text(mix)
        return told | {name: "1" for name, field in self._flags.items() if values[field]}

    def filled(self, asked: dict[str, str]) -> dict[Any, Any]:
        """Return the values of all settings by an address; what it leaves open is as at first."""
        known = self._known()
        judges = listed_among(asked.get("judge") or "", known["judge"])
        offered = {name: list(there) for name, there in known.items()}
        first = {"judge": next(iter([*judges, *known["judge"]]), "")}
        values = self._fields.filled({**asked, **first}, offered)
        values[self.more_judges] = judges[1:MOST_JUDGES]
        named = self._mixed()
        weights = read_weights(asked.get("mix", ""), named)
        values[self._named] = named
        values |= {
            slider: min(max(weights.get(name, 0), 0), 10)
            for slider, name in zip(self._weights, named, strict=False)
        }
        return values | {field: asked.get(name) == "1" for name, field in self._flags.items()}

    def _known(self) -> dict[str, list[str]]:
        with self._store.cursor() as cursor:
            return {
                "judge": comparisons.judges(cursor),
                "category": comparisons.categories(cursor),
                "language": comparisons.languages(cursor),
            }

    @property
    def offered(self) -> list[Any]:
        """The components whose choices come from the store."""
        left_out = self.all_votes, self.named
        known = [self._fields[name] for name in ("judge", "category", "language")]
        mixed = [self._named, *self._weights]
        return [self.judged, self.more_judges, *known, *left_out, *mixed]

    def offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return these components with what the store has now; what was chosen stays so."""
        known, fields = self._known(), self._fields
        with self._store.cursor() as cursor:
            left_out = excluded(cursor)
        judges = known["judge"]
        return {
            self.judged: gr.Row(visible=bool(judges)),
            self.more_judges: gr.Dropdown(
                choices=judges, value=values[self.more_judges] or [], visible=len(judges) > 1
            ),
            **{
                fields[name]: fields.offering(name, there, values[fields[name]])
                for name, there in known.items()
            },
            self.all_votes: gr.Checkbox(value=values[self.all_votes], visible=left_out.votes > 0),
            self.named: gr.Checkbox(value=values[self.named], visible=left_out.named > 0),
            **self._mixing(self._mix(values)),
        }
