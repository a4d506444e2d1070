"""Ranking models by any table of votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coupled_arena.api.analyses import board_of
from coupled_arena.api.results import Result

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.leaderboard.result import Leaderboard


def rank(
    votes: pd.DataFrame,
    *,
    source: Literal["ppr", "human", "judge"] | None = None,
    alpha: float = 0.05,
    cutoff: Literal["max-t", "bonferroni", "chi2"] = "max-t",
    covariance: Literal["corrected", "published"] = "corrected",
    weighting: Literal["stratified", "position", "count"] = "stratified",
) -> Result[Leaderboard]:
    """Rank models by a table of votes; no database is needed.

    Parameters
    ----------
    votes : DataFrame
        A row for each comparison. `model_a` is the model shown first, `model_b` the other;
        `winner` is "model_a" (or "a"), "model_b" (or "b"), the winner's own name, "tie" or
        "both_bad". Optional: `prompt` and `voter`, without which each row counts as on a prompt
        and by a voter of its own; `verdict`, what a judge said of the same pair, in the same
        words, with `winner` missing where nobody voted; `mode`, "coupled" or "independent".
        Other columns do not matter.
    source : {"ppr", "human", "judge"}, optional
        Whose word counts; by default prediction-powered where there are verdicts, else people's.
    alpha : float
        Error level of the intervals, and of all rank-sets together.
    cutoff : {"max-t", "bonferroni", "chi2"}
        How rank-sets allow for comparing all models at once.
    covariance : {"corrected", "published"}
    weighting : {"stratified", "position", "count"}
        How pairs of models weigh, see `docs/leaderboard.md`.

    Returns
    -------
    Result
        Tables: "models", "pairs", and "coupling" where both modes have votes.

    Raises
    ------
    VoteError
        A column is missing, or a row says nothing that can be counted.
    ArenaError
        A setting is out of range.
    """
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.store.transfer.vote_frames import JUDGE, store_of_votes

    judge = JUDGE if JUDGE in votes.columns and votes[JUDGE].notna().any() else None
    with store_of_votes(votes) as store:
        return board_of(
            store,
            Selection(judge=judge),
            source=source,
            alpha=alpha,
            cutoff=cutoff,
            covariance=covariance,
            weighting=weighting,
        )
