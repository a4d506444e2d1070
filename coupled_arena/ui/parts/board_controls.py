"""What the visitor chooses on the leaderboard: whose word, which comparisons, which method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from coupled_arena.analysis.leaderboard.read import Method
from coupled_arena.core.choices import (
    Battles,
    BoardSource,
    Control,
    Covariance,
    Cutoff,
    Scope,
    TieScore,
    Voters,
    Weighting,
)
from coupled_arena.core.language import _
from coupled_arena.core.verdicts import MOST_JUDGES
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import BY_DEFAULT, Counting, excluded
from coupled_arena.ui.parts.controls import (
    alpha_slider,
    dropdown,
    error_level,
    offered,
    with_any,
)
from coupled_arena.ui.parts.opening import how
from coupled_arena.ui.parts.visitor import visitor
from coupled_arena.views.words.methods import BOARD


@dataclass(frozen=True)
class BoardChoice:
    """Everything that decides what a board shows."""

    source: BoardSource
    selection: Selection
    method: Method
    alpha: float
    cutoff: Cutoff
    scope: Scope
    control: Control
    dark: bool
    counting: Counting = BY_DEFAULT

    def counts_like(self, other: BoardChoice) -> bool:
        """Return whether the other choice counts the same comparisons in the same way."""
        same = {name: getattr(self, name) for name in ("alpha", "cutoff", "scope", "control")}
        return self == replace(other, **same)


class BoardControls:
    """The components; `read` makes a `BoardChoice` of their values."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the controls inside the current Blocks."""
        self.dark = gr.Checkbox(visible=False)
        with gr.Row():
            self.mode = gr.Radio(
                offered(Battles),
                value=Battles.ALL.value,
                label=_("Battles"),
                scale=2,
                min_width=280,
                elem_id="board-mode",
            )
            with gr.Row(visible=False, scale=3) as self.judged:
                self.source = gr.Radio(
                    offered(BoardSource),
                    value=BoardSource.HUMAN.value,
                    label=_("Whose word"),
                    scale=3,
                    min_width=280,
                    elem_id="board-source",
                )
                self.judge = gr.Dropdown(
                    [], label=_("Judge"), scale=2, min_width=160, elem_id="board-judge"
                )
                self.more_judges = gr.Dropdown(
                    [],
                    multiselect=True,
                    max_choices=MOST_JUDGES - 1,
                    label=_("More judges"),
                    info=_("Beside people, each with a weight of its own, where all have judged."),
                    visible=False,
                    scale=2,
                    min_width=200,
                    elem_id="board-more-judges",
                )
        self.control = gr.Radio(
            offered(Control),
            value=Control.NONE.value,
            label=_("Style held fixed"),
            info=_("Adds scores that the length of replies, or their Markdown too, cannot move."),
            elem_id="board-control",
        )
        with how(BOARD):
            self._build_method()

    def _build_method(self) -> None:
        self.alpha = alpha_slider("board-alpha")
        with gr.Row():
            self.weighting = dropdown(offered(Weighting), _("Weighting"), "board-weighting")
            self.covariance = dropdown(offered(Covariance), _("Covariance"), "board-covariance")
            self.cutoff = dropdown(
                offered(Cutoff), _("Cut-off of rank-sets"), "board-cutoff", Cutoff.ANY_TIME
            )
        with gr.Row():
            self.sets = dropdown(offered(Scope), _("Rank-sets hold"), "board-sets")
            self.ties = dropdown(offered(TieScore), _("A tie is"), "board-ties")
            self.voters = dropdown(offered(Voters), _("The board speaks for"), "board-voters")
        with gr.Row():
            self.category = dropdown([(_("Any category"), "")], _("Category"), "board-category")
            self.language = dropdown([(_("Any language"), "")], _("Language"), "board-language")
            self.all_votes = gr.Checkbox(
                label=_("Excluded votes count, too"),
                info=_("The board as if nobody's votes had been left out."),
                visible=False,
                elem_id="board-all-votes",
            )
            self.named = gr.Checkbox(
                label=_("Votes on answers that name a model count, too"),
                info=_("Whoever read such an answer may have known whose it was."),
                visible=False,
                elem_id="board-named",
            )
            self.mine = gr.Checkbox(
                label=_("My votes only"),
                info=_("A board of your own: only what you voted on."),
                elem_id="board-mine",
            )

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return {self.dark, self.source, self.alpha, *self._judges, *self._discrete}

    @property
    def changes(self) -> list[Any]:
        """Events after which the board may have to be drawn again."""
        chosen = [self.source, *self._judges, *self._discrete]
        return [self.alpha.release, *(component.input for component in chosen)]

    @property
    def _judges(self) -> list[Any]:
        return [self.judge, self.more_judges]

    @property
    def _discrete(self) -> list[Any]:
        return [
            *(self.mode, self.weighting, self.covariance, self.cutoff, self.sets, self.ties),
            self.voters,
            *(self.category, self.language, self.all_votes, self.named, self.mine, self.control),
        ]

    def read(self, values: dict[Any, Any], request: gr.Request) -> BoardChoice:
        """Return what the visitor chose; whose votes are "mine" only the request says."""
        source = BoardSource(values[self.source])
        judge = values[self.judge]
        more = values[self.more_judges] if source is BoardSource.PPR else []
        return BoardChoice(
            source=source,
            selection=Selection(
                judge=judge if source is not BoardSource.HUMAN else None,
                more_judges=tuple(other for other in more or [] if other != judge),
                mode=Battles(values[self.mode]).mode,
                category=values[self.category] or None,
                language=values[self.language] or None,
                voter=visitor(request) if values[self.mine] else None,
            ),
            method=Method(
                Weighting(values[self.weighting]),
                Covariance(values[self.covariance]),
                TieScore(values[self.ties]),
                Voters(values[self.voters]),
            ),
            alpha=error_level(values[self.alpha]),
            cutoff=Cutoff(values[self.cutoff]),
            scope=Scope(values[self.sets]),
            control=Control(values[self.control]),
            dark=bool(values[self.dark]),
            counting=Counting(bool(values[self.all_votes]), bool(values[self.named])),
        )

    @property
    def offered(self) -> list[Any]:
        """The components whose choices come from the store."""
        left_out = self.all_votes, self.named
        return [self.judged, *self._judges, self.category, self.language, *left_out]

    def offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return these components with what the store has now; what was chosen stays so."""
        with self._store.cursor() as cursor:
            judges = comparisons.judges(cursor)
            categories = comparisons.categories(cursor)
            languages = comparisons.languages(cursor)
            left_out = excluded(cursor)
        judge = values[self.judge] or (judges[0] if judges else None)
        return {
            self.judged: gr.Row(visible=bool(judges)),
            self.judge: gr.Dropdown(choices=judges, value=judge),
            self.more_judges: gr.Dropdown(choices=judges, visible=len(judges) > 1),
            self.category: gr.Dropdown(choices=with_any(_("Any category"), categories)),
            self.language: gr.Dropdown(choices=with_any(_("Any language"), languages)),
            self.all_votes: gr.Checkbox(visible=left_out.votes > 0),
            self.named: gr.Checkbox(visible=left_out.named > 0),
        }
