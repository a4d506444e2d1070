"""All tables of the analyses by name: what the data dictionary and the JSON schemas are made of.

A column stands in its table's list and nowhere else. Nothing here knows any result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coupled_arena.views.tables import (
    agreement,
    audit,
    closeness,
    coupling,
    experiments,
    first_divergence,
    gate,
    gate_costs,
    leaderboard,
    memory,
    risk,
    stored,
    style,
    votes,
)
from coupled_arena.views.tables.table import Column

_KINDS = {int: "integer", float: "number", bool: "boolean", str: "string", list: "array"}


@dataclass(frozen=True)
class Declared:
    """A table of a command.

    Attributes
    ----------
    at : str or None
        Where its rows are in the command's JSON, key by key. It is empty where the answer itself is
        its only row, and None where they are not there.
    framed : bool
        Whether a result of the Python API has it by its name; of others figures have the numbers.
    """

    columns: tuple[Column[Any], ...]
    at: str | None = None
    framed: bool = True


TABLES: Mapping[str, Mapping[str, Declared]] = {
    "leaderboard": {
        "models": Declared(leaderboard.STANDINGS, "models"),
        "rank_set_sizes": Declared(leaderboard.RANK_SET_SIZES, framed=False),
        "pairs": Declared(leaderboard.HEAD_TO_HEAD),
        "memory": Declared(memory.BOARD_MEMORY, "memory"),
        "bradley_terry": Declared(leaderboard.BRADLEY_TERRY, "bradley_terry.models"),
        "style": Declared(style.STYLE_MODELS, "style.models"),
        "style_effects": Declared(style.STYLE_EFFECTS, "style.effects"),
        "modes": Declared(leaderboard.MODE_MODELS, "coupled_against_independent.models"),
        "mode_pairs": Declared(leaderboard.MODE_PAIRS, "coupled_against_independent.pairs"),
    },
    "audit": {
        "models": Declared(audit.AUDIT_MODELS, "models"),
        "differences": Declared(audit.DIFFERENCES, "differences"),
        "soft": Declared(audit.AUDIT_SOFT, "soft"),
        "style_traits": Declared(style.JUDGE_STYLE_TRAITS, "style.traits"),
        "style_models": Declared(style.JUDGE_STYLE_MODELS, "style.models"),
    },
    "plan": {
        "plan": Declared(audit.PLAN, ""),
        "prompts": Declared(gate.PROMPTS_NEEDED, "prompts_needed"),
    },
    "agreement": {"agreement": Declared(agreement.AGREEMENT, "")},
    "coupling": {
        "pairs": Declared(coupling.PAIRS, "pairs"),
        "prompts": Declared(coupling.PROMPTS, framed=False),
        "curves": Declared(coupling.CURVES, framed=False),
        "samplings": Declared(coupling.SWEEP, "pairs", framed=False),
    },
    "closeness": {
        "closeness": Declared(closeness.CLOSENESS, ""),
        "positions": Declared(closeness.PLACES, "by_position"),
        "kinds": Declared(closeness.KINDS, "by_kind"),
        "answers": Declared(closeness.ANSWERS),
        "survival": Declared(closeness.GOING, "survival"),
    },
    "risk": {
        "models": Declared(risk.MODELS, "table"),
        "first_order": Declared(risk.PAIRS),
        "second_order": Declared(risk.PAIRS),
        "mean_risk": Declared(risk.MEAN_RISKS),
        "curves": Declared(risk.CURVES, framed=False),
    },
    "gate": {
        "candidates": Declared(gate.CANDIDATES, "candidates"),
        "categories": Declared(gate.CATEGORIES, "categories"),
        "flips": Declared(gate.FLIPS, "flips"),
        "answers": Declared(gate_costs.CHANGED, "answers"),
        "costs": Declared(gate_costs.COSTS, "costs"),
        "closing": Declared(gate.CLOSING),
    },
    "resample": {
        "rankings": Declared(experiments.RANKINGS, "rankings"),
        "rank_sets": Declared(experiments.RANK_SETS),
    },
    "simulate": {
        "rank_sets": Declared(experiments.COVERAGE, "rank_sets"),
        "intervals": Declared(experiments.INTERVALS),
        "watched": Declared(experiments.WATCHED, "watched"),
        "noisy": Declared(experiments.NOISY, "noisy"),
    },
    "voters": {
        "voters": Declared(votes.VOTERS, "voters"),
        "origins": Declared(votes.ORIGINS, "origins"),
        "bursts": Declared(votes.BURSTS, "bursts"),
        "told": Declared(votes.TOLD, "told.models"),
    },
    "battles": {"rows": Declared(stored.FOUND_BATTLES, "rows")},
    "exclusions": {"exclusions": Declared(votes.EXCLUSIONS, "exclusions")},
    "names": {"answers": Declared(votes.NAMES, "answers")},
    "doctor": {"checks": Declared(stored.FINDINGS, "checks")},
    "explain": {"options": Declared(first_divergence.FIRST_DIVERGENCE, "options")},
}


def in_answer(command: str) -> Iterator[tuple[str, str]]:
    """Yield the tables that a command's JSON has as rows, each with where it has them."""
    for name, table in TABLES[command].items():
        if table.at:
            yield name, table.at


def answer_schema(command: str) -> dict[str, Any]:
    """Return the JSON schema of a command's answer, as far as its tables say it."""
    tables = TABLES[command]
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": command,
        "type": "object",
        "properties": {},
        "$defs": {name: _row_schema(table) for name, table in tables.items()},
    }
    rows: dict[str, list[dict[str, str]]] = {}
    for name, at in in_answer(command):
        rows.setdefault(at, []).append({"$ref": f"#/$defs/{name}"})
    for at, kinds in rows.items():
        *outer, last = at.split(".")
        inside = schema
        for key in outer:
            inside = inside["properties"].setdefault(
                key, {"type": ["object", "null"], "properties": {}}
            )
        items = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        inside["properties"][last] = {"type": "array", "items": items}
    for table in tables.values():
        if table.at == "":
            schema["properties"] |= _row_schema(table)["properties"]
    return schema


def _row_schema(table: Declared) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            column.name: {**_kind(column.kind), "description": column.meaning}
            for column in table.columns
        },
    }


def _kind(kind: type) -> dict[str, Any]:
    """Return the JSON type of a column: anything may be unknown, which is null."""
    if kind is datetime:
        return {"type": ["string", "null"], "format": "date-time"}
    return {"type": [_KINDS[kind], "null"]}
