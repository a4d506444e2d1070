"""What a leaderboard says in one sentence: never more than its rank-sets hold.

The sentence has at most 20 words; what would settle an open board is advice, in sentences of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from coupled_arena.analysis.audit.plan import (
    PLANNED,
    UNJOINED,
    PlanGoal,
    VotePlan,
    plan_separation,
)
from coupled_arena.analysis.leaderboard.result import Leaderboard, Standing
from coupled_arena.core.choices import BoardSource, Covariance, Cutoff, Scope
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import _, ngettext
from coupled_arena.views.levels import level
from coupled_arena.views.words.leaderboard import nothing_counted
from coupled_arena.views.words.names import MOST, named, rounded
from coupled_arena.views.words.plan import same_people_words, votes_each

_MOST_VOTES = 1_000_000  # beyond which a plan says only that it takes more


def board_verdict(board: Leaderboard) -> str:
    """Return who is first, or who may be, and what would tell."""
    return " ".join([board_headline(board), *board_advice(board)])


def board_headline(board: Leaderboard) -> str:
    """Return who is first, or who may be, as far as the rank-sets allow."""
    places = _places(board)
    if not places:
        return nothing_counted(board)
    if len(places) == 1:
        text = _(
            "Only {model} has votes or verdicts that count: there is no other model"
            " to compare it with."
        )
        return text.format(model=places[0][0])
    if board.scope is Scope.MARGINAL:
        return _each_alone(board, places)
    first = _first(places)
    if len(first) == 1:
        text = _leads(board, dict(places)[first[0]])
        return text.format(model=first[0], k=len(places), sure=_sure(board))
    return _open(board, first, len(places))


def board_advice(board: Leaderboard) -> tuple[str, ...]:
    """Return what would settle an open board, and what may be wrong with a settled one."""
    places = _places(board)
    if len(places) < 2 or board.scope is Scope.MARGINAL:
        return ()
    first = _first(places)
    if len(first) == 1:
        return tuple(_always_first(board, first[0]))
    wish = _wish(board, first)
    return (wish,) if wish else ()


def _places(board: Leaderboard) -> list[tuple[str, Standing]]:
    if board.estimate is None:
        return []
    return [(row.model, row.place) for row in board.standings if row.place]


def _first(places: list[tuple[str, Standing]]) -> list[str]:
    return [model for model, place in places if place.rank_low == 1]


def _each_alone(board: Leaderboard, places: list[tuple[str, Standing]]) -> str:
    """Say how much is known of places, and nothing of who is best: that would be a choice."""
    ranks = fmean(place.rank_high - place.rank_low + 1 for _model, place in places)
    return _(
        "A model that you chose before you looked has {ranks:.1f} of {k} "
        "possible ranks on average, {sure}."
    ).format(ranks=ranks, k=len(places), sure=_sure(board))


def _leads(board: Leaderboard, place: Standing) -> str:
    alone = place.rank_high == 1
    if not board.idle:
        is_first = _("{model} is first of {k}, {sure}.")
        may_be = _("Only {model} may be first of {k}, {sure}.")
    elif board.source is BoardSource.JUDGE:
        is_first = _("{model} is first of {k} that have verdicts, {sure}.")
        may_be = _("Only {model} may be first of {k} that have verdicts, {sure}.")
    else:
        is_first = _("{model} is first of {k} that have votes, {sure}.")
        may_be = _("Only {model} may be first of {k} that have votes, {sure}.")
    return is_first if alone else may_be


def _always_first(board: Leaderboard, model: str) -> Iterator[str]:
    """Say of the best model that the order of answers may have made it so."""
    sides = board.estimates.sides
    if sides is None or board.source is BoardSource.JUDGE:
        return
    if others := [other for one, other in sides.one_sided if one == model]:
        text = _("But it was always shown first against {others}: the order may explain that.")
        yield text.format(others=named(others))


def _open(board: Leaderboard, first: list[str], k: int) -> str:
    """Say who may be first."""
    if len(first) == k > MOST:
        text = _("Not decided yet: any of the {k} models may be first, {sure}.")
    else:
        text = _("Not decided yet: {names} may each be first, {sure}.")
    return text.format(k=k, names=named(first), sure=_sure(board))


def _sure(board: Leaderboard) -> str:
    """Return how sure a sentence is: what stands at its end."""
    watched = board.cutoff is Cutoff.ANY_TIME
    if board.estimate and board.estimate.kind is Covariance.PUBLISHED:
        narrow = _("{level} sure by the published covariance, which is too narrow")
        looking = _(
            "{level} sure, however often you look, by the published covariance, which is too narrow"
        )
    else:
        narrow, looking = _("{level} sure"), _("{level} sure, however often you look")
    return (looking if watched else narrow).format(level=level(board.alpha))


def _wish(board: Leaderboard, first: list[str]) -> str:
    """Return what would tell who is first: no more than the planner has an answer for."""
    if apart := _unjoined(board, first):
        return _(UNJOINED).format(one=apart[0], other=apart[1])
    plan = _planned(board, first)
    votes = plan.votes_to_cast_alone if plan else 0
    if not plan or not votes:
        return ""
    one, other, *others = first
    if others:
        return _more_people_on_all(plan) if plan.people_to_ask else _more_votes_on_all(votes)
    if plan.people_to_ask:
        return _more_people(plan, one, other)
    if votes > _MOST_VOTES:
        text = _(
            "At their present difference, more than {n:,} more votes on {one} and "
            "{other} would probably settle it."
        )
        return text.format(one=one, other=other, n=_MOST_VOTES)
    text = ngettext(
        "At their present difference, about {n:,} more vote on {one} and "
        "{other} would probably settle it.",
        "At their present difference, about {n:,} more votes on {one} and "
        "{other} would probably settle it.",
        votes,
    )
    return text.format(one=one, other=other, n=rounded(votes))


def _more_votes_on_all(votes: int) -> str:
    """Return what would tell which of more than two models is first."""
    if votes > _MOST_VOTES:
        text = _(
            "At their present differences, more than {n:,} more votes on them would probably "
            "settle it."
        )
        return text.format(n=_MOST_VOTES)
    text = ngettext(
        "At their present differences, about {n:,} more vote on them would probably settle it.",
        "At their present differences, about {n:,} more votes on them would probably settle it.",
        votes,
    )
    return text.format(n=rounded(votes))


def _more_people(plan: VotePlan, one: str, other: str) -> str:
    """Return what would tell two models apart where people's tastes differ."""
    people = plan.people_to_ask or 0
    if people > _MOST_VOTES:
        text = _(
            "At their present difference, more than {n:,} more people would probably settle it "
            "between {one} and {other}."
        )
        return text.format(one=one, other=other, n=_MOST_VOTES)
    text = ngettext(
        "At their present difference, about {n:,} more person with {each} would probably "
        "settle it between {one} and {other}. {same}",
        "At their present difference, about {n:,} more people with {each} each would "
        "probably settle it between {one} and {other}. {same}",
        people,
    )
    known = {"n": rounded(people), "each": votes_each(plan), "same": same_people_words(plan)}
    return text.format(one=one, other=other, **known)


def _more_people_on_all(plan: VotePlan) -> str:
    """Return likewise of more than two models."""
    people = plan.people_to_ask or 0
    if people > _MOST_VOTES:
        text = _(
            "At their present differences, more than {n:,} more people would probably settle it."
        )
        return text.format(n=_MOST_VOTES)
    text = ngettext(
        "At their present differences, about {n:,} more person with {each} would probably "
        "settle it. {same}",
        "At their present differences, about {n:,} more people with {each} each would "
        "probably settle it. {same}",
        people,
    )
    known = {"n": rounded(people), "each": votes_each(plan), "same": same_people_words(plan)}
    return text.format(**known)


def _unjoined(board: Leaderboard, first: list[str]) -> tuple[str, str] | None:
    """Return two of the models that no votes join; None where the board is not people's."""
    if board.source is not BoardSource.HUMAN or board.estimate is None:
        return None
    joins = board.estimate.joins
    return next(((first[0], other) for other in first[1:] if not joins(first[0], other)), None)


def _planned(board: Leaderboard, first: list[str]) -> VotePlan | None:
    """Return the plan for the first one and all who may be it; None where there is none."""
    planned = board.source is BoardSource.HUMAN and board.cutoff in PLANNED
    planned &= not board.estimates.method.mix  # nobody knows of which category votes would come
    if not planned or len(first) < 2:
        return None
    # The sentence says "at their present difference", so that one is told and not guessed.
    known = {"alpha": board.alpha, "cutoff": board.cutoff, "present": True}
    goal = PlanGoal(first[0], first[1], more=tuple(first[2:]), **known)
    try:
        # By people alone: nobody can plan with several judges, or one without a verdict on either.
        alone = replace(board.estimates.selection, judge=None, more_judges=())
        return plan_separation(replace(board.estimates, selection=alone), goal)
    except ArenaError:  # equal so far, or nothing varies: there is nothing to plan from
        return None
