"""Win rates over time: after the first battles, after more of them, and now.

A point is the board of all battles up to a number. Points are kept: a new vote costs none, and a
board that has grown by an eighth costs one. This module knows nothing of how lines are drawn.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, read_estimate
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.sql import value_of
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.ranking.any_time import WinRates
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection, counted_by_battle

MOST_POINTS = 16
"""Earlier points of a line; half as many while the step between them has just doubled."""

AT_ONCE = 500
"""Comparisons up to which a line takes no longer than the board itself."""

MOST_COMPARISONS = 1_000_000
"""Comparisons beyond which there is no line: its first drawing would take ten boards' time."""

_STALE = 0.05  # of a point's comparisons: fewer new ones cannot be seen in a line
_KEPT = 8  # boards


@dataclass(frozen=True, eq=False)
class TrendPoint:
    """Win rates at one moment.

    Attributes
    ----------
    votes : int
        How many there were; on a judge's board verdicts.
    rates : mapping of str to (float, float, float)
        By model: win rate, and its interval.
    """

    votes: int
    rates: dict[str, tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Trend:
    """Points in the order of battles; their intervals hold at all of them together.

    Attributes
    ----------
    alpha : float
        Error level, for each model by itself.
    """

    alpha: float
    points: tuple[TrendPoint, ...]

    def of(self, model: str) -> tuple[tuple[int, float, float, float], ...]:
        """Return a model's points: votes on the board, win rate, interval."""
        return tuple(
            (point.votes, *point.rates[model]) for point in self.points if model in point.rates
        )


@dataclass(frozen=True, eq=False)
class _Kept:
    """A point, and how many comparisons there were when it was computed."""

    comparisons: int
    votes: int
    rates: WinRates | None


class LiveTrends:
    """Lines that follow the store, for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._series: dict[object, dict[int, _Kept]] = {}

    def get(
        self, estimates: BoardEstimates, source: BoardSource, alpha: float, *, wait: bool = True
    ) -> Trend | None:
        """Return the lines of a board.

        Parameters
        ----------
        wait : bool
            Whether to compute points that are missing; else there is no line where any is, and
            where `AT_ONCE` is too few.

        Returns
        -------
        Trend or None
            None where there is nothing to draw.
        """
        now = estimates.by_source.get(source)
        size = _comparisons(estimates, source)
        if now is None or size > MOST_COMPARISONS or estimates.method.mix:
            return None
        with self._lock:
            found = self._earlier(estimates, source, wait=wait or size <= AT_ONCE)
        if found is None:
            return None
        points = [_point(each, alpha) for each in found if each.rates is not None]
        return Trend(alpha, (*points, _point(_Kept(size, now.human, WinRates.of(now)), alpha)))

    def _earlier(
        self, estimates: BoardEstimates, source: BoardSource, *, wait: bool
    ) -> list[_Kept] | None:
        key = estimates.selection, estimates.method, source
        kept = self._series.pop(key, {})
        self._series[key] = kept
        while len(self._series) > _KEPT:
            self._series.pop(next(iter(self._series)))
        wanted = _cuts(self._store, estimates.selection)
        for cut in [each for each in kept if each not in wanted]:
            del kept[cut]
        stale = [cut for cut, n in wanted.items() if _is_stale(kept.get(cut), n)]
        if stale and not wait:
            return None
        for cut in stale:
            of = replace(estimates.selection, until=cut)
            made = read_estimate(self._store, of, estimates.method, source) if wanted[cut] else None
            rates = made and WinRates.of(made)
            kept[cut] = _Kept(wanted[cut], made.human if made else 0, rates)
        return [kept[cut] for cut in wanted]


def _comparisons(estimates: BoardEstimates, source: BoardSource) -> int:
    shown = estimates.judged.verdicts if source is BoardSource.JUDGE else estimates.votes
    return int(shown.comparisons.sum()) // 2


def _is_stale(kept: _Kept | None, comparisons: int) -> bool:
    return kept is None or abs(kept.comparisons - comparisons) > _STALE * comparisons


def _cuts(store: Store, selection: Selection) -> dict[int, int]:
    """Return numbers of battles, and how many of the comparisons come up to each."""
    with store.cursor() as cursor:
        last = value_of(cursor, "select coalesce(max(battle_no), 0) from comparisons")
        step = 1  # doubles, so that the cuts of a smaller store are among those of a larger one
        while last > MOST_POINTS * step:
            step *= 2
        each = counted_by_battle(cursor, selection, step)
    total, cuts = 0, dict[int, int]()
    for number in range(1, last // step + 1):
        total += each.get(number, 0)
        if number * step < last:
            cuts[number * step] = total
    return cuts


def _point(kept: _Kept, alpha: float) -> TrendPoint:
    assert kept.rates is not None
    low, high = kept.rates.intervals(alpha)
    rate: FloatArray = np.clip(kept.rates.rate, 0, 1)
    rows = zip(kept.rates.models, rate.tolist(), low.tolist(), high.tolist(), strict=True)
    return TrendPoint(kept.votes, {model: (r, a, b) for model, r, a, b in rows})
