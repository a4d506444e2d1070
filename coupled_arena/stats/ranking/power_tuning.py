"""λ, the weight of a judge beside people's votes; see `coupled_arena.stats.ranking.estimates`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.ranking.strata import Strata, StratumCells


class Terms(NamedTuple):
    """What λ follows from: λ² cost - 2 λ gain, times a number, is what the judge adds to variances.

    With count weighting they are those of Algorithm 4 of the paper, and `scale` what it multiplies
    their ratio by.
    """

    gain: float
    cost: float
    scale: float

    @property
    def tuning(self) -> float:
        """λ, of one judge."""
        if not self.cost > 0:
            return 0.0
        return float(np.clip(self.scale * (self.gain / self.cost), 0, 1))


def power_tuning(
    cells: StratumCells, strata: Strata, weighting: Weighting, share: FloatArray | None = None
) -> Terms:
    """Return the terms of λ: the trace-minimising one, or with count weighting the paper's.

    `share` is the weight of pairs' own means, where they do not have all of it.
    """
    s = strata.sums
    h, g, verdict = (x / np.maximum(n, 1) for x, n in ((s.hm, s.m), (s.g, s.m), (s.G, s.N)))
    # Sums over each cell of (h - mean)(g - mean) and so on, with the means of its stratum.
    scatter_hg = cells.hg - cells.hm * g - cells.g * h + cells.m * h * g
    scatter_g = cells.gg - 2 * cells.g * g + cells.m * g**2
    scatter_verdict = cells.GG - 2 * cells.G * verdict + cells.N * verdict**2
    if weighting is Weighting.COUNT:
        n, m, judge_only = (float(size.sum() / 2) for size in (cells.n, cells.m, cells.N))
        if not m or not judge_only:
            return Terms(0.0, 0.0, 1.0)
        cost = scatter_verdict.sum() / judge_only**2
        return Terms(float(scatter_hg.sum() / (n * m)), float(cost), m / (m + judge_only))
    tuned = strata.tuned * (1.0 if share is None else share[..., None] ** 2)
    both, echoes, unlabelled = (
        tuned / np.maximum(size * (less - 1), 1)
        for size, less in ((s.n, s.m), (s.m, s.m), (s.N, s.N))
    )
    gain = (scatter_hg * both).sum()
    cost = (scatter_g * echoes + scatter_verdict * unlabelled).sum()
    return Terms(float(gain), float(cost), 1.0)
