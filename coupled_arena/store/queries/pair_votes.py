"""How people voted on pairs of models, counted: what the battles behind a pair's cell come to.

All functions work on a cursor that somebody else opened; in one transaction they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

Cursor = duckdb.DuckDBPyConnection


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
