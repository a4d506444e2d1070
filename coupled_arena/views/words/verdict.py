"""What a leaderboard says in one sentence: never more than its rank-sets hold."""

from __future__ import annotations

from statistics import fmean

from coupled_arena.analysis.audit.plan import PLANNED, PlanGoal, plan_separation
from coupled_arena.analysis.leaderboard.read import BoardSource
from coupled_arena.analysis.leaderboard.result import Leaderboard, Place
from coupled_arena.core.errors import ArenaError
from coupled_arena.stats.ranking.estimates import Covariance
from coupled_arena.stats.ranking.rank_sets import Cutoff, Scope
from coupled_arena.views.words.leaderboard import nothing_counted
from coupled_arena.views.words.names import MOST, named, rounded

_MOST_VOTES = 1_000_000  # beyond which a plan says only that it takes more


def board_verdict(board: Leaderboard) -> str:
    """Return who is first, or who may be, as far as the rank-sets allow."""
    places = [(row.model, row.place) for row in board.standings if row.place]
    if board.estimate is None or not places:
        return nothing_counted(board)
    if len(places) == 1:
        return f"Only {places[0][0]} has anything that counts: there is nobody to rank it against."
    if board.scope is Scope.MARGINAL:
        return _each_alone(board, places)
    first = [model for model, place in places if place.rank_low == 1]
    sure = f"at {100 * (1 - board.alpha):.4g}%{_watched(board)}{_too_narrow(board)}"
    if len(first) == 1:
        leads = _leads(first[0], dict(places)[first[0]])
        return f"{leads} of {len(places)}{_with_votes(board)}, {sure}."
    return (
        f"Cannot tell yet which model is best: {_candidates(first, len(places))} be first, "
        f"{sure}{_wish(board, first)}."
    )


def _each_alone(board: Leaderboard, places: list[tuple[str, Place]]) -> str:
    """Say how much is known of places, and nothing of who is best: that would be a choice."""
    ranks = fmean(place.rank_high - place.rank_low + 1 for _, place in places)
    sure = f"at {100 * (1 - board.alpha):.4g}%{_watched(board)}{_too_narrow(board)}"
    return (
        f"A model that was chosen before looking may have {ranks:.1f} of {len(places)} places on "
        f"average, {sure}."
    )


def _leads(model: str, place: Place) -> str:
    return f"{model} is first" if place.rank_high == 1 else f"Only {model} may be first"


def _candidates(first: list[str], k: int) -> str:
    if len(first) == k > MOST:
        return f"any of the {k} may"
    return f"{named(first)} may each"


def _with_votes(board: Leaderboard) -> str:
    what = "verdicts" if board.source is BoardSource.JUDGE else "votes"
    return f" that have {what}" if board.idle else ""


def _watched(board: Leaderboard) -> str:
    return ", whenever one looks" if board.cutoff is Cutoff.ANY_TIME else ""


def _too_narrow(board: Leaderboard) -> str:
    published = board.estimate and board.estimate.kind is Covariance.PUBLISHED
    return " by the published covariance, which is too narrow" if published else ""


def _wish(board: Leaderboard, first: list[str]) -> str:
    """Say what would tell the first two apart; nothing where the planner has no answer."""
    votes = _missing_votes(board, first)
    if not votes:
        return ""
    many = f"about {rounded(votes):,}" if votes <= _MOST_VOTES else f"more than {_MOST_VOTES:,}"
    one, other = first[:2]
    return (
        f"; if {one} and {other} differ as much as it looks, {many} more "
        f"{'vote' if votes == 1 else 'votes'} on them would probably tell"
    )


def _missing_votes(board: Leaderboard, first: list[str]) -> int:
    """Return the votes that a plan asks for; 0 where it is of another board, or there is none."""
    planned = board.source is BoardSource.HUMAN and board.cutoff in PLANNED
    if not planned or len(first) < 2:
        return 0
    goal = PlanGoal(model=first[0], other=first[1], alpha=board.alpha, cutoff=board.cutoff)
    try:
        return plan_separation(board.estimates, goal).votes_to_cast_alone
    except ArenaError:  # equal so far, or nothing varies: there is nothing to plan from
        return 0
