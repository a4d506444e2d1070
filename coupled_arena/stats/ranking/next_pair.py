r"""Which pair of models to ask about next, where votes are to settle places.

A vote on a pair helps the differences of win rates that the pair is part of. Let v_p be the
variance that a vote on pair p adds to a difference d of two models. Then as many votes on each pair
as

.. math:: n_p \propto \sqrt{\sum_{\text{unsettled } d} v_p(d) / d^2}

make the sum of all (sd of d / d)² smallest for their number [1]_. Half of the votes follow this
rule, and half go to all pairs alike: a decided pair stays under test, and no pair is starved.

References
----------
.. [1] J. Neyman, "On the two different aspects of the representative method", Journal of the Royal
   Statistical Society 97, 558-625 (1934).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Pairing
from coupled_arena.stats.counts import FloatArray, IntArray, PairCounts
from coupled_arena.stats.ranking.rank_sets import RankSets

ALIKE = 0.5
"""Share of the battles whose pair is drawn from all alike."""


def unsettled(found: RankSets, pairing: Pairing) -> NDArray[np.bool_]:
    """Return which differences between models further votes are to settle, shape (k, k)."""
    open_ = ~(found.ahead | found.ahead.T | np.eye(len(found.rank), dtype=np.bool_))
    if pairing is Pairing.PLACES:
        return open_
    leads = found.rank == 1
    return open_ & (leads[:, None] | leads) & (pairing is Pairing.FIRST)


def pair_chances(votes: PairCounts, unsettled: NDArray[np.bool_]) -> FloatArray:
    """Return how likely each pair should be the next one.

    Parameters
    ----------
    votes : PairCounts
        So far, of two models at least.
    unsettled : ndarray of bool, shape (k, k)
        Which differences the votes are to settle; symmetric.

    Returns
    -------
    ndarray of float64, shape (k, k)
        Symmetric; the chances of all pairs sum to 1 over one triangle.
    """
    k = len(votes.models)
    one, other = np.triu_indices(k, 1)
    alike = np.full(len(one), 1 / len(one))
    chances, wanted = alike, np.flatnonzero(unsettled[one, other])
    if len(wanted):
        need = _need(votes, wanted)
        chances = ALIKE * alike + (1 - ALIKE) * need / need.sum()
    table = np.zeros((k, k))
    table[one, other] = table[other, one] = chances
    return table


def _need(votes: PairCounts, wanted: IntArray) -> FloatArray:
    """Return the votes that pairs need for some of the differences, up to a factor."""
    k, wins = len(votes.models), votes.wins
    one, other = np.triu_indices(k, 1)
    # Half a vote more for each outcome: what has not been seen yet is not impossible.
    n = votes.comparisons[one, other] + 1.5
    first, second = (wins[one, other] + 0.5) / n, (wins[other, one] + 0.5) / n
    # A vote on pair p moves the difference of models i and j by `up` or `down`, or not at all.
    i, j = one[wanted, None], other[wanted, None]
    up = ((one == i) * 1.0 - (one == j)) / (k - 1)
    down = ((other == i) * 1.0 - (other == j)) / (k - 1)
    mean = up * first + down * second
    variance = up**2 * first + down**2 * second - mean**2
    difference = mean.sum(axis=1, keepdims=True)
    # A difference smaller than its own error may be as large as that.
    scale = np.maximum(difference**2, (variance / n).sum(axis=1, keepdims=True))
    return np.sqrt((variance / scale).sum(axis=0))
