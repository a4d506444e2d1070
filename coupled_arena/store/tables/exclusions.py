"""Votes that are not to count: by which rule, why, and that it was taken back; on a given cursor.

No vote is deleted or changed. `comparisons`, from which all boards are counted, leaves out excluded
votes and votes on answers that name a model. `count_too` makes a cursor with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.tables.times import utc


@dataclass(frozen=True)
class Decision:
    """Who decided something about votes, when and why."""

    reason: str
    made_by: str
    made_at: datetime


@dataclass(frozen=True)
class Exclusion:
    """A rule by which votes do not count.

    Attributes
    ----------
    voter : str or None
        Whose votes; None: anybody's.
    since, until : datetime or None
        When they were cast, `until` not included; None: no bound.
    taken_back : Decision or None
        Set when the votes count again.
    """

    id: str
    voter: str | None
    since: datetime | None
    until: datetime | None
    decision: Decision
    taken_back: Decision | None = None


@dataclass(frozen=True)
class Excluded:
    """How many of the votes that stand are left out, each for the first reason that there is.

    Attributes
    ----------
    votes : int
        By a rule.
    of : int
        Of how many; 0 where none is left out.
    waiting : int
        As those of new voters.
    named : int
        Because an answer names a model.
    """

    votes: int
    of: int
    waiting: int = 0
    named: int = 0

    @property
    def share(self) -> float:
        """The fraction that a rule leaves out, 0 where there are no votes."""
        return self.votes / self.of if self.of else 0.0

    @property
    def named_share(self) -> float:
        """The fraction that is left out because an answer names a model."""
        return self.named / self.of if self.of else 0.0


@dataclass(frozen=True)
class Counting:
    """Which votes count that do not by default.

    Attributes
    ----------
    excluded : bool
        Those that a rule excludes, and those that wait.
    named : bool
        Those on answers that name a model.
    """

    excluded: bool = False
    named: bool = False


BY_DEFAULT = Counting()


_COVERED = """
    ($voter::text is null or voter = $voter)
    and cast_at >= coalesce($since::timestamptz, '-infinity'::timestamptz)
    and cast_at < coalesce($until::timestamptz, 'infinity'::timestamptz)
"""


def exclude(cursor: Cursor, rule: Exclusion) -> int:
    """Let votes count no more; return how many of those that stand the rule covers.

    Raises
    ------
    StoreError
        The rule names nothing, or covers no vote.
    """
    if rule.voter is None and rule.since is None and rule.until is None:
        raise StoreError(_("An exclusion needs a voter or a time: else nothing would count."))
    if rule.since is not None and rule.until is not None and rule.since >= rule.until:
        raise StoreError(_("An exclusion ends after it begins: give a later end."))
    _check(rule.decision)
    covered = _bounds(rule)
    query = f"select count(*) from current_votes where {_COVERED}"
    votes = value_of(cursor, query, covered)
    if not votes:
        raise StoreError(_("No vote is of this voter and time: nothing was excluded."))
    cursor.execute(
        """
        insert into exclusions (exclusion, voter, since, until, reason, made_by, made_at)
        values (?, ?, ?, ?, ?, ?, ?)
        """,
        [rule.id, *covered.values(), *_values(rule.decision)],
    )
    _refresh(cursor, covered)
    return votes


def include(cursor: Cursor, exclusion: str, decision: Decision) -> None:
    """Take an exclusion back: its votes count again, unless another one covers them.

    Raises
    ------
    StoreError
        There is no such exclusion, or it was taken back before.
    """
    _check(decision)
    found = {rule.id: rule for rule in exclusions(cursor)}.get(exclusion)
    if found is None or found.taken_back is not None:
        known = _("The exclusion {named} was taken back before: the list says so.")
        unknown = _("The exclusion {named} is not known: the list has them all.")
        raise StoreError((known if found else unknown).format(named=repr(exclusion[:80])))
    cursor.execute("insert into inclusions values (?, ?, ?, ?)", [exclusion, *_values(decision)])
    _refresh(cursor, _bounds(found))


def exclusions(cursor: Cursor) -> list[Exclusion]:
    """Return all exclusions, those that were taken back too, the first one first."""
    rows = cursor.execute(
        f"""
        select
            exclusion, voter, {utc("since")}, {utc("until")},
            e.reason, e.made_by, {utc("e.made_at")},
            i.reason, i.made_by, {utc("i.made_at")}
        from exclusions as e
        left join inclusions as i using (exclusion)
        order by e.seq
        """
    ).fetchall()
    return [
        Exclusion(
            *(id, voter, _utc(since), _utc(until)),
            Decision(why, by, at.replace(tzinfo=UTC)),
            Decision(because, again_by, again.replace(tzinfo=UTC)) if again else None,
        )
        for id, voter, since, until, why, by, at, because, again_by, again in rows
    ]


def excluded(cursor: Cursor) -> Excluded:
    """Count the votes of people that stand and are left out; takes no time where nothing is."""
    rules = "select 1 from standing_exclusions union all select 1 from waiting_voters limit 1"
    if cursor.execute(rules).fetchall():
        return Excluded(*cursor.execute(_LEFT_OUT).fetchall()[0])
    named = value_of(cursor, _NAMED_ALONE)
    # Of the others only how many there are: a million votes are not put in order for it.
    standing = "select count(distinct hash(battle, voter)) from votes where source = 'human'"
    return Excluded(0, value_of(cursor, standing) if named else 0, 0, named)


_LEFT_OUT = """
select
    count(*) filter (excluded), count(*),
    count(*) filter (waiting and not excluded),
    count(*) filter (named and not waiting and not excluded)
from ruled_votes
where source = 'human'
"""
_NAMED_ALONE = """
select count(*)
from (
    select arg_max(source, seq) as source
    from votes
    where battle in (select battle from naming_replies)
    group by battle, voter
)
where source = 'human'
"""


def count_too(cursor: Cursor, counting: Counting) -> None:
    """Let everything that this cursor reads count votes, too, that do not by default."""
    # In full, for the view has this name, too.
    database = value_of(cursor, "select current_database()")
    stored = '"' + database.replace('"', '""') + '".main.comparisons'
    reasons = {"excluded or waiting": counting.excluded, "named": counting.named}
    back = " or ".join(reason for reason, too in reasons.items() if too)
    still = " or ".join(reason for reason, too in reasons.items() if not too)
    touched = f"battle in (select battle from ruled_votes where {back})"
    cursor.execute(
        f"""
        create temp view comparisons as
        from {stored}
        where battle_no not in (select battle_no from battles where {touched})
        union all
        select * exclude (battle) from comparison_rows where {touched}
        """
    )
    # Temporary views come before others of their names, in views that were made with those, too.
    cursor.execute(
        f"""
        create temp view counted_votes as
        select * exclude (excluded, waiting, named) from ruled_votes where not ({still or "false"})
        """
    )


def moment_of(text: str | None) -> datetime | None:
    """Return the time that a text says, UTC where it names no zone; None for an empty one.

    Raises
    ------
    StoreError
        It says none.
    """
    if text is None or not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        message = _("{given} is no time: give one such as 2026-11-23T14:00.")
        raise StoreError(message.format(given=repr(text[:40]))) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bounds(rule: Exclusion) -> dict[str, object]:
    return {"voter": rule.voter, "since": rule.since, "until": rule.until}


def _refresh(cursor: Cursor, covered: dict[str, object]) -> None:
    derived_rows.refresh(cursor, f"battle in (select battle from votes where {_COVERED})", covered)


def _check(decision: Decision) -> None:
    if not decision.reason.strip() or not decision.made_by.strip():
        raise StoreError(_("Say why, and who decides: neither may be empty."))


def _values(decision: Decision) -> Sequence[object]:
    return decision.reason, decision.made_by, decision.made_at


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)
