"""Second routes to violation ratios, which share nothing with the program."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import norm


def by_fractions(x, y):
    """Violation ratios of both orders in rational arithmetic, segment by segment."""
    x, y = sorted(map(Fraction, x)), sorted(map(Fraction, y))
    steps = sorted({Fraction(i, len(z)) for z in (x, y) for i in range(len(z) + 1)})
    below, total = [Fraction(0)] * 2, [Fraction(0)] * 2
    gap = Fraction(0)
    for start, end in pairwise(steps):
        a, b = (z[-(-end.numerator * len(z) // end.denominator) - 1] for z in (x, y))
        first = (end - start) * (a - b) ** 2
        total[0] += first
        below[0] += first if a < b else 0
        ends = gap, gap + (end - start) * (a - b)
        parts = [ends]
        if ends[0] * ends[1] < 0:
            parts = [(ends[0], Fraction(0)), (Fraction(0), ends[1])]
        for u, v in parts:
            length = (end - start) * abs(v - u) / abs(ends[1] - ends[0]) if v != u else end - start
            second = length * (u * u + u * v + v * v) / 3
            total[1] += second
            below[1] += second if u + v < 0 else 0
        gap = ends[1]
    return tuple(b / t if t else Fraction(1, 2) for b, t in zip(below, total, strict=True))


def by_arrays(x, y):
    """Violation ratios from quantiles on the merged grid, with Simpson's rule on each sign."""
    n, m = len(x), len(y)
    marks = np.unique(np.concatenate([np.arange(n + 1) * m, np.arange(m + 1) * n]))
    ends, widths = marks[1:], np.diff(marks) / (n * m)
    gaps = np.sort(x)[-(-ends // m) - 1] - np.sort(y)[-(-ends // n) - 1]
    squares = widths * gaps**2
    first = squares[gaps < 0].sum() / squares.sum() if squares.any() else 0.5
    knots = np.concatenate([[0], np.cumsum(widths * gaps)])
    a, b = knots[:-1], knots[1:]
    cut = np.divide(a, a - b, out=np.ones_like(a), where=a * b < 0)
    below = total = 0.0
    for u, v, share in ((a, np.where(cut < 1, 0, b), cut), (np.where(cut < 1, 0, b), b, 1 - cut)):
        parts = widths * share * (u**2 + (u + v) ** 2 + v**2) / 6
        total += parts.sum()
        below += parts[u + v < 0].sum()
    return first, (below / total if total else 0.5)


def first_order_of_laws(x, y, low=0.0, high=1.0):
    """First violation ratio of two laws of scipy.stats over part of their quantiles."""

    def gap(z):
        return x.ppf(ndtr(z)) - y.ppf(ndtr(z))

    return _ratio(gap, *np.clip(ndtri([low, high]), -8, 8))


def second_order_of_laws(x, y):
    """Second violation ratio of two laws of scipy.stats."""

    def gap(z):
        a, b = (integrated_quantiles(law, ndtr(z)) for law in (x, y))
        return float(a - b)

    return _ratio(gap, -8.0, 8.0)


def _ratio(gap, low, high):
    """Integrate over z = the normal quantile of p, between all changes of sign."""
    grid = np.linspace(low, high, 400)
    values = np.array([gap(z) for z in grid])
    roots = [
        brentq(gap, u, v, xtol=1e-14)
        for (u, v), (a, b) in zip(pairwise(grid), pairwise(values), strict=True)
        if a * b < 0
    ]
    below = total = 0.0
    for u, v in pairwise([low, *roots, high]):
        part, _ = quad(lambda z: gap(z) ** 2 * norm.pdf(z), u, v, epsabs=1e-13, epsrel=1e-12)
        total += part
        below += part if gap((u + v) / 2) < 0 else 0
    return below / total


def integrated_quantiles(law, p):
    """The integral of a law's quantiles from 0 to p, in closed form."""
    z = ndtri(p)
    if law.dist.name == "norm":
        mean, sigma = law.args
        return mean * p - sigma * norm.pdf(z)
    sigma, scale = law.kwds["s"], law.kwds.get("scale", 1.0)
    return scale * np.exp(sigma**2 / 2) * ndtr(z - sigma)
