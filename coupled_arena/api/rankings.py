"""Ranking models: by a store, or by a table or files of votes or scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from annotated_doc import Doc

from coupled_arena.api import options
from coupled_arena.api.checks import (
    Files,
    are_files,
    check_frame,
    check_store,
    check_there,
    hold_logs,
    mix_of,
    only_judge,
    paths_of,
    scores_in,
    selected,
    selection_of,
    voter_of,
)
from coupled_arena.api.declared import Field, analysis, refuse
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import (
    BoardSource,
    Control,
    Covariance,
    Cutoff,
    Scope,
    TieScore,
    Voters,
    Weighting,
)
from coupled_arena.core.errors import ArenaError, ScoreError, VoteError
from coupled_arena.core.language import N_

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates, Method
    from coupled_arena.analysis.leaderboard.result import Leaderboard
    from coupled_arena.analysis.risk.scores import RiskScores
    from coupled_arena.analysis.style.result import StyleEstimates
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.store.transfer.foreign_rows import ColumnMap
    from coupled_arena.views.tables.table import Table

_NAMED = 10  # models of a note

Source = Annotated[
    BoardSource | str | None,
    Field(N_("Decided by"), first=BoardSource.HUMAN),
    Doc(
        "Votes of people, verdicts of the judge, or both (prediction-powered). By default `ppr` "
        "where a judge's verdicts help, else `human`."
    ),
]

Judges = Annotated[
    str | Sequence[str] | None,
    Field(N_("Judge")),
    Doc(
        "The judge, or up to three together with votes. Each has its own weight; only battles "
        "that all of them judged count as judged. Files of verdicts that name no judge are "
        "this one's."
    ),
]


@analysis
def leaderboard(
    store: ArenaStore | Files,
    *,
    source: Source = None,
    judge: Judges = None,
    mode: options.Mode = "all",
    alpha: options.Alpha = 0.05,
    covariance: options.Covariance = "corrected",
    weighting: options.Weighting = "stratified",
    cutoff: options.Cutoff = "max-t",
    sets: options.Scope = "joint",
    ties: options.TieScore = None,
    voters: options.Voters = "like",
    judge_score: options.JudgeScore = "verdict",
    flips: options.Flips = "tie",
    models: options.Models = None,
    category: options.Category = None,
    language: options.Language = None,
    voter: Annotated[
        str | None, Doc("Only this person's votes: an annotator's name, or a voter.")
    ] = None,
    control: options.Control = "none",
    bradley_terry: options.BradleyTerry = False,
    mix: options.Mix = None,
    metric: options.Metric = None,
    map: options.Map = None,
) -> Result[Leaderboard]:
    """Rank the models by stored votes, a judge's verdicts, both together, or by scores.

    Parameters
    ----------
    store : ArenaStore, or Path, sequence of Path, or mapping of names to Path
        Files may hold votes, as for `rank`, or scores, as for `risk`. The model with the higher
        score on a prompt wins it.

    Returns
    -------
    Result
        Tables: "models" and "pairs"; "modes" and "mode_pairs" where both modes have votes;
        "bradley_terry" where it was asked for; with `control` "style" and "style_effects".
        If the sizes of two models are known, the table "memory" has them.

    Raises
    ------
    ArenaError
        The store cannot be read, does not know a name, or a setting is out of range.
    """
    settings = BoardSettings.of(locals())
    if are_files(store):
        of_store = {"mode": mode, "models": models, "category": category, "language": language}
        of_store |= {"voter": voter}
        of_store |= {"judge_score": judge_score, "flips": flips, "control": control, "mix": mix}
        return _of_table(leaderboard, store, metric, settings, of_store, map, judge)
    refuse(leaderboard, {"map": map}, "with a store", "files of votes")
    if metric is not None:
        raise ArenaError("`metric` is about scores: leave it out with a store.")
    store = check_store(store)
    with store.reading() as opened:
        if judge is None and source in ("ppr", "judge"):
            judge = only_judge(opened)
        check_there(opened, category, language)
        judge_options = judge_score, flips
        chosen = selection_of(opened, mode, judge, models, category, language, *judge_options)
        if voter is not None:
            chosen = replace(chosen, voter=voter_of(store, opened, voter))
        return settings.board(opened, chosen)


@analysis
def rank(
    votes: pd.DataFrame | Files,
    *,
    source: Source = None,
    judge: Judges = None,
    metric: options.Metric = None,
    alpha: options.Alpha = 0.05,
    cutoff: options.Cutoff = "max-t",
    sets: options.Scope = "joint",
    ties: options.TieScore = None,
    voters: options.Voters = "like",
    covariance: options.Covariance = "corrected",
    weighting: options.Weighting = "stratified",
    bradley_terry: options.BradleyTerry = False,
    map: options.Map = None,
) -> Result[Leaderboard]:
    """Rank models by a table of votes or of scores; no database is needed.

    A model's win rate is the mean over its opponents of how often it is preferred to them. A tie is
    half a win for both. Its rank-set, `rank_low` to `rank_high`, are the places that the votes
    leave possible: right for all models at once with probability 1 - alpha.

    Parameters
    ----------
    votes : DataFrame, or Path, sequence of Path, or mapping of names to Path
        A table of votes, or files of any format that `import` takes. Or scores, as `risk` takes
        them: the model with the higher score on a prompt wins it. The columns tell which it is. A
        table of votes has a row for each comparison. `model_a` is the model shown first, `model_b`
        the other. `winner` is "model_a" (or "a"), "model_b" (or "b"), the winner's own name, "tie"
        or "both_bad". `prompt` (or `question_id`, `prompt_id`, `id`) and `voter` (or `judge`,
        `judge_hash`, `annotator`) are optional. Without them each row has a prompt and a voter of
        its own. `verdict` is optional, too: what a judge said of the same pair, in the same words.
        `winner` is then missing where nobody voted. `mode` is "coupled" or "independent", else
        unknown. They mean what they mean to `import`; other columns do not matter. A row that
        repeats another one (same voter, same texts, same choice) counts once, and a warning says
        how many did.

    Returns
    -------
    Result
        Tables: "models" and "pairs"; "modes" and "mode_pairs" where both modes have votes;
        "bradley_terry" where it was asked for.

    Raises
    ------
    VoteError
        A column is missing, or a row says nothing that can be counted.
    ScoreError
        Files cannot be read, or do not have the metric.
    ArenaError
        A setting is out of range.
    """
    settings = BoardSettings.of(locals())
    return _of_table(rank, votes, metric, settings, {}, map, judge)


def _of_table(
    function: Callable[..., Any],
    given: pd.DataFrame | Files,
    metric: str | None,
    settings: BoardSettings,
    of_store: Mapping[str, Any],
    columns: Sequence[str] | Mapping[str, str] | None,
    judge: str | Sequence[str] | None = None,
) -> Result[Leaderboard]:
    """Rank by a table or by files; their columns tell votes from scores."""
    from coupled_arena.store.transfer.foreign_rows import ColumnMap

    unnamed = judge if isinstance(judge, str) else None
    try:
        read = _read(given, (metric,) if metric else None, ColumnMap.of(columns), unnamed)
    except UnicodeEncodeError as error:  # a file read with errors="surrogateescape"
        raise VoteError(
            f"The table holds {error.object[error.start]!a}, a byte that is not valid UTF-8: "
            "read the file anew, in its own encoding."
        ) from error
    if isinstance(read, tuple):
        refuse(function, of_store, "with votes")
        found, notes = _by_votes(*read, metric, settings, judge)
    else:
        from coupled_arena.analysis.leaderboard.given_tables import store_of_scores

        of_votes = {"source": settings.source, "voters": settings.voters}
        refuse(function, of_votes, "with scores", "votes")
        refuse(function, {**of_store, **({"judge": judge} if judge else {})}, "with scores")
        with store_of_scores(read) as store:
            by_scores = replace(settings, source=BoardSource.JUDGE, read="scores")
            found = by_scores.board(store, selection_of(store, judge=read.metrics[0]))
        notes = read.notes
    if are_files(given):
        note = f"These files hold {found.answer['read']}."
        found = replace(found, text=lambda text=found.text: f"{note}\n{text()}")
    return found.noted(notes)


def _by_votes(
    opened: Store,
    notes: Sequence[str],
    metric: str | None,
    settings: BoardSettings,
    judge: str | Sequence[str] | None,
) -> tuple[Result[Leaderboard], Sequence[str]]:
    from coupled_arena.core.vote_columns import VERDICT
    from coupled_arena.store.queries.comparisons import judges

    with opened as store:
        if metric is not None:
            raise ArenaError("`metric` is about scores: leave it out with votes.")
        with store.cursor() as cursor:
            named = judges(cursor)
        if not named and (judge or settings.source in ("ppr", "judge")):
            asked = "`judge`" if judge else f"'{settings.source}'"
            raise ArenaError(
                f"{asked} needs verdicts: a column {VERDICT} beside winner, or a file that names "
                "its judge. All rows here are votes; `import --judge NAME` reads them as verdicts."
            )
        if judge is None and len(named) == 1:
            judge = named[0]
        if named and settings.source is None and not _any_vote(store):
            if judge is None:
                raise ArenaError(
                    f"These are verdicts of {', '.join(named)}, and no votes: choose one with "
                    "`judge`."
                )
            settings = replace(settings, source=BoardSource.JUDGE)
        return replace(settings, read="votes").board(store, selection_of(store, judge=judge)), notes


def _any_vote(store: Store) -> bool:
    with store.cursor() as cursor:
        query = "select 1 from comparisons where human is not null limit 1"
        return bool(cursor.execute(query).fetchall())


def _read(
    given: pd.DataFrame | Files,
    metrics: Sequence[str] | None,
    columns: ColumnMap,
    judge: str | None,
) -> RiskScores | tuple[Store, tuple[str, ...]]:
    """Return scores, or votes as an in-memory store with what is to be said of them."""
    from coupled_arena.analysis.leaderboard.given_tables import (
        in_other_form,
        store_of_other_votes,
        store_of_votes,
    )
    from coupled_arena.analysis.risk.scores import risk_scores_from_frame

    if are_files(given):
        return _read_files(given, metrics, columns, judge)
    frame = check_frame(given, "votes")
    if in_other_form(frame, columns):
        return store_of_other_votes(frame, columns, judge)
    scored = {"model", "prompt"} <= set(frame.columns) and "model_a" not in frame.columns
    return risk_scores_from_frame(frame, metrics) if scored else store_of_votes(frame)


def _read_files(
    given: Files, metrics: Sequence[str] | None, columns: ColumnMap, judge: str | None
) -> RiskScores | tuple[Store, tuple[str, ...]]:
    from coupled_arena.analysis.leaderboard.given_tables import (
        NEEDED,
        in_other_form,
        lacks_votes,
        store_of_files,
        store_of_votes,
    )
    from coupled_arena.analysis.risk.scores import risk_scores_from_frame
    from coupled_arena.core.tables import called, placed, read_frame

    if hold_logs(given):
        return scores_in(given, metrics)
    paths = paths_of(given)
    frame = read_frame(paths, ScoreError)
    if in_other_form(frame, columns):
        return store_of_files([paths] if isinstance(paths, Path) else paths, columns, judge)
    if not isinstance(paths, Path) and len(paths) > 1 and lacks_votes(frame):
        return store_of_files(paths, columns, judge)  # each is in a form of its own
    if set(NEEDED) <= set(frame.columns):
        named = frame if frame.index.name == "where" else placed(frame, called(paths))
        return store_of_votes(named)
    if "model" in frame.columns:
        return risk_scores_from_frame(frame, metrics, name=called(paths))
    return store_of_files([paths] if isinstance(paths, Path) else paths, judge=judge)


@dataclass(frozen=True)
class BoardSettings:
    """How a leaderboard is made of what is selected, by the names of `leaderboard`'s options."""

    source: BoardSource | None = None
    alpha: float = 0.05
    cutoff: Cutoff = Cutoff.MAX_T
    sets: Scope = Scope.JOINT
    ties: TieScore | None = None
    voters: Voters = Voters.LIKE
    covariance: Covariance = Covariance.CORRECTED
    weighting: Weighting = Weighting.STRATIFIED
    bradley_terry: bool = False
    control: Control = Control.NONE
    read: str = "store"
    mix: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Self:
        """Return those of options that have been checked; others do not matter."""
        named = {each.name: asked[each.name] for each in fields(cls) if each.name in asked}
        return cls(**{**named, "mix": mix_of(named.get("mix"))})

    @property
    def method(self) -> Method:
        """How win rates are estimated."""
        from coupled_arena.analysis.leaderboard.board_estimates import Method

        return Method(self.weighting, self.covariance, self.ties, self.voters, self.mix)

    def concluded(self, estimates: BoardEstimates) -> Leaderboard:
        """Return what estimates by this method say."""
        from coupled_arena.analysis.leaderboard.result import leaderboard

        return leaderboard(
            estimates,
            source=self.source,
            alpha=self.alpha,
            cutoff=self.cutoff,
            scope=self.sets,
        )

    def styled(self, board: Leaderboard, read: Callable[..., StyleEstimates]) -> Leaderboard:
        """Return a board with scores beside it that the style held fixed cannot move.

        Parameters
        ----------
        read : callable
            As `coupled_arena.analysis.style.result.read_style`, of a store.
        """
        from coupled_arena.analysis.style.result import style_board

        if self.control is Control.NONE:
            return board
        by_judge = board.source is BoardSource.JUDGE
        asked = {"by_judge": by_judge, "voters": self.voters}
        found = read(board.estimates.selection, self.control, **asked)
        return replace(board, style=style_board(found, self.alpha))

    def board(self, store: Store, selection: Selection) -> Result[Leaderboard]:
        """Return the leaderboard of a selection, with its tables."""
        from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
        from coupled_arena.analysis.leaderboard.memory import with_sizes
        from coupled_arena.analysis.model_sizes import read_sizes
        from coupled_arena.analysis.style.result import read_style
        from coupled_arena.views.tables import leaderboard as tables

        board = self.concluded(read_estimates(store, selection, self.method))
        board = self.styled(board, partial(read_style, store))
        board = with_sizes(board, partial(read_sizes, store, hidden="rounds"))
        scores = tables.scores(board) if self.bradley_terry else None
        found = _tables(board)
        if scores:
            found["bradley_terry"] = tables.bradley_terry_table(scores)
        answer = {**tables.board_answer(board, scores), "read": self.read}
        # What was used: with few votes it may be another weighting than was asked for.
        used = ["alpha", "cutoff", "sets", "ties", "voters", "covariance", "weighting"]
        used += ["judge_score", "flips", "control", "mix"]
        settings = {
            "source": answer["source"],
            **selected(selection),
            "judge": selection.judges if selection.more_judges else selection.judge,
            **{name: answer[name] for name in used},
            "bradley_terry": self.bradley_terry,
        }
        result = Result(
            "Leaderboard",
            board,
            settings,
            found,
            answer,
            lambda: tables.board_text(board, scores),
        )
        return result.noted(self._rounded(store, selection, board))

    def _rounded(self, store: Store, selection: Selection, board: Leaderboard) -> Sequence[str]:
        """Return what a board of verdicts alone leaves out: how sure the judge was."""
        from coupled_arena.store.queries.judge_quality import rates_by_probability

        if board.source is not BoardSource.JUDGE or self.mix or self.read == "scores":
            return ()
        with store.cursor() as cursor:
            found = rates_by_probability(cursor, selection)
        if not found.between:
            return ()
        by_rate = sorted(found.rates.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{model} {rate:.2%}" for model, rate in by_rate[:_NAMED])
        more = f" and {len(by_rate) - _NAMED} more" if by_rate[_NAMED:] else ""
        return (
            f"The judge gave a probability for {found.between:,} of {found.comparisons:,} "
            "verdicts. A board of verdicts alone counts each as a win, a loss or a tie. Mean "
            f"probabilities: {shown}{more}.",
        )


def _tables(board: Leaderboard) -> dict[str, Table[Any]]:
    from coupled_arena.views.tables import leaderboard, memory, style

    found: dict[str, Table[Any]] = {
        "models": leaderboard.standings(board),
        "pairs": leaderboard.head_to_head(board),
    }
    if sizes := memory.memory_table(board):
        found["memory"] = sizes
    if board.estimates.modes:
        found["modes"] = leaderboard.mode_models(board.estimates.modes)
        found["mode_pairs"] = leaderboard.mode_pairs(board.estimates.modes)
    if board.style:
        found["style"] = style.style_models(board.style)
        found["style_effects"] = style.style_effects(board.style)
    return found
