"""Judges of known noise against a known truth: figures 11 and 12 of the version at NeurIPS."""

from __future__ import annotations

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking.experiments import SETTINGS
from coupled_arena.papers.ranking.noisy_figure import noisy_figure
from coupled_arena.papers.ranking.published import SYNTHETIC_VOTES, simulated
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.simulation.noisy_judges import NoisyJudges, NoisyPlan, try_noisy_judges
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.views.tables.simulations import noisy

_MODELS, _TOTAL, _NOISE = 8, 50_000, (0.05, 0.1, 0.3)
_REPEATS, _ALPHA = 300, 0.1
_NOTES = (
    "Figures 11 and 12 are those of the paper's version at NeurIPS, appendix E; the one at arXiv "
    "of May 2024 has no simulation.",
    "The paper draws each model also against itself, one comparison in eight: here it is left out.",
)


def noisy_judges(source: PaperSource) -> Made:
    """Return how rankings with noisy judges fare, as the paper ranks and with our defaults."""
    chosen = source.settings
    votes = chosen.sizes or SYNTHETIC_VOTES
    if max(votes) > _TOTAL:
        raise ArenaError(f"--sizes {max(votes)}: there are {_TOTAL} comparisons in all.")
    results: dict[str, NoisyJudges] = {}
    try:
        for name, how in SETTINGS.items():
            plan = NoisyPlan(
                models=_MODELS,
                sizes=tuple((n, _TOTAL - n) for n in votes),
                noise=_NOISE,
                repeats=chosen.repeats or _REPEATS,
                alpha=chosen.alpha[0] if chosen.alpha else _ALPHA,
                seed=chosen.seed,
                **how,
            )
            results[name] = try_noisy_judges(plan, source.track)
    except ValueError as error:
        raise ArenaError(str(error)) from error
    return Made(
        tables={name: noisy(result) for name, result in results.items()},
        figures={
            measure if name == "published" else f"{name}-{measure}": noisy_figure(result, measure)
            for name, result in results.items()
            for measure in ("coverage", "overlap")
        },
        values=_values(results["published"]),
        notes=_NOTES,
    )


def _values(result: NoisyJudges) -> dict[str, float]:
    names = {Ranking.HUMAN: "human only", Ranking.JUDGE: "llm", Ranking.PPR: "ppr"}
    values: dict[str, float] = {}
    for one in result.qualities:
        method = names[one.ranking] + ("" if one.noise is None else f" {one.noise:g}")
        values[simulated(method, one.human, "coverage")] = one.coverage
        values[simulated(method, one.human, "overlap")] = one.overlap
    return values
