"""What kinds of comparisons add to sums, matched with the comparisons of the store.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

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

_BLOCK = 1 << 23  # sums at once: 64 MB


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

    def by_model(self, k: int) -> FloatArray | csr_array:
        """Return what the kinds add for each of k models, shape (rows, k)."""
        if self.on_all is not None:
            return self.on_all
        rows = np.arange(len(self.first))
        both = np.concatenate([rows, rows]), np.concatenate([self.model_a, self.model_b])
        return csr_array((np.concatenate([self.first, self.second]), both), (len(rows), k))


@dataclass(frozen=True, eq=False)
class Block:
    """Comparisons on some of the prompts, each with its kind.

    Attributes
    ----------
    prompt, cell : ndarray of int64
        Numbers of the prompt within the block, and of the kind.
    weight : ndarray of float64
        1, but where judges are heard with weights.
    voter : ndarray of int64 or None
        As `number_voters` has them, -1 where nobody is known; None where nobody asked.
    shape : (int, int)
        Prompts and kinds.
    """

    prompt: IntArray
    cell: IntArray
    weight: FloatArray
    voter: IntArray | None
    shape: tuple[int, int]

    @property
    def by_prompt(self) -> csr_array:
        """How many comparisons of each kind there are on each prompt."""
        return coo_array((self.weight, (self.prompt, self.cell)), self.shape).tocsr()


def number_voters(cursor: Cursor) -> int:
    """Give each person who voted a number, for `blocks` on this cursor; return how many there are.

    Equal stores number them alike.
    """
    cursor.execute(
        """
        create or replace temp table voter_numbers as
        select voter, (row_number() over (order by voter) - 1)::integer as voter_no
        from (select distinct voter from comparisons where voter is not null and judge_no = 0)
        """
    )
    ((n,),) = cursor.execute("select count(*) from voter_numbers").fetchall()
    return n


def blocks(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    *,
    voters: bool = False,
) -> Iterator[Block]:
    """Yield the comparisons of these kinds, block by block of prompts.

    Sums over prompts are products of these matrices with what kinds add. In SQL they would take
    longer, and their last digits depend on the order in which threads find rows.

    Parameters
    ----------
    models : sequence of str
        What the indices of `cells` stand for.
    cells : InfluenceCells
        Its columns; what they add is of no account here.
    voters : bool
        Whether to say who voted.
    """
    (last,) = cursor.execute("select coalesce(max(prompt_no), -1) from comparisons").fetchall()[0]
    mixed = judged(cursor, *selection.heard).mixed
    step = max(_BLOCK // len(models), 1)
    for begin in range(0, last + 1, step):
        found = _matched(cursor, selection, models, cells, (begin, begin + step), voters=voters)
        columns = [np.asarray(column) for column in found.values()]
        if mixed:  # equal ones add up exactly in any order, these do not
            order = np.lexsort((columns[2], columns[1], columns[0]))
            columns = [column[order] for column in columns]
        prompt, cell, weight, *voter = columns
        shape = min(step, last + 1 - begin), len(cells.first)
        yield Block(prompt, cell, weight, voter[0] if voter else None, shape)


def _matched(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: InfluenceCells,
    prompts: tuple[int, int],
    *,
    voters: bool,
) -> dict[str, Any]:
    """Return the comparisons on prompts of some numbers: prompt, cell, weight and voter of each."""
    verdicts = judged(cursor, *selection.heard)
    codes = {**CODES, "verdict": verdicts.verdict}
    keys = {name: getattr(cells, name) for name in codes if getattr(cells, name) is not None}
    table: dict[str, Any] = {"model_a": cells.model_a, "model_b": cells.model_b, **keys}
    table["cell"] = np.arange(len(cells.first), dtype=np.int32)
    rows = "judge_no > 0" if "verdict" in keys else "judge_no = 0"
    also = "".join(f" and cells.{name} = {codes[name].replace(name, f'c.{name}')}" for name in keys)
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    numbers = np.array([known[model] for model in models])
    cursor.register("cell_table", table)
    cursor.register("places", {"place": np.arange(len(models)), "model_no": numbers})
    who = ", coalesce(voter_no, -1)::integer as voter" if voters else ""
    named = "left join voter_numbers using (voter)" if voters else ""
    return cursor.execute(
        f"""
        with chosen as {verdicts.once} (
            select *
            from {verdicts.table}
            where {where} and {rows} and prompt_no >= $begin and prompt_no < $end
        ),
        cells as materialized (  -- else all pairs' kinds may meet each comparison
            select cell_table.*, l.model_no as no_a, r.model_no as no_b
            from cell_table
            join places as l on l.place = model_a
            join places as r on r.place = model_b
            where l.model_no <> r.model_no
        )
        select
            (c.prompt_no - $begin)::integer as prompt, cells.cell, {verdicts.weight} as weight{who}
        from chosen as c
        join cells on cells.no_a = c.model_a and cells.no_b = c.model_b {also}
        {named}
        """,
        {**values, "begin": prompts[0], "end": prompts[1]},
    ).fetchnumpy()
