"""Sums over comparisons that share a prompt, from SQL: what their errors add up to together.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupled_arena.store.queries.comparisons import (
    Cursor,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)
from coupled_arena.store.queries.influence_sums import InfluenceCells, over_cells, prompt_sums
from coupled_arena.store.queries.judged_together import judged


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
    gram, clusters = np.zeros((len(models), len(models))), 0
    for sums, voted in prompt_sums(cursor, selection, models, cells):
        gram += sums.T @ sums
        clusters += voted
    return gram, clusters


def cluster_diagonal(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> tuple[FloatArray, int]:
    """Return the diagonal of `cluster_gram`, shape (k,), and the number of clusters: sooner."""
    squares, clusters = np.zeros(len(models)), 0
    for sums, voted in prompt_sums(cursor, selection, models, cells):
        squares += np.einsum("pm,pm->m", sums, sums)
        clusters += voted
    return squares, clusters


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
    squares, prompts = over_cells(cursor, selection, models, cells, query).fetchall()[0]
    return squares or 0.0, prompts


def cluster_squares(
    cursor: Cursor, selection: Selection, models: Sequence[str], cells: InfluenceCells
) -> PairSums:
    """Return the sum over prompts of squares, for each model against each other one."""
    rows = over_cells(
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
    ).fetchall()
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
    known, verdicts = model_numbers(cursor, selection), judged(cursor, *selection.heard)
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
