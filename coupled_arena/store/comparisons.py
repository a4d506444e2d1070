"""What the statistics read: counts of comparisons, and sums over clusters of them, from SQL.

All functions work on a cursor that somebody else opened; in one transaction they agree.

A comparison is what one voter, or nobody, said of one pair of a battle's models, and what one
judge, or none, said of the same pair. The table `comparisons` follows from battles, votes and
verdicts: `coupled_arena.store.upkeep` sees to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.errors import StoreError
from coupled_arena.records import Mode, Outcome

Cursor = duckdb.DuckDBPyConnection
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_OUTCOMES = [outcome.value for outcome in Outcome]


@dataclass(frozen=True)
class Selection:
    """Which comparisons to count; None selects all.

    Attributes
    ----------
    judge : str or None
        The judge whose verdicts count; None: people's votes alone.
    models : tuple of str or None
        Only comparisons between these.
    voter : str or None
        Only this person's votes.
    """

    judge: str | None = None
    mode: Mode | None = None
    models: tuple[str, ...] | None = None
    category: str | None = None
    language: str | None = None
    voter: str | None = None


@dataclass(frozen=True, eq=False)
class Counts:
    """How many comparisons there are of each kind.

    Attributes
    ----------
    models : tuple of str
        Names of the k models, sorted.
    votes : ndarray of int64, shape (3, 2, k, k, 4)
        ``[mode, identical, a, b, h]``: a, shown before b, got the vote h. Modes and outcomes are
        in the order of `records.Mode` and `records.Outcome`; "identical" are ties of equal
        replies, which nobody was asked about.
    labelled : ndarray of int64, shape (3, k, k, 4, 4)
        ``[mode, a, b, h, g]``: those that have the verdict g of the selected judge too.
    unlabelled : ndarray of int64, shape (3, k, k, 4)
        ``[mode, a, b, g]``: a verdict and no vote.
    """

    models: tuple[str, ...]
    votes: IntArray
    labelled: IntArray
    unlabelled: IntArray


@dataclass(frozen=True, eq=False)
class Cells:
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
    """

    model_a: IntArray
    model_b: IntArray
    first: FloatArray
    second: FloatArray
    mode: IntArray | None = None
    human: IntArray | None = None
    verdict: IntArray | None = None


def count(cursor: Cursor, selection: Selection) -> Counts:
    """Count the selected comparisons, in one pass over the table.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known = model_numbers(cursor, selection)
    where, values = _condition(cursor, selection, known)
    rows = cursor.execute(
        f"""
        select
            judge_no, identical, model_a, model_b, count(*) as n,
            {_CODES["mode"]} as mode, {_CODES["human"]} as human, {_CODES["verdict"]} as verdict
        from comparisons
        where {where}
        group by all
        """,
        values,
    ).fetchnumpy()
    return _tabulate({name: np.asarray(column) for name, column in rows.items()}, known)


def clusters_overlap(cursor: Cursor) -> bool:
    """Return whether any two comparisons share a prompt, so that they may depend on each other."""
    (most,) = cursor.execute("select max(comparisons) from prompts").fetchall()[0]
    return (most or 0) > 1


def cluster_gram(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: Cells
) -> tuple[FloatArray, int]:
    """Return the sum over prompts of s sᵀ, s being what all comparisons of the prompt add up to.

    Returns
    -------
    gram : ndarray of float64, shape (k, k)
    clusters : int
        Prompts with a vote among these comparisons, or where votes do not matter, with any.
    """
    k = len(models)
    products = ", ".join(f"sum(s{i} * s{j})" for i in range(k) for j in range(i + 1))
    row = _over_cells(
        cursor,
        selection,
        models,
        cells,
        f"""
        select count(*) filter (voted), {products}
        from (select bool_or(voted) as voted, {_sums(k)} from added group by prompt_no)
        """,
    )[0]
    gram = np.zeros((k, k))
    gram[np.tril_indices(k)] = [value or 0.0 for value in row[1:]]
    return gram + np.tril(gram, -1).T, row[0]


def cluster_diagonal(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: Cells
) -> tuple[FloatArray, int]:
    """Return the diagonal of `cluster_gram`, shape (k,), and the number of clusters: sooner."""
    row = _over_cells(
        cursor,
        selection,
        models,
        cells,
        f"""
        select count(*) filter (voted), {", ".join(f"sum(s{i} * s{i})" for i in range(len(models)))}
        from (
            select bool_or(voted) as voted, {_sums(len(models))} from added group by prompt_no
        )
        """,
    )[0]
    return np.array([value or 0.0 for value in row[1:]]), row[0]


def _sums(k: int) -> str:
    return ", ".join(
        f"sum(case when model_a = {i} then first when model_b = {i} then second else 0 end) as s{i}"
        for i in range(k)
    )


def cluster_squares(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: Cells
) -> tuple[FloatArray, IntArray]:
    """Return the sum over prompts of squares, for each model against each other one.

    Returns
    -------
    squares : ndarray of float64, shape (k, k)
        ``[m, o]``: of what the comparisons of m and o add for m.
    clusters : ndarray of int64, shape (k, k)
        Prompts that the two have comparisons on.
    """
    rows = _over_cells(
        cursor,
        selection,
        models,
        cells,
        """
        select low, high, count(*), sum(for_low * for_low), sum(for_high * for_high)
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
    squares = np.zeros((len(models), len(models)))
    clusters = np.zeros(squares.shape, dtype=np.int64)
    for low, high, prompts, for_low, for_high in rows:
        squares[low, high], squares[high, low] = for_low, for_high
        clusters[low, high] = clusters[high, low] = prompts
    return squares, clusters


_CODES = {
    "mode": "enum_code(mode)",
    "human": "coalesce(enum_code(human)::tinyint, -1)",
    "verdict": "coalesce(enum_code(verdict)::tinyint, -1)",
}


def _over_cells(
    cursor: Cursor,
    selection: Selection,
    models: Sequence[str],
    cells: Cells,
    query: str,
) -> list[tuple[Any, ...]]:
    """Run a query over ``added``: the selected comparisons with what they add."""
    keys = {name: getattr(cells, name) for name in _CODES if getattr(cells, name) is not None}
    table = {"model_a": cells.model_a, "model_b": cells.model_b, **keys}
    rows = "judge_no > 0" if "verdict" in keys else "judge_no = 0"
    also = "".join(
        f" and cells.{name} = {_CODES[name].replace(name, f'c.{name}')}" for name in keys
    )
    known = model_numbers(cursor, selection)
    where, values = _condition(cursor, selection, known)
    numbers = np.array([known[model] for model in models])
    cursor.register("cell_table", {**table, "first": cells.first, "second": cells.second})
    cursor.register("places", {"place": np.arange(len(models)), "model_no": numbers})
    return cursor.execute(
        f"""
        with added as (
            select
                c.prompt_no, cells.model_a, cells.model_b, cells.first, cells.second,
                {"c.human is not null" if "human" in keys else "true"} as voted
            from (select * from comparisons where {where} and {rows}) as c
            join (
                select cell_table.*, l.model_no as no_a, r.model_no as no_b
                from cell_table
                join places as l on l.place = model_a
                join places as r on r.place = model_b
                where l.model_no <> r.model_no
            ) as cells
            on cells.no_a = c.model_a and cells.no_b = c.model_b {also}
        )
        {query}
        """,
        values,
    ).fetchall()


def model_numbers(cursor: Cursor, selection: Selection) -> dict[str, int]:
    """Return the numbers of the selected models, by name in order.

    Raises
    ------
    StoreError
        The store knows no such model.
    """
    known = dict(cursor.execute("select model, model_no from models order by model").fetchall())
    if selection.models is None:
        return known
    if unknown := [model for model in selection.models if model not in known]:
        raise StoreError(
            f"No battle has {', '.join(unknown)}. Known models: {', '.join(known) or 'none yet'}."
        )
    return {model: known[model] for model in sorted(set(selection.models))}


def _condition(
    cursor: Cursor, selection: Selection, known: dict[str, int]
) -> tuple[str, dict[str, object]]:
    """Return the SQL condition of a selection, and its values."""
    judges = [0]
    if selection.judge is not None:
        judges.append(judge_number(cursor, selection.judge))
    conditions = [f"judge_no in ({', '.join(map(str, judges))})"]
    values: dict[str, object] = {}
    for name in ("mode", "category", "language", "voter"):
        if (wanted := getattr(selection, name)) is not None:
            conditions.append(f"{name} = ${name}")
            values[name] = str(wanted)
    if selection.models is not None:
        numbers = ", ".join(map(str, known.values()))
        conditions += [f"model_a in ({numbers})", f"model_b in ({numbers})"]
    return " and ".join(conditions), values


def judge_number(cursor: Cursor, judge: str) -> int:
    """Return the number of a judge.

    Raises
    ------
    StoreError
        The store knows no such judge.
    """
    judges = dict(cursor.execute("select judge, judge_no from judges order by judge").fetchall())
    if judge not in judges:
        raise StoreError(
            f"There is no judge {judge!r}. Judges here: {', '.join(judges) or 'none yet'}."
        )
    return judges[judge]


def _tabulate(rows: dict[str, Any], known: dict[str, int]) -> Counts:
    k, outcomes = len(known), len(_OUTCOMES)
    places = np.full(max(known.values(), default=0) + 1, -1)
    places[list(known.values())] = np.arange(k)
    a, b, n = places[rows["model_a"]], places[rows["model_b"]], rows["n"]
    mode, human, verdict = rows["mode"], rows["human"], rows["verdict"]
    votes = np.zeros((len(Mode), 2, k, k, outcomes), dtype=np.int64)
    labelled = np.zeros((len(Mode), k, k, outcomes, outcomes), dtype=np.int64)
    unlabelled = np.zeros((len(Mode), k, k, outcomes), dtype=np.int64)
    judged, voted = rows["judge_no"] > 0, human >= 0
    at = ~judged & voted
    np.add.at(votes, (mode[at], rows["identical"][at].astype(int), a[at], b[at], human[at]), n[at])
    at = judged & voted
    np.add.at(labelled, (mode[at], a[at], b[at], human[at], verdict[at]), n[at])
    at = judged & ~voted
    np.add.at(unlabelled, (mode[at], a[at], b[at], verdict[at]), n[at])
    return Counts(tuple(known), votes, labelled, unlabelled)


def judges(cursor: Cursor) -> list[str]:
    """Return the names of the judges that the store knows, sorted."""
    return _column(cursor, "select judge from judges order by judge")


def categories(cursor: Cursor) -> list[str]:
    """Return the categories that comparisons have, sorted."""
    return _column(
        cursor, "select distinct category from comparisons where category <> '' order by category"
    )


def languages(cursor: Cursor) -> list[str]:
    """Return the languages that comparisons have, sorted."""
    return _column(
        cursor, "select distinct language from comparisons where language <> '' order by language"
    )


def _column(cursor: Cursor, query: str) -> list[str]:
    return [value for (value,) in cursor.execute(query).fetchall()]
