"""The ``coupling`` command: how many samples coupled generation saves on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, check_level, listed, reading, show
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.records import Drawn, Sampler
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.analysis.coupling.read import StoredScores
    from coupled_arena.stats.coupling.score_tables import ScoreTable

    Parts = dict[str, ScoreTable | None] | None


def coupling(
    scores: Annotated[
        Path | None,
        typer.Option(
            help="CSV, JSON or Parquet with a column Noise, a column of scores for each model, and "
            "maybe a column Subject.  [default: the store]"
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=2, help="Repetitions: consecutive rows of one prompt, in --scores.")
    ] = 10,
    metric: Annotated[str | None, typer.Option(help="Which scores of the store.")] = None,
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Only answers drawn at this temperature.")
    ] = None,
    top_p: Annotated[float | None, typer.Option(help="Only answers drawn with this top-p.")] = None,
    sampler: Annotated[
        Sampler | None, typer.Option(help="Only answers drawn by this sampler.")
    ] = None,
    by_sampling: Annotated[
        bool,
        typer.Option("--by-sampling", help="Temperatures, top-ps and samplers side by side."),
    ] = False,
    by_category: Annotated[
        bool, typer.Option("--by-category", help="Each category, or subject, by itself too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the scores as such a CSV file, and nothing else.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Say how many prompts an interval of this half width would take."),
    ] = None,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Answers to each prompt, for --error.")
    ] = 1,
    published: Annotated[
        bool,
        typer.Option("--published", help="The paper's own gain too, which is biased upwards."),
    ] = False,
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --published.")] = 0,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say how many samples coupled generation saves, for every pair of models.

    From the scores that the benchmark command has stored, or from a table of scores.
    """
    check_level(alpha)
    from coupled_arena.analysis.coupling import result
    from coupled_arena.analysis.coupling.files import write_score_table
    from coupled_arena.views.tables import coupling as tables

    chosen = listed(models) if models else None
    drawn = Drawn(temperature, top_p, sampler)
    if by_sampling and not scores:
        if by_category or out or error is not None or published:
            raise ArenaError(
                "--by-category, --out, --error and --published are for one sampling: leave them "
                "out with --by-sampling."
            )
        with reading(load_settings(config, db=db)) as store:
            _show_sweep(store, (metric, chosen, category, drawn), alpha, as_json)
        return
    if scores:
        if db or metric or by_sampling or drawn != Drawn():
            raise ArenaError(
                "--db, --metric, --temperature, --top-p, --sampler and --by-sampling are for the "
                "scores in the store: leave them out with --scores."
            )
        read, parts = _of_file(scores, seeds, chosen, category, by_category=by_category)
    else:
        with reading(load_settings(config, db=db)) as store:
            choice = (metric, chosen, category, drawn)
            read, parts = _of_store(store, choice, by_category=by_category)
    if out:
        write_score_table(read.table, out)
        typer.echo(f"{out} holds {2 * read.table.coupled[..., 0].size:,} rows.", err=True)
        return
    found = result.coupling(read, alpha, parts)
    pairs = tables.coupling_pairs(found)
    if error is not None:
        pairs = tables.with_prompts_needed(pairs, error, repetitions, alpha)
    if published:
        pairs = tables.with_published_gains(pairs, _published(read.table, seed))
    show(tables.coupling_answer(found, pairs), as_json, lambda: tables.coupling_text(found, pairs))


def _of_file(
    path: Path,
    seeds: int,
    models: tuple[str, ...] | None,
    subject: str | None,
    *,
    by_category: bool,
) -> tuple[StoredScores, Parts]:
    from coupled_arena.analysis.coupling.files import read_subject_scores
    from coupled_arena.analysis.coupling.read import StoredScores
    from coupled_arena.analysis.logs.read import format_of

    if path.is_file() and (log := format_of(path)):
        raise ScoreError(
            f"{path} is a log of {log.title}, which does not say which answers were coupled and "
            "which independent. Rank its models with the command risk."
        )
    read = read_subject_scores(path, seeds, models)
    table = read.of(subject) if subject else read.table
    scores = StoredScores(path.name, table, subject, read.left_out)
    return scores, read.by_subject() if by_category else None


def _of_store(
    store: Any, choice: tuple[Any, ...], *, by_category: bool
) -> tuple[StoredScores, Parts]:
    from coupled_arena.analysis.coupling.read import read_categories, read_protocol_scores

    scores = read_protocol_scores(store, *choice)
    return scores, read_categories(store, scores) if by_category else None


def _show_sweep(store: Any, choice: tuple[Any, ...], alpha: float, as_json: bool) -> None:
    from coupled_arena.analysis.coupling.sweep import read_sweep
    from coupled_arena.views.tables.sweep import sweep_answer, sweep_text

    found = read_sweep(store, *choice, alpha=alpha)
    show(sweep_answer(found), as_json, lambda: sweep_text(found))


def _published(table: ScoreTable, seed: int) -> list[float]:
    from coupled_arena.analysis.coupling.result import published_gains
    from coupled_arena.cli.bars import tracked

    gains = published_gains(table, seed, lambda repeats: tracked(repeats, "sub-samplings"))
    return gains.tolist()
