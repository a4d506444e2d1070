"""The ``audit`` and ``plan`` commands: what a judge is worth, and what more votes would take."""

from __future__ import annotations

from dataclasses import asdict
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
from coupled_arena.views.values import plain

if TYPE_CHECKING:
    from coupled_arena.analysis.audit.plan import VotePlan
    from coupled_arena.analysis.audit.result import Audit, ModelAudit
    from coupled_arena.stats.judges.differences import Difference
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
    from coupled_arena.views.words.audit import plan_words

    if against is not None and ties == "drop":
        raise ArenaError("The leaderboard keeps ties: leave out --ties drop with --against.")
    question = PlanGoal(model, against, width, power, lead, alpha, verdicts_per_vote, price)
    with reading(settings) as store:
        selection = _selection(store, judge, mode, None, category, language)
        made = (
            plan_interval(read_audit_estimates(store, selection, Ties(ties)), question)
            if against is None
            else plan_separation(read_estimates(store, selection), question)
        )
    show(plan_answer(made), as_json, lambda: "\n".join(plan_words(made)))


def audit_answer(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values."""
    from coupled_arena.views.words.audit import audit_words

    estimates = audit.estimates
    return {
        "judge": audit.judge,
        "truth": estimates.truth.value,
        "benchmark": estimates.benchmark,
        "models": [_row(row) for row in audit.models],
        "differences": [_difference(each) for each in audit.differences],
        "ties": estimates.ties.value,
        "mode": estimates.selection.mode.value if estimates.selection.mode else "all",
        "alpha": audit.alpha,
        "comparisons": audit.comparisons,
        "judge_only_comparisons": audit.judge_only,
        "clusters": estimates.means.clusters,
        "tau_max_range": {ties.value: list(pair) for ties, pair in audit.tau_max_range.items()},
        "largest_bias": audit.largest_bias,
        "smallest_gap": audit.smallest_gap,
        "order_is_safe": audit.order_is_safe,
        "row_agreement": audit.row_agreement,
        "row_agreement_strict": audit.row_agreement_strict,
        "first_by_people": audit.first_by_people,
        "orders": asdict(estimates.orders),
        "lengths": asdict(estimates.lengths),
        "words": list(audit_words(audit)),
        "warnings": list(audit.warnings),
    }


def plan_answer(made: VotePlan) -> dict[str, Any]:
    """Return a plan as JSON values."""
    from coupled_arena.views.words.audit import plan_words

    return {
        "judge": made.judge,
        **asdict(made.question),
        "lead": made.lead,
        "critical_value": made.critical_value,
        "cutoff": made.cutoff.value if made.cutoff else None,
        "board_models": made.board_models,
        **{name: plain(value) for name, value in asdict(made.needs).items()},
        "votes_there": made.votes_there,
        "verdicts_there": made.verdicts_there,
        "votes_to_cast_alone": made.votes_to_cast_alone,
        "votes_to_cast": made.votes_to_cast,
        "verdicts_to_buy": made.verdicts_to_buy,
        "cost": made.cost,
        "words": list(plan_words(made)),
    }


def audit_text(audit: Audit) -> str:
    """Return an audit for people."""
    from coupled_arena.views.words.audit import audit_words

    width = max((len(row.model) for row in audit.models), default=5)
    level = f"({100 * (1 - audit.alpha):.4g}% interval)"
    lines = [
        f"{'Model':<{width}}{'n':>8}     b     p     q    Bias {level:<17}  Agree  Balanced  "
        f"rho2  Vote worth: now, at most {level}"
    ]
    lines += [f"{row.model:<{width}}{_cells(row)}" for row in audit.models]
    ties = f"ties {audit.estimates.ties}, " if audit.estimates.judged else ""
    lines.append(f"{ties}alpha {audit.alpha:g}")
    return "\n".join([*lines, *audit_words(audit), *audit.warnings])


def _cells(row: ModelAudit) -> str:
    bias = f"({_shown(row.bias_low, '+.3f')} to {_shown(row.bias_high, '+.3f')})"
    most = f"({_shown(row.tau_max_low)} to {_shown(row.tau_max_high)})"
    return (
        f"{row.n:>8,} {_shown(row.b, '.3f')} {_shown(row.p, '.3f')} {_shown(row.q, '.3f')}  "
        f"{_shown(row.judge_bias, '+.3f'):>6} {bias:<18} {_shown(row.agreement, '.3f'):>6}  "
        f"{_shown(row.balanced_agreement, '.3f'):>8} {_shown(row.rho_squared, '.3f'):>6} "
        f"{_shown(row.tau):>5}{'':7}{_shown(row.tau_max):>5}    {most}"
    )


def _shown(value: float | None, form: str = ".2f") -> str:
    return f"{'-':>5}" if value is None else format(value, form)


def _row(row: ModelAudit) -> dict[str, Any]:
    values = asdict(row)
    values["lambda"] = values.pop("power_tuning")
    values["lambda_limit"] = values.pop("power_tuning_limit")
    return values


def _difference(each: Difference) -> dict[str, Any]:
    values = {name: plain(value) for name, value in asdict(each).items()}
    values["lambda"] = values.pop("tuning")
    values["other_lambda"] = values.pop("other_tuning")
    return values


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
