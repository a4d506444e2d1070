"""Comparisons one by one: those that several judges have judged, and those with styles of replies.

All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.choices import Trait
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.queries.comparisons import (
    CODES,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
    places_of,
)
from coupled_arena.store.queries.matched_comparisons import number_voters
from coupled_arena.store.queries.verdict_source import VerdictSource, judge_number


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Comparisons with a vote that each of several judges has judged, by vote and verdicts.

    Attributes
    ----------
    models : tuple of str
        All that the store knows, or that were selected; sorted.
    first, second : ndarray of int64, shape (rows,)
        Their places in `models`, as they were shown; never the same.
    human : ndarray of int64, shape (rows,)
        The vote, by its place in `records.Outcome`.
    verdict : ndarray of int64, shape (rows,)
        The verdicts: digits to the base of the number of outcomes, the first judge's first.
    times : ndarray of int64, shape (rows,)
    """

    models: tuple[str, ...]
    first: IntArray
    second: IntArray
    human: IntArray
    verdict: IntArray
    times: IntArray


def shared_rows(cursor: Cursor, selection: Selection) -> SharedRows:
    """Count votes with the verdicts of all selected judges, however many.

    Without a judge the code of the verdicts is 0.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known = model_numbers(cursor, selection)
    source, where, values = _shared(cursor, selection, known)
    verdict = source.verdict if source.numbers else "0"
    rows = cursor.execute(
        f"""
        select model_a, model_b, {CODES["human"]} as human, {verdict} as verdict, count(*) as n
        from {source.table}
        where {where}
        group by all
        order by all
        """,
        values,
    ).fetchnumpy()
    found = {name: np.asarray(column).astype(np.int64) for name, column in rows.items()}
    places = places_of(known)
    return SharedRows(
        models=tuple(known),
        first=places[found["model_a"]],
        second=places[found["model_b"]],
        human=found["human"],
        verdict=found["verdict"],
        times=found["n"],
    )


def shared_prompts(cursor: Cursor, selection: Selection) -> int:
    """Return how many prompts those comparisons are on.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    source, where, values = _shared(cursor, selection, model_numbers(cursor, selection))
    query = f"select count(distinct prompt_no) from {source.table} where {where}"
    return value_of(cursor, query, values)


def verdict_prompts(cursor: Cursor, selection: Selection, judge: str) -> int:
    """Return how many prompts a judge's verdicts are on, whether people voted or not.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    query = f"""
        select count(distinct prompt_no) from {VerdictSource((judge_number(cursor, judge),)).table}
        where {where} and judge_no = {judge_number(cursor, judge)} and verdict is not null
    """
    return value_of(cursor, query, values)


def _shared(
    cursor: Cursor, selection: Selection, known: dict[str, int]
) -> tuple[VerdictSource, str, dict[str, object]]:
    """Return where the rows are, and the SQL condition that they meet, with its values."""
    source = VerdictSource(tuple(judge_number(cursor, judge) for judge in selection.judges))
    where, values = condition_of(cursor, selection, known)
    judge = source.numbers[0] if source.numbers else 0
    both = f"judge_no = {judge} and human is not null and model_a <> model_b"
    return source, f"{where} and {both}", values


@dataclass(frozen=True, eq=False)
class StyledRows:
    """Comparisons whose replies have texts, n rows.

    Attributes
    ----------
    models : tuple of str
        Names of the k models that these compare, sorted.
    first, second : ndarray of int64, shape (n,)
        Their places in `models`, as they were shown.
    prompt : ndarray of int64, shape (n,)
        Equal numbers are one prompt.
    human, judge : ndarray of float64, shape (n,)
        1 where the first was preferred, 0 where the second, ½ where neither; NaN where nobody, or
        no judge, decided.
    differences : ndarray of float64, shape (n, traits)
        (a - b)/(a + b) of each trait, from -1 to 1; 0 where neither reply has any.
    voter : ndarray of int64, shape (n,)
        Who voted, -1 where nobody knows.
    without_texts : int
        Comparisons that are left out because nobody knows their replies.
    """

    models: tuple[str, ...]
    first: IntArray
    second: IntArray
    prompt: IntArray
    human: FloatArray
    judge: FloatArray
    differences: FloatArray
    voter: IntArray
    without_texts: int


def styled_rows(
    cursor: Cursor,
    selection: Selection,
    traits: Sequence[Trait],
    *,
    voted: bool,
    judged: bool,
) -> StyledRows:
    """Return the comparisons that people, the selected judge, or both have decided.

    Replies without a character on both sides are taken for imports without texts.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    number = judge_number(cursor, selection.judge) if judged and selection.judge else 0
    where += f" and judge_no = {number} and c.model_a <> c.model_b"
    where += " and human is not null" if voted else ""
    where += " and verdict is not null" if judged else ""
    texts = "coalesce(x.characters + y.characters, 0) > 0"
    number_voters(cursor)
    source = f"""
        from comparisons as c
        left join reply_styles as x on x.battle_no = c.battle_no and x.model_no = c.model_a
        left join reply_styles as y on y.battle_no = c.battle_no and y.model_no = c.model_b
        left join (select voter as who, voter_no from voter_numbers) on who = c.voter
        where {where}
    """
    query = f"select count(*) {source} and not {texts}"
    without = value_of(cursor, query, values)
    columns = ", ".join(
        f"coalesce((x.{t} - y.{t}) / nullif(x.{t} + y.{t}, 0), 0)::double as {t}" for t in traits
    )
    found = cursor.execute(
        f"""
        select c.model_a as first, c.model_b as second, prompt_no as prompt,
            {_share("human")} as human, {_share("verdict")} as judge,
            coalesce(voter_no, -1)::integer as voter, {columns}
        {source} and {texts}
        order by c.battle_no, c.model_a, c.model_b, human, verdict, voter_no
        """,
        values,
    ).fetchnumpy()
    return _styled(found, known, [str(trait) for trait in traits], without)


def _share(outcome: str) -> str:
    """Return SQL of how much of a win an outcome is for the model shown first."""
    wins = f"case {outcome} when 'first' then 1 when 'second' then 0 else .5 end"
    return f"if({outcome} is null, 'nan'::double, ({wins})::double)"


def _styled(
    found: dict[str, Any], known: dict[str, int], traits: list[str], without: int
) -> StyledRows:
    first, second, prompt = (
        np.asarray(found[name]).astype(np.int64) for name in ("first", "second", "prompt")
    )
    there = {
        model: number for model, number in known.items() if number in {*_numbers_of(first, second)}
    }
    places = places_of(there)
    columns = [np.asarray(found[trait]).astype(np.float64) for trait in traits]
    human, judge = (np.asarray(found[name]).astype(np.float64) for name in ("human", "judge"))
    return StyledRows(
        models=tuple(there),
        first=places[first],
        second=places[second],
        prompt=prompt,
        human=human,
        judge=judge,
        differences=np.stack(columns, axis=1) if columns else np.zeros((len(first), 0)),
        voter=np.asarray(found["voter"]).astype(np.int64),
        without_texts=without,
    )


def _numbers_of(first: IntArray, second: IntArray) -> list[int]:
    found: list[int] = np.union1d(first, second).tolist()
    return found
