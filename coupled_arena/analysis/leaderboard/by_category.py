"""Models by categories: the board of each category by itself, right for all of them together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coupled_arena.analysis.leaderboard.board_estimates import (
    BoardEstimates,
    read_estimate,
)
from coupled_arena.analysis.leaderboard.result import Standing, standings_of
from coupled_arena.analysis.live import Kept
from coupled_arena.core.choices import BoardSource, Cutoff
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection, counted_by_category

MOST = 12
"""Categories of a table: each takes a pass over the votes, and widens the others' intervals."""


@dataclass(frozen=True)
class CategoryBoard:
    """One category.

    Attributes
    ----------
    places : dict of str to Standing
        Of each model with votes there.
    """

    name: str
    comparisons: int
    places: dict[str, Standing]


@dataclass(frozen=True)
class ByCategory:
    """Boards of categories, those with the most comparisons first.

    Attributes
    ----------
    alpha : float
        Error level of all of them together: each one has it divided by their number.
    more : int
        Categories that are left out.
    """

    alpha: float
    boards: tuple[CategoryBoard, ...]
    more: int
    version: tuple[int, ...]


class LiveCategories:
    """Such boards, which are computed again only when the store has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[object, ByCategory] = Kept(store)

    def get(
        self, estimates: BoardEstimates, source: BoardSource, alpha: float, cutoff: Cutoff
    ) -> ByCategory:
        """Return the boards of all categories, counted as another board is."""
        of, method = estimates.selection, replace(estimates.method, mix=())
        key = of, method, source, alpha, cutoff

        def read() -> ByCategory:
            version = self._store.version()
            with self._store.cursor() as cursor:
                counted = counted_by_category(cursor, of)
            names = list(counted)[:MOST]
            boards = []
            for name in names:
                wanted: Selection = replace(of, category=name)
                found = read_estimate(self._store, wanted, method, source)
                if found is None:
                    continue
                ranks = Separation(found, LIVE_DRAWS).rank_sets(alpha / len(names), cutoff)
                boards.append(CategoryBoard(name, counted[name], standings_of(found, ranks)))
            return ByCategory(alpha, tuple(boards), len(counted) - len(names), version)

        return self._kept.get(key, read)
