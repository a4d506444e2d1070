"""The ``leaderboard`` command: who is better, and how sure that is."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from coupled_arena.cli.shared import (
    Config,
    Controls,
    Covariances,
    Cutoffs,
    Db,
    Excluded,
    FlipsOption,
    Json,
    JudgeScores,
    Named,
    Scopes,
    TieScores,
    Voter,
    Weightings,
    check_level,
    judges_of,
    listed,
    only_judge,
    reading,
    show,
    voter_of,
)
from coupled_arena.core.settings import load_settings


def leaderboard(
    source: Annotated[
        Literal["ppr", "human", "judge"] | None,
        typer.Option(help="Whose word counts.  [default: ppr with --judge, else human]"),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="The judge, or with votes up to three together: A,B[,C].")
    ] = None,
    mode: Annotated[
        Literal["all", "coupled", "independent"], typer.Option(help="Which battles count.")
    ] = "all",
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    covariance: Covariances = "corrected",
    weighting: Weightings = "stratified",
    cutoff: Cutoffs = "max-t",
    sets: Annotated[
        Scopes,
        typer.Option(help="Rank-sets that hold for all models together, or each by itself."),
    ] = "joint",
    ties: Annotated[
        TieScores, typer.Option(help="A tie is a win for neither, or half a win for both.")
    ] = "loss",
    judge_score: JudgeScores = "verdict",
    flips: FlipsOption = "tie",
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    language: Annotated[str | None, typer.Option(help="Only prompts in this language.")] = None,
    voter: Voter = None,
    control: Controls = "none",
    bradley_terry: Annotated[
        bool, typer.Option("--bradley-terry", help="Add Bradley-Terry scores.")
    ] = False,
    excluded: Excluded = "leave-out",
    named: Named = "leave-out",
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
    from coupled_arena.core.style import Control
    from coupled_arena.core.verdicts import Flips, JudgeScore
    from coupled_arena.stats.ranking.estimates import Covariance
    from coupled_arena.stats.ranking.rank_sets import Cutoff, Scope
    from coupled_arena.stats.ranking.strata import Weighting
    from coupled_arena.stats.tie_scores import TieScore
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.views.tables.bradley_terry import scores
    from coupled_arena.views.tables.leaderboard import board_answer, board_text

    with reading(settings, excluded, named) as store:
        if judge is None and source in ("ppr", "judge"):
            judge = only_judge(store)
        judges = judges_of(store, judge)
        board = read_leaderboard(
            store,
            Selection(
                judge=judges[0] if judges else None,
                more_judges=judges[1:],
                mode=None if mode == "all" else Mode(mode),
                models=listed(models) if models else None,
                category=category,
                language=language,
                voter=voter_of(settings, store, voter),
                judge_score=JudgeScore(judge_score),
                flips=Flips(flips),
            ),
            Method(Weighting(weighting), Covariance(covariance), TieScore(ties)),
            source=BoardSource(source) if source else None,
            alpha=alpha,
            cutoff=Cutoff(cutoff),
            scope=Scope(sets),
            control=Control(control),
        )
    found = scores(board) if bradley_terry else None
    show(board_answer(board, found), as_json, lambda: board_text(board, found))
