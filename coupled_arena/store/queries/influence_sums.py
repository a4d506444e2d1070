"""What kinds of comparisons add to sums, matched with the comparisons of the store.

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

_BLOCK = 1 << 23  # numbers of what is added up at once: 64 MB


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


def over_cells(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    query: str,
    **prompts: int,
) -> Cursor:
    """Run a query over ``added``: the selected comparisons with what they add.

    Parameters
    ----------
    models : sequence of str
        What the indices of `cells` stand for.
    query : str
        SQL.
    **prompts : int
        `begin` and `end`: only comparisons on prompts of these numbers, the latter excluded.
    """
    verdicts = judged(cursor, *selection.heard)
    codes = {**CODES, "verdict": verdicts.verdict}
    keys = {name: getattr(cells, name) for name in codes if getattr(cells, name) is not None}
    table: dict[str, Any] = {"model_a": cells.model_a, "model_b": cells.model_b, **keys}
    table |= {"first": cells.first, "second": cells.second}
    table["cell"] = np.arange(len(cells.first), dtype=np.int32)
    rows = "judge_no > 0" if "verdict" in keys else "judge_no = 0"
    rows += " and prompt_no >= $begin and prompt_no < $end" if prompts else ""
    also = "".join(f" and cells.{name} = {codes[name].replace(name, f'c.{name}')}" for name in keys)
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    numbers = np.array([known[model] for model in models])
    cursor.register("cell_table", table)
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
                c.prompt_no, cells.model_a, cells.model_b, cells.cell, {verdicts.weight} as weight,
                {verdicts.weighted("first", "second")},
                {"c.human is not null" if "human" in keys else "true"} as voted
            from chosen as c
            join cells on cells.no_a = c.model_a and cells.no_b = c.model_b {also}
        )
        {query}
        """,
        {**values, **prompts},
    )


def prompt_sums(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> Iterator[tuple[FloatArray, int]]:
    """Yield what the comparisons of each prompt add up to, block by block.

    Added up here, from the numbers of cells: a query with a sum for each model takes longer.

    Yields
    ------
    sums : ndarray of float64, shape (prompts, k)
        Zero where a prompt has no comparison here.
    voted : int
        Prompts of the block with a vote, or where votes do not matter, with any comparison.
    """
    k = len(models)
    (last,) = cursor.execute("select coalesce(max(prompt_no), -1) from comparisons").fetchall()[0]
    step = max(_BLOCK // k, 1)
    for begin in range(0, last + 1, step):
        found = over_cells(
            cursor,
            selection,
            models,
            cells,
            "select (prompt_no - $begin)::integer as prompt, cell, voted, weight from added",
            begin=begin,
            end=begin + step,
        ).fetchnumpy()
        prompts, cell = (np.asarray(found[name], np.int64) for name in ("prompt", "cell"))
        rows = min(step, last + 1 - begin)
        voted = np.zeros(rows, dtype=np.bool_)
        voted[prompts[np.asarray(found["voted"], np.bool_)]] = True
        # Sorted, or the last digit would depend on the order in which threads find rows.
        keys, weights = prompts * len(cells.first) + cell, None
        if judged(cursor, *selection.heard).mixed:
            weights = np.asarray(found["weight"], np.float64)
            order = np.lexsort((weights, keys))
            keys, weights = keys[order], weights[order]
        else:
            keys.sort()
        of_prompts = np.divmod(keys, len(cells.first))
        yield _added_up(cells, *of_prompts, weights, (rows, k)), int(voted.sum())


def _added_up(
    cells: InfluenceCells,
    prompts: IntArray,
    cell: IntArray,
    weights: FloatArray | None,
    shape: tuple[int, int],
) -> FloatArray:
    """Return the sums of a block by each comparison's prompt, cell and weight (None: 1)."""
    rows, k = shape
    times: FloatArray | float = 1.0 if weights is None else weights
    if cells.on_all is not None:
        columns = [np.bincount(prompts, adds[cell] * times, rows) for adds in cells.on_all.T]
        return np.stack(columns, axis=1).astype(np.float64, copy=False)
    sums = np.zeros(rows * k)
    for model, adds in ((cells.model_a, cells.first), (cells.model_b, cells.second)):
        sums += np.bincount(prompts * k + model[cell], adds[cell] * times, rows * k)
    return sums.reshape(shape)
