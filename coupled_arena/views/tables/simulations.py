"""What simulations found: several numbers of votes one after the other, and noisy judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coupled_arena.core.language import N_
from coupled_arena.views.tables.experiments import simulation_answer, simulation_text
from coupled_arena.views.tables.table import Column, Table, table_of

if TYPE_CHECKING:
    from coupled_arena.stats.simulation.coverage import Simulation
    from coupled_arena.stats.simulation.noisy_judges import NoisyJudges, NoisyQuality


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


def _plus_minus(name: str) -> Any:
    return lambda row: f"{getattr(row, name):.3f} ± {getattr(row, f'{name}_error'):.3f}"


NOISY: tuple[Column[NoisyQuality], ...] = (
    Column("ranking", str, "human, judge or ppr", heading="Ranking"),
    Column("noise", float, "That of the judge, if any", heading="Noise", text="g"),
    Column("human", int, "Comparisons with a vote", heading="Votes"),
    Column("judge_only", int, "Comparisons with a verdict alone"),
    Column(
        "coverage",
        float,
        "Share of repeats where all rank-sets contain the true ranks",
        heading="Rank-sets cover",
        text=_plus_minus("coverage"),
    ),
    Column("coverage_error", float, "Its binomial standard error"),
    Column("size", float, "Ranks in a rank-set, mean", heading="Size", text=".3f"),
    Column(
        "overlap",
        float,
        "Rank-biased overlap of estimated and true win rates, mean",
        heading=N_("Overlap"),
        text=_plus_minus("overlap"),
    ),
    Column("overlap_error", float, "Its Monte-Carlo standard error"),
)


def noisy(result: NoisyJudges) -> Table[NoisyQuality]:
    """Return how rankings with noisy judges fared against the truth."""
    return table_of(NOISY, result.qualities)


def noisy_answer(result: NoisyJudges) -> dict[str, Any]:
    """Return the same with its settings as JSON values."""
    plan = result.plan
    return {
        "models": plan.models,
        "noise": list(plan.noise),
        "repeats": result.repeats,
        "alpha": plan.alpha,
        "persistence": plan.persistence,
        "covariance": plan.covariance.value,
        "weighting": plan.weighting.value,
        "cutoff": plan.cutoff.value,
        "seed": plan.seed,
        "noisy": noisy(result).records(),
    }
