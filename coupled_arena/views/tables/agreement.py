"""Agreement between annotators as a table."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.agreement import AnnotatorAgreement
from coupled_arena.core.language import N_
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of
from coupled_arena.views.words.agreement import agreement_warnings, agreement_words

AGREEMENT: tuple[Column[AnnotatorAgreement], ...] = (
    Column(
        "krippendorff_alpha",
        float,
        "1: all agree; 0: as by chance; none where all votes say the same",
        lambda row: row.found.alpha,
        N_("Alpha"),
        ".3f",
    ),
    Column("low", float, "Lower end of its interval", lambda row: row.found.low),
    Column(
        "high",
        float,
        "Upper end",
        lambda row: row.found.high,
        LEVEL,
        lambda row: span(row.found.low, row.found.high, ".3f"),
    ),
    Column(
        "observed_disagreement",
        float,
        "Share of pairs of votes on the same answers that differ",
        lambda row: row.found.observed,
    ),
    Column(
        "expected_disagreement",
        float,
        "The same, if votes fell by chance",
        lambda row: row.found.expected,
    ),
    Column("annotators", int, "People who share a battle", heading=N_("People")),
    Column("battles", int, "Battles that two or more of them voted on", heading=N_("Battles")),
    Column("comparisons", int, "Pairs of answers in these", lambda row: row.found.units),
    Column(
        "votes",
        int,
        "What was said of these pairs",
        lambda row: row.found.votes,
        heading=N_("Votes"),
    ),
    Column(
        "prompts",
        int,
        "First questions of these",
        lambda row: row.found.clusters,
        heading=N_("Prompts"),
    ),
    Column("voted_battles", int, "Battles that anybody voted on", lambda row: row.voted),
)


def agreement_table(found: AnnotatorAgreement) -> Table[AnnotatorAgreement]:
    """Return what was found, as one row."""
    return table_of(AGREEMENT, [found], alpha=found.error_level)


def agreement_answer(found: AnnotatorAgreement) -> dict[str, Any]:
    """Return what was found as JSON values."""
    mode = found.selection.mode
    return {
        **agreement_table(found).records()[0],
        "level": "nominal",
        "mode": mode.value if mode else "all",
        "alpha": found.error_level,
        "people": found.found.annotators,
        "warnings": list(agreement_warnings(found)),
    }


def agreement_text(found: AnnotatorAgreement) -> str:
    """Return what was found for a terminal."""
    return "\n".join([*agreement_words(found), *agreement_warnings(found)])
