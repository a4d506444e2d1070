"""Coupled against independent generation as tables, model by model and pair by pair."""

from __future__ import annotations

from typing import Any

from coupled_arena.core.language import N_
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.views.tables.table import Column, Table, table_of
from coupled_arena.views.values import plain

_Row = dict[str, Any]


def mode_models(modes: ModeComparison) -> Table[_Row]:
    """Return each model's win rate in coupled and in independent battles."""
    found = modes.averages
    rows = (
        {
            "model": model,
            "coupled": found.coupled[i],
            "independent": found.independent[i],
            "p_value": found.p_value[i],
            "difference": found.difference[i],
        }
        for i, model in enumerate(modes.models)
    )
    return table_of(MODE_MODELS, rows)


MODE_MODELS: tuple[Column[_Row], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("coupled", float, "Win rate in coupled battles", heading=N_("Coupled"), text=".1%"),
    Column(
        "independent",
        float,
        "Win rate in independent battles",
        heading=N_("Independent"),
        text=".1%",
    ),
    Column("p_value", float, "Two-sided, that both are the same", heading=N_("p"), text=".2g"),
    Column("difference", float, "Coupled less independent", heading=N_("Difference"), text="+.1%"),
)


def mode_pairs(modes: ModeComparison) -> Table[_Row]:
    """Return each ordered pair's win rate and ties in coupled and in independent battles."""
    pairs = modes.pairs
    rows = (
        {
            "model": model,
            "opponent": opponent,
            "coupled": pairs.coupled[i, j],
            "independent": pairs.independent[i, j],
            "p_value": p_value[i, j],
            "published_p_value": modes.published_p_value[i, j],
            "coupled_ties": modes.coupled_ties[i, j],
            "independent_ties": modes.independent_ties[i, j],
            "difference": difference[i, j],
        }
        for p_value, difference in [(pairs.p_value, pairs.difference)]
        for i, model in enumerate(modes.models)
        for j, opponent in enumerate(modes.models)
        if i != j
    )
    return table_of(MODE_PAIRS, rows)


MODE_PAIRS: tuple[Column[_Row], ...] = (
    MODE_MODELS[0],
    Column("opponent", str, "Name of the other model", heading=N_("Opponent")),
    *MODE_MODELS[1:4],
    Column("published_p_value", float, "By the paper's pooled z test, which ignores clusters"),
    Column("coupled_ties", float, "Share of ties in coupled battles, both bad included"),
    Column("independent_ties", float, "Share of ties in independent battles, both bad included"),
    MODE_MODELS[4],
)


def modes_answer(modes: ModeComparison, alpha: float) -> dict[str, Any]:
    """Return coupled against independent as JSON values."""
    low, high = modes.tie_interval(alpha)
    return {
        "models": mode_models(modes).records(),
        "pairs": mode_pairs(modes).records(),
        "tie_change": plain(modes.tie_change),
        "tie_change_low": plain(low),
        "tie_change_high": plain(high),
        "flips": plain(modes.flips),
    }
