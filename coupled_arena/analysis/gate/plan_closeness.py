"""How many prompts a gate takes, by how close two models are: before anything is scored.

Only answers that differ can have different scores. So the share of answers that are expected to be
identical bounds the prompts that flip. What is behind it is not known before a benchmark: how many
of the answers that differ also differ in their scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from coupled_arena.analysis.gate.plan import GatePlan, PromptsNeeded
from coupled_arena.analysis.gate.result import GateSettings
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import _
from coupled_arena.stats.gate.planning import units_needed

_HALF = 0.5  # of two answers that are right as often as wrong, and independent once they part


def read_closeness(path: Path) -> dict[str, Any]:
    """Return what `closeness --json` has printed.

    Raises
    ------
    ArenaError
        The file cannot be read, or holds something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        text = _("{path} cannot be read as what `closeness --json` prints.")
        raise ArenaError(text.format(path=path)) from error
    names = ("model_a", "model_b", "answers", "identical_coupled", "identical_independent")
    lacks = [name for name in names if not isinstance(found, dict) or name not in found]
    if lacks:
        text = _("{path} is not what `closeness --json` prints: it has no {name}.")
        raise ArenaError(text.format(path=path, name=lacks[0]))
    return found


def plan_by_closeness(
    closeness: Mapping[str, Any],
    base: str,
    candidate: str,
    margin: float,
    alpha: float,
    power: float,
) -> GatePlan:
    """Plan by how close two models are, for a candidate that is exactly as good.

    Returns
    -------
    GatePlan
        Of each protocol: the fewest prompts are those if no answer that differs has another score.
        The likely ones are those if half of them have. The most are those if all have, by the
        lower bound of the share that is identical.

    Raises
    ------
    ArenaError
        It is of other models, or a number is out of range.
    """
    GateSettings(margin, alpha).check()
    if not 0 < power < 1:
        raise ArenaError(
            _("The power is between 0 and 1, such as 0.8, not {power:g}.").format(power=power)
        )
    of = closeness["model_a"], closeness["model_b"]
    if set(of) != {base, candidate}:
        text = _("This closeness is of {one} and {other}, not of {base} and {candidate}.")
        raise ArenaError(text.format(one=of[0], other=of[1], base=base, candidate=candidate))
    needed = tuple(
        _needed(protocol, closeness, margin, alpha, power)
        for protocol in ("coupled", "independent")
    )
    return GatePlan(
        *(base, candidate, "", margin, alpha, power),
        prompts=0,
        groups=0,
        answers=1,
        needed=needed,
        answers_read=int(closeness["answers"]),
    )


def _needed(
    protocol: str, closeness: Mapping[str, Any], margin: float, alpha: float, power: float
) -> PromptsNeeded:
    name = f"identical_{protocol}"
    same = float(closeness[name])
    least = closeness.get(f"{name}_low")
    differ = 1 - same
    shares = (0.0, _HALF * differ, 1 - float(same if least is None else least))
    ones = np.ones(1)
    found = [units_needed(ones, share, margin, alpha, power) for share in shares]
    return PromptsNeeded(protocol, shares[1], *found)
