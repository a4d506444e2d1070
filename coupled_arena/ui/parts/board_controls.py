"""What the visitor chooses on the leaderboard: whose word, which comparisons, which method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from coupled_arena.api.checks import SELECTING, selection_of
from coupled_arena.api.rankings import BoardSettings, leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.language import _
from coupled_arena.core.verdicts import MOST_JUDGES
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import BY_DEFAULT, Counting, excluded
from coupled_arena.ui.parts.choices import Fields
from coupled_arena.ui.parts.headline import how
from coupled_arena.ui.parts.visitor import visitor
from coupled_arena.views.words.methods import BOARD

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
        with gr.Row():
            build("mode", gr.Radio, scale=2)
            with gr.Row(visible=False, scale=3) as self.judged:
                build("source", gr.Radio, scale=3)
                build("judge", scale=2, min_width=160)
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
        build("control", gr.Radio)
        with how(BOARD):
            self._build_method()

    def _build_method(self) -> None:
        build = self._fields.build
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
        return {self.dark, *self._fields.all, *self._beside}

    @property
    def changes(self) -> list[Any]:
        """Events after which the board may have to be drawn again."""
        return [*self._fields.changes(), *(component.input for component in self._beside)]

    @property
    def _beside(self) -> list[Any]:
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
            settings=BoardSettings.of(asked),
            selection=replace(selection, voter=voter),
            dark=bool(values[self.dark]),
            counting=Counting(bool(values[self.all_votes]), bool(values[self.named])),
        )

    @property
    def offered(self) -> list[Any]:
        """The components whose choices come from the store."""
        left_out = self.all_votes, self.named
        known = [self._fields[name] for name in ("judge", "category", "language")]
        return [self.judged, self.more_judges, *known, *left_out]

    def offer(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return these components with what the store has now; what was chosen stays so."""
        with self._store.cursor() as cursor:
            judges = comparisons.judges(cursor)
            categories = comparisons.categories(cursor)
            languages = comparisons.languages(cursor)
            left_out = excluded(cursor)
        fields = self._fields
        known = {"judge": judges, "category": categories, "language": languages}
        return {
            self.judged: gr.Row(visible=bool(judges)),
            self.more_judges: gr.Dropdown(choices=judges, visible=len(judges) > 1),
            **{
                fields[name]: fields.offering(name, there, values[fields[name]])
                for name, there in known.items()
            },
            self.all_votes: gr.Checkbox(visible=left_out.votes > 0),
            self.named: gr.Checkbox(visible=left_out.named > 0),
        }
