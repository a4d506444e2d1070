"""How much two rankings agree, the top weighing more than the bottom."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray


def rank_biased_overlap(first: FloatArray, second: FloatArray, persistence: float) -> float:
    r"""Return the rank-biased overlap [1]_ of two rankings of the same k items.

    With p the persistence and A_d the share of the best d that the rankings have in common it is
    cut off after all items, without extrapolation, as the ranking paper has it:

    .. math:: (1 - p) \sum_{d=1}^{k} p^{d-1} A_d \le 1 - p^k

    Where items are tied it is the expectation over all orders of theirs, in each ranking for
    itself.

    Parameters
    ----------
    first, second : ndarray of float64, shape (k,)
        Of each item: the more, the better its position.
    persistence : float
        Above 0, below 1: the nearer to 1, the more the bottom weighs.

    Raises
    ------
    ValueError
        The shapes or the persistence do not fit.

    References
    ----------
    .. [1] W. Webber, A. Moffat & J. Zobel, "A similarity measure for indefinite rankings", ACM
       Transactions on Information Systems 28(4), 2010.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"Rankings of shapes {first.shape} and {second.shape} do not compare.")
    if not 0 < persistence < 1:
        raise ValueError(f"The persistence lies between 0 and 1, not at {persistence}.")
    depth = np.arange(1, len(first) + 1, dtype=np.int64)
    shared = (_among_best(first, depth) * _among_best(second, depth)).sum(1) / depth
    return float((1 - persistence) * (persistence ** (depth - 1) * shared).sum())


def _among_best(values: FloatArray, depth: IntArray) -> FloatArray:
    """Return the probability that each is among the best d, shape (depths, k)."""
    ahead = (values[None, :] > values[:, None]).sum(1)
    tied = (values[None, :] == values[:, None]).sum(1)
    return np.clip((depth[:, None] - ahead) / tied, 0, 1)
