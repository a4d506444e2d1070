"""The ``risk`` command: which model fails least badly, by stored replies or any table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coupled_arena.cli.score_files import read_scores, refuse_store_options
from coupled_arena.cli.shared import Config, Db, Json, listed, only_judge, reading, show
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.extras import command_for, is_installed
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.analysis.risk.scores import RiskScores

Portfolios = Literal["independent", "empirical", "none"]
PValueKinds = Literal["swap", "percentile", "approximate", "published"]
Corrections = Literal["bonferroni", "holm", "fdr", "none"]
Distances = Literal["kendall", "spearman", "pearson"]


def risk(
    scores: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SCORES",
            help="A table, CSV, JSON or Parquet: columns model, prompt, metric, score; or model, "
            "prompt, and one for each metric. Or logs of other tools, files or folders; NAME=LOG "
            "names the model of one. Without any, the stored replies.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Metrics to look at: a,b. All of a file; of logs the first; of the store also "
            "length, repetition, refusal and verdicts."
        ),
    ] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Metrics of which less is better: a,b.")
    ] = None,
    higher_is_better: Annotated[
        str | None, typer.Option(help="Metrics of which more is better after all: a,b.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Store: add this judge's verdicts as a metric.")
    ] = None,
    mode: Annotated[
        Literal["all", "coupled", "independent"] | None,
        typer.Option(help="Store: which battles count.  [default: all]"),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Store: only these models, A,B[,C...].")
    ] = None,
    paired: Annotated[
        bool | None,
        typer.Option(
            "--paired/--independent",
            help="Draw prompts for all models together, or scores of each model by themselves.",
        ),
    ] = None,
    bootstraps: Annotated[int, typer.Option(min=2, help="Bootstrap samples.")] = 10_000,
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    portfolio: Annotated[
        Portfolios | None,
        typer.Option(help="Copula that joins several metrics.  [default: independent]"),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Importance of each metric: 2,1. Equal.")
    ] = None,
    tail_p: Annotated[float, typer.Option(help="Share of the worst scores, for tails.")] = 0.05,
    threshold: Annotated[
        float, typer.Option(help="Violation ratio below which absolute tests say dominance.")
    ] = 0.25,
    p_values: Annotated[PValueKinds, typer.Option(help="How the bootstrap decides.")] = "swap",
    correction: Annotated[Corrections, typer.Option(help="For many tests at once.")] = (
        "bonferroni"
    ),
    distance: Annotated[Distances, typer.Option(help="To aggregate the metrics' ranks.")] = (
        "pearson"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Rank models by how badly they fail: stochastic dominance, tails, and win rates."""
    from coupled_arena.analysis.risk.result import RiskSettings, risk_report
    from coupled_arena.stats.risk.corrections import Correction
    from coupled_arena.stats.risk.dominance_tests import PValues
    from coupled_arena.stats.risk.portfolio import Copula
    from coupled_arena.stats.risk.rank_aggregation import Distance
    from coupled_arena.views.tables.risk import risk_text
    from coupled_arena.views.tables.risk_json import risk_answer

    source: dict[str, str] = {}
    if not scores:
        table, judge = _stored(config, db, _names(metrics), judge, mode, _names(models))
        source = {"mode": mode or "all", **({"judge": judge} if judge else {})}
    else:
        of_store = {"judge": judge, "mode": mode, "models": models, "config": config, "db": db}
        told = {f"--{name}": value is not None for name, value in of_store.items()}
        refuse_store_options(told, " ".join(map(str, scores)), "the stored replies")
        table = read_scores(scores, _names(metrics))
    table = table.turned(_names(lower_is_better) or (), _names(higher_is_better) or ())
    # One metric has nothing to be joined with: it is ranked as it is.
    chosen = portfolio or ("independent" if len(table.metrics) > 1 else "none")
    if not is_installed("fast"):
        hint = f"Large tables take 10 to 70 times less time after {command_for('fast')}."
        typer.echo(hint, err=True)
    report = risk_report(
        table,
        RiskSettings(
            paired=paired,
            bootstraps=bootstraps,
            alpha=alpha,
            copula=None if chosen == "none" else Copula(chosen),
            weights=_weights(weights),
            tail_p=tail_p,
            threshold=threshold,
            p_values=PValues(p_values),
            correction=Correction(correction),
            distance=Distance(distance),
            seed=seed,
        ),
    )
    show({**risk_answer(report), **source}, as_json, lambda: risk_text(report))


def _stored(
    config: Path | None,
    db: Path | None,
    metrics: tuple[str, ...] | None,
    judge: str | None,
    mode: str | None,
    models: tuple[str, ...] | None,
) -> tuple[RiskScores, str | None]:
    """Return the scores, and the judge whose verdicts are among them."""
    settings = load_settings(config, db=db)
    from coupled_arena.analysis.risk.read import VERDICTS, read_stored_scores
    from coupled_arena.core.records import Mode
    from coupled_arena.store.queries.comparisons import Selection

    with reading(settings) as store:
        if metrics and VERDICTS in metrics:
            judge = judge or only_judge(store)
        elif metrics and judge:
            metrics = (*metrics, VERDICTS)
        chosen = Mode(mode) if mode in set(Mode) else None
        return read_stored_scores(store, Selection(judge, chosen, models), metrics), judge


def _names(text: str | None) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(listed(text))) if text else None


def _weights(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ScoreError(f"{text!r} are not numbers separated by commas.") from None
