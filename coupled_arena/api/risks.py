"""Which model fails least badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coupled_arena.api.checks import (
    check_frame,
    check_level,
    check_names,
    one_of,
    only_judge,
    selection_of,
)
from coupled_arena.api.logs import Logs, logged
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.risk.result import RiskReport
    from coupled_arena.analysis.risk.scores import RiskScores
    from coupled_arena.views.tables.table import Table


def risk(
    scores: pd.DataFrame | ArenaStore | Logs,
    *,
    metrics: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
    higher_is_better: Sequence[str] = (),
    judge: str | None = None,
    mode: Literal["all", "coupled", "independent"] | None = None,
    models: Sequence[str] | None = None,
    paired: bool | None = None,
    bootstraps: int = 10_000,
    alpha: float = 0.05,
    portfolio: Literal["independent", "empirical", "none"] | None = None,
    weights: Sequence[float] | None = None,
    tail_p: float = 0.05,
    threshold: float = 0.25,
    p_values: Literal["swap", "percentile", "approximate", "published"] = "swap",
    correction: Literal["bonferroni", "holm", "fdr", "none"] = "bonferroni",
    distance: Literal["kendall", "spearman", "pearson"] = "pearson",
    seed: int = 0,
) -> Result[RiskReport]:
    """Rank models by how badly they fail: stochastic dominance, tails, and win rates.

    Parameters
    ----------
    scores : DataFrame, ArenaStore, Path, sequence of Path, or dict
        Columns model, prompt, metric and score, or model, prompt and one for each metric; or a
        store, for its replies; or logs of other tools, files or folders, by their models' names
        in a dict.
    metrics : sequence of str, optional
        All of a DataFrame, the first of logs; of a store also "length", "repetition",
        "refusal" and "verdicts".
    lower_is_better, higher_is_better : sequence of str
        Metrics of which less, or more after all, is better.
    judge, mode, models
        Of a store: add this judge's verdicts as a metric; which battles and models count.
    paired : bool, optional
        Draw prompts for all models together, or scores of each model by themselves; by default
        together where all have the same prompts.
    bootstraps : int
        Bootstrap samples.
    alpha : float
        Error level of all tests together.
    portfolio : {"independent", "empirical", "none"}, optional
        Copula that joins several metrics; by default "independent" where there are several.
    weights : sequence of float, optional
        Importance of each metric; equal by default.
    tail_p : float
        Share of the worst scores that the tail risks look at.
    threshold : float
        Violation ratio below which absolute tests speak of dominance.
    p_values : {"swap", "percentile", "approximate", "published"}
        How the bootstrap decides.
    correction : {"bonferroni", "holm", "fdr", "none"}
        For many tests at once.
    distance : {"kendall", "spearman", "pearson"}
        By which the metrics' ranks are aggregated.
    seed : int
        Of what is drawn at random.

    Returns
    -------
    Result
        Tables: "models", "first_order", "second_order" and "mean_risk", of the portfolio where
        there is one; and the models by each metric, under its name.

    Raises
    ------
    ScoreError
        These are no such scores, or a setting does not fit them.
    """
    from coupled_arena.analysis.risk.result import RiskSettings, risk_report
    from coupled_arena.stats.risk.corrections import Correction
    from coupled_arena.stats.risk.dominance_tests import PValues
    from coupled_arena.stats.risk.portfolio import Copula
    from coupled_arena.stats.risk.rank_aggregation import Distance
    from coupled_arena.views.tables.risk_json import risk_answer
    from coupled_arena.views.values import plain

    check_level(alpha)
    chosen, source = _risk_scores(scores, metrics, judge, mode, models)
    table = chosen.turned(lower_is_better, higher_is_better)
    copula = portfolio or ("independent" if len(table.metrics) > 1 else "none")
    settings = RiskSettings(
        paired=paired,
        bootstraps=bootstraps,
        alpha=alpha,
        copula=None if copula == "none" else one_of(Copula, "portfolio", copula),
        weights=tuple(weights) if weights is not None else None,
        tail_p=tail_p,
        threshold=threshold,
        p_values=one_of(PValues, "p_values", p_values),
        correction=one_of(Correction, "correction", correction),
        distance=one_of(Distance, "distance", distance),
        seed=seed,
    )
    found = risk_report(table, settings)
    made_with = {
        "metrics": table.metrics,
        "lower_is_better": tuple(sorted(table.lower_is_better)),
        **source,
        "models": table.models,
        "portfolio": copula,
        **{each.name: plain(getattr(settings, each.name)) for each in fields(settings)},
        "paired": found.paired,
    }
    answer = {**risk_answer(found), **source}
    return Result("Ranking by risk", found, made_with, _tables(found), answer)


def _tables(found: RiskReport) -> dict[str, Table[Any]]:
    from coupled_arena.stats.risk.dominance import Order
    from coupled_arena.views.tables import risk as tables

    view = found.views[0]
    main = {
        "models": tables.risk_models(found, view),
        "first_order": tables.risk_pairs(view, Order.FIRST),
        "second_order": tables.risk_pairs(view, Order.SECOND),
        "mean_risk": tables.mean_risks(view),
    }
    by_metric = {each.name: tables.risk_models(found, each) for each in found.views}
    return main | by_metric | main  # a metric of such a name hides none of them


def _risk_scores(
    scores: pd.DataFrame | ArenaStore | Logs,
    metrics: Sequence[str] | None,
    judge: str | None,
    mode: str | None,
    models: Sequence[str] | None,
) -> tuple[RiskScores, dict[str, str]]:
    """Return the scores, and which of a store's replies they are of."""
    from coupled_arena.analysis.risk.files import risk_scores_from_frame
    from coupled_arena.analysis.risk.read import VERDICTS, read_stored_scores

    names = check_names(metrics)
    if not isinstance(scores, ArenaStore):
        if judge is not None or mode is not None or models is not None:
            raise ArenaError("judge, mode and models are for the replies of a store.")
        if isinstance(scores, Path | list | tuple | dict):
            return logged(scores, names), {}
        return risk_scores_from_frame(check_frame(scores, "scores"), names), {}
    with scores.reading() as opened:
        if names and VERDICTS in names:
            judge = judge or only_judge(opened)
        elif names and judge:
            names = (*names, VERDICTS)
        selection = selection_of(mode or "all", judge, models)
        found = read_stored_scores(opened, selection, names)
    return found, {"mode": mode or "all", **({"judge": judge} if judge else {})}
