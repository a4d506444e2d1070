"""Experiments as tables: rankings of random subsets, and coverage of a simulated truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from coupled_arena.core.language import N_, number
from coupled_arena.views.tables.table import Column, Table, plain, table_of

if TYPE_CHECKING:
    from coupled_arena.stats.simulation.coverage import RankSetCoverage, Simulation, SimulationPlan
    from coupled_arena.stats.simulation.noisy_judges import NoisyJudges, NoisyQuality
    from coupled_arena.stats.simulation.rank_set_runs import RankSetQuality
    from coupled_arena.stats.simulation.resampling import Resampling, ResamplingPlan
    from coupled_arena.stats.simulation.watching import Watch, Watched


def _plus_minus(name: str) -> Any:
    return lambda row: " ± ".join(number(getattr(row, of), ".3f") for of in (name, f"{name}_error"))


RANKINGS: tuple[Column[RankSetQuality], ...] = (
    Column("ranking", str, "baseline, judge, human or ppr", heading=N_("Ranking")),
    Column("human", int, "Comparisons that kept their vote", heading=N_("Votes")),
    Column("alpha", float, "Error level", heading=N_("Alpha"), text="g"),
    Column(
        "size", float, "Ranks in a rank-set, mean", heading=N_("Size"), text=_plus_minus("size")
    ),
    Column("size_error", float, "Its standard error"),
    Column(
        "intersection",
        float,
        "Share of repeats where all rank-sets meet the baseline's",
        heading=N_("Meets baseline"),
        text=_plus_minus("intersection"),
    ),
    Column("intersection_error", float, "Its standard error"),
    Column(
        "coverage",
        float,
        "Share of repeats where all rank-sets contain the baseline's",
        heading=N_("Contains it"),
        text=_plus_minus("coverage"),
    ),
    Column("coverage_error", float, "Its standard error"),
)


def rankings(result: Resampling) -> Table[RankSetQuality]:
    """Return how each ranking fared, at each number of votes and error level."""
    return table_of(RANKINGS, result.qualities)


@dataclass(frozen=True)
class RankSetShare:
    """How often a model got one rank-set, from one ranking."""

    ranking: str
    human: int | None
    alpha: float
    model: str
    low: int
    high: int
    probability: float


RANK_SETS: tuple[Column[RankSetShare], ...] = (
    Column("ranking", str, "baseline, judge, human or ppr", heading=N_("Ranking")),
    Column("human", int, "Comparisons that kept their vote", heading=N_("Votes")),
    Column("alpha", float, "Error level", heading=N_("Alpha"), text="g"),
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("low", int, "Best rank of the rank-set", heading=N_("From rank")),
    Column("high", int, "Worst rank of the rank-set", heading=N_("To rank")),
    Column("probability", float, "Share of the repeats", heading=N_("Repeats"), text=".1%"),
)


def rank_sets(result: Resampling) -> Table[RankSetShare]:
    """Return how often each model got each rank-set."""
    rows = (
        RankSetShare(run.ranking, run.human, alpha, model, low, high, share)
        for run in result.runs
        for index, alpha in enumerate(result.plan.alphas)
        for place, model in enumerate(result.models)
        for (low, high), share in run.sets(index, place).items()
    )
    return table_of(RANK_SETS, rows)


def resampling_answer(result: Resampling, judge: str) -> dict[str, Any]:
    """Return a resampling experiment as JSON values."""
    plan = result.plan
    return {
        "judge": judge,
        "models": list(result.models),
        "repeats": result.repeats,
        **_settings(plan, "total", "human", "alphas", "balanced"),
        **_settings(plan, "covariance", "weighting", "cutoff", "seed"),
        "rankings": rankings(result).records(),
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
    """Return a resampling experiment for a terminal."""
    return "\n".join([rankings(result).text(), *result.warnings, *answer.get("plots", ())])


COVERAGE: tuple[Column[RankSetCoverage], ...] = (
    Column("ranking", str, "human or ppr", heading=N_("Ranking")),
    Column("cutoff", str, "How the cut-off allows for all models at once", heading=N_("Cutoff")),
    Column(
        "coverage",
        float,
        "Share of repeats where all rank-sets contain the true ranks",
        heading=N_("Rank-sets cover"),
        text=_plus_minus("coverage"),
    ),
    Column("coverage_error", float, "Its binomial standard error"),
    Column("size", float, "Ranks in a rank-set, mean", heading=N_("Size"), text=".3f"),
)


def coverage(result: Simulation) -> Table[RankSetCoverage]:
    """Return how often the rank-sets contain the true ranks, by ranking and cut-off."""
    return table_of(COVERAGE, result.rank_sets)


@dataclass(frozen=True)
class ModelCoverage:
    """How the intervals of one model's win rate fared; `model` is its place in the truth."""

    ranking: str
    model: int
    theta: float
    coverage: float
    bias: float
    width: float


INTERVALS: tuple[Column[ModelCoverage], ...] = (
    Column("ranking", str, "human or ppr", heading=N_("Ranking")),
    Column("model", int, "Its place in the truth, 1 is the strongest", heading=N_("Model")),
    Column("theta", float, "True win rate", heading=N_("Win rate"), text=".1%"),
    Column(
        "coverage",
        float,
        "Share of repeats where the interval contains it",
        heading=N_("Interval covers"),
        text=".3f",
    ),
    Column("bias", float, "Mean estimate less the truth", heading=N_("Bias"), text="+.4f"),
    Column("width", float, "Of the intervals, mean over models", heading=N_("Width"), text=".4f"),
)


def intervals(result: Simulation) -> Table[ModelCoverage]:
    """Return how often each model's interval contains its true win rate."""
    theta = result.plan.win_rates
    rows = (
        ModelCoverage(
            *(one.ranking, place + 1, theta[place]),
            coverage=one.coverage[place],
            bias=one.bias[place],
            width=one.width,
        )
        for one in result.intervals
        for place in range(len(theta))
    )
    return table_of(INTERVALS, rows)


WATCHED: tuple[Column[Watched], ...] = (
    Column("ranking", str, "human or ppr", heading=N_("Ranking")),
    Column("cutoff", str, "How the cut-off allows for all models at once", heading=N_("Cutoff")),
    Column(
        "coverage",
        float,
        "Share of repeats where at every look all rank-sets contain the true ranks",
        heading=N_("Right at all looks"),
        text=_plus_minus("coverage"),
    ),
    Column("coverage_error", float, "Its binomial standard error"),
    Column(
        "coverage_at_last",
        float,
        "Share of repeats where they do at the last look",
        heading=N_("At the last"),
        text=".3f",
    ),
    Column(
        "separated",
        float,
        "Share of repeats where some model is ever first alone",
        heading=N_("A first place"),
        text=".3f",
    ),
    Column("votes", float, "Median votes when it is", heading=N_("After votes"), text=",.0f"),
    Column(
        "settled",
        float,
        "Share of repeats where all rank-sets ever are the true ranks",
        heading=N_("All places"),
        text=".3f",
    ),
    Column(
        "settled_votes", float, "Median votes when they are", heading=N_("After votes"), text=",.0f"
    ),
    Column(
        "size", float, "Ranks in a rank-set at the last look, mean", heading=N_("Size"), text=".3f"
    ),
)


def watched(result: Watch) -> Table[Watched]:
    """Return whether rank-sets are right at all looks together, by ranking and cut-off."""
    return table_of(WATCHED, result.cutoffs)


def simulation_settings(plan: SimulationPlan) -> dict[str, Any]:
    """Return the truth of a simulation, and how it was ranked, as JSON values."""
    truth = plan.truth
    low, high = truth.ranks.tolist()
    return {
        "world": plain(asdict(truth)),
        "theta": plan.win_rates.tolist(),
        "true_ranks": [list(pair) for pair in zip(low, high, strict=True)],
        **_settings(plan, "alpha", "covariance", "weighting", "tie_score", "seed"),
    }


def watched_answer(result: Watch) -> dict[str, Any]:
    """Return what somebody who looks again and again saw, as JSON values."""
    return {
        **simulation_settings(result.plan.simulation),
        "repeats": result.repeats,
        "every": result.plan.every,
        "pairing": result.plan.pairing,
        "watched": watched(result).records(),
    }


def simulation_answer(result: Simulation) -> dict[str, Any]:
    """Return a simulation as JSON values."""
    return {
        **simulation_settings(result.plan),
        "repeats": result.repeats,
        "rank_sets": coverage(result).records(),
        "intervals": [
            {
                "ranking": one.ranking,
                "coverage": plain(one.coverage),
                "bias": plain(one.bias),
                "width": one.width,
            }
            for one in result.intervals
        ],
        "filled": result.filled,
        "fallbacks": result.fallbacks,
        "warnings": list(result.warnings),
    }


def simulation_text(result: Simulation) -> str:
    """Return a simulation for a terminal."""
    lines = [coverage(result).text(), "", intervals(result).text()]
    if result.fallbacks:
        lines.append(f"Another weighting took over in {result.fallbacks} repeats:")
    return "\n".join([*lines, *result.warnings])


def _settings(plan: ResamplingPlan | SimulationPlan, *names: str) -> dict[str, Any]:
    return {name: plain(getattr(plan, name)) for name in names}


def simulations_answer(results: Sequence[Simulation]) -> dict[str, Any]:
    """Return a simulation as JSON values, or several, each with its own number of votes."""
    if len(results) == 1:
        return simulation_answer(results[0])
    return {"simulations": [simulation_answer(result) for result in results]}


def simulations_text(results: Sequence[Simulation]) -> str:
    """Return the same for a terminal."""
    if len(results) == 1:
        return simulation_text(results[0])
    return "\n\n".join(f"{_votes(result):,} votes\n{simulation_text(result)}" for result in results)


def _votes(result: Simulation) -> int:
    from coupled_arena.stats.simulation.truths import Campaign

    truth = result.plan.truth
    return truth.votes if isinstance(truth, Campaign) else truth.human


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
