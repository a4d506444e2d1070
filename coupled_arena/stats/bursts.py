r"""Times in which more came than the past lets expect: an exact test of each window, given the sum.

Under the null what comes in different windows is independent and Poisson, and the rate of a window
is at most ρ times the mean rate of the m windows before it. Given that N came in it and S in those,
N is then no larger than a draw of Bin(N + S, ρ / (ρ + m)), whatever the rate [1]_. The p-values of
all n windows there are, empty ones too, are multiplied by n (Bonferroni), so that with a
probability of at most alpha any window of an honest board is named.

References
----------
.. [1] J. Przyborowski & H. Wilenski, "Homogeneity of results in testing samples from Poisson
   series", Biometrika 31 (1940).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

TOLERANCE = 4.0
"""How much higher than in the past the rate of a window may be, ρ: a day has its hours."""


@dataclass(frozen=True, eq=False)
class Bursts:
    """What came in each window in which anything did, n of them.

    Attributes
    ----------
    window : ndarray of int64, shape (n,)
        Its number, ascending; windows of these numbers lie side by side.
    count : ndarray of int64, shape (n,)
    usual : ndarray of float64, shape (n,)
        The mean of the windows before it; nan of the first one, which has no past.
    p_value : ndarray of float64, shape (n,)
        For all windows together; 1 of the first one.
    """

    window: IntArray
    count: IntArray
    usual: FloatArray
    p_value: FloatArray


def bursts(window: IntArray, past: int, tolerance: float = TOLERANCE) -> Bursts:
    """Test each window.

    Parameters
    ----------
    window : ndarray of int64, shape (events,)
        In which window each event came; at least one.
    past : int
        How many windows before a window are its past, or as many as there are.
    tolerance : float
        See ρ above.
    """
    at, count = np.unique(window, return_counts=True)
    before = np.concatenate([[0], np.cumsum(count)])
    there: IntArray = np.minimum(past, at - at[0])
    begin: IntArray = np.asarray(np.searchsorted(at, at - there), np.int64)
    earlier = before[:-1] - before[begin]
    with np.errstate(invalid="ignore"):
        usual = earlier / there
    p = stats.binom.sf(count - 1, count + earlier, tolerance / (tolerance + there))
    windows = at[-1] - at[0] + 1
    return Bursts(at, count, usual, np.where(there > 0, np.minimum(1.0, p * windows), 1.0))
