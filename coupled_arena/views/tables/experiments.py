"""Experiments as JSON and as text, for the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from coupled_arena.views.values import plain

if TYPE_CHECKING:
    from coupled_arena.stats.simulation.coverage import Simulation, SimulationPlan
    from coupled_arena.stats.simulation.resampling import Resampling, ResamplingPlan


def _settings(plan: ResamplingPlan | SimulationPlan, *names: str) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in names}


def resampling_answer(result: Resampling, judge: str) -> dict[str, Any]:
    """Return a resampling experiment as JSON values."""
    plan = result.plan
    return {
        "judge": judge,
        "models": list(result.models),
        "repeats": result.repeats,
        **_settings(plan, "total", "human", "alphas", "balanced"),
        **_settings(plan, "covariance", "weighting", "cutoff", "seed"),
        "rankings": [
            {key: plain(value) for key, value in asdict(quality).items()}
            for quality in result.qualities
        ],
        "positions": [
            {
                "ranking": run.ranking,
                "human": run.human,
                "alpha": level,
                "model": model,
                "positions": run.positions[index, place].tolist(),
                "rank_sets": [
                    {"low": low, "high": high, "probability": share}
                    for (low, high), share in run.sets(index, place).items()
                ],
            }
            for run in result.runs
            for index, level in enumerate(plan.alphas)
            for place, model in enumerate(result.models)
        ],
        "warnings": list(result.warnings),
    }


def resampling_text(result: Resampling, answer: dict[str, Any]) -> str:
    """Return a resampling experiment as a table."""
    lines = [f"{'ranking':<10}{'human':>7}{'alpha':>8}{'size':>16}{'meets baseline':>18}  contains"]
    lines += [
        f"{one.ranking:<10}{one.human or '':>7}{one.alpha:>8g}"
        f"{one.size:>9.3f} ± {one.size_error:.3f}"
        f"{one.intersection:>11.3f} ± {one.intersection_error:.3f}"
        f"{one.coverage:>9.3f} ± {one.coverage_error:.3f}"
        for one in result.qualities
    ]
    return "\n".join([*lines, *result.warnings, *answer.get("plots", ())])


def simulation_answer(result: Simulation) -> dict[str, Any]:
    """Return a simulation as JSON values."""
    plan, world = result.plan, result.plan.world
    low, high = world.ranks.tolist()
    return {
        "world": asdict(world),
        "theta": world.theta.tolist(),
        "true_ranks": [list(pair) for pair in zip(low, high, strict=True)],
        "repeats": result.repeats,
        **_settings(plan, "alpha", "covariance", "weighting", "seed"),
        "rank_sets": [asdict(one) for one in result.rank_sets],
        "intervals": [
            {
                "ranking": one.ranking,
                "coverage": one.coverage.tolist(),
                "bias": [plain(bias) for bias in one.bias.tolist()],
                "width": one.width,
            }
            for one in result.intervals
        ],
        "fallbacks": result.fallbacks,
        "warnings": list(result.warnings),
    }


def simulation_text(result: Simulation) -> str:
    """Return a simulation as a table."""
    lines = [f"{'ranking':<10}{'cutoff':<12}{'rank-sets cover':>18}{'size':>8}"]
    lines += [
        f"{one.ranking:<10}{one.cutoff:<12}{one.coverage:>10.3f} ± {one.coverage_error:.3f}"
        f"{one.size:>8.3f}"
        for one in result.rank_sets
    ]
    lines += [
        f"{one.ranking:<10}intervals cover {one.coverage.min():.3f} to {one.coverage.max():.3f}, "
        f"mean width {one.width:.4f}"
        for one in result.intervals
    ]
    if result.fallbacks:
        lines.append(f"Another weighting took over in {result.fallbacks} repeats:")
    return "\n".join([*lines, *result.warnings])
