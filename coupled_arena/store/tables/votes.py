"""Casting votes, on a cursor that somebody else opened."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _
from coupled_arena.core.records import Vote
from coupled_arena.store.tables import origins, probation


def cast(
    cursor: duckdb.DuckDBPyConnection, vote: Vote, *, reveal: bool, origin: str | None = None
) -> None:
    """Write a vote, where it came from, and that its battle is revealed to its voter.

    Raises
    ------
    VoteError
        The vote is refused; see `Store.cast`.
    """
    if not is_stored(cursor, vote):
        check(cursor, vote)
        insert(cursor, [vote])
        origins.note(cursor, vote.id, origin)
        probation.look(cursor, vote.voter)
    if reveal:
        tell(cursor, [(vote.battle, vote.voter)])


def tell(cursor: duckdb.DuckDBPyConnection, told: Sequence[tuple[str, str]]) -> None:
    """Write of battles and voters that these are told who is who: they vote on those no more."""
    cursor.execute(
        "insert into reveals select unnest(?), unnest(?), now() on conflict do nothing",
        [list(each) for each in zip(*told, strict=True)],
    )


def check(cursor: duckdb.DuckDBPyConnection, vote: Vote) -> None:
    """Raise VoteError where a new vote does not fit its battle, or would not be blind."""
    _check_ranks(vote, _count_models(cursor, vote.battle))
    _check_blind(cursor, vote)


def is_stored(cursor: duckdb.DuckDBPyConnection, vote: Vote) -> bool:
    """Return whether this vote was cast before.

    Raises
    ------
    VoteError
        Another vote has its id.
    """
    row = cursor.execute(
        "select battle, voter, ranks, both_bad from votes where vote = ?", [vote.id]
    ).fetchone()
    if row is None:
        return False
    # The retry of a client that missed the answer says the same again; a different vote under
    # the same id must not be acknowledged, for it would be lost.
    if (row[0], row[1], tuple(row[2]), row[3]) != (
        *(vote.battle, vote.voter, vote.ranks, vote.both_bad),
    ):
        raise VoteError(_("Another vote was already cast under this id. Vote again with a new id."))
    return True


def _count_models(cursor: duckdb.DuckDBPyConnection, battle_id: str) -> int:
    row = cursor.execute("select len(models) from battles where battle = ?", [battle_id]).fetchone()
    if row is None:
        text = _("There is no battle {battle_id!r} to vote on. Start a new one.")
        raise VoteError(text.format(battle_id=battle_id))
    return int(row[0])


def _check_ranks(vote: Vote, models: int) -> None:
    if len(vote.ranks) != models:
        text = _("The vote ranks {ranked} models, the battle has {models}.")
        raise VoteError(text.format(ranked=len(vote.ranks), models=models))
    if min(vote.ranks) != 1:
        raise VoteError(_("The best rank of a vote must be 1, and ranks count upwards from there."))
    if vote.both_bad and max(vote.ranks) != 1:
        raise VoteError(_("A vote that finds all replies bad cannot rank one above another."))


def _check_blind(cursor: duckdb.DuckDBPyConnection, vote: Vote) -> None:
    if cursor.execute(
        "select 1 from reveals where battle = ? and voter = ?", [vote.battle, vote.voter]
    ).fetchone():
        raise VoteError(
            _(
                "This battle was already revealed to you, so a vote would not be blind. Start "
                "a new battle to vote again."
            )
        )


def insert(cursor: duckdb.DuckDBPyConnection, votes: Sequence[Vote]) -> None:
    """Write new votes that have been checked; they are numbered in this order."""
    cursor.execute(
        """
        insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at)
        select
            unnest(?), unnest(?), unnest(?), unnest(?::integer[][]),
            unnest(?), unnest(?), unnest(?), unnest(?)
        """,
        [list(column) for column in zip(*map(values_of, votes), strict=True)],
    )


def values_of(vote: Vote) -> list[object]:
    """Return a vote as the columns that tables of votes share, in their order."""
    return [
        *(vote.id, vote.battle, vote.voter, list(vote.ranks)),
        *(vote.both_bad, vote.source.value, vote.early, vote.cast_at),
    ]
