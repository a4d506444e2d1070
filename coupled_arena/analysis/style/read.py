"""Scores with style held fixed, beside those without, from the comparisons of a store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from coupled_arena.analysis.live import Kept
from coupled_arena.analysis.style.rows import (
    Counted,
    ObstructedError,
    Prepared,
    check_scores,
    controlled_fit,
    without_traits,
)
from coupled_arena.core.choices import Control
from coupled_arena.core.style import held_traits
from coupled_arena.stats.style.logistic import fit
from coupled_arena.stats.style.scores import PairScores
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.styled_rows import styled_rows


@dataclass(frozen=True, eq=False)
class StyleEstimates:
    """What comparisons say of models and style, before an error level is chosen.

    Attributes
    ----------
    by_judge : bool
        Whether verdicts count, and not people's votes.
    counted : Counted
    plain, controlled : PairScores or None
        Bradley-Terry scores of the same comparisons, without control and with it.
    obstructed : ObstructedError or None
        Why `controlled` is missing, or both are.
    version : tuple of int
        `Store.version` before anything was read.
    """

    selection: Selection
    control: Control
    by_judge: bool
    counted: Counted
    plain: PairScores | None
    controlled: PairScores | None
    obstructed: ObstructedError | None
    version: tuple[int, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are compared."""
        return self.counted.models


def read_style(
    store: Store, selection: Selection, control: Control, *, by_judge: bool = False
) -> StyleEstimates:
    """Fit the selected votes, or verdicts, as they are now.

    Raises
    ------
    StoreError
        The selection names a judge or model that the store does not know.
    """
    version = store.version()
    with store.cursor() as cursor:
        styled = styled_rows(
            cursor, selection, held_traits(control), voted=not by_judge, judged=by_judge
        )
    prepared = Prepared.of(styled, held_traits(control))
    made = partial(StyleEstimates, selection, control, by_judge, prepared.counted, version=version)
    outcome = styled.judge if by_judge else styled.human
    try:
        check_scores(prepared, [outcome])
    except ObstructedError as error:
        return made(plain=None, controlled=None, obstructed=error)
    # Finite, for each model has a way to every other.
    plain = PairScores.of(fit(without_traits(prepared.rows(outcome))))
    try:
        controlled = PairScores.of(controlled_fit(prepared, outcome))
    except ObstructedError as error:
        return made(plain=plain, controlled=None, obstructed=error)
    return made(plain=plain, controlled=controlled, obstructed=None)


class LiveStyle:
    """Estimates that are computed again only when the store has changed; for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[tuple[Selection, Control, bool], StyleEstimates] = Kept(store)

    def get(self, selection: Selection, control: Control, *, by_judge: bool) -> StyleEstimates:
        """Return what `read_style` does; the same object until the store changes."""
        return self._kept.get(
            (selection, control, by_judge),
            lambda: read_style(self._store, selection, control, by_judge=by_judge),
        )
