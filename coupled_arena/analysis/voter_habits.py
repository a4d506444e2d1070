"""How people vote: as they did before, by side, how fast; whether reveals change votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.told_effects import ToldEffects, ToldVotes, told_effects
from coupled_arena.store.queries.voters import VoteStream

_BREAK = 600.0  # seconds without a vote after which somebody was away
_ALPHA = 0.05


@dataclass(frozen=True)
class Share:
    """A share of some votes with its 95% interval; all of it NaN where there are none."""

    of: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Habits:
    """How somebody votes.

    Attributes
    ----------
    same : Share
        Of the battles that came twice, those of which they said the same, sides exchanged.
    first : Share
        Of the votes that prefer one of two answers, those for the one that was shown first.
    median_seconds : float
        Between a vote and the one before, without breaks of ten minutes; NaN for one vote.
    """

    same: Share
    first: Share
    median_seconds: float


@dataclass(frozen=True)
class ToldRow:
    """What many reveals add to a model's share of the votes, as against the other models."""

    model: str
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class ToldReport:
    """Whether people vote otherwise once they were told names often; see `ToldEffects`."""

    votes: int
    voters: int
    rows: tuple[ToldRow, ...]
    p_value: float


def habits_of(
    stream: VoteStream,
    voter: NDArray[np.int64],
    names: list[str],
    twice: dict[str, tuple[int, int]],
) -> list[Habits]:
    """Return the habits of the voters of a stream, by number.

    Parameters
    ----------
    stream : VoteStream
    voter : ndarray of int64
        Their numbers, vote by vote.
    names : list of str
        Their names, by number.
    twice : dict of str to (int, int)
        By name: how many battles came twice, and of how many they said the same.
    """
    order = np.argsort(voter, kind="stable")
    bounds = np.searchsorted(voter[order], np.arange(len(names) + 1))
    made: list[Habits] = []
    for name, begin, end in zip(names, bounds[:-1], bounds[1:], strict=True):
        own = order[begin:end]
        came, same = twice.get(name, (0, 0))
        decided = stream.side[own] != 0
        first = int((stream.side[own] == 1).sum())
        gaps = np.diff(np.sort(stream.moment[own]))
        gaps = gaps[gaps <= _BREAK]
        median = float(np.median(gaps)) if len(gaps) else float("nan")
        made.append(Habits(_share(same, came), _share(first, int(decided.sum())), median))
    return made


def _share(part: int, of: int) -> Share:
    if not of:
        return Share(0, *(float("nan"),) * 3)
    share = np.array([part / of])
    size = np.array([float(of)])
    low, high = wilson(share, share * (1 - share) / size, size, critical_value(_ALPHA))
    return Share(of, part / of, float(low[0]), float(high[0]))


def told_report(
    stream: VoteStream,
    voter: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    models: list[str],
) -> ToldReport | None:
    """Return whether reveals change votes; None where nobody was told any name before a vote."""
    if not stream.told.any():
        return None
    score = np.array([1.0, 0.0, 0.5])[stream.outcome]
    votes = ToldVotes(voter, first, second, score, stream.told)
    found = told_effects(votes, len(models), _ALPHA)
    return ToldReport(found.votes, found.voters, _rows(found, models), found.p_value)


def _rows(found: ToldEffects, models: list[str]) -> tuple[ToldRow, ...]:
    """Return the models, the largest change first."""
    numbers = zip(found.change, found.low, found.high, strict=True)
    rows = [
        ToldRow(model, *map(float, each))
        for model, each in zip(models, numbers, strict=False)
        if np.isfinite(each[0])
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.change)))
