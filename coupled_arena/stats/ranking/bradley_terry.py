"""Bradley-Terry scores, on the scale of Elo ratings.

Unlike the win rate, the model assumes that strength lies on one line, so wins are transitive. A tie
counts as half a win for both.

The fit is Newman's iteration [1]_. It converges faster than Zermelo's. The package evalica computes
the same numbers one table at a time; here all resamples take each step together.

References
----------
.. [1] M. E. J. Newman, "Efficient computation of rankings from pairwise comparisons", Journal of
   Machine Learning Research 24, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from coupled_arena.stats.counts import FloatArray, IntArray, PairCounts
from coupled_arena.stats.intervals import check_alpha

_SEED = 1952
_TOLERANCE, _ITERATIONS = 1e-9, 10_000


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Scores of k models on the scale of Elo ratings: 400 points are odds of ten to one.

    Attributes
    ----------
    score, low, high : ndarray of float64, shape (k,)
        The mean over models is 1000. NaN together where no scores exist.
    resamples : int
        Bootstrap resamples that had scores, of `asked`.
    """

    models: tuple[str, ...]
    score: FloatArray
    low: FloatArray
    high: FloatArray
    resamples: int
    asked: int
    alpha: float
    warnings: tuple[str, ...]


def bradley_terry(counts: PairCounts, alpha: float = 0.05, resamples: int = 500) -> BradleyTerry:
    """Fit scores to counts, with percentile intervals from a bootstrap over comparisons.

    Scores exist only if nobody stands apart: if there is a way from every model to every other
    along "did not lose all comparisons against".

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    check_alpha(alpha)
    k = len(counts.models)
    nothing = np.full(k, np.nan)
    table = counts.counts * ~np.eye(k, dtype=np.bool_)[..., None]
    if not _comparable(table):
        warning = "Bradley-Terry scores need models that have both won and lost against others."
        return BradleyTerry(counts.models, nothing, nothing, nothing, 0, 0, alpha, (warning,))
    (score,) = _fit(table[None])
    rng = np.random.default_rng(_SEED)
    total = int(table.sum())
    drawn = rng.multinomial(total, table.ravel() / total, resamples).reshape(-1, *table.shape)
    usable = np.array([_comparable(one) for one in drawn], dtype=np.bool_)
    fitted = _fit(drawn[usable])
    warnings: tuple[str, ...] = ()
    if len(fitted) < resamples:
        warnings = (
            f"{resamples - len(fitted)} of {resamples} resamples have no scores: the intervals "
            "are too narrow. More votes help.",
        )
    low, high = nothing, nothing
    if len(fitted):
        low, high = np.quantile(fitted, [alpha / 2, 1 - alpha / 2], axis=0)
    return BradleyTerry(counts.models, score, low, high, len(fitted), resamples, alpha, warnings)


def _comparable(table: IntArray) -> bool:
    """Whether the maximum of the likelihood is at finite scores (Ford, 1957)."""
    tied = table[..., 2:].sum(2)
    not_lost = table[..., 0] + table[..., 1].T + tied + tied.T
    pieces, _ = connected_components(not_lost > 0, directed=True, connection="strong")
    return len(table) > 1 and pieces == 1


def _fit(tables: IntArray) -> FloatArray:
    """Return the scores of each table of counts, shapes (b, k, k, 4) and (b, k)."""
    first, second, tied = tables[..., 0], tables[..., 1], tables[..., 2:].sum(-1)
    halves = tied / 2
    won = (first + halves) + (second + halves).swapaxes(1, 2)
    strength = np.ones(won.shape[:2])
    left = np.arange(len(won))  # tables whose strengths still move
    for _ in range(_ITERATIONS):
        if not left.size:
            break
        moved = _step(won[left], strength[left])
        far = np.linalg.norm(moved - strength[left], axis=1) >= _TOLERANCE
        strength[left] = moved
        left = left[far]
    scores = np.log10(strength)
    return 1000 + 400 * (scores - scores.mean(axis=1, keepdims=True))


def _step(won: FloatArray, strength: FloatArray) -> FloatArray:
    """Take one step of Newman's iteration, each model on the newest strengths of the others."""
    moved = strength.copy()
    for i in range(moved.shape[1]):
        sums = moved[:, i, None] + moved
        moved[:, i] = (won[:, i] * moved / sums).sum(1) / (won[:, :, i] / sums).sum(1)
    # The model knows ratios alone; a fixed geometric mean keeps them from drifting.
    return moved / np.exp(np.log(moved).mean(axis=1, keepdims=True))
