"""Annotators with tendencies of their own, and how often the interval of alpha holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.krippendorff import Said, agreement


@dataclass(frozen=True)
class AnnotatorCampaign:
    """How votes come about.

    Attributes
    ----------
    annotators : int
        Who all vote on each unit, or `each` of them by lot.
    units : int
    tendency : float
        Standard deviation, in log-odds, of what an annotator adds to each outcome.
    clear : float
        Standard deviation of what a unit adds to each outcome.
    each : int or None
    """

    annotators: int
    units: int
    tendency: float = 0.7
    clear: float = 1.5
    each: int | None = None

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, Said]:
        """Return counts, shape (units, 3), and the votes."""
        own = rng.normal(0, self.tendency, (self.annotators, 3))
        unit = rng.normal(0, self.clear, (self.units, 1, 3))
        score = unit + own + rng.gumbel(size=(self.units, self.annotators, 3))
        said = score.argmax(axis=2)
        there = np.ones(said.shape, dtype=np.bool_)
        if self.each is not None:
            there = np.argsort(rng.random((self.units, self.annotators)), axis=1) < self.each
        at, who = np.nonzero(there)
        outcome = said[at, who]
        counts = np.zeros((self.units, 3), dtype=np.int64)
        np.add.at(counts, (at, outcome), 1)
        return counts, Said(at, who, outcome)

    def alpha(self, draws: int = 400_000) -> float:
        """Return the truth for any two people like these, from many pairs of them."""
        rng = np.random.default_rng(123)
        unit = rng.normal(0, self.clear, (draws, 1, 3))
        own = rng.normal(0, self.tendency, (draws, 2, 3))
        law = softmax(unit + own, axis=2)
        alike = float((law[:, 0] * law[:, 1]).sum(axis=1).mean())
        often = law.mean(axis=(0, 1))
        return 1 - (1 - alike) / (1 - float((often**2).sum()))


def held(
    truth: AnnotatorCampaign, repeats: int, *, people: bool, level: float = 0.05
) -> FloatArray:
    """Return how often the interval holds alpha, and its mean width."""
    wanted, found = truth.alpha(), np.zeros(2)
    for repeat in range(repeats):
        counts, said = truth.draw(np.random.default_rng([11, repeat]))
        at = agreement(counts, np.arange(len(counts)), level, said if people else None)
        if at.low is None or at.high is None:
            found += 1, 2
            continue
        found += at.low <= wanted <= at.high, at.high - at.low
    return found / repeats
