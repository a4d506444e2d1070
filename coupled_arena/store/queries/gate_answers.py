"""What models answered to the questions of a gate, what they were computed with, and how fast.

All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.times import utc

_ANSWERS = """
select
    battle, experiment, models[replies.place + 1], mode,
    md5(concat_ws(chr(0), prompt_key, turns.system, turns.prefix)),
    hash(replies.text), scores.answer, (temperature, top_k, top_p, max_new_tokens)::text, battle_no
from scores
join battles using (battle)
join prompt_keys using (battle)
join turns using (battle, turn)
join replies using (battle, turn, place)
where scores.metric = $metric and turn = 0 and battle_no > $after
    and list_contains($names, models[replies.place + 1])
    and ($mode is null or mode = $mode)
    and ($category is null or prompt_keys.category = $category)
    and ($language is null or prompt_keys.language = $language)
order by battle_no, replies.place
"""


@dataclass(frozen=True)
class GateAnswer:
    """An answer with a score.

    Attributes
    ----------
    experiment : str or None
        The run that made it.
    key : str
        What equal questions in equal words share.
    text : int
        A number that equal texts share, and others with a chance of 2 ** -64.
    read : str or None
        The answer as the benchmark read it; None where nothing could be read.
    drawn : str
        How it was drawn: only answers that were drawn alike have one law.
    number : int
        Of its battle: a later one has a higher number.
    """

    battle: str
    experiment: str | None
    model: str
    mode: Mode
    key: str
    text: int
    read: str | None
    drawn: str = ""
    number: int = 0


def gate_answers(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    selection: Selection,
    after: int = 0,
) -> tuple[GateAnswer, ...]:
    """Return the scored answers of some models, oldest battles first.

    Parameters
    ----------
    selection : Selection
        Mode, category and language.
    after : int
        Only of battles with a higher number.
    """
    values = {name: selection.values[name] for name in ("mode", "category", "language")}
    values |= {"metric": metric, "names": list(models), "after": after}
    rows = cursor.execute(_ANSWERS, values).fetchall()
    return tuple(
        GateAnswer(battle, experiment, model, Mode(mode), *rest)
        for battle, experiment, model, mode, *rest in rows
    )


def count_answers(cursor: Cursor, metric: str, models: Sequence[str]) -> int:
    """Return how many scored answers of some models there are."""
    return value_of(
        cursor,
        "select count(*) from scores join battles using (battle) "
        "where metric = ? and turn = 0 and list_contains(?, models[place + 1])",
        [metric, list(models)],
    )


_FACTS = """
select
    fact.key[len($model) + 2:] as name,
    arg_max(fact.value, battle_no)
from (
    select battle_no, unnest(map_entries(arithmetic)) as fact
    from battles
    where list_contains(models, $model) and battle_no > $after
)
where starts_with(fact.key, $model || '/')
group by all
"""


def newest_facts(cursor: Cursor, model: str, after: int = 0) -> dict[str, str]:
    """Return what a model's newest answers were computed with, in battles after a number."""
    return dict(cursor.execute(_FACTS, {"model": model, "after": after}).fetchall())


_BEGUN = f"""
select
    {utc("created_at")},
    coalesce(try_cast(arithmetic['turn 0/most battles at once'] as integer), 1)
from battles
where origin = 'generate' and list_has_all(models, $models)
    and experiment = (
        select arg_max(experiment, battle_no)
        from battles
        where origin = 'generate' and list_has_all(models, $models)
    )
order by all
"""


def begun(cursor: Cursor, models: Sequence[str]) -> tuple[list[datetime], int]:
    """Return when the battles of some models' newest run began, and how many ran at once."""
    rows = cursor.execute(_BEGUN, {"models": list(models)}).fetchall()
    return [when for when, _ in rows], max((most for _, most in rows), default=1)
