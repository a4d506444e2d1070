"""Who votes how much, how fast, and too unlike the others: for whoever keeps an arena."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.stats.voters import TOLERANCE, Capitals, Votes, capitals
from coupled_arena.store.database import Store
from coupled_arena.store.queries.vote_stream import VoteStream, vote_stream

_BURST = 60.0  # seconds


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
        Whether that ever was enough, at the error level of the report.
    bet : str
        What has won most: "for MODEL", "against MODEL" or "against the others".
    """

    voter: str
    votes: int
    share: float
    most_in_a_minute: int
    log_e_value: float
    peak_log_e_value: float
    suspect: bool
    bet: str


@dataclass(frozen=True)
class VoterReport:
    """All voters, the most evidence first.

    Attributes
    ----------
    alpha : float
        With at most this probability any honest voter is a suspect.
    tolerance : float
        How much more often than others an honest voter may say the same.
    """

    rows: tuple[VoterRow, ...]
    votes: int
    alpha: float
    tolerance: float


def read_voters(store: Store, alpha: float = 0.05, tolerance: float = TOLERANCE) -> VoterReport:
    """Hold each voter's votes against those of the others.

    Parameters
    ----------
    alpha : float
        Error level, joint over all voters there are and all times.
    tolerance : float
        0: an honest voter says everything as often as the others.
    """
    with store.cursor() as cursor:
        stream = vote_stream(cursor)
    if not len(stream.voter):
        return VoterReport((), 0, alpha, tolerance)
    names, voter = np.unique(stream.voter.astype(str), return_inverse=True)
    models, at = np.unique(
        np.concatenate([stream.first, stream.second]).astype(str), return_inverse=True
    )
    first, second = np.split(at, 2)
    found = capitals(Votes(voter, first, second, stream.outcome), len(models), tolerance)
    rows = _rows(stream, voter, found, names.tolist(), models.tolist(), alpha)
    order = sorted(rows, key=lambda row: (-row.peak_log_e_value, -row.votes, row.voter))
    return VoterReport(tuple(order), len(voter), alpha, tolerance)


def _rows(
    stream: VoteStream,
    voter: NDArray[np.int64],
    found: Capitals,
    names: list[str],
    models: list[str],
    alpha: float,
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
