"""Win-rates, ties and ranks under both protocols, by votes or a judge's verdicts.

By default intervals and tests allow for prompts that several comparisons share, and ranks are the
best ones that rank-sets leave possible. What [1]_ prints stands beside it: win-rates that weigh
each comparison the same, its covariance, which is too small by about (2/k)² with k models, and the
rank-sets that follow.

References
----------
.. [1] N. Corvelo Benz, S. Tsirtsis, E. Straitouri, I. Chatzi, A. Artola Velasco, S. Thejaswi &
   M. Gomez-Rodriguez, "Evaluation of large language models via coupled token generation",
   AISTATS 2026, arXiv:2502.01754, appendix E.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from coupled_arena.analysis.leaderboard.read import (
    BoardSource,
    Method,
    read_estimates,
)
from coupled_arena.analysis.leaderboard.result import Place, leaderboard
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.estimates import Covariance
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Cutoff, intervals
from coupled_arena.stats.ranking.strata import Weighting
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection

PROTOCOLS = (Mode.COUPLED, Mode.INDEPENDENT)
_PUBLISHED = Method(Weighting.COUNT, Covariance.PUBLISHED)
_ALPHA = 0.05


@dataclass(frozen=True)
class Rate:
    """How often a model beat another one under one protocol.

    Attributes
    ----------
    rate, low, high : float
        Ties are no wins; NaN where the two were compared too seldom.
    """

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class PairRate:
    """A model against another one under both protocols.

    Attributes
    ----------
    rates : mapping of Mode to Rate
    p_value, published_p_value : float
        Two-sided, that both rates are the same: clustered by prompt, and the paper's pooled z.
    """

    model: str
    opponent: str
    rates: Mapping[Mode, Rate]
    p_value: float
    published_p_value: float


@dataclass(frozen=True)
class PairTies:
    """The shares of ties between two models, both bad and equal replies included.

    Attributes
    ----------
    change, low, high : float
        Relative change under coupling, and its interval.
    """

    model_a: str
    model_b: str
    coupled: float
    independent: float
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class ProtocolPlace:
    """Where a model stands under both protocols; None where it was compared too seldom.

    Attributes
    ----------
    ours, published : mapping of Mode to Place or None
        By default, and as the paper computes it.
    """

    model: str
    ours: Mapping[Mode, Place | None]
    published: Mapping[Mode, Place | None]


@dataclass(frozen=True)
class ProtocolRates:
    """What coupled and independent comparisons say of the same models.

    Attributes
    ----------
    judge : str or None
        Whose verdicts these are; None: people's votes.
    alpha : float
        Error level of the intervals and rank-sets.
    pairs : tuple of PairRate
        Of every ordered pair.
    ties : tuple of PairTies
    places : tuple of ProtocolPlace
        In the order of the coupled win-rates, best first.
    """

    judge: str | None
    alpha: float
    pairs: tuple[PairRate, ...]
    ties: tuple[PairTies, ...]
    places: tuple[ProtocolPlace, ...]


def protocol_rates(source: PaperSource) -> ProtocolRates:
    """Compare the protocols by the votes of a store, or by the verdicts of its judge.

    Raises
    ------
    ArenaError
        There are none under both protocols, or several judges and none is named.
    """
    chosen = source.settings
    judge = _judge(source)
    selection = Selection(judge=judge, models=chosen.models, category=chosen.category)
    alpha = chosen.alpha[0] if chosen.alpha else _ALPHA
    places = _places(source, selection, alpha)
    names = [place.model for place in places]
    tests = _modes(source, selection)
    if tests is None:
        raise ArenaError("No models were compared under both protocols.")
    at = tests.models.index
    pairs: list[PairRate] = []
    ties: list[PairTies] = []
    met = list(combinations(names, 2))
    for number in source.track(range(len(met))):
        two = met[number]
        rates = _rates(source, replace(selection, models=two), alpha)
        ties.append(_ties(source, replace(selection, models=two), two, alpha))
        for model, opponent in (two, two[::-1]):
            cell = at(model), at(opponent)
            p, published = tests.pairs.p_value[cell], tests.published_p_value[cell]
            pairs.append(PairRate(model, opponent, rates[model], float(p), float(published)))
    return ProtocolRates(judge, alpha, tuple(pairs), tuple(ties), places)


def _judge(source: PaperSource) -> str | None:
    """Return whose verdicts count: the one named, or the only one where nobody voted."""
    chosen = source.settings
    if len(chosen.judges) > 1:
        raise ArenaError("This is made of one judge's verdicts: name one with --judge.")
    if chosen.judges:
        return chosen.judges[0]
    with source.store.cursor() as cursor:
        counts = comparisons.count(
            cursor, Selection(models=chosen.models, category=chosen.category)
        )
        known = comparisons.judges(cursor)
    asked = counts.votes[:, 0]  # not the ties of equal replies, which nobody was asked about
    if asked.any() or not known:
        return None
    if len(known) > 1:
        raise ArenaError(f"Name one judge with --judge: {', '.join(known)}.")
    return known[0]


def _board(selection: Selection) -> BoardSource:
    return BoardSource.HUMAN if selection.judge is None else BoardSource.JUDGE


def _places(source: PaperSource, selection: Selection, alpha: float) -> tuple[ProtocolPlace, ...]:
    found: dict[tuple[Mode, bool], dict[str, Place | None]] = {}
    for mode in PROTOCOLS:
        for method, cutoff in ((Method(), Cutoff.MAX_T), (_PUBLISHED, Cutoff.CHI2)):
            estimates = read_estimates(
                source.store, replace(selection, mode=mode), method, LIVE_DRAWS
            )
            if _board(selection) not in estimates.by_source:
                raise ArenaError(
                    f"There is no vote on {mode} battles."
                    if selection.judge is None
                    else f"{selection.judge} has no verdict on {mode} battles."
                )
            board = leaderboard(estimates, source=_board(selection), alpha=alpha, cutoff=cutoff)
            standings = {each.model: each.place for each in board.standings}
            found[mode, method is _PUBLISHED] = standings
    coupled = found[Mode.COUPLED, False]
    return tuple(
        ProtocolPlace(
            model,
            {mode: found[mode, False].get(model) for mode in PROTOCOLS},
            {mode: found[mode, True].get(model) for mode in PROTOCOLS},
        )
        for model in coupled
    )


def _modes(source: PaperSource, selection: Selection) -> ModeComparison | None:
    by_judge = selection.judge is not None
    return read_estimates(source.store, selection, draws=LIVE_DRAWS, modes_by_judge=by_judge).modes


def _rates(source: PaperSource, selection: Selection, alpha: float) -> dict[str, dict[Mode, Rate]]:
    """Return the rates of two models against each other, by model and protocol."""
    unknown = Rate(np.nan, np.nan, np.nan)
    found: dict[str, dict[Mode, Rate]] = {
        model: dict.fromkeys(PROTOCOLS, unknown) for model in selection.models or ()
    }
    for mode in PROTOCOLS:
        estimates = read_estimates(source.store, replace(selection, mode=mode), draws=LIVE_DRAWS)
        estimate = estimates.by_source.get(_board(selection))
        if estimate is None:
            continue
        low, high = intervals(estimate, alpha)
        for i, model in enumerate(estimate.models):
            rate = float(estimate.theta[i]), float(low[i]), float(high[i])
            found[model][mode] = Rate(*rate)
    return found


def _ties(
    source: PaperSource, selection: Selection, two: tuple[str, str], alpha: float
) -> PairTies:
    modes = _modes(source, selection)
    if modes is None:  # the two met under one protocol alone
        return PairTies(*two, *[np.nan] * 5)
    low, high = modes.tie_interval(alpha)
    cell = modes.models.index(two[0]), modes.models.index(two[1])
    return PairTies(
        *two,
        coupled=float(modes.coupled_ties[cell]),
        independent=float(modes.independent_ties[cell]),
        change=modes.tie_change,
        low=low,
        high=high,
    )
