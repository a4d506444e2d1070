"""Sums over comparisons that share a prompt, from SQL: what their errors add up to together.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.store.queries.comparisons import (
    CODES,
    Cursor,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.judged_together import judged


@dataclass(frozen=True, eq=False)
class InfluenceCells:
    """Numbers that belong to kinds of comparisons: what each adds to some sum.

    A model compared with itself adds nothing.

    All arrays have one length. A comparison is of the kind of a row if its columns agree; a
    column left None does not matter, but without `verdict` each vote counts once, judged or not.

    Attributes
    ----------
    model_a, model_b : ndarray of int64
        Indices of the models shown first and second.
    mode, human, verdict : ndarray of int64 or None
        Codes as in `Counts`; ``human`` -1 stands for "no vote".
    first, second : ndarray of float64
        What the comparison adds for the model shown first, and for the other.
    on_all : ndarray of float64, shape (rows, models), or None
        What it adds for every model, where that may be more than these two.
    """

    model_a: IntArray
    model_b: IntArray
    first: FloatArray
    second: FloatArray
    mode: IntArray | None = None
    human: IntArray | None = None
    verdict: IntArray | None = None
    on_all: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over prompts of what the comparisons of each pair add up to on a prompt.

    Attributes
    ----------
    squares : ndarray of float64, shape (k, k)
        ``[m, o]``: of the square of what the comparisons of m and o add for m.
    products : ndarray of float64, shape (k, k), symmetric
        Of what they add for m times what they add for o.
    clusters : ndarray of int64, shape (k, k), symmetric
        Prompts that the two have comparisons on.
    """

    squares: FloatArray
    products: FloatArray
    clusters: IntArray


@dataclass(frozen=True, eq=False)
class Prompts:
    """On how many prompts each pair has comparisons of some kind, shape (k, k) each.

    Attributes
    ----------
    votes : ndarray of int64
        With a vote.
    labelled, alone, verdicts : ndarray of int64
        With a verdict of the selected judge and a vote; with a verdict alone; with either.
    """

    votes: IntArray
    labelled: IntArray
    alone: IntArray
    verdicts: IntArray


def clusters_overlap(cursor: Cursor) -> bool:
    """Return whether any two comparisons share a prompt, so that they may depend on each other."""
    (most,) = cursor.execute("select max(comparisons) from prompts").fetchall()[0]
    return (most or 0) > 1


def cluster_gram(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> tuple[FloatArray, int]:
    """Return the sum over prompts of s sᵀ, s being what all comparisons of the prompt add up to.

    Returns
    -------
    gram : ndarray of float64, shape (k, k)
    clusters : int
        Prompts with a vote among these comparisons, or where votes do not matter, with any.
    """
    k = len(models)
    lower = [(i, j) for i in range(k) for j in range(i + 1)]
    gram = np.zeros((k, k))
    gram[np.tril_indices(k)], clusters = _products(cursor, selection, models, cells, lower)
    return gram + np.tril(gram, -1).T, clusters


def cluster_diagonal(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> tuple[FloatArray, int]:
    """Return the diagonal of `cluster_gram`, shape (k,), and the number of clusters: sooner."""
    return _products(cursor, selection, models, cells, [(i, i) for i in range(len(models))])


def cluster_total(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> tuple[float, int]:
    """Return the sum over prompts of the square of all that their comparisons add up to.

    What a comparison adds for either model counts; the prompts are returned, too.
    """
    query = """
        select sum(s * s), count(*)
        from (select sum(first + second) as s from added group by prompt_no)
        """
    squares, prompts = _over_cells(cursor, selection, models, cells, query)[0]
    return squares or 0.0, prompts


def _products(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    pairs: Sequence[tuple[int, int]],
) -> tuple[FloatArray, int]:
    """Return the sums over prompts of s_i s_j for some i and j, and the number of clusters."""
    products = ", ".join(f"sum(s{i} * s{j})" for i, j in pairs)
    sums = _sums(len(models), on_all=cells.on_all is not None)
    row = _over_cells(
        cursor,
        selection,
        models,
        cells,
        f"""
        select count(*) filter (voted), {products}
        from (select bool_or(voted) as voted, {sums} from added group by prompt_no)
        """,
    )[0]
    return np.array([value or 0.0 for value in row[1:]]), row[0]


def _sums(k: int, *, on_all: bool) -> str:
    if on_all:
        return ", ".join(f"sum(for_{i}) as s{i}" for i in range(k))
    return ", ".join(
        f"sum(case when model_a = {i} then first when model_b = {i} then second else 0 end) as s{i}"
        for i in range(k)
    )


def cluster_squares(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> PairSums:
    """Return the sum over prompts of squares, for each model against each other one."""
    rows = _over_cells(
        cursor,
        selection,
        models,
        cells,
        """
        select
            low, high, count(*),
            sum(for_low * for_low), sum(for_high * for_high), sum(for_low * for_high)
        from (
            select
                prompt_no,
                least(model_a, model_b) as low,
                greatest(model_a, model_b) as high,
                sum(if(model_a < model_b, first, second)) as for_low,
                sum(if(model_a < model_b, second, first)) as for_high
            from added
            group by all
        )
        group by all
        """,
    )
    shape = len(models), len(models)
    squares, products = np.zeros(shape), np.zeros(shape)
    clusters = np.zeros(shape, dtype=np.int64)
    for low, high, prompts, for_low, for_high, for_both in rows:
        squares[low, high], squares[high, low] = for_low, for_high
        products[low, high] = products[high, low] = for_both
        clusters[low, high] = clusters[high, low] = prompts
    return PairSums(squares, products, clusters)


def pair_prompts(
    cursor: Cursor, selection: Selection, models: Sequence[str], *, by_order: bool = False
) -> Prompts:
    """Return on how many prompts each pair of models has comparisons, in one pass over the table.

    Parameters
    ----------
    models : sequence of str
        All that are compared in the selection.
    by_order : bool
        Whether to tell the orders of presentation apart.
    """
    known, verdicts = model_numbers(cursor, selection), judged(cursor, selection.judges)
    where, values = condition_of(cursor, selection, known)
    low, high = ("{0}", "{1}") if by_order else ("least({0}, {1})", "greatest({0}, {1})")
    pair = (column.format("model_a", "model_b") for column in (low, high))
    rows = cursor.execute(
        f"""
        select
            low, high,
            count(*) filter (voted), count(*) filter (labelled),
            count(*) filter (alone), count(*) filter (labelled or alone)
        from (
            select
                prompt_no, {next(pair)} as low, {next(pair)} as high,
                bool_or(judge_no = 0 and human is not null) as voted,
                bool_or(judge_no > 0 and human is not null) as labelled,
                bool_or(judge_no > 0 and human is null) as alone
            from {verdicts.table}
            where {where} and model_a <> model_b and (judge_no > 0 or human is not null)
            group by all
        )
        group by all
        """,
        values,
    ).fetchall()
    places = {known[model]: place for place, model in enumerate(models)}
    found = np.zeros((4, len(models), len(models)), dtype=np.int64)
    for first, second, *prompts in rows:
        found[:, places[first], places[second]] = prompts
        if not by_order:
            found[:, places[second], places[first]] = prompts
    return Prompts(*found)


def _over_cells(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    query: str,
) -> list[tuple[Any, ...]]:
    """Run a query over ``added``: the selected comparisons with what they add."""
    wide = {} if cells.on_all is None else dict(_named(cells.on_all))
    verdicts = judged(cursor, selection.judges)
    codes = {**CODES, "verdict": verdicts.verdict}
    keys = {name: getattr(cells, name) for name in codes if getattr(cells, name) is not None}
    table = {"model_a": cells.model_a, "model_b": cells.model_b, **keys}
    rows = "judge_no > 0" if "verdict" in keys else "judge_no = 0"
    also = "".join(f" and cells.{name} = {codes[name].replace(name, f'c.{name}')}" for name in keys)
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    numbers = np.array([known[model] for model in models])
    cursor.register("cell_table", {**table, "first": cells.first, "second": cells.second, **wide})
    cursor.register("places", {"place": np.arange(len(models)), "model_no": numbers})
    return cursor.execute(
        f"""
        with chosen as {verdicts.once} (select * from {verdicts.table} where {where} and {rows}),
        cells as materialized (  -- else all pairs' kinds may meet each comparison
            select cell_table.*, l.model_no as no_a, r.model_no as no_b
            from cell_table
            join places as l on l.place = model_a
            join places as r on r.place = model_b
            where l.model_no <> r.model_no
        ),
        added as (
            select
                c.prompt_no, cells.model_a, cells.model_b, cells.first, cells.second,
                {"".join(f"cells.{name}, " for name in wide)}
                {"c.human is not null" if "human" in keys else "true"} as voted
            from chosen as c
            join cells on cells.no_a = c.model_a and cells.no_b = c.model_b {also}
        )
        {query}
        """,
        values,
    ).fetchall()


def _named(on_all: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    for place, column in enumerate(np.ascontiguousarray(on_all.T)):
        yield f"for_{place}", column
