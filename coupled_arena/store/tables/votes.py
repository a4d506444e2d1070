"""Votes with their reasons: cast, or held so that they can be undone; on a given cursor.

A held vote is stored at once, so that none is lost. It counts from `promote` on, with its reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Source, Vote
from coupled_arena.core.sql import Cursor, column_of, value_of
from coupled_arena.store.tables import guards
from coupled_arena.store.tables.derived_rows import Due
from coupled_arena.store.tables.times import utc


def turned(one: str = "i", other: str = "j") -> str:
    """Return SQL: whether a voter saw the other of two places of a battle, from 1, before the one.

    Votes without an order of their own saw the battle's. The view `comparison_rows` has the same.
    """
    place = "list_position(shown, {}::integer - 1)"
    return f"coalesce({place.format(other)} < {place.format(one)}, false)"


@dataclass(frozen=True)
class Casting:
    """A vote to be written.

    Attributes
    ----------
    reveal : bool
        Its voter is shown who is who in reply; later votes on the battle are refused.
    origin : str or None
        Where it came from, see `coupled_arena.battles.limits`.
    """

    vote: Vote
    reveal: bool = True
    origin: str | None = None

    @property
    def told(self) -> tuple[str, str]:
        """The battle, and who is shown who is who in it."""
        return self.vote.battle, self.vote.voter


def cast(cursor: Cursor, due: Due, castings: Sequence[Casting]) -> list[None]:
    """Write votes, where they came from, and that their battles are revealed to their voters.

    The comparisons of these battles are `due` then.

    Raises
    ------
    VoteError
        A vote is refused, see `Store.cast`; or would have to be, if another one is written first.
    """
    stored = _stored(cursor, [each.vote for each in castings])
    new = [each for each in castings if each.vote.id not in stored]
    revealed = [each.told for each in castings if each.reveal]
    if new:
        check(cursor, [each.vote for each in new])
        times = Counter(each.told for each in castings)
        if any(times[told] > 1 for told in revealed):
            raise _not_blind()
        insert(cursor, [each.vote for each in new])
        guards.note_origins(cursor, {each.vote.id: each.origin for each in new})
        for voter in dict.fromkeys(each.vote.voter for each in new):
            guards.update_waiting(cursor, voter)
    add_reveals(cursor, revealed)
    due.voted += [each.vote.battle for each in castings]
    return [None] * len(castings)


def add_reveals(cursor: Cursor, reveals: Sequence[tuple[str, str]]) -> None:
    """Write that battles are revealed to voters, who can vote on them no more."""
    if reveals:
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


def check(cursor: Cursor, votes: Sequence[Vote]) -> None:
    """Raise VoteError where a new vote does not fit its battle, or would not be blind."""
    battles = [vote.battle for vote in votes]
    query = "select battle, len(models) from battles where list_contains(?, battle)"
    models = dict(cursor.execute(query, [battles]).fetchall())
    query = "select battle, voter from reveals where list_contains(?, battle)"
    revealed = set(cursor.execute(query, [battles]).fetchall())
    for vote in votes:
        if vote.battle not in models:
            text = _("There is no battle {battle_id!r} to vote on. Start a new one.")
            raise VoteError(text.format(battle_id=vote.battle))
        _check_ranks(vote, models[vote.battle])
        if (vote.battle, vote.voter) in revealed:
            raise _not_blind()


def _stored(cursor: Cursor, votes: Sequence[Vote]) -> set[str]:
    """Return those of some votes that were cast before.

    Raises
    ------
    VoteError
        Another vote has the id of one of them.
    """
    query = "select vote, battle, voter, ranks, both_bad from votes where list_contains(?, vote)"
    rows = cursor.execute(query, [[vote.id for vote in votes]]).fetchall()
    known = {row[0]: (*row[1:3], tuple(row[3]), row[4]) for row in rows}
    # The retry of a client that missed the answer says the same again; a different vote under
    # the same id must not be acknowledged, for it would be lost.
    for vote in votes:
        said = vote.battle, vote.voter, vote.ranks, vote.both_bad
        if known.setdefault(vote.id, said) != said:
            raise VoteError(
                _("Another vote was already cast under this id. Vote again with a new id.")
            )
    return {row[0] for row in rows}


def _check_ranks(vote: Vote, models: int) -> None:
    if len(vote.ranks) != models:
        text = _("The vote ranks {ranked} models, the battle has {models}.")
        raise VoteError(text.format(ranked=len(vote.ranks), models=models))
    if min(vote.ranks) != 1:
        raise VoteError(_("The best rank of a vote must be 1, and ranks count upwards from there."))
    if vote.both_bad and max(vote.ranks) != 1:
        raise VoteError(_("A vote that finds all replies bad cannot rank one above another."))


def _not_blind() -> VoteError:
    return VoteError(
        _(
            "This battle was already revealed to you, so a vote would not be blind. Start "
            "a new battle to vote again."
        )
    )


_INSERT = """
insert into {table} (vote, battle, voter, ranks, both_bad, source, early, cast_at)
select
    unnest(?), unnest(?), unnest(?), unnest(?::integer[][]),
    unnest(?), unnest(?), unnest(?), unnest(?)
"""


def insert(cursor: Cursor, votes: Sequence[Vote]) -> None:
    """Write new votes that have been checked; they are numbered in this order."""
    cursor.execute(_INSERT.format(table="votes"), _columns(votes))


def _columns(votes: Sequence[Vote]) -> list[list[object]]:
    return [list(column) for column in zip(*map(values_of, votes), strict=True)]


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
        _drop_reasons(cursor, [rationale.vote])
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


def _drop_reasons(cursor: Cursor, votes: Sequence[str]) -> None:
    """Delete the rationales of votes that are undone."""
    query = "delete from pending_rationales where list_contains(?, vote)"
    cursor.execute(query, [list(votes)])


def _keep_reasons(cursor: Cursor, votes: Sequence[str]) -> None:
    """Keep the rationales of votes that count now."""
    cursor.execute(
        """
        insert into rationales (rationale, vote, criteria, comment, given_at)
        select rationale, vote, criteria, comment, given_at
        from pending_rationales
        where list_contains(?, vote) and (criteria <> [] or comment <> '')
        """,
        [list(votes)],
    )
    _drop_reasons(cursor, votes)


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


def hold(cursor: Cursor, _due: Due, castings: Sequence[Casting]) -> list[None]:
    """Write votes that can be undone, and where they came from.

    Raises
    ------
    VoteError
        One would be refused as a vote, or its voter holds one on this battle.
    """
    check(cursor, [each.vote for each in castings])
    query = "select battle, voter from pending_votes where list_contains(?, battle)"
    battles = [each.vote.battle for each in castings]
    taken = Counter(cursor.execute(query, [battles]).fetchall())
    taken.update(each.told for each in castings)
    if any(taken[each.told] > 1 for each in castings):
        raise VoteError("You have voted on this battle: undo that vote first.")
    cursor.execute(
        _INSERT.format(table="pending_votes"), _columns([each.vote for each in castings])
    )
    guards.note_origins(cursor, {each.vote.id: each.origin for each in castings})
    return [None] * len(castings)


def withdraw(cursor: Cursor, _due: Due, votes: Sequence[str]) -> list[bool]:
    """Delete votes that can be undone, and why; return for each id whether there was one."""
    _drop_reasons(cursor, votes)
    guards.forget_origins(cursor, votes)
    released = _release(cursor, votes)
    return [vote in released for vote in votes]


def promote(cursor: Cursor, due: Due, castings: Sequence[Casting]) -> list[None]:
    """Make votes count, and their battles revealed to their voters or not; see `Store.cast`.

    Raises
    ------
    VoteError
        One was undone, or is refused as a vote.
    """
    votes = [each.vote.id for each in castings]
    _keep_reasons(cursor, votes)
    released = _release(cursor, votes)
    others = [each.vote for each in castings if each.vote.id not in released]
    if others and len(_stored(cursor, others)) < len(others):
        raise VoteError("This vote was undone.")
    return cast(cursor, due, castings)


def _release(cursor: Cursor, votes: Sequence[str]) -> set[str]:
    query = "delete from pending_votes where list_contains(?, vote) returning vote"
    return set(column_of(cursor, query, [list(votes)]))


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
