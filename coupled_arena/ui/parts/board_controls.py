"""What the visitor chooses on the leaderboard: whose word, which comparisons, which method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from coupled_arena.analysis.leaderboard.read import BoardSource, Method
from coupled_arena.core.records import Mode
from coupled_arena.stats.ranking.estimates import Covariance
from coupled_arena.stats.ranking.rank_sets import Cutoff
from coupled_arena.stats.ranking.strata import Weighting
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.controls import MODES, alpha_slider, dropdown, error_level, with_any
from coupled_arena.ui.parts.visitor import visitor

_SOURCES = [
    ("People", BoardSource.HUMAN.value),
    ("Judge", BoardSource.JUDGE.value),
    ("Prediction-powered", BoardSource.PPR.value),
]
_WEIGHTINGS = [
    ("Stratified: each opponent the same", Weighting.STRATIFIED.value),
    ("Count: each comparison the same", Weighting.COUNT.value),
    ("Position: each order of answers the same", Weighting.POSITION.value),
]
_COVARIANCES = [
    ("Corrected", Covariance.CORRECTED.value),
    ("As published: intervals too narrow", Covariance.PUBLISHED.value),
]
_CUTOFFS = [
    ("Max-t", Cutoff.MAX_T.value),
    ("Bonferroni", Cutoff.BONFERRONI.value),
    ("Chi-squared, as published: very wide", Cutoff.CHI2.value),
]


@dataclass(frozen=True)
class BoardChoice:
    """Everything that decides what a board shows."""

    source: BoardSource
    selection: Selection
    method: Method
    alpha: float
    cutoff: Cutoff
    dark: bool

    def counts_like(self, other: BoardChoice) -> bool:
        """Return whether the other choice differs in nothing but the error level or cut-off."""
        return self == replace(other, alpha=self.alpha, cutoff=self.cutoff)


class BoardControls:
    """The components; `read` makes a `BoardChoice` of their values."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the controls inside the current Blocks."""
        self.dark = gr.Checkbox(visible=False)
        with gr.Row(visible=False) as self.judged:
            self.source = gr.Radio(
                _SOURCES,
                value=BoardSource.HUMAN.value,
                label="Whose word",
                scale=3,
                elem_id="board-source",
            )
            self.judge = gr.Dropdown([], label="Judge", scale=1, elem_id="board-judge")
        with gr.Row():
            self.mode = gr.Radio(
                MODES, value="", label="Battles", scale=3, min_width=280, elem_id="board-mode"
            )
            self.alpha = alpha_slider("board-alpha", scale=2)
        with gr.Accordion("Method and filters", open=False):
            with gr.Row():
                self.weighting = dropdown(_WEIGHTINGS, "Weighting", "board-weighting")
                self.covariance = dropdown(_COVARIANCES, "Covariance", "board-covariance")
                self.cutoff = dropdown(_CUTOFFS, "Cut-off of rank-sets", "board-cutoff")
            with gr.Row():
                self.category = dropdown([("Any category", "")], "Category", "board-category")
                self.language = dropdown([("Any language", "")], "Language", "board-language")
                self.mine = gr.Checkbox(
                    label="My votes only",
                    info="A board of your own: only what you voted on in this browser.",
                    elem_id="board-mine",
                )

    @property
    def inputs(self) -> set[Any]:
        """All components that `read` needs."""
        return {self.dark, self.source, self.judge, self.alpha, *self._discrete}

    @property
    def changes(self) -> list[Any]:
        """Events after which the board may have to be drawn again."""
        chosen = [self.source, self.judge, *self._discrete]
        return [self.alpha.release, *(component.input for component in chosen)]

    @property
    def _discrete(self) -> list[Any]:
        return [
            *(self.mode, self.weighting, self.covariance, self.cutoff),
            *(self.category, self.language, self.mine),
        ]

    def read(self, values: dict[Any, Any], request: gr.Request) -> BoardChoice:
        """Return what the visitor chose; whose votes are "mine" only the request says."""
        source = BoardSource(values[self.source])
        mode = values[self.mode]
        return BoardChoice(
            source=source,
            selection=Selection(
                judge=values[self.judge] if source is not BoardSource.HUMAN else None,
                mode=Mode(mode) if mode else None,
                category=values[self.category] or None,
                language=values[self.language] or None,
                voter=visitor(request) if values[self.mine] else None,
            ),
            method=Method(Weighting(values[self.weighting]), Covariance(values[self.covariance])),
            alpha=error_level(values[self.alpha]),
            cutoff=Cutoff(values[self.cutoff]),
            dark=bool(values[self.dark]),
        )

    @property
    def offered(self) -> list[Any]:
        """The components whose choices come from the store."""
        return [self.judged, self.judge, self.category, self.language]

    def offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return these components with what the store has now; what was chosen stays so."""
        with self._store.cursor() as cursor:
            judges = comparisons.judges(cursor)
            categories = comparisons.categories(cursor)
            languages = comparisons.languages(cursor)
        judge = values[self.judge] or (judges[0] if judges else None)
        return {
            self.judged: gr.Row(visible=bool(judges)),
            self.judge: gr.Dropdown(choices=judges, value=judge),
            self.category: gr.Dropdown(choices=with_any("category", categories)),
            self.language: gr.Dropdown(choices=with_any("language", languages)),
        }
