"""Scores with style held fixed, beside those without, at one error level, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from coupled_arena.analysis.live import Kept
from coupled_arena.analysis.style.rows import (
    Counted,
    ObstructedError,
    Prepared,
    check_scores,
    controlled_fit,
    without_traits,
)
from coupled_arena.core.choices import Control, Trait, Voters, held_traits
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.style import Measured, PairScores, fit
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.single_comparisons import styled_rows

# Scores with style held fixed, beside those without, from the comparisons of a store.


@dataclass(frozen=True, eq=False)
class StyleEstimates:
    """What comparisons say of models and style, before an error level is chosen.

    Attributes
    ----------
    by_judge : bool
        Whether verdicts count, and not people's votes.
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
    store: Store,
    selection: Selection,
    control: Control,
    *,
    by_judge: bool = False,
    voters: Voters = Voters.LIKE,
) -> StyleEstimates:
    """Fit the selected votes, or verdicts, as they are now.

    Parameters
    ----------
    voters : Voters
        Whom errors are for; of votes alone.

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
    people = not by_judge and voters is Voters.LIKE
    prepared = Prepared.of(styled, held_traits(control), voters=people)
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
        self._kept: Kept[tuple[Selection, Control, bool, Voters], StyleEstimates] = Kept(store)

    def get(
        self,
        selection: Selection,
        control: Control,
        *,
        by_judge: bool,
        voters: Voters = Voters.LIKE,
    ) -> StyleEstimates:
        """Return what `read_style` does; the same object until the store changes."""
        return self._kept.get(
            (selection, control, by_judge, voters),
            lambda: read_style(self._store, selection, control, by_judge=by_judge, voters=voters),
        )


_TWICE = 1 / 3  # (a - b)/(a + b) where a is twice b


@dataclass(frozen=True)
class Share:
    """How often one of two replies by equally strong models wins, and its interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class TraitEffect:
    """What one trait of replies does, the others and the models being equal.

    Attributes
    ----------
    coefficient, standard_error, low, high : float
        Log-odds to win for one standard deviation more.
    typical, twice : Share
        Of the reply that has a standard deviation more, and of the one that has twice as much.
    against_none : Share or None
        Of the one that has some where the other has none; None for the length.
    spread : float
        The standard deviation of (a - b)/(a + b).
    differing : float
        Share of comparisons whose replies differ.
    """

    trait: Trait
    coefficient: float
    standard_error: float
    low: float
    high: float
    typical: Share
    twice: Share
    against_none: Share | None
    spread: float
    differing: float


@dataclass(frozen=True)
class Score:
    """A model's Bradley-Terry score, its rank by it, and the win rate that it makes likely.

    Attributes
    ----------
    score, standard_error, low, high : float
        On the scale of Elo ratings, the mean over models being 1000.
    rank, rank_low, rank_high : int
        By the scores, and the best and worst that they leave possible, for all models together.
    win_rate, win_rate_error, win_rate_low, win_rate_high : float
        Mean over all opponents of how often the model wins, ties being half a win; where style is
        held fixed, between replies of equal style.
    """

    score: float
    standard_error: float
    low: float
    high: float
    rank: int
    rank_low: int
    rank_high: int
    win_rate: float
    win_rate_error: float
    win_rate_low: float
    win_rate_high: float


@dataclass(frozen=True)
class ControlledModel:
    """One model with style held fixed, and by the same comparisons without; None: unknown."""

    model: str
    controlled: Score | None
    plain: Score | None


@dataclass(frozen=True, eq=False)
class StyleBoard:
    """Style control at one error level.

    Attributes
    ----------
    models : tuple of ControlledModel
        Best first, by the scores with style held fixed if there are any.
    effects : tuple of TraitEffect
        Of the traits that are held fixed; nothing where there are no such scores.
    """

    estimates: StyleEstimates
    alpha: float
    models: tuple[ControlledModel, ...]
    effects: tuple[TraitEffect, ...]

    @property
    def comparisons(self) -> int:
        """Comparisons that count."""
        return self.estimates.counted.comparisons

    @property
    def prompts(self) -> int:
        """Prompts that these are on."""
        return self.estimates.counted.prompts

    @property
    def without_texts(self) -> int:
        """Comparisons that do not count because nobody knows their replies."""
        return self.estimates.counted.without_texts


def style_board(estimates: StyleEstimates, alpha: float = 0.05) -> StyleBoard:
    """Return what the estimates say at one error level.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    controlled, plain = (_scores(of, alpha) for of in (estimates.controlled, estimates.plain))
    rows = [
        ControlledModel(
            model,
            controlled[place] if controlled else None,
            plain[place] if plain else None,
        )
        for place, model in enumerate(estimates.models)
    ]
    effects: tuple[TraitEffect, ...] = ()
    if estimates.controlled is not None:
        effects = trait_effects(estimates.counted, estimates.controlled.coefficient, alpha)
    return StyleBoard(estimates, alpha, tuple(sorted(rows, key=_place)), effects)


def trait_effects(counted: Counted, measured: Measured, alpha: float) -> tuple[TraitEffect, ...]:
    """Return what each trait does, by its coefficient for a standard deviation."""
    low, high = measured.interval(alpha)
    return tuple(
        TraitEffect(
            trait=trait,
            coefficient=float(measured.value[at]),
            standard_error=float(measured.error[at]),
            low=float(low[at]),
            high=float(high[at]),
            typical=_share(bounds, 1.0),
            twice=_share(bounds, _TWICE / spread),
            against_none=None if trait is Trait.LENGTH else _share(bounds, 1 / spread),
            spread=float(spread),
            differing=float(counted.differing[at]),
        )
        for at, (trait, spread) in enumerate(zip(counted.traits, counted.spread, strict=True))
        for bounds in [np.array([measured.value[at], low[at], high[at]])]
    )


def _share(bounds: FloatArray, times: float) -> Share:
    return Share(*(float(each) for each in expit(bounds * times)))


def _scores(of: PairScores | None, alpha: float) -> list[Score]:
    if of is None:
        return []
    score, rate, ranks = of.score, of.win_rate, of.ranks(alpha)
    columns = (
        *(score.value, score.error, *score.interval(alpha)),
        *(ranks.rank, ranks.low, ranks.high),
        *(rate.value, rate.error, *rate.share_interval(alpha)),
    )
    return [Score(*(each.item() for each in row)) for row in zip(*columns, strict=True)]


def _place(row: ControlledModel) -> tuple[float, str]:
    known = row.controlled or row.plain
    return -known.score if known else 0.0, row.model
