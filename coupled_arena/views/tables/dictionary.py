"""Every column of every result, for the data dictionary of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coupled_arena.views.tables import (
    audit,
    coupling,
    experiments,
    leaderboard,
    modes,
    replies,
    risk,
)
from coupled_arena.views.tables.table import Column

RESULTS: Mapping[str, tuple[Column[Any], ...]] = {
    "leaderboard": leaderboard.STANDINGS,
    "leaderboard: rank-set sizes": leaderboard.RANK_SET_SIZES,
    "leaderboard: pairs": leaderboard.HEAD_TO_HEAD,
    "leaderboard: Bradley-Terry": leaderboard.BRADLEY_TERRY,
    "coupled against independent: models": modes.MODE_MODELS,
    "coupled against independent: pairs": modes.MODE_PAIRS,
    "audit: models": audit.AUDIT_MODELS,
    "audit: differences": audit.DIFFERENCES,
    "plan": audit.PLAN,
    "coupling: pairs": coupling.PAIRS,
    "coupling: prompts of a pair": coupling.PROMPTS,
    "coupling: error curves of a pair": coupling.CURVES,
    "risk: models": risk.MODELS,
    "risk: pairs": risk.PAIRS,
    "risk: mean less risk": risk.MEAN_RISKS,
    "risk: curves": risk.CURVES,
    "resample: rankings": experiments.RANKINGS,
    "resample: rank-sets": experiments.RANK_SETS,
    "simulate: rank-sets": experiments.COVERAGE,
    "simulate: intervals": experiments.INTERVALS,
    "replies of `generate` in Python": replies.REPLIES,
}
