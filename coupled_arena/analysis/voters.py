"""People who vote: how much, how fast, how unlike the others, and how far they agree.

Also how often a judge agrees with one voter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.voter_habits import Habits, ToldReport, habits_of, told_report
from coupled_arena.core.choices import Voters
from coupled_arena.stats.intervals import agreement_interval
from coupled_arena.stats.krippendorff import Agreement, Said, agreement
from coupled_arena.stats.voters import TOLERANCE, Capitals, Votes, bursts, capitals
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.voters import (
    VoteStream,
    agreements_by_prompt,
    said_twice,
    shared_votes,
    vote_stream,
)
from coupled_arena.store.tables.guards import OriginShare, origin_shares

_BURST = 60.0  # seconds
_MOST_ORIGINS = 10
_WINDOWS = ((60, 60), (3600, 24))  # seconds, and how many before a window are its past


@dataclass(frozen=True)
class VoterRow:
    """What is known of one voter.

    Attributes
    ----------
    votes : int
        Those on two different models and texts.
    share : float
        Of all such votes.
    most_in_a_minute : int
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
    most_in_a_minute: int
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
    for seconds, past in _WINDOWS:
        window = np.floor(stream.moment / seconds).astype(np.int64)
        came = np.unique(np.stack([window, voter], axis=1), axis=0)[:, 0]
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
            votes=len(moments := np.sort(stream.moment[voter == n])),
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


def _most_within(moments: NDArray[np.float64]) -> int:
    ends = np.searchsorted(moments, moments + _BURST, side="left")
    return int((ends - np.arange(len(moments))).max())


def _called(bet: int, models: list[str]) -> str:
    if bet == 0:
        return "against the others"
    kind, model = divmod(bet - 1, len(models))
    return f"{'against' if kind else 'for'} {models[model]}"


@dataclass(frozen=True)
class AnnotatorAgreement:
    """What was found, and on what.

    Attributes
    ----------
    selection : Selection
    error_level : float
        Of the interval.
    found : Agreement
        Its units are pairs of answers, its clusters prompts.
    battles, annotators : int
        Those that two or more people voted on, and these people.
    voted : int
        Battles that anybody voted on.
    """

    selection: Selection
    error_level: float
    found: Agreement
    battles: int
    annotators: int
    voted: int


def read_agreement(
    store: Store,
    selection: Selection = Selection(),
    error_level: float = 0.05,
    voters: Voters = Voters.LIKE,
) -> AnnotatorAgreement:
    """Read the votes that stand and say how far people agree.

    Parameters
    ----------
    voters : Voters
        Whom the interval is for.

    Raises
    ------
    StoreError
        The selection names a model that the store does not know.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # votes and their numbers of one moment
        shared = shared_votes(cursor, selection)
        cursor.execute("commit")
    said = Said(shared.unit, shared.annotator, shared.outcome)
    said = said if voters is Voters.LIKE else None
    return AnnotatorAgreement(
        selection=selection,
        error_level=error_level,
        found=agreement(shared.counts, shared.prompts, error_level, said),
        battles=shared.battles,
        annotators=shared.annotators,
        voted=shared.voted,
    )


# How often a judge agrees with one voter.


@dataclass(frozen=True)
class OwnAgreement:
    """A judge beside one voter, on comparisons of two answers that both have judged.

    Attributes
    ----------
    agreed : int
        Comparisons on which both say the same, "both bad" counted as a tie; of a judge whose two
        orders disagree, that is a tie.
    comparisons, prompts : int
        All comparisons, and how many questions they are on.
    low, high : float
        Of the share, at an error level of `alpha`; comparisons on one question are taken together.
    """

    judge: str
    agreed: int
    comparisons: int
    prompts: int
    low: float
    high: float
    alpha: float


def read_own_agreement(
    cursor: duckdb.DuckDBPyConnection, judge: str, voter: str, alpha: float = 0.05
) -> OwnAgreement | None:
    """Return how often a judge agrees with a voter; None where they have judged nothing alike."""
    counts = np.array(agreements_by_prompt(cursor, judge, voter), dtype=np.int64).reshape(-1, 2)
    if not len(counts):
        return None
    low, high = agreement_interval(counts[:, 0], counts[:, 1], alpha)
    agreed, comparisons = (int(total) for total in counts.sum(0))
    return OwnAgreement(judge, agreed, comparisons, len(counts), low, high, alpha)
