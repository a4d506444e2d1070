"""The record of one battle: votes, verdicts, scores; and a voter's last battles.

All functions work on a given cursor; in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Outcome, Source
from coupled_arena.core.sql import Cursor
from coupled_arena.store.tables.times import utc


@dataclass(frozen=True)
class StoredVote:
    """A vote on a battle; `current` until its voter votes again; with its reasons, if given."""

    vote: str
    voter: str
    ranks: tuple[int, ...]
    both_bad: bool
    source: Source
    early: bool
    cast_at: datetime
    current: bool
    criteria: tuple[Criterion, ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class StoredVerdict:
    """A verdict on the answers at two places, in the order in which the judge saw them."""

    judge: str
    first_place: int
    second_place: int
    outcome: Outcome | None
    raw: str
    probability: float | None
    judged_at: datetime


@dataclass(frozen=True)
class StoredScore:
    """A number on one reply; `answer` is what a benchmark read in it."""

    turn: int
    place: int
    metric: str
    score: float
    answer: str | None


@dataclass(frozen=True)
class BattleRecord:
    """All votes, verdicts and scores of one battle, in the order in which they came."""

    votes: tuple[StoredVote, ...]
    verdicts: tuple[StoredVerdict, ...]
    scores: tuple[StoredScore, ...]


def record_of(cursor: Cursor, battle: str) -> BattleRecord:
    """Return all votes, verdicts and scores of a battle."""
    return BattleRecord(
        votes=tuple(_vote(*row) for row in _rows(cursor, _VOTES, battle)),
        verdicts=tuple(
            StoredVerdict(judge, first, second, outcome and Outcome(outcome), raw, p, _utc(at))
            for judge, first, second, outcome, raw, p, at in _rows(cursor, _VERDICTS, battle)
        ),
        scores=tuple(StoredScore(*row) for row in _rows(cursor, _SCORES, battle)),
    )


_VOTES = f"""
select
    vote, voter, ranks, both_bad, source, early, {utc("cast_at")},
    row_number() over (partition by voter order by votes.seq desc) = 1,
    coalesce(criteria, []), coalesce(comment, '')
from votes
left join (
    -- Not from the view, which would look at those of all votes first.
    select vote, criteria, comment
    from rationales
    where vote in (select vote from votes where battle = $battle)
    qualify row_number() over (partition by vote order by given_at desc, seq desc) = 1
) using (vote)
where battle = $battle
order by votes.seq
"""
_VERDICTS = f"""
select
    judge, first_place, second_place, outcome, raw, probability, {utc("judged_at")}
from verdicts
where battle = $battle
order by judge, seq
"""
_SCORES = """
select turn, place, metric, score, answer
from scores
where battle = $battle
order by turn, place, metric
"""


def _rows(cursor: Cursor, query: str, battle: str) -> list[tuple[Any, ...]]:
    return cursor.execute(query, {"battle": battle}).fetchall()


def _vote(*row: Any) -> StoredVote:
    vote, voter, ranks, bad, source, early, at, current, criteria, comment = row
    reasons = tuple(map(Criterion, criteria)), comment
    return StoredVote(
        vote, voter, tuple(ranks), bad, Source(source), early, _utc(at), current, *reasons
    )


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


@dataclass(frozen=True)
class OwnRound:
    """A battle revealed to a voter, with their own vote unless a judge decided it.

    Attributes
    ----------
    ranks : tuple of int or None
        By place; None where there is no vote, as with `source`.
    ended_at : datetime
        When they voted, or were shown the judge's decision.
    """

    battle: str
    question: str
    models: tuple[str, ...]
    ranks: tuple[int, ...] | None
    both_bad: bool
    source: Source | None
    ended_at: datetime


def own_rounds(cursor: Cursor, voter: str, most: int) -> list[OwnRound]:
    """Return the newest battles that were revealed to a voter."""
    rows = cursor.execute(
        f"""
        with own as (
            select *, coalesce(cast_at, revealed_at) as ended_at
            from (select * from reveals where voter = $voter)
            left join votes using (battle, voter)
            qualify row_number() over (partition by battle order by seq desc) = 1
            order by ended_at desc, seq desc
            limit $most
        )
        select
            battle, prompt, models, ranks, coalesce(both_bad, false), source,
            {utc("ended_at")}
        from own
        join battles using (battle)
        join (select battle, prompt from turns where turn = 0) using (battle)
        order by ended_at desc, seq desc
        """,
        {"voter": voter, "most": most},
    ).fetchall()
    return [
        OwnRound(
            *(battle, asked, tuple(models), None if ranks is None else tuple(ranks), bad),
            *(None if source is None else Source(source), at.replace(tzinfo=UTC)),
        )
        for battle, asked, models, ranks, bad, source, at in rows
    ]
