"""Commands that try the statistics out: on stored votes, and on a made-up truth."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from coupled_arena.cli.shared import (
    Config,
    Covariances,
    Cutoffs,
    Db,
    Json,
    Weightings,
    listed,
    only_judge,
    reading,
    show,
)
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings
from coupled_arena.views.tables.experiments import (
    resampling_answer,
    resampling_text,
    simulation_answer,
    simulation_text,
    watched,
    watched_answer,
)

if TYPE_CHECKING:
    from coupled_arena.stats.counts import JudgedCounts
    from coupled_arena.stats.simulation.resampling import Resampling
    from coupled_arena.store.queries.comparisons import Selection

Number = TypeVar("Number", int, float)
Alpha = Annotated[float, typer.Option(help="Error level, not the confidence.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the whole experiment.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often to draw.")]


def resample(
    human: Annotated[
        str | None,
        typer.Option(help="Comparisons that keep their vote: N[,N...].  [default: a fifth]"),
    ] = None,
    total: Annotated[
        int | None,
        typer.Option(
            min=1, help="Comparisons of each random subset.  [default: four fifths of those there]"
        ),
    ] = None,
    repeats: Repeats = 200,
    balanced: Annotated[bool, typer.Option("--balanced", help="As many in every pair.")] = False,
    judge: Annotated[str | None, typer.Option(help="Whose verdicts; needed with several.")] = None,
    alpha: Annotated[str, typer.Option(help="Error levels: A[,A...].")] = "0.05",
    covariance: Covariances = "corrected",
    weighting: Weightings = "stratified",
    cutoff: Cutoffs = "max-t",
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    mode: Annotated[Literal["all", "coupled", "independent"], typer.Option()] = "all",
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    language: Annotated[str | None, typer.Option(help="Only prompts in this language.")] = None,
    seed: Seed = 0,
    plots: Annotated[Path | None, typer.Option(help="Folder for figures.")] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Rank random subsets of the stored votes, with few votes and a judge against many votes."""
    settings = load_settings(config, db=db)
    from coupled_arena.stats.ranking.estimates import Covariance
    from coupled_arena.stats.ranking.rank_sets import Cutoff
    from coupled_arena.stats.ranking.strata import Weighting
    from coupled_arena.stats.simulation import resampling
    from coupled_arena.stats.simulation.subsets import fitting_sizes
    from coupled_arena.store.queries.comparisons import Selection

    selection = Selection(
        judge=judge,
        mode=_mode(mode),
        models=listed(models) if models else None,
        category=category,
        language=language,
    )
    alphas, kept = _numbers(alpha, float), None if human is None else _numbers(human, int)
    with reading(settings) as store:
        name, counts = _judged(store, selection)
    with _one_line():
        sizes = fitting_sizes(counts, balanced=balanced, total=total)
        plan = resampling.ResamplingPlan(
            total=sizes.total,
            human=(sizes.human,) if kept is None else kept,
            repeats=repeats,
            alphas=alphas,
            balanced=balanced,
            weighting=Weighting(weighting),
            covariance=Covariance(covariance),
            cutoff=Cutoff(cutoff),
            seed=seed,
        )
    bar = _Bar()
    with _one_line():
        result = resampling.resample(counts, plan, bar)
    answer = resampling_answer(result, name)
    if plots:
        answer["plots"] = _draw_plots(result, plots)
    show(answer, as_json, lambda: resampling_text(result, answer))
    bar.finish(result.repeats, repeats)


def simulate(
    models: Annotated[int, typer.Option(min=2, help="Number of models.")] = 5,
    ties: Annotated[float, typer.Option(help="Probability of a tie.")] = 0.2,
    spread: Annotated[
        float, typer.Option(help="Log-odds between best and worst; 0: all are equal.")
    ] = 1.0,
    human: Annotated[int, typer.Option(help="Comparisons with a vote and a verdict.")] = 500,
    judge_only: Annotated[int, typer.Option(help="Comparisons with a verdict alone.")] = 5000,
    judge_quality: Annotated[
        float, typer.Option(help="Probability that the verdict repeats the vote.")
    ] = 0.5,
    more_judges: Annotated[
        str | None, typer.Option(help="That of further judges, taken together with it: Q[,Q].")
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
    from coupled_arena.stats.ranking.estimates import Covariance
    from coupled_arena.stats.ranking.next_pair import Pairing
    from coupled_arena.stats.ranking.rank_sets import Cutoff
    from coupled_arena.stats.ranking.strata import Weighting
    from coupled_arena.stats.simulation import coverage, truths, watching

    if pairing != "uniform" and not watch:
        raise ArenaError(f"--pairing {pairing} chooses after each look: name --watch, too.")

    cutoffs = (Cutoff(cutoff),) if cutoff else tuple(Cutoff)
    with _one_line():
        truth = truths.SimulatedTruth(
            strengths=truths.evenly(models, spread),
            human=human,
            judge_only=judge_only,
            ties=ties,
            judge_quality=judge_quality,
            more_judges=_numbers(more_judges, float) if more_judges else (),
            toward_first=toward_first,
            toward_last=toward_last,
            design=truths.Design(design),
            prompt_effect=prompt_effect,
            voters=voters,
        )
        plan = coverage.SimulationPlan(
            truth=truth,
            repeats=repeats,
            alpha=alpha,
            cutoffs=cutoffs,
            weighting=Weighting(weighting),
            covariance=Covariance(covariance),
            seed=seed,
        )
        watched_at = watching.WatchPlan(plan, watch, Pairing(pairing)) if watch else None
    bar = _Bar()
    if watched_at:
        seen = watching.watch(watched_at, bar)
        show(watched_answer(seen), as_json, lambda: watched(seen).text())
        bar.finish(seen.repeats, repeats)
        return
    result = coverage.simulate(plan, bar)
    show(simulation_answer(result), as_json, lambda: simulation_text(result))
    bar.finish(result.repeats, repeats)


class _Bar:
    """A progress bar over repeats that the first Ctrl-C ends after the repeat at hand."""

    def __init__(self) -> None:
        self._stopped = False

    def __call__(self, repeats: Iterable[int]) -> Iterator[int]:
        from tqdm import tqdm

        def stop(*_: object) -> None:
            # What is finished is worth reporting; who cannot wait for it presses again.
            self._stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, stop)
        try:
            for repeat in tqdm(repeats, unit=" repeats", dynamic_ncols=True):
                yield repeat
                if self._stopped:
                    return
        finally:
            signal.signal(signal.SIGINT, before)

    def finish(self, done: int, wanted: int) -> None:
        """Say so where not all was done."""
        if done < wanted:
            raise ArenaError(f"Interrupted: the figures are of {done} of {wanted} repeats.")


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what the statistics refuse into an error that a person can mend."""
    try:
        yield
    except ValueError as error:
        raise ArenaError(str(error)) from error


def _numbers(text: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    try:
        return tuple(kind(item) for item in listed(text))
    except ValueError:
        raise ArenaError(f"{text!r} is not a list of numbers separated by commas.") from None


def _mode(name: str) -> Any:
    from coupled_arena.core.records import Mode

    return None if name == "all" else Mode(name)


def _judged(store: Any, selection: Selection) -> tuple[str, JudgedCounts]:
    """Return the judge's name and the comparisons with votes and its verdicts."""
    from dataclasses import replace

    from coupled_arena.analysis.leaderboard.read import read_estimates

    judge = selection.judge or only_judge(store)
    judged = read_estimates(store, replace(selection, judge=judge)).judged
    return judge, judged if selection.models else judged.with_both


def _draw_plots(result: Resampling, folder: Path) -> list[str]:
    from coupled_arena.views.figures.experiment_pages import write_figures

    try:
        return [str(path) for path in write_figures(result, folder)]
    except OSError as error:
        raise ArenaError(f"{folder} cannot be written: {error.strerror}.") from error
