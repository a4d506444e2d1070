"""Which answers name a model, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coupled_arena.store.tables.naming import NamingReply
from coupled_arena.views.tables.table import Column, Table, table_of

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
