"""The votes of pairs of models that a plan is about."""

from __future__ import annotations

import numpy as np

from coupled_arena.core.choices import Weighting
from coupled_arena.stats.counts import FloatArray, PairCounts
from coupled_arena.stats.judges.planner import unevenness_of


def unevenness(counts: PairCounts, weights: FloatArray, weighting: Weighting) -> float:
    """Return what drawing votes anew adds to the variance of a difference of two models."""
    if weighting is Weighting.COUNT:
        return 0.0
    # A vote on the two themselves moves both, in opposite directions.
    moved = (np.abs(weights[:, None] - weights[None, :]) ** 2)[np.triu_indices(len(weights), 1)]
    pairs = counts.comparisons[np.triu_indices(len(weights), 1)]
    there = (moved > 0) & (pairs > 0)
    return unevenness_of(pairs[there].astype(np.float64), moved[there])


def touching(counts: PairCounts, weights: FloatArray) -> int:
    """Return the comparisons of any of the models that have a weight."""
    pairs, at = np.triu(counts.comparisons), weights != 0
    return int(pairs[at[:, None] | at[None, :]].sum())
