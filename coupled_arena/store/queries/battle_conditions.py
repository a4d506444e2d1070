"""What a filter selects, as SQL conditions on battles and their comparisons."""

from __future__ import annotations

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import ANYHOW
from coupled_arena.store.queries.battle_filter import BattleFilter, Ending, Judged, Word
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers
from coupled_arena.store.tables.drawn import WANTED, drawn_values

Cursor = duckdb.DuckDBPyConnection


def behind(cursor: Cursor, wanted: BattleFilter) -> tuple[str, str, dict[str, object]]:
    """Return the query for the selected battles, ``n`` comparisons of each.

    And the condition on the comparisons to tell of each, and the values of both.
    """
    values: dict[str, object] = {}
    conditions = _of_battles(cursor, wanted, values)
    if wanted.heard is None:
        where = "judge_no = 0 and human is not null"
        source = "select *, 0 as n from battles"
    else:
        where = _of_comparisons(cursor, wanted, values)
        counted = f"select battle_no, count(*) as n from comparisons where {where} group by all"
        source = f"select battles.*, n from battles join ({counted}) using (battle_no)"
    return f"select * from ({source}) where {' and '.join(conditions)}", where, values


def _of_battles(cursor: Cursor, wanted: BattleFilter, values: dict[str, object]) -> list[str]:
    conditions = ["true"]
    if wanted.benchmark is not None:
        conditions.append("battle in (select battle from scores where metric = $benchmark)")
        values["benchmark"] = wanted.benchmark
    if wanted.drawn != ANYHOW:
        conditions.append(WANTED)
        values.update(drawn_values(wanted.drawn))
    if wanted.text is not None:
        conditions.append(
            """battle in (
                select battle from turns where contains(lower(prompt), lower($text))
                union
                select battle from replies where contains(lower(text), lower($text))
            )"""
        )
        values["text"] = wanted.text
    if wanted.heard is not None:  # the comparisons have the rest
        return conditions
    if wanted.mode is not None:
        conditions.append("mode = $mode")
        values["mode"] = wanted.mode.value
    asked = [name for name in ("category", "language") if getattr(wanted, name) is not None]
    if asked:
        of_first = " and ".join(f"{name} = ${name}" for name in asked)
        conditions.append(f"battle in (select battle from turns where turn = 0 and {of_first})")
        values.update({name: getattr(wanted, name) for name in asked})
    named = [name for name in (wanted.model, wanted.other) if name is not None]
    model_numbers(cursor, Selection(models=tuple(named)))  # raises if there is no such model
    for place, name in enumerate(named):
        conditions.append(f"list_contains(models, $model{place})")
        values[f"model{place}"] = name
    if named[1:] and named[0] == named[1]:
        conditions.append("len(list_filter(models, lambda name: name = $model0)) > 1")
    return conditions


def _of_comparisons(cursor: Cursor, wanted: BattleFilter, values: dict[str, object]) -> str:
    """Return the condition on comparisons; what the statistics leave out is in none of them."""
    if wanted.judge is None and (wanted.heard is Word.JUDGE or wanted.judged is not None):
        raise StoreError(_("Name the judge whose verdicts are meant."))
    selection = Selection(
        judge=wanted.judge,
        mode=wanted.mode,
        category=wanted.category,
        language=wanted.language,
        voter=wanted.voter,
    )
    known = model_numbers(cursor, selection)
    where, selected = condition_of(cursor, selection, known)
    values.update(selected)
    # People's votes are in the rows of no judge, and again in those of each that has a verdict.
    by_judge = wanted.heard is Word.JUDGE or wanted.judged is not None
    conditions = [where, "judge_no > 0" if by_judge else "judge_no = 0"]
    label = "verdict" if wanted.heard is Word.JUDGE else "human"
    conditions.append(f"{label} is not null")
    conditions += _of_models(cursor, wanted)
    if wanted.winner is not None:
        (number,) = _numbers(cursor, wanted.winner)
        conditions.append(_won(number, label))
    if wanted.ending is not None:
        conditions.append(_ENDINGS[wanted.ending].format(label))
        if label == "human" and wanted.ending in (Ending.TIE, Ending.BOTH_BAD):
            conditions.append("not identical")
    if wanted.judged is not None:
        conditions.append(_agreement(cursor, wanted))
    if wanted.decided:
        labels = ("human", "verdict") if by_judge else ("human",)
        conditions += [f"({each} is null or {each} in ('first', 'second'))" for each in labels]
    return " and ".join(conditions)


def _of_models(cursor: Cursor, wanted: BattleFilter) -> list[str]:
    numbers = _numbers(cursor, *(name for name in (wanted.model, wanted.other) if name is not None))
    conditions = [f"{number} in (model_a, model_b)" for number in numbers]
    if numbers[1:] and numbers[0] == numbers[1]:
        return [*conditions, "model_a = model_b"]
    return [*conditions, "model_a <> model_b"]  # one model has a winner by chance alone


def _numbers(cursor: Cursor, *models: str) -> list[int]:
    known = model_numbers(cursor, Selection(models=models))
    return [known[model] for model in models]


def _won(number: int, label: str) -> str:
    return f"if({label} = 'first', model_a, if({label} = 'second', model_b, 0)) = {number}"


_ENDINGS = {
    Ending.TIE: "{0} = 'tie'",
    Ending.BOTH_BAD: "{0} = 'both_bad'",
    Ending.IDENTICAL: "identical",
    Ending.EVEN: "{0} in ('tie', 'both_bad')",
    Ending.ASKED: "not identical",
}
_WINNER = "case {0} when 'first' then model_a when 'second' then model_b else 0 end"


def _agreement(cursor: Cursor, wanted: BattleFilter) -> str:
    if wanted.judged is Judged.ALONE:
        return "human is null"
    both = "human is not null and verdict is not null"
    if wanted.judged is Judged.BOTH:
        return both
    people, judge = _WINNER.format("human"), _WINNER.format("verdict")
    if wanted.model is not None:
        (number,) = _numbers(cursor, wanted.model)
        people, judge = f"({people} = {number})", f"({judge} = {number})"
    same = "=" if wanted.judged is Judged.AGREES else "<>"
    return f"{both} and {people} {same} {judge}"
