"""The ``audit`` and ``plan`` commands: what a judge is worth, and what more votes would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupled_arena.cli.score_files import is_log
from coupled_arena.cli.shared import (
    Config,
    Controls,
    Db,
    Excluded,
    FlipsOption,
    Json,
    JudgeScores,
    Named,
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
    from coupled_arena.core.settings import Settings
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
        Path | None,
        typer.Option(
            help="Grades from elsewhere: model, prompt, truth, judge. Or a log of another tool, "
            "or a folder of them, with --metrics."
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="TRUTH,JUDGE", help="With logs: the metric that is the truth, and the judge's."
        ),
    ] = None,
    judge_score: JudgeScores = "verdict",
    flips: FlipsOption = "tie",
    control: Controls = "none",
    own: Annotated[
        str | None, typer.Option(help="Models that the judge is itself.  [default: by its name]")
    ] = None,
    excluded: Excluded = "leave-out",
    named: Named = "leave-out",
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
    from coupled_arena.core.verdicts import Flips, JudgeScore
    from coupled_arena.views.tables.audit import audit_answer, audit_text

    if table is not None:
        _check_table(
            {
                **{"--db": db, "--mode": mode != "all", "--language": language},
                **{"--ties": ties != "loss", "--majority": majority},
                **{"--truth": truth != "votes", "--metric": metric, "--key-from": key_from},
                **{"--judge-score": judge_score != "verdict", "--flips": flips != "tie"},
                **{"--own": own, "--control": control != "none"},
                **{"--excluded": excluded != "leave-out", "--named": named != "leave-out"},
            }
        )
        estimates = _of_table(table, judge, models, category, metrics)
    elif metrics:
        raise ArenaError("--metrics is about logs: give one with --table, or leave it out.")
    else:
        estimates = _of_store(
            load_settings(config, db=db),
            replace(
                _selection(judge, mode, models, category, language),
                judge_score=JudgeScore(judge_score),
                flips=Flips(flips),
            ),
            {
                **{"ties": ties, "truth": truth, "metric": metric},
                **{"key_from": key_from, "majority": majority},
                **{"own": listed(own) if own else None, "control": control},
            },
            {"excluded": excluded, "named": named},
        )
    report = audited(estimates, alpha)
    show(audit_answer(report), as_json, lambda: audit_text(report))


def _check_table(of_stores: Mapping[str, object]) -> None:
    if given := [option for option, value in of_stores.items() if value]:
        raise ArenaError(f"{given[0]} is about a store: leave it out with --table.")


def _of_table(
    table: Path,
    judge: str | None,
    models: str | None,
    category: str | None,
    metrics: str | None,
) -> AuditEstimates:
    from coupled_arena.analysis.audit.tables import read_grades, read_log_grades, table_estimates

    chosen = listed(models) if models else None
    if is_log(table):
        truth, grade = _two(metrics)
        grades = read_log_grades(table, truth, grade)
    elif metrics:
        raise ArenaError(f"--metrics is about logs, and {table} is none: leave it out.")
    else:
        grades = read_grades(table)
    return table_estimates(grades, str(table), judge, chosen, category)


def _two(metrics: str | None) -> tuple[str, str]:
    match listed(metrics) if metrics else ():
        case (truth, judge) if truth != judge:
            return truth, judge
    raise ArenaError("Say which two metrics of the log to compare: --metrics TRUTH,JUDGE.")


def _of_store(
    settings: Settings, selection: Selection, asked: Mapping[str, Any], counting: dict[str, str]
) -> AuditEstimates:
    from coupled_arena.analysis.audit.chosen import AuditChoice, read_chosen
    from coupled_arena.analysis.audit.read import Truth
    from coupled_arena.core.style import Control
    from coupled_arena.stats.judges.model_counts import Ties

    kinds = {
        "ties": Ties(asked["ties"]),
        "truth": Truth(asked["truth"]),
        "control": Control(asked["control"]),
    }
    with reading(settings, **counting) as store:
        return read_chosen(store, selection, AuditChoice(**{**asked, **kinds}), only_judge)


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
        selection = _selection(judge or only_judge(store), mode, None, category, language)
        made = (
            plan_interval(read_audit_estimates(store, selection, Ties(ties)), question)
            if against is None
            else plan_separation(read_estimates(store, selection), question)
        )
    show(plan_answer(made), as_json, lambda: "\n".join(plan_words(made)))


def _selection(
    judge: str | None,
    mode: str,
    models: str | None,
    category: str | None,
    language: str | None,
) -> Selection:
    from coupled_arena.core.records import Mode
    from coupled_arena.store.queries.comparisons import Selection

    return Selection(
        judge=judge,
        mode=None if mode == "all" else Mode(mode),
        models=listed(models) if models else None,
        category=category,
        language=language,
    )
