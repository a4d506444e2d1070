"""Which battles may be shown while people still vote, as SQL conditions on ``battles``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import duckdb

Hidden = Literal["nothing", "rounds", "stored"]

VISIBLE: dict[Hidden, str] = {
    "nothing": "true",
    "rounds": "origin <> 'arena' or battle in (select battle from reveals)",
    "stored": "origin = 'arena' and battle in (select battle from reveals)",
}


def seen(cursor: duckdb.DuckDBPyConnection, models: Sequence[str]) -> tuple[str, ...]:
    """Return those models that a battle has which may be shown.

    Another one has joined with a round that somebody has not voted on: to name it would tell who
    answers there.
    """
    if not models:
        return ()
    rows = cursor.execute(
        f"""
        select distinct unnest(models) as model
        from battles
        where list_has_any(models, $models) and ({VISIBLE["rounds"]})
        """,
        {"models": list(models)},
    ).fetchall()
    there = {model for (model,) in rows}
    return tuple(model for model in models if model in there)
