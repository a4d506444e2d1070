"""The leaderboard: counts from the store, estimates from the statistics, plain values out."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from coupled_arena.records import Mode, Source
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.win_rates import MINIMUM_PER_PAIR, MissingVotes, WinRates, win_rates
from coupled_arena.store.database import Store

Rows = list[tuple[str, str, str, str, int]]  # as `Store.pair_counts` returns them

_WISHES = 5  # pairs that are named as short of votes; the others are only counted


@dataclass(frozen=True)
class Standing:
    """One model's row.

    ``wins + losses + ties + both_bad`` are the `human_votes`: comparisons that a person decided.
    A battle of three models counts as two for each. `identical` are ties of equal replies that
    nobody was asked about: they are comparisons like others to the win rate, and shown apart.

    Attributes
    ----------
    win_rate, standard_error, low, high : float or None
        None together, while the model has too few votes.
    opponents : int
        How many opponents the win rate is over.
    """

    model: str
    win_rate: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    opponents: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    identical: int

    @property
    def human_votes(self) -> int:
        """Comparisons that a person decided."""
        return self.wins + self.losses + self.ties + self.both_bad

    @property
    def comparisons(self) -> int:
        """Comparisons that the win rate is a fraction of."""
        return self.human_votes + self.identical


@dataclass(frozen=True)
class HeadToHead:
    """One model against another, whichever was shown first; ties include "both bad"."""

    wins: int
    losses: int
    ties: int

    @property
    def comparisons(self) -> int:
        """How often the two were compared."""
        return self.wins + self.losses + self.ties

    @property
    def win_rate(self) -> float | None:
        """Fraction of the comparisons that the model won, None without any."""
        return self.wins / self.comparisons if self.comparisons else None

    @property
    def score(self) -> float | None:
        """Wins and half the ties, as a fraction: one half where the two are even."""
        return (self.wins + self.ties / 2) / self.comparisons if self.comparisons else None


@dataclass(frozen=True)
class Leaderboard:
    """What is known of the models at one moment.

    Attributes
    ----------
    standings : tuple of Standing
        Best first; models with too few votes last, by name.
    head_to_head : tuple of tuples of HeadToHead
        ``head_to_head[i][j]`` is the model of row i of the standings against that of row j;
        empty where i = j.
    mode : Mode or None
        The battles that are counted; None: all of them.
    alpha : float
        Error level of the intervals.
    identical : int
        Comparisons of equal replies, which nobody was asked about.
    missing : tuple of MissingVotes
        Pairs that have too few comparisons to count, those nearest to it first.
    modes : tuple of Mode
        Those that the votes come from.
    version : tuple of int
        `Store.version` before the votes were read, so that no vote after it can be overlooked.
    """

    standings: tuple[Standing, ...]
    head_to_head: tuple[tuple[HeadToHead, ...], ...]
    mode: Mode | None
    alpha: float
    identical: int
    missing: tuple[MissingVotes, ...]
    modes: tuple[Mode, ...]
    version: tuple[int, ...]

    @property
    def human_votes(self) -> int:
        """Comparisons that a person decided, each counted once."""
        return sum(standing.human_votes for standing in self.standings) // 2

    @property
    def messages(self) -> tuple[str, ...]:
        """Sentences on what this board cannot say yet, and what would help."""
        return (*_mixture(self.modes), *_wishes(self.missing))


class LiveLeaderboard:
    """Leaderboards that are computed again only when the store has changed; for any thread."""

    def __init__(self, store: Store, alpha: float = 0.05) -> None:
        self.alpha = alpha
        self._store = store
        self._boards: dict[Mode | None, Leaderboard] = {}
        self._lock = threading.Lock()

    def get(self, mode: Mode | None = None) -> Leaderboard:
        """Return the board of one mode, or of all battles; the same object until it changes."""
        # The whole of it under the lock: sessions that ask during a computation wait for its
        # result instead of repeating it.
        with self._lock:
            board = self._boards.get(mode)
            if board is None or board.version != self._store.version():
                board = self._boards[mode] = read_leaderboard(self._store, mode, self.alpha)
            return board


def read_leaderboard(store: Store, mode: Mode | None = None, alpha: float = 0.05) -> Leaderboard:
    """Compute the leaderboard from the votes as they are now.

    Parameters
    ----------
    store : Store
    mode : Mode, optional
        Only battles of this mode; None counts all, and says so where it mixes protocols.
    alpha : float
        Error level of the intervals, between 0 and 1.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    version = store.version()
    rows = {each: store.pair_counts(each) for each in ([mode] if mode else Mode)}
    models = sorted({model for row in chain.from_iterable(rows.values()) for model in row[:2]})
    asked = _count(rows.values(), Source.HUMAN, models)
    identical = _count(rows.values(), Source.IDENTICAL, models)
    rates = win_rates(asked + identical, alpha)
    order = _best_first(rates)
    return Leaderboard(
        standings=tuple(_standing(i, rates, asked, identical) for i in order),
        head_to_head=_head_to_head(order, asked + identical),
        mode=mode,
        alpha=alpha,
        identical=int(identical.comparisons.sum()) // 2,
        missing=tuple(sorted(rates.missing, key=lambda pair: pair.votes)),
        modes=tuple(each for each, table in rows.items() if table),
        version=version,
    )


def _count(tables: Iterable[Rows], source: Source, models: list[str]) -> PairCounts:
    return PairCounts.from_rows(
        (
            (first, second, outcome, n)
            for first, second, by, outcome, n in chain.from_iterable(tables)
            if by == source
        ),
        models,
    )


def _best_first(rates: WinRates) -> list[int]:
    return sorted(
        range(len(rates.models)),
        key=lambda i: (-rates.win_rate[i] if rates.enough[i] else 1.0, rates.models[i]),
    )


def _standing(i: int, rates: WinRates, asked: PairCounts, identical: PairCounts) -> Standing:
    estimates = (rates.win_rate, rates.standard_error, rates.low, rates.high)
    win_rate, error, low, high = (float(e[i]) if rates.enough[i] else None for e in estimates)
    return Standing(
        model=rates.models[i],
        win_rate=win_rate,
        standard_error=error,
        low=low,
        high=high,
        opponents=int(rates.opponents[i]),
        wins=int(asked.wins[i].sum()),
        losses=int(asked.wins[:, i].sum()),
        ties=int(asked.ties[i].sum()),
        both_bad=int(asked.both_bad[i].sum()),
        identical=int(identical.comparisons[i].sum()),
    )


def _head_to_head(order: list[int], counts: PairCounts) -> tuple[tuple[HeadToHead, ...], ...]:
    wins, ties = counts.wins, counts.ties + counts.both_bad
    return tuple(
        tuple(HeadToHead(int(wins[i, j]), int(wins[j, i]), int(ties[i, j])) for j in order)
        for i in order
    )


def _mixture(modes: tuple[Mode, ...]) -> tuple[str, ...]:
    if len(modes) < 2:
        return ()
    return (f"This board mixes battles of different modes: {', '.join(modes)}.",)


def _wishes(missing: tuple[MissingVotes, ...]) -> tuple[str, ...]:
    if not missing:
        return ()
    others = len(missing) - _WISHES
    return (
        f"Pairs with fewer than {MINIMUM_PER_PAIR} votes do not count in the win rates yet.",
        *(_wish(pair) for pair in missing[:_WISHES]),
        *([f"{others} more {_plural('pair', others)} without enough votes"] if others > 0 else []),
    )


def _wish(pair: MissingVotes) -> str:
    votes = f"{pair.votes} more {_plural('vote', pair.votes)}"
    return f"{votes} in {pair.first}\N{EN DASH}{pair.second}"


def _plural(noun: str, n: int) -> str:
    return noun if n == 1 else f"{noun}s"
