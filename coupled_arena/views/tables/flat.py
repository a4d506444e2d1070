"""The columns of the flat table of votes, as its dictionary and its card tell them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from coupled_arena.store.transfer.flat import judge_columns
from coupled_arena.views.tables.table import Column

FLAT: tuple[Column[Any], ...] = (
    Column("vote", str, "Id of the vote: the pairs of one vote share it"),
    Column("cast_at", datetime, "When the vote was cast, UTC"),
    Column("battle", str, "Id of the battle: the answers that were compared"),
    Column("turns", int, "Number of the battle's questions"),
    Column("prompt_id", str, "Id of the first question in its library, benchmark or import"),
    Column("prompt", str, "Text of the first question; missing in imports without texts"),
    Column("category", str, "Category of the first question"),
    Column("language", str, "Language of the first question"),
    Column("origin", str, "`arena` (the battle tab), `generate` (a batch run), `import`"),
    Column("mode", str, "`coupled`, `independent`, or `unknown` for imports that do not say"),
    Column("seed", str, "Seed of the noise, 16 hexadecimal digits; missing where unknown"),
    Column("temperature", float, "0 is greedy; missing, like the next three, for imports"),
    Column("top_k", int, "Likeliest tokens that were kept; 0: all"),
    Column("top_p", float, "Share of probability that was kept; 1: all"),
    Column("max_new_tokens", int, "Longest answer, in tokens"),
    Column("model_a", str, "The model shown first of the two"),
    Column("model_b", str, "The model shown after it"),
    Column("place_a", int, "Position of `model_a` on the screen, 0 is the first"),
    Column("place_b", int, "Position of `model_b`; above 1 only where three or more were shown"),
    Column("winner", str, "`model_a`, `model_b`, `tie` or `both_bad`"),
    Column(
        "counted",
        bool,
        "Whether leaderboards count the row: not a model against itself, nor a preference between "
        "answers with the same words",
    ),
    Column("source", str, "`human`, or `identical`: a tie of equal answers, nobody was asked"),
    Column("early", bool, "Cast before the answers had ended"),
    Column("voter", str, "Pseudonym of the voter, as in the other export files"),
    Column("tokens_a", int, "Tokens of `model_a`'s answers, all turns; missing where unknown"),
    Column("tokens_b", int, "Likewise of `model_b`'s"),
    Column(
        "judge_NAME_ab",
        str,
        "What the judge of this name said with `model_a` shown first, in the words of `winner`; "
        "missing: not asked, or unreadable",
    ),
    Column("judge_NAME_ba", str, "Likewise with `model_b` shown first"),
)


def columns_of(judges: Iterable[str]) -> list[tuple[str, Column[Any]]]:
    """Return the columns of a table with these judges, each with its name there."""
    *fixed, first, second = FLAT
    named = [(column.name, column) for column in fixed]
    for judge in judges:
        named += zip(judge_columns(judge), (first, second), strict=True)
    return named
