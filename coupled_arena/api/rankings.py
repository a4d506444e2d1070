"""Ranking models: by a store, or by any table of votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coupled_arena.api.checks import (
    check_frame,
    check_level,
    check_store,
    one_of,
    only_judge,
    selected,
    selection_of,
)
from coupled_arena.api.logs import Logs, logged
from coupled_arena.api.results import Result
from coupled_arena.core.errors import ArenaError

Cutoffs = Literal["max-t", "step-down", "any-time", "bonferroni", "chi2"]

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.leaderboard.result import Leaderboard
    from coupled_arena.api.stores import ArenaStore
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.views.tables.table import Table


def leaderboard(
    store: ArenaStore,
    *,
    source: Literal["ppr", "human", "judge"] | None = None,
    judge: str | Sequence[str] | None = None,
    mode: Literal["all", "coupled", "independent"] = "all",
    alpha: float = 0.05,
    covariance: Literal["corrected", "published"] = "corrected",
    weighting: Literal["stratified", "position", "count"] = "stratified",
    cutoff: Cutoffs = "max-t",
    sets: Literal["joint", "marginal"] = "joint",
    ties: Literal["loss", "half"] = "loss",
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
    voter: str | None = None,
    judge_score: Literal["verdict", "probability"] = "verdict",
    flips: Literal["tie", "abstain"] = "tie",
    control: Literal["none", "length", "style"] = "none",
    bradley_terry: bool = False,
) -> Result[Leaderboard]:
    """Rank models by stored votes, a judge's verdicts, or both together.

    Parameters
    ----------
    store : ArenaStore
    source : {"ppr", "human", "judge"}, optional
        Whose word counts; by default "ppr", votes with the help of verdicts, where a judge is
        named, else "human".
    judge : str or sequence of str, optional
        Needed for "ppr" and "judge" where the store has several. Two or three for "ppr" help
        votes together, each with a weight of its own, on the battles that all of them judged.
    mode : {"all", "coupled", "independent"}
        Which battles count.
    alpha : float
        Error level of the intervals, and of all rank-sets together, or of each.
    covariance, weighting, cutoff, sets, ties
        How win-rates and rank-sets are estimated, as in `rank`; see `docs/leaderboard.md`.
    models, category, language
        Only comparisons between these models, on prompts of this category or in this language.
    voter : str, optional
        Only this person's votes: the name of an annotator with a link, or a voter as in the votes.
    judge_score : {"verdict", "probability"}
        Whether one judge's verdict counts as 0 or 1, or as the probability with which it prefers
        each model, the mean of both orders.
    flips : {"tie", "abstain"}
        Whether a judge that does not say the same in both orders says "tie", or nothing.
    control : {"none", "length", "style"}
        Add Bradley-Terry scores with the length of replies held fixed, or with their length and
        Markdown, by people's votes (of source "judge": by its verdicts).
    bradley_terry : bool
        Add Bradley-Terry scores.

    Returns
    -------
    Result
        Tables: "models" and "pairs"; "modes" and "mode_pairs" where both modes have votes;
        "bradley_terry" where it was asked for; with `control` "style" and "style_effects", and the
        figure "style" for `plot`.

    Raises
    ------
    ArenaError
        The store cannot be read, does not know a name, or a setting is out of range.
    """
    settings = BoardSettings(
        source, alpha, cutoff, sets, ties, covariance, weighting, bradley_terry, control
    )
    heard = {"judge_score": judge_score, "flips": flips}
    selection = selection_of(mode, judge, models, category, language, **heard)
    with check_store(store).reading() as opened:
        if judge is None and source in ("ppr", "judge"):
            selection = replace(selection, judge=only_judge(opened))
        if voter is not None:
            selection = replace(selection, voter=_voter_of(store, opened, voter))
        return settings.board(opened, selection)


def _voter_of(store: ArenaStore, opened: Store, voter: str) -> str:
    from coupled_arena.store.annotators import annotators_path, voter_called
    from coupled_arena.store.queries.voters import check_voter

    called = voter_called(annotators_path(store.path), voter)
    check_voter(opened, called, voter)
    return called


def rank(
    votes: pd.DataFrame | Logs,
    *,
    source: Literal["ppr", "human", "judge"] | None = None,
    metric: str | None = None,
    alpha: float = 0.05,
    cutoff: Cutoffs = "max-t",
    sets: Literal["joint", "marginal"] = "joint",
    ties: Literal["loss", "half"] = "loss",
    covariance: Literal["corrected", "published"] = "corrected",
    weighting: Literal["stratified", "position", "count"] = "stratified",
    bradley_terry: bool = False,
) -> Result[Leaderboard]:
    """Rank models by a table of votes, or by the scores in logs; no database is needed.

    A model's win rate is the mean over its opponents of how often it is preferred to them; a tie
    is preferred by nobody. Its rank-set, `rank_low` to `rank_high`, are the places that the votes
    leave possible: right for all models at once with probability 1 - alpha.

    Parameters
    ----------
    votes : DataFrame, or Path, sequence of Path, or mapping of names to Path
        Of logs of other tools, as `risk` takes them, whoever scores higher on a prompt wins it.
        Of a DataFrame a row for each comparison. `model_a` is the model shown first, `model_b` the
        other; `winner` is "model_a" (or "a"), "model_b" (or "b"), the winner's own name, "tie" or
        "both_bad". Optional: `prompt` (or `question_id`, `prompt_id`, `id`) and `voter` (or
        `judge`, `judge_hash`, `annotator`), without which each row counts as on a prompt and by a
        voter of its own; `verdict`, what a judge said of the same pair, in the same words, with
        `winner` missing where nobody voted; `mode`, "coupled" or "independent", else unknown. They
        mean what they mean to `import`; other columns do not matter. A row that repeats another
        one (same voter, same texts, same choice) counts once, and a warning says how many did.
    source : {"ppr", "human", "judge"}, optional
        Whose word counts; by default prediction-powered where there are verdicts, else people's.
    metric : str, optional
        Which score of logs tells; by default the first.
    alpha : float
        Error level of the intervals, and of all rank-sets together, or of each.
    cutoff : {"max-t", "step-down", "any-time", "bonferroni", "chi2"}
        How rank-sets allow for comparing all models at once.
    sets : {"joint", "marginal"}
        Whether all rank-sets together hold with probability 1 - alpha, or each by itself: narrower,
        for a model that was chosen before one looks.
    ties : {"loss", "half"}
        Whether a tie is a win for neither or half a win for both, which is another quantity.
    covariance : {"corrected", "published"}
    weighting : {"stratified", "position", "count"}
        How pairs of models weigh, see `docs/leaderboard.md`.
    bradley_terry : bool
        Add Bradley-Terry scores.

    Returns
    -------
    Result
        Tables: "models" and "pairs"; "modes" and "mode_pairs" where both modes have votes;
        "bradley_terry" where it was asked for. Figures for `plot`: "rank_sets", "win_rates",
        "head_to_head"; with verdicts "rank_set_sizes", with both modes "modes", "mode_pairs".

    Raises
    ------
    VoteError
        A column is missing, or a row says nothing that can be counted.
    ScoreError
        Logs cannot be read, or do not have the metric.
    ArenaError
        A setting is out of range.
    """
    settings = BoardSettings(
        source, alpha, cutoff, sets, ties, covariance, weighting, bradley_terry
    )
    if isinstance(votes, Path | list | tuple | dict):
        return _of_logs(votes, metric, settings)
    if metric is not None:
        raise ArenaError("metric is about logs: leave it out with a table of votes.")
    from coupled_arena.analysis.leaderboard.vote_frames import store_of_votes
    from coupled_arena.core.vote_columns import VERDICT

    given = check_frame(votes, "votes")
    judged = VERDICT in given.columns and bool(given[VERDICT].notna().to_numpy().any())
    if not judged and source in ("ppr", "judge"):
        raise ArenaError(f"{source!r} needs verdicts: a column {VERDICT} beside winner.")
    opened, notes = store_of_votes(given)
    with opened as store:
        found = settings.board(store, selection_of(judge=VERDICT if judged else None))
    return _noted(found, notes)


def _noted(found: Result[Leaderboard], notes: Sequence[str]) -> Result[Leaderboard]:
    """Return a board whose warnings begin with what is to be said of its data."""
    return replace(found, answer={**found.answer, "warnings": [*notes, *found.warnings]})


def _of_logs(logs: Logs, metric: str | None, settings: BoardSettings) -> Result[Leaderboard]:
    from coupled_arena.analysis.leaderboard.score_frames import store_of_scores

    if settings.source is not None:
        raise ArenaError("source is about votes: leave it out with logs.")
    scores = logged(logs, (metric,) if metric else None)
    with store_of_scores(scores) as store:
        by_scores = replace(settings, source="judge")
        found = by_scores.board(store, selection_of(judge=scores.metrics[0]))
    return _noted(found, scores.notes)


@dataclass(frozen=True)
class BoardSettings:
    """How a leaderboard is made of what is selected."""

    source: str | None
    alpha: float
    cutoff: str
    sets: str
    ties: str
    covariance: str
    weighting: str
    bradley_terry: bool
    control: str = "none"

    def __post_init__(self) -> None:
        check_level(self.alpha)

    def board(self, store: Store, selection: Selection) -> Result[Leaderboard]:
        """Return the leaderboard of a selection, with its tables."""
        from coupled_arena.analysis.leaderboard.read import BoardSource, Method
        from coupled_arena.analysis.leaderboard.result import read_leaderboard
        from coupled_arena.core.style import Control
        from coupled_arena.stats.ranking.estimates import Covariance
        from coupled_arena.stats.ranking.rank_sets import Cutoff, Scope
        from coupled_arena.stats.ranking.strata import Weighting
        from coupled_arena.stats.tie_scores import TieScore
        from coupled_arena.views.tables import bradley_terry
        from coupled_arena.views.tables import leaderboard as tables

        method = Method(
            one_of(Weighting, "weighting", self.weighting),
            one_of(Covariance, "covariance", self.covariance),
            one_of(TieScore, "ties", self.ties),
        )
        board = read_leaderboard(
            store,
            selection,
            method,
            source=one_of(BoardSource, "source", self.source) if self.source else None,
            alpha=self.alpha,
            cutoff=one_of(Cutoff, "cutoff", self.cutoff),
            scope=one_of(Scope, "sets", self.sets),
            control=one_of(Control, "control", self.control),
        )
        scores = bradley_terry.scores(board) if self.bradley_terry else None
        found = _tables(board)
        if scores:
            found["bradley_terry"] = bradley_terry.bradley_terry_table(scores)
        answer = tables.board_answer(board, scores)
        # What was used: with few votes it may be another weighting than was asked for.
        used = ["alpha", "cutoff", "sets", "ties", "covariance", "weighting"]
        used += ["judge_score", "flips", "control"]
        settings = {
            "source": answer["source"],
            **selected(selection),
            "judge": selection.judges if selection.more_judges else selection.judge,
            **{name: answer[name] for name in used},
            "bradley_terry": self.bradley_terry,
        }
        return Result("Leaderboard", board, settings, found, answer)


def _tables(board: Leaderboard) -> dict[str, Table[Any]]:
    from coupled_arena.views.tables import leaderboard, modes, style

    found: dict[str, Table[Any]] = {
        "models": leaderboard.standings(board),
        "pairs": leaderboard.head_to_head(board),
    }
    if board.estimates.modes:
        found["modes"] = modes.mode_models(board.estimates.modes)
        found["mode_pairs"] = modes.mode_pairs(board.estimates.modes)
    if board.style:
        found["style"] = style.style_models(board.style)
        found["style_effects"] = style.style_effects(board.style)
    return found
