"""Which mean-risk models agree with dominance in the second order: looked for, not proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.stats.progress import Track
from coupled_arena.stats.risk.dominance import ROUNDING, violation_ratios
from coupled_arena.stats.risk.mean_risk import Risk, mean_risk

_MOST = 6  # scores of a sample


@dataclass(frozen=True)
class Consistency:
    """Pairs of samples of which one dominates, and those that a mean-risk model ranks otherwise.

    Attributes
    ----------
    risk : Risk
    pairs, contradictions : int
    worst : float
        The largest lead of the dominated sample by mean less risk, 0 if there is none.
    """

    risk: Risk
    pairs: int
    contradictions: int
    worst: float


def consistencies(repeats: int, seed: int = 0, track: Track = iter) -> list[Consistency]:
    """Draw pairs of small lognormal samples, and compare those of which one dominates.

    The share of a tail is drawn anew for each pair.

    Parameters
    ----------
    repeats : int
        Pairs drawn; about a third have one that dominates.
    track : callable
        Goes through the pairs.
    """
    rng = np.random.default_rng(seed)
    leads: dict[Risk, list[float]] = {risk: [] for risk in Risk}
    for _ in track(range(repeats)):
        size = int(rng.integers(2, _MOST + 1))
        means = rng.normal(size=2) / 2
        pair = [np.exp(rng.normal(mean, 1.0, size)) for mean in means]
        tail_p = 1 - float(rng.random())
        ratio = float(violation_ratios(pair)[1, 0, 1])
        if 0 < ratio < 1:
            continue
        better, worse = pair if ratio == 0 else pair[::-1]
        ahead, behind = mean_risk(better, tail_p), mean_risk(worse, tail_p)
        for risk in Risk:
            leads[risk].append(behind.score(risk) - ahead.score(risk))
    return [_consistency(risk, each) for risk, each in leads.items()]


def _consistency(risk: Risk, leads: list[float]) -> Consistency:
    wrong = [lead for lead in leads if lead > ROUNDING]
    return Consistency(risk, len(leads), len(wrong), max(wrong, default=0.0))
