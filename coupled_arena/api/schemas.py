"""The JSON schema of what a command prints with ``--json``, from its tables and its options."""

from __future__ import annotations

from typing import Any

from coupled_arena.api import analyses, closeness, experiments, gates, rankings, risks
from coupled_arena.api.declared import Option, options
from coupled_arena.core.errors import ArenaError

_ANALYSES = {
    function.__name__: function
    for function in (
        *(rankings.leaderboard, analyses.audit, analyses.agreement, analyses.coupling),
        *(
            analyses.voters,
            closeness.closeness,
            risks.risk,
            gates.gate,
            experiments.plan,
            experiments.resample,
            experiments.simulate,
        ),
    )
}
_KINDS = {bool: "boolean", int: "integer", float: "number"}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of an answer: its tables, column by column, and its settings.

    An answer has more than that; what else it has, the data dictionary tells.

    Parameters
    ----------
    name : str
        Of a command that prints tables: "leaderboard", "audit", ...

    Raises
    ------
    ArenaError
        There is no such command.
    """
    from coupled_arena.views.tables.declared import TABLES, answer_schema

    if name not in TABLES:
        raise ArenaError(f"There is no schema of {name!r}, only of {', '.join(TABLES)}.")
    found = answer_schema(name)
    if name in _ANALYSES:
        function = _ANALYSES[name]
        found["description"] = (function.__doc__ or "").partition("\n")[0]
        found["properties"]["settings"] = {
            "type": "object",
            "properties": {each.name: _setting(each) for each in options(function)},
        }
        found["properties"]["warnings"] = {"type": "array", "items": {"type": "string"}}
    return found


def _setting(option: Option) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _KINDS.get(option.kind, "string")}
    if option.choices:
        one["enum"] = list(option.choices)
    kinds = [{"type": "array", "items": one}] if option.many else []
    kinds += [one] if option.alone or not option.many else []
    kinds += [{"type": "null"}] if option.optional else []
    chosen = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {**chosen, "description": option.plain_text}
