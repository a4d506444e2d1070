"""The `resample` command: the statistics tried out on stored votes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupled_arena.cli.repeats import Bar, Repeats, Seed, numbers, one_line
from coupled_arena.cli.shared import (
    Config,
    Covariances,
    Cutoffs,
    Db,
    Excluded,
    Json,
    Named,
    Weightings,
    listed,
    only_judge,
    reading,
    show,
)
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import reason
from coupled_arena.core.settings import load_settings
from coupled_arena.views.tables.experiments import resampling_answer, resampling_text

if TYPE_CHECKING:
    from coupled_arena.stats.counts import JudgedCounts
    from coupled_arena.stats.simulation.resampling import Resampling
    from coupled_arena.store.queries.comparisons import Selection


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
    excluded: Excluded = "leave-out",
    named: Named = "leave-out",
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
    alphas, kept = numbers(alpha, float), None if human is None else numbers(human, int)
    with reading(settings, excluded, named) as store:
        name, counts, warnings = _judged(store, selection)
    with one_line():
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
    bar = Bar()
    with one_line():
        result = resampling.resample(counts, plan, bar)
    result = replace(result, warnings=(*warnings, *result.warnings))
    answer = resampling_answer(result, name)
    if plots:
        answer["plots"] = _draw_plots(result, plots)
    show(answer, as_json, lambda: resampling_text(result, answer))
    bar.finish(result.repeats, repeats)


def _mode(name: str) -> Any:
    from coupled_arena.core.records import Mode

    return None if name == "all" else Mode(name)


def _judged(store: Any, selection: Selection) -> tuple[str, JudgedCounts, tuple[str, ...]]:
    """Return the judge's name, the comparisons with votes and its verdicts, and what warns."""
    from coupled_arena.analysis.leaderboard.read import read_estimates
    from coupled_arena.analysis.rewordings import pooled_words

    judge = selection.judge or only_judge(store)
    read = read_estimates(store, replace(selection, judge=judge))
    counts = read.judged if selection.models else read.judged.with_both
    return judge, counts, tuple(pooled_words(read.reworded))


def _draw_plots(result: Resampling, folder: Path) -> list[str]:
    from coupled_arena.views.figures.experiment_pages import write_figures

    try:
        return [str(path) for path in write_figures(result, folder)]
    except OSError as error:
        raise ArenaError(f"{folder} cannot be written: {reason(error)}.") from error
