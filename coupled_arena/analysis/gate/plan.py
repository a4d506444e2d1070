"""How many prompts a gate takes, coupled and independent, by a pilot: a range, not a number.

Prompts that depend on each other are a unit here as in the gate. So the simulation draws groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coupled_arena.analysis.gate.paired import Pair, PairedScores
from coupled_arena.analysis.gate.result import GateSettings
from coupled_arena.analysis.gate.worth import noise_worth, unit_means
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.language import _
from coupled_arena.stats.counts import IntArray
from coupled_arena.stats.gate.planning import share_bounds, units_needed


@dataclass(frozen=True)
class PromptsNeeded:
    """Prompts that show that a candidate is as good, if it is; None if very many.

    Attributes
    ----------
    protocol : str
        "coupled", "independent", or "as here" where nobody knows.
    flips : float
        Share of the prompts, or of the groups of prompts, on which the two differ.
    least, likely, most : int or None
        By the lower bound of this share, by the share itself, and by its upper bound (80 %).
    """

    protocol: str
    flips: float
    least: int | None
    likely: int | None
    most: int | None


@dataclass(frozen=True)
class GatePlan:
    """A plan of a gate, with what it was made of.

    Attributes
    ----------
    prompts : int
        Of the pilot.
    groups : int
        Groups of prompts in the pilot that do not depend on each other; single prompts count, too.
    answers : int
        Of a model to each of them, in the pilot and in the plan.
    needed : tuple of PromptsNeeded
    answers_read : int
        Where there is no pilot: answers of which it is known how close the models are.
    seconds : float or None
        That a prompt with all its answers took in a stored run of both models; None if unknown.
    """

    base: str
    candidate: str
    metric: str
    margin: float
    alpha: float
    power: float
    prompts: int
    groups: int
    answers: int
    needed: tuple[PromptsNeeded, ...]
    answers_read: int = 0
    seconds: float | None = None

    def minutes(self, prompts: int | None) -> float | None:
        """Return how long so many prompts take; None if that is not known."""
        return None if prompts is None or self.seconds is None else prompts * self.seconds / 60


def plan_gate(scores: PairedScores, margin: float, alpha: float, power: float) -> GatePlan:
    """Plan by the scores of a base and one candidate on the prompts of a pilot.

    What is planned for is a candidate that is exactly as good, whatever the pilot's difference: so
    few prompts say little of it.

    Raises
    ------
    ArenaError
        A number is out of range.
    ScoreError
        The two have fewer than two prompts in common.
    """
    GateSettings(margin, alpha).check()
    if not 0 < power < 1:
        raise ArenaError(
            _("The power is between 0 and 1, such as 0.8, not {power:g}.").format(power=power)
        )
    pair, groups = scores.pair(1), scores.groups
    protocol, aim = "coupled" if scores.coupled else "as here", (margin, alpha, power)
    needed = [_needed(protocol, pair, groups, *aim)]
    alone = _alone(scores)
    if alone is not None:
        needed.append(_needed("independent", alone, groups, *aim))
    elif scores.coupled and (worth := noise_worth(pair, groups)) is not None and worth.saved < 1:
        needed.append(_needed("independent", pair, groups, *aim, 1 / (1 - worth.saved)))
    return GatePlan(
        *(scores.models[0], scores.models[1], scores.metric, margin, alpha, power),
        prompts=len(pair.places),
        groups=len(np.unique(groups[pair.places])),
        answers=pair.repetitions,
        needed=tuple(needed),
    )


def _alone(scores: PairedScores) -> Pair | None:
    """Return answers with noise of their own, if there are any beside coupled ones."""
    if scores.independent is None:
        return None
    try:
        return scores.pair(1, scores.independent)
    except ScoreError:
        return None


def _needed(
    protocol: str,
    pair: Pair,
    groups: IntArray,
    margin: float,
    alpha: float,
    power: float,
    more: float = 1.0,
) -> PromptsNeeded:
    """Return the prompts by the flips of a pair, or by so many times as many."""
    each = np.abs(unit_means(pair.differences, groups[pair.places]))
    large = len(pair.places) / len(each)  # prompts of a unit
    sizes, n = each[each > 0], len(each)
    shares = (share_bounds(len(sizes), n)[0], len(sizes) / n, share_bounds(len(sizes), n)[1])
    # More spread than all prompts can have by their number comes from larger differences.
    larger = np.minimum(sizes * max(len(sizes) / n * more, 1.0) ** 0.5, 1.0)
    units = [units_needed(larger, min(share * more, 1.0), margin, alpha, power) for share in shares]
    found = [None if n is None else math.ceil(n * large) for n in units]
    # Where nearly all prompts differ, chance of the simulation may put them in another order.
    order = sorted(found, key=lambda n: math.inf if n is None else n)
    return PromptsNeeded(protocol, min(shares[1] * more, 1.0), *order)
