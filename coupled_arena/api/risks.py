"""Which model fails least badly."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api import options
from coupled_arena.api.checks import (
    Files,
    are_files,
    check_frame,
    only_judge,
    scores_in,
    selection_of,
)
from coupled_arena.api.declared import Field, Opposite, analysis, refuse
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core import choices
from coupled_arena.core.choices import Battles, Copula, Correction, Distance, PValues
from coupled_arena.core.extras import command_for, is_installed
from coupled_arena.core.language import N_

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.risk.result import RiskReport
    from coupled_arena.analysis.risk.scores import RiskScores
    from coupled_arena.views.tables.table import Table

_log = logging.getLogger(__name__)


@analysis
def risk(
    scores: pd.DataFrame | ArenaStore | Files,
    *,
    metrics: Annotated[
        Sequence[str] | None,
        Field(N_("Metrics")),
        Doc(
            "Metrics to use. By default all of a table, and the first of logs. "
            "A store adds length, repetition, refusal and verdicts."
        ),
    ] = None,
    lower_is_better: Annotated[
        Sequence[str] | None,
        Field(N_("Lower is better")),
        Doc("Metrics with lower values that are better."),
    ] = None,
    higher_is_better: Annotated[
        Sequence[str] | None, Doc("Metrics with higher values that are better.")
    ] = None,
    judge: Annotated[
        str | None,
        Field(N_("Verdicts of"), nothing=N_("None")),
        Doc("For a store: add this judge's verdicts as a metric."),
    ] = None,
    mode: Annotated[
        Battles | str | None,
        Field(N_("Battles"), first=Battles.ALL),
        Doc("For a store: battles that count, by default `all`."),
    ] = None,
    models: Annotated[
        Sequence[str] | None,
        Field(N_("Models"), N_("None: all that can be compared.")),
        Doc("For a store: only these models."),
    ] = None,
    paired: Annotated[
        bool | None,
        Opposite("independent"),
        Doc(
            "Draw prompts for all models together, or scores of each model separately. "
            "By default together if all have the same prompts."
        ),
    ] = None,
    bootstraps: Annotated[int, Ge(2), Doc("Bootstrap samples.")] = 10_000,
    alpha: options.Alpha = 0.05,
    portfolio: Annotated[
        Copula | str | None,
        Field(N_("Portfolio"), first=Copula.INDEPENDENT),
        Doc("Copula that joins several metrics; by default `independent` if there are several."),
    ] = None,
    weights: Annotated[
        Sequence[float] | None, Doc("Importance of each metric; by default equal.")
    ] = None,
    tail_p: Annotated[
        float,
        Field(N_("Share of the worst: the tail"), least=0.01, most=1, step=0.01),
        Doc("Share of the worst scores that the tail risks use."),
    ] = 0.05,
    threshold: Annotated[
        float, Doc("Largest violation ratio that absolute tests call dominance.")
    ] = 0.25,
    p_values: Annotated[
        choices.PValues | str, Doc("How p-values come from the bootstrap.")
    ] = "swap",
    correction: Annotated[
        choices.Correction | str, Doc("Correction for many tests at once.")
    ] = "bonferroni",
    distance: Annotated[
        choices.Distance | str, Doc("Distance for combining the metrics' ranks.")
    ] = "pearson",
    seed: options.Seed = 0,
) -> Result[RiskReport]:
    """Rank models by how badly they fail: stochastic dominance, tails, and win rates.

    Parameters
    ----------
    scores : DataFrame, ArenaStore, Path, sequence of Path, or dict
        Columns model, prompt, metric and score, or model, prompt and one for each metric, as a
        table or a file. Or a store, for its replies. Or logs of other tools, files or folders, by
        their models' names in a dict.

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
    from coupled_arena.views.tables.risk import risk_answer, risk_text

    if isinstance(scores, ArenaStore):
        chosen, source = _of_store(scores, metrics, judge, Battles(mode or "all"), models)
    else:
        refuse(risk, {"judge": judge, "mode": mode, "models": models}, "with scores")
        chosen, source = _of_table(scores, metrics), {}
    if not is_installed("fast"):
        _log.info("Large tables take 10 to 70 times less time after %s.", command_for("fast"))
    table = chosen.turned(lower_is_better or (), higher_is_better or ())
    # One metric has nothing to be joined with: it is ranked as it is.
    copula = portfolio or (Copula.INDEPENDENT if len(table.metrics) > 1 else Copula.NONE)
    settings = RiskSettings(
        paired=paired,
        bootstraps=bootstraps,
        alpha=alpha,
        copula=Copula(copula),
        weights=tuple(weights) if weights is not None else None,
        tail_p=tail_p,
        threshold=threshold,
        p_values=PValues(p_values),
        correction=Correction(correction),
        distance=Distance(distance),
        seed=seed,
    )
    found = risk_report(table, settings)
    used = {"metrics": table.metrics, "models": table.models, **source}
    used |= {"lower_is_better": tuple(sorted(table.lower_is_better))}
    used |= {"portfolio": copula, "paired": found.paired}
    answer = {**risk_answer(found), **source}
    return Result("Ranking by risk", found, used, _tables(found), answer, lambda: risk_text(found))


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


def _of_table(scores: pd.DataFrame | Files, metrics: Sequence[str] | None) -> RiskScores:
    from coupled_arena.analysis.risk.scores import risk_scores_from_frame

    if are_files(scores):
        return scores_in(scores, metrics)
    return risk_scores_from_frame(check_frame(scores, "scores"), metrics)


def _of_store(
    store: ArenaStore,
    metrics: Sequence[str] | None,
    judge: str | None,
    mode: Battles,
    models: Sequence[str] | None,
) -> tuple[RiskScores, dict[str, str]]:
    """Return the scores, and which of the replies they are of."""
    from coupled_arena.analysis.risk.replies import VERDICTS, read_stored_scores

    with store.reading() as opened:
        if metrics and VERDICTS in metrics:
            judge = judge or only_judge(opened)
        elif metrics and judge:
            metrics = (*metrics, VERDICTS)
        selection = replace(selection_of(opened, mode, None, models), judge=judge)
        found = read_stored_scores(opened, selection, metrics)
    return found, {"mode": mode.value, **({"judge": judge} if judge else {})}
