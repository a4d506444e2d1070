"""People who vote: how much, how fast, how unlike the others; their habits; what reveals change.

Habits are how often they say the same again, for which side they vote, and how fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.told_effects import ToldEffects, ToldVotes, told_effects
from coupled_arena.stats.unusual_voters import TOLERANCE, Capitals, Votes, bursts, capitals
from coupled_arena.store.database import Store
from coupled_arena.store.queries.votes_by_voter import VoteStream, said_twice, vote_stream
from coupled_arena.store.tables.guards import OriginShare, origin_shares

_BURST = 60.0  # seconds
_MOST_ORIGINS = 10
_WINDOWS = ((60, 60), (3600, 24))  # seconds, and how many before a window are its past
_BREAK = 600.0  # seconds without a vote after which somebody was away
_ALPHA = 0.05  # of intervals of habits, and of what reveals change


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
        Between a vote and the one before, without breaks of ten minutes; NaN for one vote, and for
        imported votes without times.
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


@dataclass(frozen=True)
class VoterRow:
    """What is known of one voter.

    Attributes
    ----------
    votes : int
        Those on two different models and texts.
    share : float
        Of all such votes.
    most_in_a_minute : int or None
        None where the times of their votes are not known.
    log_e_value, peak_log_e_value : float
        Logarithm of the evidence that they do not vote as the others: now, and the most there was.
    suspect : bool
        Whether that is enough, at the error level of the report; see `Capitals.suspects`.
    bet : str
        What has won most: "for MODEL", "against MODEL" or "against the others".
    habits : Habits
        How far they agree with themselves, by which side, how fast.
    """

    voter: str
    votes: int
    share: float
    most_in_a_minute: int | None
    log_e_value: float
    peak_log_e_value: float
    suspect: bool
    bet: str
    habits: Habits


@dataclass(frozen=True)
class BurstRow:
    """A minute or an hour with more voters than those before it let expect.

    Attributes
    ----------
    since : datetime
        When it began, UTC.
    seconds : int
        How long it is.
    voters : int
        How many voted in it.
    usual : float
        The mean of the hour before a minute, of the day before an hour.
    p_value : float
        For all minutes or hours there are, and both kinds, together.
    """

    since: datetime
    seconds: int
    voters: int
    usual: float
    p_value: float


@dataclass(frozen=True)
class VoterReport:
    """All voters, the most evidence first.

    Attributes
    ----------
    alpha : float
        The expected share of honest voters among the suspects, at most.
    tolerance : float
        How much more often than others an honest voter may say the same.
    origins : tuple of OriginShare
        The places that most votes came from, as far as the store knows.
    told : ToldReport or None
        Whether people vote otherwise after many reveals; None where nobody was told any name.
    bursts : tuple of BurstRow
        Those whose p-value is at most alpha, the least one first.
    """

    rows: tuple[VoterRow, ...]
    votes: int
    alpha: float
    tolerance: float
    origins: tuple[OriginShare, ...] = ()
    bursts: tuple[BurstRow, ...] = ()
    told: ToldReport | None = None


def read_voters(store: Store, alpha: float = 0.05, tolerance: float = TOLERANCE) -> VoterReport:
    """Hold each voter's votes against those of the others.

    Parameters
    ----------
    alpha : float
        The expected share of honest voters among the suspects, at most.
    tolerance : float
        0: an honest voter says everything as often as the others.
    """
    with store.cursor() as cursor:
        stream, origins = vote_stream(cursor), origin_shares(cursor, _MOST_ORIGINS)
        twice = said_twice(cursor)
    if not len(stream.voter):
        return VoterReport((), 0, alpha, tolerance, origins)
    names, voter = np.unique(stream.voter.astype(str), return_inverse=True)
    models, at = np.unique(
        np.concatenate([stream.first, stream.second]).astype(str), return_inverse=True
    )
    first, second = np.split(at, 2)
    found = capitals(Votes(voter, first, second, stream.outcome), len(models), tolerance)
    habits = habits_of(stream, voter, names.tolist(), twice)
    rows = _rows(stream, voter, found, names.tolist(), models.tolist(), alpha, habits)
    order = sorted(rows, key=lambda row: (-row.peak_log_e_value, -row.votes, row.voter))
    told = told_report(stream, voter, first, second, models.tolist())
    found_bursts = _bursts(stream, voter, alpha)
    return VoterReport(tuple(order), len(voter), alpha, tolerance, origins, found_bursts, told)


def _bursts(stream: VoteStream, voter: NDArray[np.int64], alpha: float) -> tuple[BurstRow, ...]:
    """Return windows with too many voters: each counts once, for people vote in a row."""
    rows: list[BurstRow] = []
    timed = np.isfinite(stream.moment)
    for seconds, past in _WINDOWS if timed.any() else ():
        window = np.floor(stream.moment[timed] / seconds).astype(np.int64)
        came = np.unique(np.stack([window, voter[timed]], axis=1), axis=0)[:, 0]
        found = bursts(came, past)
        p_values = np.minimum(1.0, len(_WINDOWS) * found.p_value)
        rows += [
            BurstRow(
                since=datetime.fromtimestamp(int(found.window[n]) * seconds, UTC),
                seconds=seconds,
                voters=int(found.count[n]),
                usual=float(found.usual[n]),
                p_value=float(p_values[n]),
            )
            for n in np.flatnonzero(p_values <= alpha)
        ]
    return tuple(sorted(rows, key=lambda row: (row.p_value, row.since)))


def _rows(
    stream: VoteStream,
    voter: NDArray[np.int64],
    found: Capitals,
    names: list[str],
    models: list[str],
    alpha: float,
    habits: list[Habits],
) -> list[VoterRow]:
    suspects = found.suspects(alpha)
    return [
        VoterRow(
            voter=name,
            votes=len(moments := stream.moment[voter == n]),
            share=len(moments) / len(voter),
            most_in_a_minute=_most_within(moments),
            log_e_value=float(found.now[n]),
            peak_log_e_value=float(found.peak[n]),
            suspect=bool(suspects[n]),
            bet=_called(int(found.bet[n]), models),
            habits=habits[n],
        )
        for n, name in enumerate(names)
    ]


def _most_within(moments: NDArray[np.float64]) -> int | None:
    """Return the most votes of a minute; None where no moment is known."""
    moments = np.sort(moments[np.isfinite(moments)])
    if not len(moments):
        return None
    ends = np.searchsorted(moments, moments + _BURST, side="left")
    return int((ends - np.arange(len(moments))).max())


def _called(bet: int, models: list[str]) -> str:
    if bet == 0:
        return "against the others"
    kind, model = divmod(bet - 1, len(models))
    return f"{'against' if kind else 'for'} {models[model]}"


def habits_of(
    stream: VoteStream,
    voter: NDArray[np.int64],
    names: list[str],
    twice: dict[str, tuple[int, int]],
) -> list[Habits]:
    """Return the habits of the voters of a stream, by number.

    Parameters
    ----------
    voter : ndarray of int64
        Their numbers, vote by vote.
    names : list of str
        Their names, by number.
    twice : dict of str to (int, int)
        By name: how many battles came twice, and of how many they said the same.
    """
    order = np.argsort(voter, kind="stable")
    bounds = np.searchsorted(voter[order], np.arange(1, len(names)))
    medians = [_median_gap(stream.moment[own]) for own in np.split(order, bounds)]
    came, alike = np.array([twice.get(name, (0, 0)) for name in names]).reshape(-1, 2).T
    decided = np.bincount(voter[stream.side != 0], minlength=len(names))
    for_first = np.bincount(voter[stream.side == 1], minlength=len(names))
    shares = _shares(alike, came), _shares(for_first, decided)
    return [Habits(*each) for each in zip(*shares, medians, strict=True)]


def _median_gap(moments: NDArray[np.float64]) -> float:
    """Return the median time between votes, without breaks; NaN where there is none."""
    gaps = np.diff(np.sort(moments[np.isfinite(moments)]))
    gaps = gaps[gaps <= _BREAK]
    return float(np.median(gaps)) if len(gaps) else float("nan")


def _shares(part: NDArray[np.int64], of: NDArray[np.int64]) -> list[Share]:
    """Return the share of each voter, with its interval."""
    size = np.where(of > 0, of, np.nan)
    share = part / size
    low, high = wilson(share, share * (1 - share) / size, size, critical_value(_ALPHA))
    columns = (each.tolist() for each in (of, share, low, high))
    return [Share(*each) for each in zip(*columns, strict=True)]


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
    return ToldReport(found.votes, found.voters, _told_rows(found, models), found.p_value)


def _told_rows(found: ToldEffects, models: list[str]) -> tuple[ToldRow, ...]:
    """Return the models, the largest change first."""
    numbers = zip(found.change, found.low, found.high, strict=True)
    rows = [
        ToldRow(model, *map(float, each))
        for model, each in zip(models, numbers, strict=False)
        if np.isfinite(each[0])
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.change)))
