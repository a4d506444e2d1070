"""Bradley-Terry scores, for those who expect them; the fit is evalica's.

Unlike the win-rate the model assumes that strength lies on one line, so that who beats whom is
transitive. A tie counts as half a win for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import evalica
import numpy as np
from scipy.sparse.csgraph import connected_components

from coupled_arena.stats.counts import FloatArray, IntArray, PairCounts
from coupled_arena.stats.intervals import check_alpha

_SEED = 1952
# In the order of OUTCOMES.
_WINNERS = (evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.Draw)
_TOLERANCE, _ITERATIONS = 1e-9, 10_000


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Scores of k models on the scale of Elo ratings: 400 points are odds of ten to one.

    Attributes
    ----------
    models : tuple of str
    score, low, high : ndarray of float64, shape (k,)
        The mean over models is 1000. NaN together where no scores exist.
    resamples : int
        Bootstrap resamples that had scores, of `asked`.
    asked : int
    alpha : float
    warnings : tuple of str
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
    score = _fit(table)
    rng = np.random.default_rng(_SEED)
    total = int(table.sum())
    drawn = rng.multinomial(total, table.ravel() / total, resamples).reshape(-1, *table.shape)
    fitted = np.array([_fit(one) for one in drawn if _comparable(one)]).reshape(-1, k)
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


def _fit(table: IntArray) -> FloatArray:
    first, second, outcome = np.nonzero(table)
    winners = [_WINNERS[o] for o in outcome]
    result = evalica.bradley_terry(
        first.tolist(),
        second.tolist(),
        winners,
        weights=table[first, second, outcome].astype(float).tolist(),
        tolerance=_TOLERANCE,
        limit=_ITERATIONS,
    )
    scores: FloatArray = np.asarray(result.scores.sort_index(), dtype=np.float64)
    strength = np.log10(scores)
    return 1000 + 400 * (strength - strength.mean())
