"""SQL conditions on rows of ``battles``: which may be shown, and how answers were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from coupled_arena.core.records import Drawn, Sampler
from coupled_arena.core.sql import Cursor, column_of, value_of

Hidden = Literal["nothing", "rounds", "stored"]

VISIBLE: dict[Hidden, str] = {
    "nothing": "true",
    "rounds": "origin <> 'arena' or battle in (select battle from reveals)",
    "stored": "origin = 'arena' and battle in (select battle from reveals)",
}


def shown_to(hidden: Hidden, told: str | None, values: dict[str, object]) -> str:
    """Return the condition on battles that a reader may see, and add its value to `values`.

    Parameters
    ----------
    told : str or None
        A voter: battles whose names they were told are shown to them, too.
    """
    if told is None:
        return VISIBLE[hidden]
    values["told"] = told
    return f"({VISIBLE[hidden]}) or battle in (select battle from reveals where voter = $told)"


def any_battles(cursor: Cursor, hidden: Hidden) -> bool:
    """Tell whether there is a battle that may be shown."""
    return value_of(cursor, f"select exists (from battles where {VISIBLE[hidden]})")


def visible_models(cursor: Cursor, models: Sequence[str]) -> tuple[str, ...]:
    """Return those of some models that are in a battle which may be shown.

    Any other model has joined with an open round: its name would tell who answers there.
    """
    if not models:
        return ()
    there = set(
        column_of(
            cursor,
            f"""
        select distinct unnest(models) as model
        from battles
        where list_has_any(models, $models) and ({VISIBLE["rounds"]})
        """,
            {"models": list(models)},
        )
    )
    return tuple(model for model in models if model in there)


SAMPLER = f"if(coupling = '{Sampler.GUMBEL.coupling}', '{Sampler.GUMBEL}', coupling)"
"""The sampler's name; the table has what `Sampler.coupling` says."""

DRAWN = f"""
($temperature is null or temperature = $temperature)
and ($top_p is null or top_p = $top_p)
and ($sampler is null or {SAMPLER} = $sampler)
"""


def drawn_values(wanted: Drawn) -> dict[str, object]:
    """Return the values of `WANTED`."""
    return asdict(wanted)
