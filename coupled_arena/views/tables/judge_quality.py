"""A judge's self-preference and calibration as tables, JSON and text."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from coupled_arena.analysis.audit.result import Audit


def quality_answer(audit: Audit) -> dict[str, Any]:
    """Return the self-preference and the calibration as JSON values; null without data."""
    found, itself = audit.estimates.calibration, audit.estimates.own
    own = itself and itself.preference(audit.alpha)
    calibrated = None
    if found is not None:
        error = found.error_interval(audit.alpha)
        brier = found.brier_interval(audit.alpha)
        calibrated = {
            "comparisons": found.comparisons,
            "prompts": found.prompts,
            **dict(zip(("error", "error_low", "error_high"), (found.error, *error), strict=True)),
            **dict(zip(("brier", "brier_low", "brier_high"), (found.brier, *brier), strict=True)),
            "bins": [asdict(each) for each in found.bins],
        }
    return {"self_preference": own and _known(asdict(own)), "calibration": _known(calibrated)}


def quality_text(audit: Audit) -> list[str]:
    """Return the same as lines for a terminal."""
    found, itself = audit.estimates.calibration, audit.estimates.own
    own = itself and itself.preference(audit.alpha)
    lines: list[str] = []
    if own is not None:
        lines.append(
            f"self-preference: {audit.judge} prefers {', '.join(own.models)} in {own.judge:.1%} of "
            f"{own.comparisons:,} comparisons with others, people in {own.people:.1%}: "
            f"{own.difference:+.1%} ({own.low:+.1%} to {own.high:+.1%})"
        )
    if found is not None:
        error = found.error_interval(audit.alpha)
        brier = found.brier_interval(audit.alpha)
        lines.append(
            f"calibration on {found.comparisons:,} comparisons: expected error {found.error:.3f} "
            f"({error[0]:.3f} to {error[1]:.3f}), Brier score {found.brier:.3f} "
            f"({brier[0]:.3f} to {brier[1]:.3f})"
        )
        lines += [
            f"  said {each.predicted:.1%}, was {each.observed:.1%} of {each.n:,}"
            for each in found.bins
        ]
    return lines


def _known(values: Any) -> Any:
    """Return values with null for what is unknown."""
    if not isinstance(values, dict):
        return values
    floats = {name: value for name, value in values.items() if isinstance(value, float)}
    return values | {name: None for name, value in floats.items() if math.isnan(value)}
