"""The ``audit`` and ``plan`` commands: what a judge is worth, and what more votes would take."""

from __future__ import annotations

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
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say what a judge's verdicts are worth beside people's votes, model by model.

    With --truth benchmark: what its grades of single answers are worth beside the benchmark's key.
    """
    settings = load_settings(config, db=db)
    check_level(alpha)
    if truth == "benchmark" and ties == "drop":
        raise ArenaError("--ties is about votes: leave it out with --truth benchmark.")
    from coupled_arena.analysis.audit.benchmark import only_grader, read_benchmark_estimates
    from coupled_arena.analysis.audit.result import audit as audited
    from coupled_arena.analysis.audit.result import read_audit
    from coupled_arena.stats.judges.model_counts import Ties
    from coupled_arena.views.tables.audit import audit_answer, audit_text

    with reading(settings) as store:
        if truth == "benchmark":
            judge = judge or only_grader(store)
        selection = _selection(store, judge, mode, models, category, language)
        report = (
            audited(read_benchmark_estimates(store, selection, metric), alpha)
            if truth == "benchmark"
            else read_audit(store, selection, Ties(ties), alpha)
        )
    show(audit_answer(report), as_json, lambda: audit_text(report))


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
