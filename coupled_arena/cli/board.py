"""The ``leaderboard`` command: who is better, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupled_arena.cli.shared import (
    Config,
    Covariances,
    Cutoffs,
    Db,
    Json,
    Weightings,
    check_level,
    listed,
    only_judge,
    reading,
    show,
)
from coupled_arena.core.settings import load_settings
from coupled_arena.views.values import finite

if TYPE_CHECKING:
    from coupled_arena.analysis.leaderboard.result import Leaderboard
    from coupled_arena.stats.coupling.modes import ModeComparison


def leaderboard(
    source: Annotated[
        Literal["ppr", "human", "judge"] | None,
        typer.Option(help="Whose word counts.  [default: ppr with --judge, else human]"),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="The judge; judges are never pooled.")] = None,
    mode: Annotated[
        Literal["all", "coupled", "independent"], typer.Option(help="Which battles count.")
    ] = "all",
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    covariance: Covariances = "corrected",
    weighting: Weightings = "stratified",
    cutoff: Cutoffs = "max-t",
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    language: Annotated[str | None, typer.Option(help="Only prompts in this language.")] = None,
    bradley_terry: Annotated[
        bool, typer.Option("--bradley-terry", help="Add Bradley-Terry scores.")
    ] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Rank the models by stored votes, a judge's verdicts, or both together."""
    settings = load_settings(config, db=db)
    check_level(alpha)
    from coupled_arena.analysis.leaderboard.read import BoardSource, Method
    from coupled_arena.analysis.leaderboard.result import read_leaderboard
    from coupled_arena.core.records import Mode
    from coupled_arena.stats.ranking.estimates import Covariance
    from coupled_arena.stats.ranking.rank_sets import Cutoff
    from coupled_arena.stats.ranking.strata import Weighting
    from coupled_arena.store.queries.comparisons import Selection

    with reading(settings) as store:
        if judge is None and source in ("ppr", "judge"):
            judge = only_judge(store)
        board = read_leaderboard(
            store,
            Selection(
                judge=judge,
                mode=None if mode == "all" else Mode(mode),
                models=listed(models) if models else None,
                category=category,
                language=language,
            ),
            Method(Weighting(weighting), Covariance(covariance)),
            source=BoardSource(source) if source else None,
            alpha=alpha,
            cutoff=Cutoff(cutoff),
        )
    answer = board_answer(board)
    if bradley_terry:
        answer["bradley_terry"] = _scores(board)
    show(answer, as_json, lambda: board_text(board, answer))


def board_answer(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as JSON values."""
    estimates, estimate = board.estimates, board.estimate
    return {
        "models": [
            {
                "model": standing.model,
                "win_rate": place.win_rate if (place := standing.place) else None,
                "standard_error": place.standard_error if place else None,
                "low": place.low if place else None,
                "high": place.high if place else None,
                "rank": place.rank if place else None,
                "rank_low": place.rank_low if place else None,
                "rank_high": place.rank_high if place else None,
                "human_votes": standing.human_votes,
                "judge_verdicts": standing.judge_verdicts,
                "wins": standing.wins,
                "losses": standing.losses,
                "ties": standing.ties,
                "both_bad": standing.both_bad,
                "identical": standing.identical,
            }
            for standing in board.standings
        ],
        "without_votes": list(board.idle),
        "source": board.source.value,
        "judge": estimates.selection.judge,
        "mode": board.mode.value if board.mode else "all",
        "lambda": estimate.power_tuning if estimate else 0.0,
        "human_comparisons": int(estimates.votes.comparisons.sum()) // 2,
        "judge_only_comparisons": int(estimates.judged.unlabelled.sum()),
        "left_out": estimates.left_out,
        "human_votes_saved": estimates.votes_saved,
        "alpha": board.alpha,
        "covariance": (estimate.kind if estimate else estimates.method.covariance).value,
        "weighting": (estimate.weighting if estimate else estimates.method.weighting).value,
        "cutoff": board.cutoff.value,
        "coupled_against_independent": _modes_answer(estimates.modes, board.alpha)
        if estimates.modes
        else None,
        "warnings": list(board.messages),
    }


def board_text(board: Leaderboard, answer: dict[str, Any]) -> str:
    """Return a leaderboard for people."""
    width = max((len(standing.model) for standing in board.standings), default=5)
    lines = [f"{'Model':<{width}}  Ranks   Win rate  {1 - board.alpha:.0%} interval    Votes"]
    for standing in board.standings:
        if place := standing.place:
            ranks = f"{place.rank_low}-{place.rank_high}"
            rate = f"{place.likely_rate:>8.1%}  {place.low:>6.1%} to {place.high:<6.1%}"
        else:
            ranks, rate = "-", " " * 26
        lines.append(f"{standing.model:<{width}}  {ranks:<6} {rate}  {standing.human_votes:>7,}")
    settings = ("source", "mode", "weighting", "covariance", "cutoff", "alpha")
    lines.append(", ".join(f"{name} {answer[name]}" for name in settings))
    scores = answer.get("bradley_terry", {}).get("models", [])
    lines += [f"{row['model']:<{width}}  Bradley-Terry {_score_text(row)}" for row in scores]
    return "\n".join([*lines, *board.messages])


def _score_text(row: dict[str, Any]) -> str:
    if row["score"] is None:
        return "-"
    return f"{row['score']:.0f} ({row['low']:.0f} to {row['high']:.0f})"


def _modes_answer(modes: ModeComparison, alpha: float) -> dict[str, Any]:
    pairs, averages = modes.pairs, modes.averages
    low, high = modes.tie_interval(alpha)
    return {
        "models": [
            {
                "model": model,
                "coupled": finite(averages.coupled[i]),
                "independent": finite(averages.independent[i]),
                "p_value": finite(averages.p_value[i]),
            }
            for i, model in enumerate(modes.models)
        ],
        "pairs": [
            {
                "model": model,
                "opponent": opponent,
                "coupled": finite(pairs.coupled[i, j]),
                "independent": finite(pairs.independent[i, j]),
                "p_value": finite(pairs.p_value[i, j]),
                "published_p_value": finite(modes.published_p_value[i, j]),
                "coupled_ties": finite(modes.coupled_ties[i, j]),
                "independent_ties": finite(modes.independent_ties[i, j]),
            }
            for i, model in enumerate(modes.models)
            for j, opponent in enumerate(modes.models)
            if i != j
        ],
        "tie_change": finite(modes.tie_change),
        "tie_change_low": finite(low),
        "tie_change_high": finite(high),
        "flips": [list(pair) for pair in modes.flips],
    }


def _scores(board: Leaderboard) -> dict[str, Any]:
    from coupled_arena.analysis.leaderboard.read import BoardSource
    from coupled_arena.stats.ranking.bradley_terry import bradley_terry

    estimates = board.estimates
    by_judge = board.source is BoardSource.JUDGE
    scores = bradley_terry(estimates.judged.verdicts if by_judge else estimates.votes, board.alpha)
    columns = zip(scores.models, scores.score, scores.low, scores.high, strict=True)
    return {
        "models": [
            {"model": model, "score": finite(s), "low": finite(low), "high": finite(high)}
            for model, s, low, high in columns
        ],
        "warnings": list(scores.warnings),
    }
