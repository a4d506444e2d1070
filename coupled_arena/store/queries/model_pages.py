"""Numbers for the pages of models and pairs: battles, votes by day, how answers were made.

All functions work on a given cursor; in one transaction they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.records import ANYHOW, Drawn, Mode, Sampling
from coupled_arena.core.sql import Cursor, column_of
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.battle_conditions import DRAWN, VISIBLE, Hidden, drawn_values
from coupled_arena.store.queries.battle_search import BattleFilter, Rater, selection_of
from coupled_arena.store.tables.times import utc


def battles_of_pairs(
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
                and {DRAWN}
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


def battles_of_models(
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


def pair_votes(
    cursor: Cursor, models: Sequence[str], *, but: tuple[str, str] | None = None
) -> dict[frozenset[str], tuple[PairVotes, PairVotes]]:
    """Return the votes on each pair of some models that has any: all of them, and all but one.

    Parameters
    ----------
    but : tuple of (str, str), optional
        A battle, and a voter whose vote on it is left out of the second.
    """
    query = "select model_no, model from models where list_contains(?, model)"
    names = dict(cursor.execute(query, [list(models)]).fetchall())
    if not names:
        return {}
    known = ", ".join(map(str, names))
    battle, voter = but or (None, None)
    query = "select battle_no from battles where battle = ?"
    left_out = column_of(cursor, query, [battle]) if battle else []
    # Counted here: at each vote that is cast DuckDB would take ten times as long to plan the counts
    # of distinct prompts as it takes to read the votes.
    columns = cursor.execute(
        f"""
        select
            prompt_no,
            least(model_a, model_b) as first,
            greatest(model_a, model_b) as second,
            ((human = 'first')::tinyint - (human = 'second')::tinyint)
                * case when model_a < model_b then 1 else -1 end as better,
            not (battle_no = $battle_no and voter is not distinct from $voter) as others
        from comparisons
        where judge_no = 0 and human is not null and model_a <> model_b
            and model_a in ({known}) and model_b in ({known})
        """,
        {"battle_no": left_out[0] if left_out else -1, "voter": voter},
    ).fetchnumpy()
    rows = {name: np.asarray(column) for name, column in columns.items()}
    found: dict[frozenset[str], tuple[PairVotes, PairVotes]] = {}
    for first, second in combinations(sorted(names), 2):
        of_pair = (rows["first"] == first) & (rows["second"] == second)
        if of_pair.any():
            pair = names[first], names[second]
            found[frozenset(pair)] = (
                _counted(pair, rows, of_pair),
                _counted(pair, rows, of_pair & rows["others"]),
            )
    return found


def _counted(
    pair: tuple[str, str], rows: Mapping[str, NDArray[Any]], which: NDArray[np.bool_]
) -> PairVotes:
    better = rows["better"][which]
    wins, losses, neither = (int((better == sign).sum()) for sign in (1, -1, 0))
    return PairVotes(*pair, wins, losses, neither, len(np.unique(rows["prompt_no"][which])))


@dataclass(frozen=True)
class Day:
    """Comparisons of a model by people, on battles made on one day (UTC), and those it won."""

    day: date
    comparisons: int
    wins: int


def days(cursor: Cursor, model: str) -> tuple[Day, ...]:
    """Return the days with comparisons that a board counts, the oldest first."""
    wanted = BattleFilter(model=model, rater=Rater.PEOPLE)
    counted = _by_day(cursor, wanted)
    won = _by_day(cursor, replace(wanted, winner=model))
    return tuple(Day(day, n, won.get(day, 0)) for day, n in sorted(counted.items()))


def categories(cursor: Cursor, model: str) -> dict[str, int]:
    """Return the categories in which a board counts comparisons of a model, the most first."""
    counts = {
        category: sum(_by_day(cursor, wanted).values())
        for category in comparisons.categories(cursor)
        for wanted in [BattleFilter(model=model, rater=Rater.PEOPLE, category=category)]
    }
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return {category: n for category, n in most if n}


def facts(cursor: Cursor, model: str, hidden: Hidden) -> dict[str, tuple[str, ...]]:
    """Return what a model's answers were computed with, of battles that may be shown."""
    rows = cursor.execute(
        f"""
        select fact.key[len($model) + 2:], list(distinct fact.value order by fact.value)
        from (
            select unnest(map_entries(arithmetic)) as fact
            from battles
            where ({VISIBLE[hidden]}) and list_contains(models, $model)
        )
        where starts_with(fact.key, $model || '/')
            and not contains(fact.key[len($model) + 2:], '/')  -- else it is of another model
        group by all
        order by all
        """,
        {"model": model},
    ).fetchall()
    return {fact: tuple(values) for fact, values in rows}


# Any of these facts tells of the model. `list_has_any` takes three times as long.
_TOLD = " or ".join(
    f"list_contains(told, model || '/{fact}')"
    for fact in ("source", "dtype", "weights", "bytes per weight")
)


def newest_facts(
    cursor: Cursor, models: Sequence[str], hidden: Hidden
) -> dict[str, dict[str, str]]:
    """Return what each model's newest answers were computed with, of battles that may be shown.

    All facts of a model are of one battle: the newest that has any of it. Together they describe
    what was loaded then, where models of the same name have followed each other.
    """
    rows = cursor.execute(
        f"""
        select model, max(battle_no)
        from (
            select battle_no, map_keys(arithmetic) as told, unnest(models) as model
            from battles
            where cardinality(arithmetic) > 0 and ({VISIBLE[hidden]})
        )
        where list_contains($models, model) and ({_TOLD})
        group by model
        """,
        {"models": list(models)},
    ).fetchall()
    newest = ", ".join(str(number) for _, number in rows) or "null"
    # A join would read what all battles were computed with.
    query = f"select battle_no, arithmetic from battles where battle_no in ({newest})"
    computed = dict(cursor.execute(query).fetchall())
    return {
        model: {
            key[len(model) + 1 :]: value
            for key, value in computed[number].items()
            if key.startswith(f"{model}/")
        }
        for model, number in rows
    }


def samplings(cursor: Cursor, model: str, hidden: Hidden) -> tuple[tuple[Sampling, int], ...]:
    """Return how a model's answers were drawn, each with how many battles, the most first."""
    rows = cursor.execute(
        f"""
        select temperature, top_k, top_p, max_new_tokens, coupling, count(*) as n
        from battles
        where origin <> 'import' and ({VISIBLE[hidden]}) and list_contains(models, $model)
        group by all
        order by n desc, temperature, top_k, top_p, max_new_tokens, coupling
        """,
        {"model": model},
    ).fetchall()
    return tuple((Sampling(*row[:-1]), row[-1]) for row in rows)


def _by_day(cursor: Cursor, wanted: BattleFilter) -> dict[date, int]:
    selected, _, values = selection_of(cursor, wanted)
    rows = cursor.execute(
        f"""
        select {utc("created_at")}::date, sum(n)::bigint
        from ({selected})
        group by all
        """,
        values,
    ).fetchall()
    return dict(rows)
