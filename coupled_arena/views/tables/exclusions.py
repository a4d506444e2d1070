"""Which votes do not count, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from coupled_arena.core.language import N_
from coupled_arena.store.tables.exclusions import Exclusion
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
