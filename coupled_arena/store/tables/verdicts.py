"""Writing the verdicts of judges, on a cursor that somebody else opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.tables import upkeep

Cursor = duckdb.DuckDBPyConnection


def add(cursor: Cursor, verdicts: Sequence[Verdict]) -> None:
    """Write verdicts; those that are there already change nothing."""
    columns: dict[str, list[Any]] = {
        "verdict": [verdict.id for verdict in verdicts],
        "battle": [verdict.battle for verdict in verdicts],
        "judge": [verdict.judge for verdict in verdicts],
        "first_place": [verdict.first_place for verdict in verdicts],
        "second_place": [verdict.second_place for verdict in verdicts],
        "outcome": [verdict.outcome and verdict.outcome.value for verdict in verdicts],
        "raw": [verdict.raw for verdict in verdicts],
        "probability": [verdict.probability for verdict in verdicts],
        **{
            f"p_{way}": [getattr(verdict.probabilities, way, None) for verdict in verdicts]
            for way in ("first", "second", "tie")
        },
        "judged_at": [verdict.judged_at for verdict in verdicts],
    }
    battles = sorted({verdict.battle for verdict in verdicts})
    cursor.execute(_ADD, columns)
    upkeep.refresh(cursor, "list_contains($battles, battle)", {"battles": battles})


_ADD = """
insert into verdicts (
    verdict, battle, judge, first_place, second_place, outcome, raw, probability,
    p_first, p_second, p_tie, judged_at
)
select
    unnest($verdict), unnest($battle), unnest($judge),
    unnest($first_place), unnest($second_place),
    unnest($outcome::text[]), unnest($raw), unnest($probability::double[]),
    unnest($p_first::double[]), unnest($p_second::double[]), unnest($p_tie::double[]),
    unnest($judged_at)
on conflict do nothing
"""
