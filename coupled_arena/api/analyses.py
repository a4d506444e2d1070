"""What a judge is worth, what coupling saves, and who fails least badly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from coupled_arena.api.checks import check_level
from coupled_arena.api.checks import (
    check_level,
    check_store,
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
    from coupled_arena.analysis.coupling.result import Coupling
    from coupled_arena.analysis.risk.result import RiskReport


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
        {"models": tables.models(found), "differences": tables.differences(found)},
        found.warnings,
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
    from coupled_arena.analysis.coupling.files import subject_scores_from_frame
    from coupled_arena.analysis.coupling.read import StoredScores, read_protocol_scores
    from coupled_arena.analysis.coupling.result import coupling as compared
    from coupled_arena.views.tables import coupling as tables

    if isinstance(scores, ArenaStore):
        with scores.reading() as opened:
            stored = read_protocol_scores(opened, metric, models, category, temperature)
    else:
        if metric is not None or temperature is not None:
            raise ArenaError("metric and temperature are for a store: leave them out.")
        read = subject_scores_from_frame(scores, seeds, models)
        stored = StoredScores("scores", read.of(category) if category else read.table, category)
    found = compared(stored, alpha, seed=seed, error=error, repetitions=repetitions)
    settings = {"alpha": alpha, "category": category, "error": error, "seed": seed}
    return Result("What coupling saves", found, settings, {"pairs": tables.pairs(found)})


def risk(
    scores: pd.DataFrame | ArenaStore,
    *,
    metrics: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
    higher_is_better: Sequence[str] = (),
    judge: str | None = None,
    mode: Literal["all", "coupled", "independent"] = "all",
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
    portfolio : {"independent", "empirical", "none"}, optional
        Copula that joins several metrics; by default "independent" where there are several.

    Returns
    -------
    Result
        Tables: "models" and "pairs".

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
    from coupled_arena.views.tables import risk as tables

    table = _risk_scores(scores, metrics, judge, mode, models)
    table = table.redirected(lower_is_better, higher_is_better)
    chosen = portfolio or ("independent" if len(table.metrics) > 1 else "none")
    settings = RiskSettings(
        paired=paired,
        bootstraps=bootstraps,
        alpha=alpha,
        copula=None if chosen == "none" else Copula(chosen),
        weights=tuple(weights) if weights is not None else None,
        tail_p=tail_p,
        threshold=threshold,
        p_values=PValues(p_values),
        correction=Correction(correction),
        distance=Distance(distance),
        seed=seed,
    )
    found = risk_report(table, settings)
    return Result(
        "Ranking by risk",
        found,
        {"metrics": table.metrics, "portfolio": chosen, "alpha": alpha, "correction": correction},
        {"models": tables.models(found), "pairs": tables.pairs(found)},
    )
