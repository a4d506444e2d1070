"""Battles behind a number, as a table."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.battles import FoundBattles
from coupled_arena.core.language import N_
from coupled_arena.store.queries.battle_search import FoundBattle
from coupled_arena.views.addresses import list_address
from coupled_arena.views.battle_pages import count_words
from coupled_arena.views.tables.table import Column, Table, table_of

FOUND_BATTLES: tuple[Column[FoundBattle], ...] = (
    Column("battle", str, "Id", heading=N_("Battle")),
    Column(
        "created_at",
        str,
        "When it was made, UTC, ISO 8601",
        lambda row: row.created_at.isoformat(),
        N_("Made (UTC)"),
        lambda row: f"{row.created_at:%Y-%m-%d %H:%M:%S}",
    ),
    Column("mode", str, "How its models drew their noise", heading=N_("Noise")),
    Column(
        "models",
        list,
        "Names in order of presentation",
        heading=N_("Models"),
        text=lambda row: " against ".join(row.models),
    ),
    Column("question", str, "Its first question; empty where an import brought none"),
    Column("votes", int, "Votes that stand", heading=N_("Votes")),
    Column("verdicts", int, "Verdicts of all judges, in every order", heading=N_("Verdicts")),
    Column("comparisons", int, "Pairs and voters that were selected; 0 where none were asked for"),
)


def battle_table(found: FoundBattles) -> Table[FoundBattle]:
    """Return a row for each battle of a page, the newest first."""
    return table_of(FOUND_BATTLES, found.battles)


def battles_answer(found: FoundBattles) -> dict[str, Any]:
    """Return a page of battles as JSON values."""
    return {
        "battles": found.tally.battles,
        "comparisons": found.tally.comparisons,
        "rows": battle_table(found).records(),
        "older": found.following and list_address(found.following),
    }


def battles_text(found: FoundBattles) -> str:
    """Return a page of battles for a terminal."""
    older = [f"Older ones: {list_address(found.following)}"] if found.following else []
    return "\n".join([battle_table(found).text(), count_words(found), *older])
