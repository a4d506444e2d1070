"""The `simulate` command: the statistics tried out on a made-up truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coupled_arena.cli.repeats import Bar, Repeats, Seed, numbers, one_line
from coupled_arena.cli.shared import Covariances, Cutoffs, Json, Weightings, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.views.tables.experiments import watched, watched_answer
from coupled_arena.views.tables.simulations import (
    noisy,
    noisy_answer,
    simulations_answer,
    simulations_text,
)

if TYPE_CHECKING:
    from coupled_arena.stats.simulation.coverage import SimulationPlan
    from coupled_arena.stats.simulation.truths import SimulatedTruth

_AS_THEY_ARE = (0.2, 1.0, 0.5, None, 0.0, 0.0, "balanced", None)
"""The options that the ranking paper's truths do without, as they are unless given."""
Alpha = Annotated[float, typer.Option(help="Error level, not the confidence.")]


def simulate(
    models: Annotated[int, typer.Option(min=2, help="Number of models.")] = 5,
    ties: Annotated[float, typer.Option(help="Probability of a tie.")] = 0.2,
    spread: Annotated[
        float, typer.Option(help="Log-odds between best and worst; 0: all are equal.")
    ] = 1.0,
    human: Annotated[
        str, typer.Option(help="Comparisons with a vote and a verdict: N[,N...].")
    ] = "500",
    judge_only: Annotated[int, typer.Option(help="Comparisons with a verdict alone.")] = 5000,
    judge_quality: Annotated[
        float, typer.Option(help="Probability that the verdict repeats the vote.")
    ] = 0.5,
    more_judges: Annotated[
        str | None, typer.Option(help="That of further judges, taken together with it: Q[,Q].")
    ] = None,
    judge_noise: Annotated[
        str | None,
        typer.Option(
            help="The ranking paper's truths: judges whose win rates are off by up to U[,U...]."
        ),
    ] = None,
    toward_first: Annotated[
        float, typer.Option(help="Probability that the verdict goes to whom is shown first.")
    ] = 0.0,
    toward_last: Annotated[
        float, typer.Option(help="Probability that it goes to the weakest model, if there.")
    ] = 0.0,
    design: Annotated[
        Literal["balanced", "random", "unbalanced", "clustered", "voters"],
        typer.Option(
            help="Who meets whom; clustered: rankings that share prompts; voters: several votes "
            "on each battle."
        ),
    ] = "balanced",
    prompt_effect: Annotated[
        float, typer.Option(help="Clustered, voters: spread of what a prompt adds, in log-odds.")
    ] = 1.0,
    voters: Annotated[int, typer.Option(help="Voters: how many on each battle.")] = 10,
    repeats: Repeats = 200,
    alpha: Alpha = 0.05,
    covariance: Covariances = "corrected",
    weighting: Weightings = "stratified",
    cutoff: Annotated[Cutoffs | None, typer.Option(help="One of them.  [default: all]")] = None,
    watch: Annotated[
        int | None,
        typer.Option(min=1, help="Look after each N votes: right at all looks together?"),
    ] = None,
    pairing: Annotated[
        Literal["uniform", "first", "places"],
        typer.Option(
            help="With --watch: whose turn it is; first: more often those whose votes are to "
            "settle which model is best; places: any model's place."
        ),
    ] = "uniform",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw votes from a known truth, and count how often rank-sets and intervals contain it."""
    if pairing != "uniform" and not watch:
        raise ArenaError(f"--pairing {pairing} chooses after each look: name --watch, too.")
    sizes = numbers(human, int)
    if not sizes:
        raise ArenaError("--human needs a number of comparisons, or several: N[,N...].")
    how = _Repeated(sizes, repeats, alpha, covariance, weighting, cutoff, seed)
    if judge_noise:
        other = (ties, spread, judge_quality, more_judges, toward_first, toward_last, design, watch)
        if other != _AS_THEY_ARE:
            raise ArenaError(
                "--judge-noise draws its own truths, balanced ones: leave out --ties, --spread, "
                "--judge-quality, --more-judges, --toward-first, --toward-last, --design, --watch."
            )
        how.noisy(models, judge_only, numbers(judge_noise, float), as_json=as_json)
        return
    from coupled_arena.stats.simulation import truths

    def drawn(n: int) -> truths.SimulatedTruth:
        return truths.SimulatedTruth(
            strengths=truths.evenly(models, spread),
            human=n,
            judge_only=judge_only,
            ties=ties,
            judge_quality=judge_quality,
            more_judges=numbers(more_judges, float) if more_judges else (),
            toward_first=toward_first,
            toward_last=toward_last,
            design=truths.Design(design),
            prompt_effect=prompt_effect,
            voters=voters,
        )

    if watch:
        how.watched(drawn, watch, pairing, as_json=as_json)
    else:
        how.covered(drawn, as_json=as_json)


@dataclass(frozen=True)
class _Repeated:
    """What is drawn how often, and how it is ranked."""

    sizes: tuple[int, ...]
    repeats: int
    alpha: float
    covariance: Covariances
    weighting: Weightings
    cutoff: Cutoffs | None
    seed: int

    def covered(self, drawn: Callable[[int], SimulatedTruth], *, as_json: bool) -> None:
        from coupled_arena.stats.simulation import coverage

        with one_line():
            plans = [self._plan(drawn(n)) for n in self.sizes]
        bar = Bar()
        results = [coverage.simulate(plan, bar) for plan in plans]
        show(simulations_answer(results), as_json, lambda: simulations_text(results))
        bar.finish(min(result.repeats for result in results), self.repeats)

    def watched(
        self,
        drawn: Callable[[int], SimulatedTruth],
        every: int,
        pairing: Literal["uniform", "first", "places"],
        *,
        as_json: bool,
    ) -> None:
        from coupled_arena.stats.ranking.next_pair import Pairing
        from coupled_arena.stats.simulation import watching

        if len(self.sizes) != 1:
            raise ArenaError("--watch looks at votes as they come: give one number to --human.")
        with one_line():
            plan = watching.WatchPlan(self._plan(drawn(self.sizes[0])), every, Pairing(pairing))
        bar = Bar()
        seen = watching.watch(plan, bar)
        show(watched_answer(seen), as_json, lambda: watched(seen).text())
        bar.finish(seen.repeats, self.repeats)

    def noisy(
        self, models: int, judge_only: int, noise: tuple[float, ...], *, as_json: bool
    ) -> None:
        from coupled_arena.stats.ranking.estimates import Covariance
        from coupled_arena.stats.ranking.rank_sets import Cutoff
        from coupled_arena.stats.ranking.strata import Weighting
        from coupled_arena.stats.simulation import noisy_judges

        with one_line():
            plan = noisy_judges.NoisyPlan(
                models=models,
                sizes=tuple((n, judge_only) for n in self.sizes),
                noise=noise,
                repeats=self.repeats,
                alpha=self.alpha,
                weighting=Weighting(self.weighting),
                covariance=Covariance(self.covariance),
                cutoff=Cutoff(self.cutoff) if self.cutoff else Cutoff.MAX_T,
                seed=self.seed,
            )
        bar = Bar()
        tried = noisy_judges.try_noisy_judges(plan, bar)
        show(noisy_answer(tried), as_json, lambda: noisy(tried).text())
        bar.finish(tried.repeats, self.repeats)

    def _plan(self, truth: SimulatedTruth) -> SimulationPlan:
        from coupled_arena.stats.ranking.estimates import Covariance
        from coupled_arena.stats.ranking.rank_sets import Cutoff
        from coupled_arena.stats.ranking.strata import Weighting
        from coupled_arena.stats.simulation.coverage import SimulationPlan

        return SimulationPlan(
            truth=truth,
            repeats=self.repeats,
            alpha=self.alpha,
            cutoffs=(Cutoff(self.cutoff),) if self.cutoff else tuple(Cutoff),
            weighting=Weighting(self.weighting),
            covariance=Covariance(self.covariance),
            seed=self.seed,
        )
