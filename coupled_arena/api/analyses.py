"""What a judge is worth, what coupling saves, and who fails least badly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from coupled_arena.api.checks import (
    check_frame,
    check_level,
    check_names,
    check_store,
    one_of,
    only_judge,
    selected,
    selection_of,
)
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.audit.result import Audit
    from coupled_arena.analysis.coupling.read import StoredScores
    from coupled_arena.analysis.coupling.result import Coupling
    from coupled_arena.analysis.risk.result import RiskReport
    from coupled_arena.analysis.risk.scores import RiskScores


def audit(
    store: ArenaStore,
    *,
    judge: str | None = None,
    ties: Literal["loss", "drop"] = "loss",
    mode: Literal["all", "coupled", "independent"] = "all",
    alpha: float = 0.05,
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
    truth: Literal["votes", "benchmark"] = "votes",
    metric: str | None = None,
) -> Result[Audit]:
    """Say what a judge's verdicts are worth beside people's votes, model by model.

    Parameters
    ----------
    store : ArenaStore
    judge : str, optional
        Needed where the store has several.
    ties : {"loss", "drop"}
        Ties count as wins for neither, or are left out.
    mode, models, category, language
        Which battles count: of "all" modes, "coupled" or "independent", between these models, on
        prompts of this category or in this language.
    alpha : float
        Error level of the intervals.
    truth : {"votes", "benchmark"}
        "benchmark": its grades of single answers beside the benchmark's key.
    metric : str, optional
        Which benchmark, where the store has several.

    Returns
    -------
    Result
        Tables: "models" and "differences".

    Raises
    ------
    ArenaError
        The store cannot be read, does not know a name, or a setting is out of range.
    """
    check_level(alpha)
    from coupled_arena.analysis.audit.benchmark import only_grader, read_benchmark_estimates
    from coupled_arena.analysis.audit.result import audit as audited
    from coupled_arena.analysis.audit.result import read_audit
    from coupled_arena.stats.judges.model_counts import Ties
    from coupled_arena.views.tables import audit as tables

    if truth == "benchmark" and ties == "drop":
        raise ArenaError('ties is about votes: leave it out with truth="benchmark".')
    with check_store(store).reading() as opened:
        if truth == "benchmark":
            judge = judge or only_grader(opened)
        judge = judge or only_judge(opened)
        selection = selection_of(mode, judge, models, category, language)
        found = (
            audited(read_benchmark_estimates(opened, selection, metric), alpha)
            if truth == "benchmark"
            else read_audit(opened, selection, Ties(ties), alpha)
        )
    return Result(
        f"Audit of {found.judge}",
        found,
        {"truth": truth, "ties": ties, "alpha": alpha, **selected(selection)},
        {"models": tables.audit_models(found), "differences": tables.audit_differences(found)},
        tables.audit_answer(found),
    )


def coupling(
    scores: pd.DataFrame | ArenaStore,
    *,
    seeds: int = 10,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    temperature: float | None = None,
    error: float | None = None,
    repetitions: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
) -> Result[Coupling]:
    """Say how many samples coupled generation saves, for every pair of models.

    Parameters
    ----------
    scores : DataFrame or ArenaStore
        A column `Noise`, "Coupled" or "Independent", a column of scores for each model, and maybe
        a column `Subject`; or a store, for the scores that a benchmark has left there.
    seeds : int
        Of a DataFrame: repetitions, which are consecutive rows of one prompt.
    metric, temperature
        Of a store: which scores.
    models, category
        Only these models, only prompts of this category or subject.
    error : float, optional
        Say how many prompts an interval of this half width would take, with `repetitions` answers
        to each.
    alpha : float
        Error level.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Result
        Table: "pairs".

    Raises
    ------
    ScoreError
        These are no such scores, or too few.
    """
    check_level(alpha)
    from coupled_arena.analysis.coupling import result
    from coupled_arena.analysis.coupling.read import read_protocol_scores
    from coupled_arena.views.tables import coupling as tables

    names = check_names(models)
    if isinstance(scores, ArenaStore):
        with scores.reading() as opened:
            read = read_protocol_scores(opened, metric, names, category, temperature)
    else:
        read = _of_frame(scores, seeds, names, category, {metric, temperature})
    found = result.coupling(read, alpha, seed)
    pairs = tables.coupling_pairs(found)
    if error is not None:
        pairs = tables.with_prompts_needed(pairs, error, repetitions, alpha)
    settings = {
        "metric": found.metric,
        "models": names,
        "category": category,
        "temperature": temperature,
        "error": error,
        "alpha": alpha,
        "seed": seed,
    }
    answer = tables.coupling_answer(found, pairs)
    return Result("Savings by coupling", found, settings, {"pairs": pairs}, answer)


def _of_frame(
    scores: pd.DataFrame,
    seeds: int,
    models: tuple[str, ...] | None,
    category: str | None,
    of_store: set[object],
) -> StoredScores:
    from coupled_arena.analysis.coupling.files import subject_scores_from_frame
    from coupled_arena.analysis.coupling.read import StoredScores

    if of_store != {None}:
        raise ArenaError("metric and temperature are for the scores of a store: leave them out.")
    read = subject_scores_from_frame(check_frame(scores, "scores"), seeds, models)
    return StoredScores("the table", read.of(category) if category else read.table, category)


def risk(
    scores: pd.DataFrame | ArenaStore,
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
    p_values: Literal["percentile", "approximate", "published"] = "percentile",
    correction: Literal["bonferroni", "holm", "fdr", "none"] = "bonferroni",
    distance: Literal["kendall", "spearman", "pearson"] = "pearson",
    seed: int = 0,
) -> Result[RiskReport]:
    """Rank models by how badly they fail: stochastic dominance, tails, and win rates.

    Parameters
    ----------
    scores : DataFrame or ArenaStore
        Columns model, prompt, metric and score, or model, prompt and one for each metric; or a
        store, for its replies.
    metrics : sequence of str, optional
        All of a DataFrame; of a store also "length", "repetition", "refusal" and "verdicts".
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
    p_values : {"percentile", "approximate", "published"}
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
    from coupled_arena.stats.risk.dominance import Order
    from coupled_arena.stats.risk.dominance_tests import PValues
    from coupled_arena.stats.risk.portfolio import Copula
    from coupled_arena.stats.risk.rank_aggregation import Distance
    from coupled_arena.views.tables import risk as tables
    from coupled_arena.views.tables.risk_json import risk_answer

    chosen = _risk_scores(scores, metrics, judge, mode, models)
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
    view = found.views[0]
    made_with = {"metrics": table.metrics, "portfolio": copula, "paired": found.paired}
    return Result(
        "Ranking by risk",
        found,
        made_with | {"alpha": alpha, "correction": correction, "bootstraps": bootstraps},
        {
            "models": tables.risk_models(found, view),
            "first_order": tables.risk_pairs(view, Order.FIRST),
            "second_order": tables.risk_pairs(view, Order.SECOND),
            "mean_risk": tables.mean_risks(view),
            **{each.name: tables.risk_models(found, each) for each in found.views},
        },
        risk_answer(found),
    )


def _risk_scores(
    scores: pd.DataFrame | ArenaStore,
    metrics: Sequence[str] | None,
    judge: str | None,
    mode: str | None,
    models: Sequence[str] | None,
) -> RiskScores:
    from coupled_arena.analysis.risk.files import risk_scores_from_frame
    from coupled_arena.analysis.risk.read import VERDICTS, read_stored_scores

    names = check_names(metrics)
    if not isinstance(scores, ArenaStore):
        if judge is not None or mode is not None or models is not None:
            raise ArenaError("judge, mode and models are for the replies of a store.")
        return risk_scores_from_frame(check_frame(scores, "scores"), names)
    with scores.reading() as opened:
        if names and VERDICTS in names:
            judge = judge or only_judge(opened)
        elif names and judge:
            names = (*names, VERDICTS)
        return read_stored_scores(opened, selection_of(mode or "all", judge, models), names)
