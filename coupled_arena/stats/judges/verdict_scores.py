"""Verdicts on pairs as a score for each model and prompt."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray


def verdict_scores(
    prompts: IntArray, first: IntArray, second: IntArray, outcomes: IntArray, k: int
) -> FloatArray:
    r"""Return how far each model is ahead of the others, prompt by prompt.

    The score of model i is :math:`\sum_j (X_{ij} - X_{ji})` with X = 1 for a win and -1 for a loss,
    so a win counts 2, a loss -2; "both good" and "both bad" cancel. A pair with several verdicts on
    one prompt, such as one in each order, counts with their mean.

    Parameters
    ----------
    prompts : ndarray of int64, shape (n,)
        Number of each verdict's prompt, from 0 on.
    first, second : ndarray of int64, shape (n,)
        The models shown first and second.
    outcomes : ndarray of int64, shape (n,)
        Place in `coupled_arena.stats.counts.OUTCOMES`.
    k : int
        Number of models.

    Returns
    -------
    ndarray of float64, shape (number of prompts, k)
        NaN where a model lacks a verdict against another one: its sum is not like the others'.

    Raises
    ------
    ValueError
        The arrays differ in length, a model meets itself, or a number is out of range.
    """
    rows = np.stack([prompts, first, second, outcomes]) if len(prompts) else np.zeros((4, 0), int)
    limits = np.array([np.inf, k, k, 4])[:, None]
    if (rows < 0).any() or (rows >= limits).any() or (rows[1] == rows[2]).any():
        raise ValueError("Verdicts must be on two of the models and have one of four outcomes.")
    points = np.array([2.0, -2.0, 0.0, 0.0])[rows[3]]
    shape = (int(rows[0].max(initial=-1)) + 1, k, k)
    sums, counts = np.zeros(shape), np.zeros(shape)
    for one, other, sign in ((rows[1], rows[2], 1), (rows[2], rows[1], -1)):
        np.add.at(sums, (rows[0], one, other), sign * points)
        np.add.at(counts, (rows[0], one, other), 1)
    counts[:, np.arange(k), np.arange(k)] = 1
    with np.errstate(invalid="ignore"):
        return (sums / counts).sum(axis=2)
