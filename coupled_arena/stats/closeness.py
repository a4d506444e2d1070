"""How close two laws of the next token are: exactly, position by position, and summed up.

A position is where a token is drawn, in an answer that both models have read so far. Both laws are
over the same outcomes in the same order. Nothing here knows models, tokens or noise: how often two
draws agree follows from the laws alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.intervals import critical_value, wilson

_CELLS = 1 << 19  # probabilities of a law at once: with all temporaries some 50 MB
_FEW = 0.5  # of the outcomes are possible: what is impossible is left out first


@dataclass(frozen=True, eq=False)
class LawPairs:
    """Two laws at each of n positions.

    Attributes
    ----------
    total_variation : ndarray of float64, shape (n,)
    kl, kl_reverse : ndarray of float64, shape (n,)
        Kullback-Leibler divergence of the first law from the second, and the reverse, in nats.
        It is infinite where the other law excludes a possible outcome.
    same_top : ndarray of float64, shape (n,)
        1 where both laws have the same likeliest outcome, else 0.
    coupled, independent, best : ndarray of float64, shape (n,)
        How often two draws agree: by Gumbel-max with the same noise, by independent noise, and by
        the best coupling that there can be.
    first, second, both : ndarray of float64, shape (n,)
        Of the outcome that the answer has: how often each law draws it, and how often both do by
        Gumbel-max with the same noise.
    """

    total_variation: FloatArray
    kl: FloatArray
    kl_reverse: FloatArray
    same_top: FloatArray
    coupled: FloatArray
    independent: FloatArray
    best: FloatArray
    first: FloatArray
    second: FloatArray
    both: FloatArray


def compare_laws(first: np.ndarray, second: np.ndarray, drawn: IntArray) -> LawPairs:
    r"""Compare two laws at each position.

    Two draws by Gumbel-max with the same noise agree on outcome i with probability
    :math:`1 / \sum_j \max(p_j / p_i, q_j / q_i)`. Each draw is a race of exponential clocks, and
    both races have the same clocks. In the order of q / p the maximum is the first ratio up to i,
    and the second beyond it. So two cumulated sums give all i. No coupling agrees more often than 1
    less the total variation.

    Parameters
    ----------
    first, second : ndarray of float, shape (n, v)
        Log-weights, which need not be normalised; -inf is impossible.
    drawn : ndarray of int64, shape (n,)
        The outcome that the answer has at each position.
    """
    rows = _rows(first.shape[1])
    return joined(
        [
            _compare(first[at : at + rows], second[at : at + rows], drawn[at : at + rows])
            for at in range(0, len(first), rows)
        ]
    )


def divergences(first: np.ndarray, second: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return the Kullback-Leibler divergences at each position, both ways, in nats.

    Parameters are those of `compare_laws`.
    """
    rows, found = _rows(first.shape[1]), np.empty((2, len(first)))
    for at in range(0, len(first), rows):
        laws = (_normalised(x[at : at + rows]) for x in (first, second))
        log_p, log_q = laws
        found[0, at : at + rows] = _divergence(log_p, log_q, np.exp(log_p))
        found[1, at : at + rows] = _divergence(log_q, log_p, np.exp(log_q))
    return found[0], found[1]


def coarse_divergences(first: np.ndarray, second: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return the divergences of laws of which not all outcomes are told: at least so much.

    Outcomes that only one of the laws has are one outcome here; so no divergence can grow.
    Parameters are those of `compare_laws`.
    """
    log_p, log_q = _normalised(first), _normalised(second)
    shared = (log_p > -np.inf) & (log_q > -np.inf)
    with np.errstate(divide="ignore"):
        coarse = [
            np.column_stack(
                [np.where(shared, logs, -np.inf), np.log(np.where(shared, 0, np.exp(logs)).sum(1))]
            )
            for logs in (log_p, log_q)
        ]
    return divergences(*coarse)


def joined(parts: Sequence[LawPairs]) -> LawPairs:
    """Return all positions one after the other."""
    names = [each.name for each in fields(LawPairs)]
    empty = [np.empty(0)]
    return LawPairs(
        *(np.concatenate([getattr(part, name) for part in parts] or empty) for name in names)
    )


def rows_of(laws: LawPairs, rows: Sequence[int]) -> LawPairs:
    """Return some of the positions."""
    return LawPairs(*(getattr(laws, each.name)[list(rows)] for each in fields(LawPairs)))


def _rows(size: int) -> int:
    return max(1, _CELLS // size)


def _compare(first: np.ndarray, second: np.ndarray, drawn: IntArray) -> LawPairs:
    first, second, drawn = _possible(first, second, drawn)
    log_p, log_q = _normalised(first), _normalised(second)
    p, q = np.exp(log_p), np.exp(log_q)
    here = np.arange(len(drawn)), drawn
    p_drawn, q_drawn = p[here], q[here]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = np.maximum(p / p_drawn[:, None], q / q_drawn[:, None]).sum(axis=1)
        both = np.where((p_drawn > 0) & (q_drawn > 0), 1 / sums, 0.0)
    return LawPairs(
        total_variation=np.abs(p - q).sum(axis=1) / 2,
        kl=_divergence(log_p, log_q, p),
        kl_reverse=_divergence(log_q, log_p, q),
        same_top=(log_p.argmax(axis=1) == log_q.argmax(axis=1)).astype(np.float64),
        coupled=_gumbel_agreement(log_p, log_q, p, q),
        independent=(p * q).sum(axis=1),
        best=np.minimum(p, q).sum(axis=1),
        first=p_drawn,
        second=q_drawn,
        both=both,
    )


def _possible(
    first: np.ndarray, second: np.ndarray, drawn: IntArray
) -> tuple[np.ndarray, np.ndarray, IntArray]:
    """Leave out the outcomes that are impossible at all these positions."""
    possible = np.zeros(first.shape[1], np.bool_)
    np.any((first > -np.inf) | (second > -np.inf), axis=0, out=possible)
    possible[drawn] = True
    if possible.sum() > _FEW * len(possible):
        return first, second, drawn
    return first[:, possible], second[:, possible], np.cumsum(possible)[drawn] - 1


def _normalised(weights: np.ndarray) -> FloatArray:
    """Return log-probabilities, float64."""
    logs = weights.astype(np.float64)
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs


def _divergence(log_p: FloatArray, log_q: FloatArray, p: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):  # what both exclude, which adds nothing
        terms = np.where(p > 0, p * (log_p - log_q), 0.0)
    return np.maximum(terms.sum(axis=1), 0.0)  # rounding may leave equal laws just below


def _gumbel_agreement(
    log_p: FloatArray, log_q: FloatArray, p: FloatArray, q: FloatArray
) -> FloatArray:
    with np.errstate(invalid="ignore"):
        ratio = log_q - log_p
    ratio[np.isnan(ratio)] = 0.0  # impossible in both: wherever it stands it adds nothing
    order = np.argsort(ratio, axis=1)
    p, q = np.take_along_axis(p, order, axis=1), np.take_along_axis(q, order, axis=1)
    below = np.cumsum(p, axis=1)
    beyond = np.cumsum(q[:, ::-1], axis=1)[:, ::-1] - q
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = below / p + beyond / q
        agreed = np.where((p > 0) & (q > 0), 1 / sums, 0.0)
    return agreed.sum(axis=1)


# What follows for whole answers: how far two models go together.


@dataclass(frozen=True, eq=False)
class Together:
    """How likely two models still write the same, after each position of each answer.

    Attributes
    ----------
    coupled, independent, best : ndarray of float64, shape (n,)
        By Gumbel-max with the same noise, by independent noise; and a bound for every coupling.
    """

    coupled: FloatArray
    independent: FloatArray
    best: FloatArray


def going_together(
    laws: LawPairs, answers: Sequence[slice], writers: Sequence[int], drawn_so: Sequence[bool]
) -> Together:
    r"""Return how likely both models still write the same, along answers that one of them drew.

    Let the writer draw the tokens x from its law p. The mean over answers of
    :math:`\prod_s \Pr(\text{the other draws } x_s \mid \text{the writer does})` is then exactly the
    probability that both write the same up to there. The product of :math:`\min(1, q / p)` of all
    tokens together has the mean 1 less the total variation of the laws of these beginnings.

    Of answers that were drawn otherwise, the product of the expected agreements stands in its
    place. That is an approximation: it takes all beginnings as equally likely to be common.

    Parameters
    ----------
    answers : sequence of slice
        The positions of each answer.
    writers : sequence of int
        0 where the first model drew it, 1 where the second did.
    drawn_so : sequence of bool
        Whether the answer was drawn from the law that is compared.
    """
    found = Together(*(np.empty(len(laws.coupled)) for _ in range(3)))
    for here, writer, exact in zip(answers, writers, drawn_so, strict=True):
        if not exact:
            for name in ("coupled", "independent", "best"):
                getattr(found, name)[here] = np.cumprod(getattr(laws, name)[here])
            continue
        own, other = (laws.second, laws.first) if writer else (laws.first, laws.second)
        # Rounding may put a token just outside of what top-p keeps now: then as above.
        known = own[here] > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            follows = np.where(known, laws.both[here] / own[here], laws.coupled[here])
            draws = np.where(known, other[here], laws.independent[here])
            odds = np.where(known, other[here] / own[here], laws.best[here])
            found.best[here] = np.exp(np.minimum(np.cumsum(np.log(odds)), 0.0))
        found.coupled[here] = np.cumprod(follows)
        found.independent[here] = np.cumprod(draws)
    return found


# Means over positions and answers, which depend on each other within a cluster.


@dataclass(frozen=True)
class Mean:
    """A mean and its interval; NaN where there is nothing to take a mean of."""

    value: float
    low: float
    high: float


def clustered_mean(
    values: FloatArray, clusters: IntArray, alpha: float, *, share: bool = True
) -> Mean:
    r"""Return the mean of values that depend on each other within clusters.

    Its variance is that of a ratio of sums over clusters,
    :math:`\frac{G}{G-1} \sum_g (s_g - \hat m n_g)^2 / n^2`, and its critical value Student's with
    G - 1 degrees of freedom.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    clusters : ndarray of int64, shape (n,)
    alpha : float
        Error level, between 0 and 1.
    share : bool
        Whether values lie between 0 and 1, and the interval is Wilson's; else it is Student's, and
        nowhere below 0.
    """
    if not len(values):
        return Mean(np.nan, np.nan, np.nan)
    _, place = np.unique(clusters, return_inverse=True)
    sums, counts = np.bincount(place, values), np.bincount(place)
    size, n = len(counts), len(values)
    mean = float(sums.sum() / n)
    variance = size / max(size - 1, 1) * float(((sums - mean * counts) ** 2).sum()) / n**2
    critical = critical_value(alpha, size - 1)
    if share:
        low, high = wilson(
            np.array([mean]), np.array([variance]), np.array([float(size)]), critical
        )
        return Mean(mean, float(low[0]), float(high[0]))
    with np.errstate(invalid="ignore"):
        half = float(critical) * variance**0.5 if size > 1 else np.inf
    return Mean(mean, max(mean - half, 0.0), mean + half)
