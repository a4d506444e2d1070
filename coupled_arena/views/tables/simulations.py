"""Simulations with several numbers of votes, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coupled_arena.views.tables.experiments import simulation_answer, simulation_text

if TYPE_CHECKING:
    from coupled_arena.stats.simulation.coverage import Simulation


def simulations_answer(results: Sequence[Simulation]) -> dict[str, Any]:
    """Return a simulation as JSON values, or several, each with its own number of votes."""
    if len(results) == 1:
        return simulation_answer(results[0])
    return {"simulations": [simulation_answer(result) for result in results]}


def simulations_text(results: Sequence[Simulation]) -> str:
    """Return the same for a terminal."""
    if len(results) == 1:
        return simulation_text(results[0])
    return "\n\n".join(
        f"{result.plan.truth.human:,} votes\n{simulation_text(result)}" for result in results
    )
