"""Reasons by pair as a table: each share leads to its battles."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from coupled_arena.analysis.reasons import ReasonShare
from coupled_arena.core.language import N_, _, number
from coupled_arena.store.queries.battle_search import BattleFilter, Rater
from coupled_arena.views.addresses import list_address
from coupled_arena.views.markup import joined, paragraph
from coupled_arena.views.own_votes import criterion_words
from coupled_arena.views.tables.table import LEVEL, Column, span, table_of

REASONS: tuple[Column[ReasonShare], ...] = (
    Column("winner", str, "Model that was preferred", heading=N_("Preferred")),
    Column("loser", str, "The other model", heading=N_("To")),
    Column(
        "criterion",
        str,
        "What the voter said",
        heading=N_("Because"),
        text=lambda row: criterion_words((1, 2), both_bad=False)[row.criterion],
    ),
    Column(
        "share",
        float,
        "Of wins with any reason, the fraction with this one",
        heading=N_("Share"),
        text=".0%",
        strong=True,
    ),
    Column(
        "low",
        float,
        "Lower bound of the share's interval",
        heading=LEVEL,
        text=lambda row: span(row.low, row.high, ".0%"),
        by="share",
    ),
    Column("high", float, "Upper bound of the share's interval"),
    Column(
        "said",
        int,
        "Wins with this reason",
        heading=N_("Said, of wins with a reason"),
        text=lambda row: f"{number(row.said, ',')}/{number(row.wins, ',')}",
    ),
    Column("wins", int, "Wins with any reason"),
    Column("voters", int, "Who gave them", heading=N_("Voters")),
)


def reason_table(found: Sequence[ReasonShare], alpha: float) -> Markup:
    """Return the reasons of each pair as markup."""

    def address(row: ReasonShare, column: str) -> str | None:
        if column not in ("share", "said"):
            return None
        wanted = BattleFilter(
            model=row.winner,
            other=row.loser,
            winner=row.winner,
            rater=Rater.PEOPLE,
            reason=row.criterion if column == "share" else None,
        )
        return list_address(wanted)

    note = _(
        "A vote may have several reasons, and most have none. The share is among votes with a "
        "reason; its interval allows for votes of one person being alike."
    )
    return joined(
        [table_of(REASONS, found, alpha=alpha).html("reasons", address), paragraph(note, "hint")]
    )
