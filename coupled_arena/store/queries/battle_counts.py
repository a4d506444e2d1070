"""How many battles lie behind numbers that follow from replies: a count for each list of them.

All functions work on a cursor that somebody else opened; in one transaction they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from coupled_arena.core.records import ANYHOW, Drawn, Mode
from coupled_arena.store.queries.visibility import VISIBLE, Hidden
from coupled_arena.store.tables.drawn import WANTED, drawn_values

Cursor = duckdb.DuckDBPyConnection


def of_pairs(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    hidden: Hidden,
    *,
    category: str | None = None,
    drawn: Drawn = ANYHOW,
) -> dict[tuple[str, str, Mode], int]:
    """Return how many battles with scores each pair of models has in each mode.

    A pair's names stand in both orders. Only battles that may be shown count, see `Hidden`.
    """
    rows = cursor.execute(
        f"""
        with placed as (
            select battle, mode, unnest(list_distinct(models)) as model
            from battles
            where ({VISIBLE[hidden]})
                and battle in (select battle from scores where metric = $metric)
                and {WANTED}
                and ($category is null or battle in (
                    select battle from turns where turn = 0 and category = $category
                ))
        )
        select one.model, other.model, one.mode, count(*)
        from placed as one
        join placed as other using (battle)
        where one.model <> other.model
            and list_contains($models, one.model) and list_contains($models, other.model)
        group by all
        """,
        {
            "metric": metric,
            "models": list(models),
            "category": category,
            **drawn_values(drawn),
        },
    ).fetchall()
    return {(one, other, Mode(mode)): n for one, other, mode, n in rows}


def of_models(
    cursor: Cursor, models: Sequence[str], hidden: Hidden, mode: Mode | None = None
) -> dict[str, int]:
    """Return how many battles each model has, in one mode or all; see `of_pairs`."""
    rows = cursor.execute(
        f"""
        select model, count(*)
        from (
            select unnest(list_distinct(models)) as model
            from battles
            where ({VISIBLE[hidden]}) and ($mode is null or mode = $mode)
        )
        where list_contains($models, model)
        group by model
        """,
        {"models": list(models), "mode": mode and mode.value},
    ).fetchall()
    return dict(rows)


@dataclass(frozen=True)
class PairVotes:
    """People's votes on a pair of models, whichever was shown first; on so many prompts."""

    first: str
    second: str
    wins: int
    losses: int
    neither: int
    prompts: int

    @property
    def votes(self) -> int:
        """All of them."""
        return self.wins + self.losses + self.neither


def pair_votes(cursor: Cursor, models: Sequence[str]) -> dict[frozenset[str], PairVotes]:
    """Return the votes on each pair of some models that has any."""
    query = "select model_no, model from models where list_contains(?, model)"
    names = dict(cursor.execute(query, [list(models)]).fetchall())
    if not names:
        return {}
    known = ", ".join(map(str, names))
    rows = cursor.execute(
        f"""
        select
            first, second,
            count(*) filter (winner = first),
            count(*) filter (winner = second),
            count(*) filter (winner is null),
            count(distinct prompt_no)
        from (
            select
                prompt_no,
                least(model_a, model_b) as first,
                greatest(model_a, model_b) as second,
                case human when 'first' then model_a when 'second' then model_b end as winner
            from comparisons
            where judge_no = 0 and human is not null and model_a <> model_b
                and model_a in ({known}) and model_b in ({known})
        )
        group by all
        """
    ).fetchall()
    found = (PairVotes(names[first], names[second], *told) for first, second, *told in rows)
    return {frozenset((each.first, each.second)): each for each in found}
