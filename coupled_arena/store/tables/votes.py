"""Votes with their reasons: cast, or held so that they can be undone; on a given cursor.

A held vote is stored at once, so that none is lost. It counts from `promote` on, with its reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Source, Vote
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables import guards
from coupled_arena.store.tables.derived_rows import Due
from coupled_arena.store.tables.times import utc


def turned(one: str = "i", other: str = "j") -> str:
    """Return SQL: whether a voter saw the other of two places of a battle, from 1, before the one.

    Votes without an order of their own saw the battle's. The view `comparison_rows` has the same.
    """
    place = "list_position(shown, {}::integer - 1)"
    return f"coalesce({place.format(other)} < {place.format(one)}, false)"


def cast(cursor: Cursor, due: Due, vote: Vote, *, reveal: bool, origin: str | None = None) -> None:
    """Write a vote, where it came from, and that its battle is revealed to its voter.

    The comparisons of the battle are `due` then.

    Raises
    ------
    VoteError
        The vote is refused; see `Store.cast`.
    """
    if not is_stored(cursor, vote):
        check(cursor, vote)
        insert(cursor, [vote])
        guards.note_origin(cursor, vote.id, origin)
        guards.update_waiting(cursor, vote.voter)
    if reveal:
        add_reveals(cursor, [(vote.battle, vote.voter)])
    due.voted.append(vote.battle)


def add_reveals(cursor: Cursor, reveals: Sequence[tuple[str, str]]) -> None:
    """Write that battles are revealed to voters, who can vote on them no more."""
    cursor.execute(
        "insert into reveals select unnest(?), unnest(?), now() on conflict do nothing",
        [list(each) for each in zip(*reveals, strict=True)],
    )


def reveal_all(cursor: Cursor, voter: str) -> None:
    """Write that a voter is told who is who in all stored battles that they have voted on."""
    cursor.execute(
        """
        insert into reveals
        select distinct battle, voter, now()
        from votes
        join battles using (battle)
        where voter = ? and origin <> 'arena'
        on conflict do nothing
        """,
        [voter],
    )


def check(cursor: Cursor, vote: Vote) -> None:
    """Raise VoteError where a new vote does not fit its battle, or would not be blind."""
    _check_ranks(vote, _count_models(cursor, vote.battle))
    _check_blind(cursor, vote)


def is_stored(cursor: Cursor, vote: Vote) -> bool:
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


def _count_models(cursor: Cursor, battle_id: str) -> int:
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


def _check_blind(cursor: Cursor, vote: Vote) -> None:
    if cursor.execute(
        "select 1 from reveals where battle = ? and voter = ?", [vote.battle, vote.voter]
    ).fetchone():
        raise VoteError(
            _(
                "This battle was already revealed to you, so a vote would not be blind. Start "
                "a new battle to vote again."
            )
        )


def insert(cursor: Cursor, votes: Sequence[Vote]) -> None:
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


_STANDS = {
    "rationales": "select criteria, comment from current_rationales where vote = ?",
    "pending_rationales": "select criteria, comment from pending_rationales where vote = ?",
}


def give_reasons(cursor: Cursor, rationale: Rationale, voter: str) -> None:
    """Write why a vote was cast; what stands already is not written again.

    Raises
    ------
    VoteError
        There is no such vote of this voter.
    """
    table = "pending_rationales" if _is_of(cursor, "pending_votes", rationale, voter) else None
    if table is None and _is_of(cursor, "votes", rationale, voter):
        table = "rationales"
    if table is None:
        # One answer for "not yours" and "not there": a guess must not learn which.
        raise VoteError("You have no vote here to give reasons for.")
    reasons = [each.value for each in rationale.criteria], rationale.comment
    if (cursor.execute(_STANDS[table], [rationale.vote]).fetchone() or ([], "")) == reasons:
        return
    if table == "pending_rationales":
        _drop_reasons(cursor, rationale.vote)
    # Later than what stands, whatever the clock says.
    cursor.execute(
        f"""
        insert into {table} (rationale, vote, criteria, comment, given_at)
        select $rationale, $vote, $criteria, $comment, greatest(
            $given_at,
            (select max(given_at) + interval 1 microsecond from {table} where vote = $vote)
        )
        """,
        {
            "rationale": rationale.id,
            "vote": rationale.vote,
            "criteria": reasons[0],
            "comment": reasons[1],
            "given_at": rationale.given_at,
        },
    )


def held_reasons(cursor: Cursor, vote: str) -> tuple[tuple[Criterion, ...], str] | None:
    """Return criteria and comment of a vote that can be undone; None where nothing was said."""
    row = cursor.execute(_STANDS["pending_rationales"], [vote]).fetchone()
    return (tuple(map(Criterion, row[0])), row[1]) if row else None


def _drop_reasons(cursor: Cursor, vote: str) -> None:
    """Delete the rationale of a vote that is undone."""
    cursor.execute("delete from pending_rationales where vote = ?", [vote])


def _keep_reasons(cursor: Cursor, vote: str) -> None:
    """Keep the rationale of a vote that counts now."""
    cursor.execute(
        """
        insert into rationales (rationale, vote, criteria, comment, given_at)
        select rationale, vote, criteria, comment, given_at
        from pending_rationales
        where vote = ? and (criteria <> [] or comment <> '')
        """,
        [vote],
    )
    _drop_reasons(cursor, vote)


def any_votes(cursor: Cursor) -> bool:
    """Tell whether anybody has voted."""
    return value_of(cursor, "select exists (from votes)")


def newest_rationale(cursor: Cursor) -> int:
    """Return the number of the last rationale of a vote that counts."""
    query = "select coalesce(max(seq), 0) from rationales"
    return value_of(cursor, query)


def _is_of(cursor: Cursor, table: str, rationale: Rationale, voter: str) -> bool:
    # Identical answers make a tie that nobody was asked about, so nobody has reasons.
    query = f"select 1 from {table} where vote = ? and voter = ? and source = 'human'"
    return cursor.execute(query, [rationale.vote, voter]).fetchone() is not None


def hold(cursor: Cursor, vote: Vote, origin: str | None = None) -> None:
    """Write a vote that can be undone, and where it came from.

    Raises
    ------
    VoteError
        It would be refused as a vote, or its voter already holds one on this battle.
    """
    check(cursor, vote)
    if cursor.execute(
        "select 1 from pending_votes where battle = ? and voter = ?", [vote.battle, vote.voter]
    ).fetchone():
        raise VoteError("You have voted on this battle: undo that vote first.")
    cursor.execute("insert into pending_votes values (?, ?, ?, ?, ?, ?, ?, ?)", values_of(vote))
    guards.note_origin(cursor, vote.id, origin)


def withdraw(cursor: Cursor, vote: str) -> bool:
    """Delete a vote that can be undone, and why; return whether there was one of this id."""
    _drop_reasons(cursor, vote)
    guards.forget_origin(cursor, vote)
    return _release(cursor, vote)


def promote(cursor: Cursor, due: Due, vote: Vote, *, reveal: bool = True) -> None:
    """Make a vote count, and its battle revealed to its voter or not; see `Store.cast`.

    Raises
    ------
    VoteError
        It was undone, or is refused as a vote.
    """
    _keep_reasons(cursor, vote.id)
    if not _release(cursor, vote.id) and not is_stored(cursor, vote):
        raise VoteError("This vote was undone.")
    cast(cursor, due, vote, reveal=reveal)


def _release(cursor: Cursor, vote: str) -> bool:
    deleted = cursor.execute("delete from pending_votes where vote = ? returning 1", [vote])
    return deleted.fetchone() is not None


def held(cursor: Cursor) -> list[Vote]:
    """Return all votes that can be undone, in the order in which they were cast."""
    rows = cursor.execute(
        f"""
        select vote, battle, voter, ranks, both_bad, source, early, {utc("cast_at")}
        from pending_votes
        order by cast_at, vote
        """
    ).fetchall()
    return [
        Vote(
            *row[:3],
            ranks=tuple(row[3]),
            both_bad=row[4],
            source=Source(row[5]),
            early=row[6],
            cast_at=row[7].replace(tzinfo=UTC),
        )
        for row in rows
    ]
