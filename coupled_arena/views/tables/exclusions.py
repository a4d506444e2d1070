"""Votes that do not count, and answers that name a model, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from coupled_arena.core.language import N_
from coupled_arena.store.tables.exclusions import Exclusion
from coupled_arena.store.tables.naming import NamingReply
from coupled_arena.views.tables.table import Column, Table, table_of


def _taken_back(name: str) -> Any:
    return lambda row: getattr(row.taken_back, name) if row.taken_back else None


def _exactly(moment: datetime | None) -> str | None:
    return moment and moment.isoformat()


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


EXCLUSIONS: tuple[Column[Exclusion], ...] = (
    Column("exclusion", str, "What `include` takes back", lambda row: row.id, N_("Exclusion")),
    Column(
        "voter",
        str,
        "Whose votes do not count; none: anybody's",
        heading=N_("Voter"),
        text=lambda row: row.voter or "anybody",
    ),
    Column(
        "since",
        str,
        "Votes from this time on (UTC); none: all before",
        lambda row: _exactly(row.since),
        N_("Since"),
        lambda row: _minute(row.since),
    ),
    Column(
        "until",
        str,
        "Votes before this time; none: all to come, too",
        lambda row: _exactly(row.until),
        N_("Until"),
        lambda row: _minute(row.until),
    ),
    Column("reason", str, "Why", lambda row: row.decision.reason, N_("Reason")),
    Column("made_by", str, "Who decided it", lambda row: row.decision.made_by, N_("By")),
    Column(
        "made_at",
        str,
        "When",
        lambda row: _exactly(row.decision.made_at),
        N_("At"),
        lambda row: _minute(row.decision.made_at),
    ),
    Column("taken_back_because", str, "Why the votes count again", _taken_back("reason")),
    Column("taken_back_by", str, "Who took it back", _taken_back("made_by")),
    Column(
        "taken_back_at",
        str,
        "When: none while it stands",
        lambda row: _exactly(row.taken_back.made_at) if row.taken_back else None,
        N_("Taken back"),
        lambda row: _minute(row.taken_back.made_at) if row.taken_back else "",
    ),
)


def exclusions_table(found: Sequence[Exclusion]) -> Table[Exclusion]:
    """Return a row for each exclusion, the first one first."""
    return table_of(EXCLUSIONS, found)


def exclusions_answer(found: Sequence[Exclusion]) -> dict[str, Any]:
    """Return the exclusions as JSON values."""
    return {"exclusions": exclusions_table(found).records()}


def exclusions_text(found: Sequence[Exclusion]) -> str:
    """Return the exclusions for a terminal."""
    return exclusions_table(found).text() if found else "No votes are excluded."


NAMES: tuple[Column[NamingReply], ...] = (
    Column("battle", str, "The battle", heading="Battle", text=lambda row: row.battle[:12]),
    Column("turn", int, "The turn of the conversation, from 0", heading="Turn"),
    Column("place", int, "The place of the answer, from 0", heading="Place"),
    Column("model", str, "Which model wrote it", heading="Model"),
    Column("found", str, "What stands in the answer", heading="Name"),
    Column("votes", int, "Votes of people that stand on this battle", heading="Votes"),
)


def names_table(found: Sequence[NamingReply]) -> Table[NamingReply]:
    """Return a row for each answer, the newest battle first."""
    return table_of(NAMES, found)


def names_answer(found: Sequence[NamingReply]) -> dict[str, Any]:
    """Return the answers as JSON values."""
    return {"answers": names_table(found).records()}


def names_text(found: Sequence[NamingReply]) -> str:
    """Return the answers for a terminal."""
    return names_table(found).text() if found else "No answer names a model."
