"""The ``audit`` and ``plan`` commands: what a judge is worth, and what more votes would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupled_arena.cli.shared import (
    Config,
    Db,
    Json,
    check_level,
    listed,
    only_judge,
    reading,
    show,
)
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.analysis.audit.read import AuditEstimates
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection

Judge = Annotated[str | None, typer.Option(help="The judge; needed where there are several.")]
Modes = Annotated[
    Literal["all", "coupled", "independent"], typer.Option(help="Which battles count.")
]
Category = Annotated[str | None, typer.Option(help="Only prompts of this category.")]
Language = Annotated[str | None, typer.Option(help="Only prompts in this language.")]
Alpha = Annotated[float, typer.Option(help="Error level, not the confidence.")]
TiesOption = Annotated[
    Literal["loss", "drop"], typer.Option(help="Ties count as wins for neither, or are left out.")
]


def audit(
    judge: Judge = None,
    ties: TiesOption = "loss",
    mode: Modes = "all",
    alpha: Alpha = 0.05,
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Category = None,
    language: Language = None,
    truth: Annotated[
        Literal["votes", "benchmark"],
        typer.Option(help="People's votes, or a benchmark's scores of graded answers."),
    ] = "votes",
    metric: Annotated[str | None, typer.Option(help="Which benchmark, where several.")] = None,
    key_from: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="This model's answers to a benchmark are the judge's key."
        ),
    ] = None,
    majority: Annotated[
        bool,
        typer.Option("--majority", help="Of several voters on two answers, most count as one."),
    ] = False,
    table: Annotated[
        Path | None, typer.Option(help="Grades from elsewhere: model, prompt, truth, judge.")
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say what a judge's verdicts are worth beside people's votes, model by model.

    With --truth benchmark: what its grades of single answers are worth beside the benchmark's key;
    with --key-from MODEL what that model's answers are worth as a key.
    """
    check_level(alpha)
    from coupled_arena.analysis.audit.result import audit as audited
    from coupled_arena.views.tables.audit import audit_answer, audit_text

    graded = truth == "benchmark" or key_from is not None or table is not None
    if graded and ties == "drop":
        raise ArenaError("--ties is about votes: leave it out where single answers are graded.")
    if graded and majority:
        raise ArenaError("--majority is about votes: leave it out where single answers are graded.")
    if table is not None:
        _check_table(db, truth, mode, language, metric, key_from)
        estimates = _of_table(table, judge, models, category)
    else:
        with reading(load_settings(config, db=db)) as store:
            if graded:
                judge = _grader(store, judge, key_from)
            selection = _selection(store, judge, mode, models, category, language)
            if graded:
                estimates = _of_benchmark(store, selection, metric, by_key=key_from is not None)
            else:
                estimates = _of_votes(store, selection, ties, majority=majority)
    report = audited(estimates, alpha)
    show(audit_answer(report), as_json, lambda: audit_text(report))


def _check_table(
    db: Path | None,
    truth: str,
    mode: str,
    language: str | None,
    metric: str | None,
    key_from: str | None,
) -> None:
    of_stores = {
        "--db": db,
        "--truth": None if truth == "votes" else truth,
        "--mode": None if mode == "all" else mode,
        "--language": language,
        "--metric": metric,
        "--key-from": key_from,
    }
    if given := [option for option, value in of_stores.items() if value is not None]:
        raise ArenaError(f"{given[0]} is about a store: leave it out with --table.")


def _of_table(
    table: Path, judge: str | None, models: str | None, category: str | None
) -> AuditEstimates:
    from coupled_arena.analysis.audit.tables import read_grades, table_estimates

    chosen = listed(models) if models else None
    return table_estimates(read_grades(table), str(table), judge, chosen, category)


def _grader(store: Store, judge: str | None, key_from: str | None) -> str:
    from coupled_arena.analysis.audit.benchmark import only_grader

    if key_from is None:
        return judge or only_grader(store)
    if judge is not None:
        raise ArenaError("A judge has graded, or a model's answers are the key: leave one out.")
    return key_from


def _of_benchmark(
    store: Store, selection: Selection, metric: str | None, *, by_key: bool
) -> AuditEstimates:
    from coupled_arena.analysis.audit.benchmark import read_benchmark_estimates
    from coupled_arena.analysis.audit.keys import read_key_estimates

    read = read_key_estimates if by_key else read_benchmark_estimates
    return read(store, selection, metric)


def _of_votes(store: Store, selection: Selection, ties: str, *, majority: bool) -> AuditEstimates:
    from coupled_arena.analysis.audit.majority import majority_store
    from coupled_arena.analysis.audit.read import read_audit_estimates
    from coupled_arena.stats.judges.model_counts import Ties

    if not majority:
        return read_audit_estimates(store, selection, Ties(ties))
    with majority_store(store, selection) as (merged, chosen):
        return read_audit_estimates(merged, chosen, Ties(ties))


def plan(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Whose win-rate.")],
    against: Annotated[str | None, typer.Option(help="Separate it from this model.")] = None,
    width: Annotated[float, typer.Option(help="Width of the interval, from end to end.")] = 0.05,
    lead: Annotated[
        float | None, typer.Option(help="True difference of the two.  [default: as estimated]")
    ] = None,
    power: Annotated[
        float, typer.Option(help="Probability that the leaderboard separates the two.")
    ] = 0.8,
    verdicts_per_vote: Annotated[
        float, typer.Option(help="Verdicts on other comparisons, for each vote.")
    ] = 10,
    price: Annotated[float | None, typer.Option(help="Of one verdict.")] = None,
    cutoff: Annotated[
        Literal["max-t", "step-down", "any-time", "bonferroni"],
        typer.Option(help="Of a board looked at once, or (any-time) watched until it tells."),
    ] = "max-t",
    judge: Judge = None,
    ties: TiesOption = "loss",
    mode: Modes = "all",
    alpha: Alpha = 0.05,
    category: Category = None,
    language: Language = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say how many more votes a win-rate takes, or a place apart from another model's.

    With --against the two are separated on the leaderboard, which compares all its models at once.
    """
    settings = load_settings(config, db=db)
    check_level(alpha)
    from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval, plan_separation
    from coupled_arena.analysis.audit.read import read_audit_estimates
    from coupled_arena.analysis.leaderboard.read import read_estimates
    from coupled_arena.stats.judges.model_counts import Ties
    from coupled_arena.stats.ranking.rank_sets import Cutoff
    from coupled_arena.views.tables.audit import plan_answer
    from coupled_arena.views.words.plan import plan_words

    if against is not None and ties == "drop":
        raise ArenaError("The leaderboard keeps ties: leave out --ties drop with --against.")
    question = PlanGoal(
        *(model, against, width, power, lead, alpha),
        cutoff=Cutoff(cutoff),
        verdicts_per_vote=verdicts_per_vote,
        price=price,
    )
    with reading(settings) as store:
        selection = _selection(store, judge, mode, None, category, language)
        made = (
            plan_interval(read_audit_estimates(store, selection, Ties(ties)), question)
            if against is None
            else plan_separation(read_estimates(store, selection), question)
        )
    show(plan_answer(made), as_json, lambda: "\n".join(plan_words(made)))


def _selection(
    store: Any,
    judge: str | None,
    mode: str,
    models: str | None,
    category: str | None,
    language: str | None,
) -> Selection:
    from coupled_arena.core.records import Mode
    from coupled_arena.store.queries.comparisons import Selection

    return Selection(
        judge=judge or only_judge(store),
        mode=None if mode == "all" else Mode(mode),
        models=listed(models) if models else None,
        category=category,
        language=language,
    )
