"""The ``risk`` command: which model fails least badly, by any table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from coupled_arena.cli.shared import Json, show
from coupled_arena.errors import ScoreError

Portfolios = Literal["independent", "empirical", "none"]
PValueKinds = Literal["percentile", "approximate", "published"]
Corrections = Literal["bonferroni", "holm", "fdr", "none"]
Distances = Literal["kendall", "spearman", "pearson"]


def risk(
    scores: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES.csv",
            help="Columns model, prompt, metric, score; or model, prompt, and one for each metric.",
        ),
    ],
    metrics: Annotated[str | None, typer.Option(help="Metrics to look at: a,b. All.")] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Metrics of which less is better: a,b.")
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
    p_values: Annotated[PValueKinds, typer.Option(help="How the bootstrap decides.")] = (
        "percentile"
    ),
    correction: Annotated[Corrections, typer.Option(help="For many tests at once.")] = (
        "bonferroni"
    ),
    distance: Annotated[Distances, typer.Option(help="To aggregate the metrics' ranks.")] = (
        "pearson"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0,
    as_json: Json = False,
) -> None:
    """Rank models by how badly they fail: stochastic dominance, tails, and win rates."""
    from coupled_arena.cli.risk_tables import risk_answer, risk_text
    from coupled_arena.risk.files import read_risk_scores
    from coupled_arena.risk.report import RiskSettings, risk_report
    from coupled_arena.stats.corrections import Correction
    from coupled_arena.stats.dominance_tests import PValues
    from coupled_arena.stats.portfolio import Copula
    from coupled_arena.stats.rank_aggregation import Distance

    table = read_risk_scores(scores, _names(metrics), _names(lower_is_better) or ())
    # One metric has nothing to be joined with: it is ranked as it is.
    chosen = portfolio or ("independent" if len(table.metrics) > 1 else "none")
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
    show(risk_answer(report), as_json, lambda: risk_text(report))


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip())) or None


def _weights(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ScoreError(f"{text!r} are not numbers separated by commas.") from None
