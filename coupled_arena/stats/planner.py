"""How many votes a question needs, with and without a judge.

Everything is scaled from the comparisons there are: others like them would bring the variance down
in proportion to their number. With r verdicts alone for each vote, a vote is worth
τ = 1 / (1 - ρ²/(1 + 1/r)) of itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judge_audit import efficiency


@dataclass(frozen=True)
class Needs:
    """Votes and verdicts that a question takes, those that are there included.

    Attributes
    ----------
    votes_alone : int
        Human votes without a judge.
    votes : int
        Human votes with the judge, each of which has a verdict too.
    verdicts : int
        The judge's verdicts, on those comparisons and on others.
    tau : float
        What a vote is worth with so many verdicts.
    tau_max : float
        The same with verdicts without end; infinite for a judge that is always right.
    """

    votes_alone: int
    votes: int
    verdicts: int
    tau: float
    tau_max: float


def variance_for_width(width: float, alpha: float) -> float:
    """Return the variance at which an interval has this width.

    Raises
    ------
    ValueError
        The width is not between 0 and 1, or `alpha` is not.
    """
    if not 0 < width < 1:
        raise ValueError(f"The width of an interval lies between 0 and 1, not at {width:g}.")
    return (width / 2 / float(critical_value(alpha))) ** 2


def variance_for_power(difference: float, alpha: float, power: float) -> float:
    """Return the variance at which a difference is found significant with this probability.

    Parameters
    ----------
    difference : float
        The true one.
    alpha : float
        Error level of a two-sided test of these two alone.
    power : float
        Probability that the test separates the two.

    Raises
    ------
    ValueError
        There is no difference, or the power is not between `alpha` and 1.
    """
    if not 0 < abs(difference) < 1:
        raise ValueError(
            f"Models that differ by {difference:g} cannot be separated: "
            "give a difference between 0 and 1."
        )
    if not alpha < power < 1:
        raise ValueError(f"The power lies between alpha and 1, not at {power:g}.")
    return (difference / (float(critical_value(alpha)) + float(ndtri(power)))) ** 2


def needs(
    variance: float, votes: int, explained: float, goal: float, verdicts_per_vote: float
) -> Needs:
    """Return what it takes to reach a variance.

    Parameters
    ----------
    variance : float
        Of the estimate by people alone, with the votes there are.
    votes : int
        How many these are.
    explained : float
        ρ²: the share of it that the judge can explain.
    goal : float
        The variance to reach.
    verdicts_per_vote : float
        r: verdicts on comparisons that nobody votes on, for each vote.

    Raises
    ------
    ValueError
        The variance or ρ² is unknown, or r is negative.
    """
    if not (variance > 0 and math.isfinite(explained)):
        raise ValueError("Too few votes yet to plan from: nothing in them varies.")
    if not 0 <= verdicts_per_vote < math.inf:
        raise ValueError(f"There cannot be {verdicts_per_vote:g} verdicts for each vote.")
    per_vote = 1 / verdicts_per_vote if verdicts_per_vote else math.inf
    tau, tau_max = (
        float(efficiency(np.array(explained), np.array(ratio))) for ratio in (per_vote, 0.0)
    )
    alone = votes * variance / goal
    with_judge = math.ceil(alone / tau)
    return Needs(
        votes_alone=math.ceil(alone),
        votes=with_judge,
        verdicts=math.ceil(with_judge * (1 + verdicts_per_vote)),
        tau=tau,
        tau_max=tau_max,
    )
