"""What a store holds, counted: battles, votes, verdicts, scores, grades, and how they were made.

All functions work on a given cursor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coupled_arena.core.records import Mode, Origin, Sampling
from coupled_arena.core.sql import Cursor
from coupled_arena.store.queries.battle_conditions import VISIBLE, Hidden
from coupled_arena.store.tables.times import utc


@dataclass(frozen=True)
class BattleCount:
    """Battles of one origin and mode; `first` and `last` are when they were made, in UTC."""

    origin: Origin
    mode: Mode
    battles: int
    first: datetime
    last: datetime


@dataclass(frozen=True)
class VoteCount:
    """Votes that stand, by people and for equal replies, and those that a later vote replaced."""

    people: int
    voters: int
    identical: int
    superseded: int


@dataclass(frozen=True)
class JudgeRecord:
    """A judge, what its name stands for, and how often it spoke."""

    judge: str
    model: str
    prompt_hash: str
    sampling: str
    verdicts: int
    unreadable_verdicts: int
    grades: int
    unreadable_grades: int


@dataclass(frozen=True)
class MetricRecord:
    """Scores by one metric."""

    metric: str
    source: str
    higher_is_better: bool
    scores: int
    prompts: int


@dataclass(frozen=True)
class ModelRecord:
    """A model, and what was recorded with its battles: each fact with the values it has had."""

    model: str
    battles: int
    facts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ExperimentRecord:
    """A batch run; `seed` in hexadecimal, None where it must not be told yet."""

    seed: str | None
    battles: int
    prompts: int
    repetitions: int


@dataclass(frozen=True)
class Inventory:
    """Everything that a store holds, counted."""

    battles: tuple[BattleCount, ...]
    votes: VoteCount
    judges: tuple[JudgeRecord, ...]
    metrics: tuple[MetricRecord, ...]
    models: tuple[ModelRecord, ...]
    samplings: tuple[tuple[Sampling, int], ...]
    experiments: tuple[ExperimentRecord, ...]


def inventory(cursor: Cursor, hidden: Hidden | None = None) -> Inventory:
    """Count what the store holds.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}, optional
        Whose seeds are left out, as in `transfer.export.export`. By default also those of stored
        battles if people vote on such battles: one seed leads to others.
    """
    return Inventory(
        battles=_battles(cursor),
        votes=VoteCount(*_rows(cursor, _VOTES)[0]),
        judges=tuple(JudgeRecord(*row) for row in _rows(cursor, _JUDGES)),
        metrics=tuple(MetricRecord(*row) for row in _rows(cursor, _METRICS)),
        models=_models(cursor),
        samplings=tuple((Sampling(*row[:-1]), row[-1]) for row in _rows(cursor, _SAMPLINGS)),
        experiments=_experiments(cursor, hidden or _to_hide(cursor)),
    )


_BATTLES = f"""
select
    origin, mode, count(*),
    {utc("min(created_at)")},
    {utc("max(created_at)")}
from battles
group by origin, mode
order by origin, mode
"""
_VOTES = """
select
    count(*) filter (where source = 'human'),
    count(distinct voter) filter (where source = 'human'),
    count(*) filter (where source = 'identical'),
    (select count(*) from votes) - count(*)
from current_votes
"""
_JUDGES = """
with spoken as (
    select judge, count(*) as n, count(*) filter (where outcome is null) as unreadable
    from verdicts
    group by judge
),
graded as (
    select judge, count(*) as n, count(*) filter (where correct is null) as unreadable
    from grades
    group by judge
)
select
    judge, model, prompt_hash, sampling,
    coalesce(spoken.n, 0), coalesce(spoken.unreadable, 0),
    coalesce(graded.n, 0), coalesce(graded.unreadable, 0)
from judges
left join spoken using (judge)
left join graded using (judge)
order by judge
"""
_METRICS = """
select metric, source, higher_is_better, count(*), count(distinct prompt_key)
from scores
join metrics using (metric)
join prompt_keys using (battle)
group by all
order by metric
"""
_SAMPLINGS = """
select temperature, top_k, top_p, max_new_tokens, coupling, count(*)
from battles
where origin <> 'import'
group by all
order by all
"""
_MODELS = """
select model, count(*)
from (select unnest(list_distinct(models)) as model from battles)
group by model
order by model
"""
_FACTS = """
select distinct fact.key, fact.value
from (select unnest(map_entries(arithmetic)) as fact from battles)
order by all
"""
_EXPERIMENTS = """
select
    experiment,
    bool_and({visible}),
    count(*),
    count(distinct prompt_key),
    count(distinct repetition)
from battles
join prompt_keys using (battle)
where origin = 'generate' and experiment is not null
group by experiment
order by min(created_at), experiment
"""
_PEOPLE_VOTE_ON_STORED = """
select count(*)
from votes
join battles using (battle)
where origin = 'generate' and source = 'human'
"""


def _battles(cursor: Cursor) -> tuple[BattleCount, ...]:
    return tuple(
        BattleCount(Origin(origin), Mode(mode), *rest)
        for origin, mode, *rest in _rows(cursor, _BATTLES)
    )


def _models(cursor: Cursor) -> tuple[ModelRecord, ...]:
    facts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, value in _rows(cursor, _FACTS):
        model, _, fact = key.rpartition("/")  # names may contain slashes, facts do not
        facts[model][fact].append(value)
    return tuple(
        ModelRecord(model, n, {fact: tuple(values) for fact, values in facts[model].items()})
        for model, n in _rows(cursor, _MODELS)
    )


def _experiments(cursor: Cursor, hidden: Hidden) -> tuple[ExperimentRecord, ...]:
    rows = _rows(cursor, _EXPERIMENTS.format(visible=VISIBLE[hidden]))
    return tuple(
        ExperimentRecord(seed if visible else None, *rest) for seed, visible, *rest in rows
    )


def _to_hide(cursor: Cursor) -> Hidden:
    return "stored" if _rows(cursor, _PEOPLE_VOTE_ON_STORED)[0][0] else "rounds"


def _rows(cursor: Cursor, query: str) -> list[tuple[Any, ...]]:
    return cursor.execute(query).fetchall()
