"""The cut-off of rank-sets in two steps and then downwards: narrower than max-t, as safe.

First it is found which differences are surely not zero, and of which sign; these cannot mislead
in the other direction. Then pairs that are separated leave the comparison, and the cut-off falls
for those that are left, until none of them passes it [1]_ [2]_.

References
----------
.. [1] J. P. Romano & M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis
   testing", Journal of the American Statistical Association 100, 94-108 (2005).
.. [2] M. Mogstad, J. P. Romano, A. Shaikh & D. Wilhelm, "Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries", Review of Economic
   Studies 91, 476-518 (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from coupled_arena.stats.counts import FloatArray

_FIRST_STEP = 0.1  # of alpha: what the surely different pairs may cost


def step_down(
    draws: Callable[[], Iterator[FloatArray]], distance: FloatArray, alpha: float
) -> float:
    """Return the cut-off at which no further pair is separated.

    Parameters
    ----------
    draws : callable
        Yields standardised differences where all models are equal, in pieces of shape (p, any),
        of the better model of each pair less the other; the same ones at each call.
    distance : ndarray of float64, shape (p,)
        The standardised differences there are, of the better model less the other.
    alpha : float
        Error level.
    """
    beta = _FIRST_STEP * alpha
    largest = np.concatenate([np.abs(piece).max(axis=0) for piece in draws()])
    surely = np.maximum(distance - np.quantile(largest, 1 - beta), 0.0)[:, None]
    order = np.argsort(-distance)
    wrong = np.concatenate([(-piece - surely).max(axis=0) for piece in draws()])
    left = 0
    while True:
        among = order[left:]
        right = np.concatenate([piece[among].max(axis=0) for piece in draws()])
        critical = float(np.quantile(np.maximum(wrong, right), 1 - alpha + beta))
        passed = int((distance > critical).sum())
        if passed <= left or passed == len(distance):
            return critical
        left = passed
