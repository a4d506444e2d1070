"""What is wrong with a database, a line a check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coupled_arena.store.checks.check import Finding
from coupled_arena.views.tables.table import Column, table_of

FINDINGS: tuple[Column[Finding], ...] = (
    Column("check", str, "Its name"),
    Column("holds", str, "What is so in a whole database"),
    Column("wrong", int, "How many break it; 0: it holds"),
    Column("first", str, "The first of them, by its id; or why it cannot be told"),
    Column("advice", str, "What to do", lambda row: row.advice if row.wrong else None),
)


def findings_answer(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return what the checks found as JSON values."""
    return table_of(FINDINGS, found).records()


def findings_text(found: Sequence[Finding]) -> str:
    """Return what the checks found for a terminal: a line each."""
    return "\n".join(map(_line, found))


def _line(finding: Finding) -> str:
    if not finding.wrong:
        return f"ok     {finding.check}: {finding.holds}"
    return (
        f"WRONG  {finding.check}: {finding.holds}: not so {finding.wrong:,} times, the first is "
        f"{finding.first}. {finding.advice}"
    )
