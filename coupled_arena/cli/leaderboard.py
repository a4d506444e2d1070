"""The ``leaderboard`` command: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupled_arena.cli.score_files import read_scores, refuse_store_options
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
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.core.settings import Settings
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection


_DEFAULTS = {
    **{"mode": "all", "judge_score": "verdict", "flips": "tie", "control": "none"},
    **dict.fromkeys(("excluded", "named"), "leave-out"),
}


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
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="In place of votes, scores: a table or logs as `risk` takes them, NAME=LOG each. "
            "Whoever scores higher on a prompt wins it."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Which metric of the scores tells who wins.")
    ] = None,
    excluded: Excluded = "leave-out",
    named: Named = "leave-out",
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Rank the models by stored votes, a judge's verdicts, both together, or by scores."""
    settings = load_settings(config, db=db)
    check_level(alpha)
    chosen: dict[str, Any] = {
        **{"mode": mode, "models": models, "category": category, "language": language},
        **{"voter": voter, "judge_score": judge_score, "flips": flips},
    }
    others = {"source": source, "judge": judge, "control": control, "db": db}
    _check_scores(scores, metric, chosen | others | {"excluded": excluded, "named": named})
    from coupled_arena.analysis.leaderboard.read import BoardSource, Method
    from coupled_arena.analysis.leaderboard.result import read_leaderboard
    from coupled_arena.core.style import Control
    from coupled_arena.stats.ranking.estimates import Covariance
    from coupled_arena.stats.ranking.rank_sets import Cutoff, Scope
    from coupled_arena.stats.ranking.strata import Weighting
    from coupled_arena.stats.tie_scores import TieScore
    from coupled_arena.views.tables import bradley_terry as terry
    from coupled_arena.views.tables.leaderboard import board_answer, board_text

    notes: tuple[str, ...] = ()
    opened: AbstractContextManager[Store]
    if scores:
        source = "judge"
        opened, notes = _scored(scores, metric)
    else:
        opened = reading(settings, excluded, named)
    with opened as store:
        if judge is None and source in ("ppr", "judge"):
            judge = only_judge(store)
        board = read_leaderboard(
            store,
            _selection(settings, store, judge, chosen),
            Method(Weighting(weighting), Covariance(covariance), TieScore(ties)),
            source=BoardSource(source) if source else None,
            alpha=alpha,
            cutoff=Cutoff(cutoff),
            scope=Scope(sets),
            control=Control(control),
        )
    found = terry.scores(board) if bradley_terry else None
    answer = board_answer(board, found)
    answer["warnings"] = [*notes, *answer["warnings"]]
    show(answer, as_json, lambda: "\n".join((*notes, board_text(board, found))))


def _check_scores(
    scores: list[Path] | None, metric: str | None, of_store: Mapping[str, object]
) -> None:
    """Refuse what chooses among a store's comparisons beside scores."""
    if scores:
        told = {
            f"--{name.replace('_', '-')}": value not in (None, _DEFAULTS.get(name))
            for name, value in of_store.items()
        }
        refuse_store_options(told, "--scores", "a store")
    elif metric:
        raise ScoreError("--metric says which of several scores tells: give --scores, too.")


def _selection(
    settings: Settings, store: Store, judge: str | None, chosen: Mapping[str, Any]
) -> Selection:
    from coupled_arena.core.records import Mode
    from coupled_arena.core.verdicts import Flips, JudgeScore
    from coupled_arena.store.queries.comparisons import Selection

    judges = judges_of(store, judge)
    return Selection(
        judge=judges[0] if judges else None,
        more_judges=judges[1:],
        mode=None if chosen["mode"] == "all" else Mode(chosen["mode"]),
        models=listed(chosen["models"]) if chosen["models"] else None,
        category=chosen["category"],
        language=chosen["language"],
        voter=voter_of(settings, store, chosen["voter"]),
        judge_score=JudgeScore(chosen["judge_score"]),
        flips=Flips(chosen["flips"]),
    )


def _scored(files: list[Path], metric: str | None) -> tuple[Store, tuple[str, ...]]:
    """Return the scores' comparisons as a store, and what was left out to make them."""
    from coupled_arena.analysis.leaderboard.score_frames import store_of_scores

    found = read_scores(files, (metric,) if metric else None)
    return store_of_scores(found), found.notes
