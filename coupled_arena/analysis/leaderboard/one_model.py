"""One model by itself: its strength by category and opponent, its days, and how it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, read_estimates
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.analysis.live import Kept
from coupled_arena.analysis.model_sizes import ModelSize, size_of
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.errors import BattleError
from coupled_arena.core.language import _
from coupled_arena.core.records import Sampling
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, intervals
from coupled_arena.store.database import Store
from coupled_arena.store.queries import model_pages, replies
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.model_pages import Day

ALPHA = 0.05
MOST = 12
"""Categories that a page estimates: each takes a pass over the votes, and widens the others."""


@dataclass(frozen=True)
class Strength:
    """How often people prefer the model, in a category or against an opponent.

    Attributes
    ----------
    name : str
        Of the category, or the opponent.
    wins, comparisons : int
        As a board counts them.
    win_rate, low, high : float
        The estimate and its interval.
    """

    name: str
    wins: int
    comparisons: int
    win_rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelSummary:
    """What is known of one model at one error level.

    Attributes
    ----------
    alpha : float
        Error level: of `overall` by itself, of the intervals of all `categories` together, and of
        those of all `opponents` together (Bonferroni).
    overall : Strength or None
        None while nobody has voted on it.
    categories : tuple of Strength
        Those with the most votes, at most `MOST`.
    more_categories : int
        The others.
    facts : mapping of str to tuple of str
        See `coupled_arena.store.queries.model_pages.facts`.
    size : ModelSize
        What the newest answers were computed with, of battles that may be shown.
    trend : tuple of (int, float, float, float)
        Votes on the board, and the win rate with its interval then; see `Trend`.
    """

    model: str
    alpha: float
    overall: Strength | None
    categories: tuple[Strength, ...]
    more_categories: int
    opponents: tuple[Strength, ...]
    days: tuple[Day, ...]
    facts: Mapping[str, tuple[str, ...]]
    samplings: tuple[tuple[Sampling, int], ...]
    version: tuple[int, ...]
    size: ModelSize = field(default_factory=ModelSize)
    trend: tuple[tuple[int, float, float, float], ...] = ()


class LiveModels:
    """Summaries of models that are computed again only when the store has changed."""

    def __init__(self, store: Store, hidden: Hidden, trends: LiveTrends) -> None:
        self._store = store
        self._hidden: Hidden = hidden
        self._trends = trends
        self._kept: Kept[str, ModelSummary] = Kept(store)

    def get(self, model: str) -> ModelSummary:
        """Return the summary of a model; the same object until the store changes.

        Raises
        ------
        BattleError
            There is no battle of it that may be shown.
        """
        return self._kept.get(
            model, lambda: read_model(self._store, model, self._hidden, trends=self._trends)
        )


def read_model(
    store: Store,
    model: str,
    hidden: Hidden,
    alpha: float = ALPHA,
    trends: LiveTrends | None = None,
) -> ModelSummary:
    """Summarize a model as it is now.

    Parameters
    ----------
    trends : LiveTrends, optional
        Lines of the board; the summary has none without them.

    Raises
    ------
    BattleError
        There is no battle of it that may be shown.
    """
    version = store.version()
    with store.cursor() as cursor:
        cursor.execute("begin")
        # One that only plays in rounds which are still blind must not be named.
        if model not in replies.models(cursor, revealed_only=True):
            raise BattleError(_("No battle here is of a model of this name."))
        categories = list(model_pages.categories(cursor, model))
        days = model_pages.days(cursor, model)
        facts = model_pages.facts(cursor, model, hidden)
        newest = model_pages.newest_facts(cursor, [model], hidden)
        samplings = model_pages.samplings(cursor, model, hidden)
        cursor.execute("commit")
    board = _estimates(store, Selection())
    compared, met = categories[:MOST], _opponents(board, model)
    return ModelSummary(
        model=model,
        alpha=alpha,
        overall=_strength(board, model, "all", alpha),
        categories=tuple(
            strength
            for name in compared
            for found in [_estimates(store, Selection(category=name))]
            if (strength := _strength(found, model, name, alpha / len(compared)))
        ),
        more_categories=len(categories) - len(compared),
        opponents=tuple(
            strength
            for name in met
            for found in [_estimates(store, Selection(models=(model, name)))]
            if (strength := _strength(found, model, name, alpha / len(met)))
        ),
        days=days,
        facts=facts,
        samplings=samplings,
        version=version,
        size=size_of(newest.get(model, {})),
        trend=_line(board, model, alpha, trends),
    )


def _line(
    board: BoardEstimates, model: str, alpha: float, trends: LiveTrends | None
) -> tuple[tuple[int, float, float, float], ...]:
    found = trends.get(board, BoardSource.HUMAN, alpha) if trends else None
    return found.of(model) if found else ()


def _estimates(store: Store, selection: Selection) -> BoardEstimates:
    return read_estimates(store, selection, draws=LIVE_DRAWS, judge_alone=False)


def _opponents(board: BoardEstimates, model: str) -> list[str]:
    """Return whom the model has met, by the number of comparisons."""
    votes = board.votes
    if model not in votes.models:
        return []
    row = votes.comparisons[votes.models.index(model)]
    met = zip(votes.models, row.tolist(), strict=True)
    return [name for name, n in sorted(met, key=lambda each: (-each[1], each[0])) if n]


def _strength(board: BoardEstimates, model: str, name: str, alpha: float) -> Strength | None:
    estimate = board.by_source.get(BoardSource.HUMAN)
    if estimate is None or model not in estimate.models:
        return None
    at, row = estimate.models.index(model), board.votes.models.index(model)
    low, high = intervals(estimate, alpha)
    return Strength(
        name=name,
        wins=int(board.votes.wins[row].sum()),
        comparisons=int(board.votes.comparisons[row].sum()),
        win_rate=float(estimate.theta[at]),
        low=float(low[at]),
        high=float(high[at]),
    )
