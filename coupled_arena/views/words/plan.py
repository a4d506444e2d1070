"""A plan in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.choices import Cutoff
from coupled_arena.core.language import _, ngettext, number
from coupled_arena.views.levels import level
from coupled_arena.views.markup import joined, paragraph
from coupled_arena.views.words.names import (
    comparisons_counted,
    named,
    rounded,
    verdicts_counted,
    votes_counted,
)


def plan_words(plan: VotePlan) -> tuple[str, ...]:
    """Return what a plan asks for."""
    return tuple(_plan(plan))


def plan_findings(plan: VotePlan) -> Markup:
    """Return what a plan asks for as markup."""
    return joined(paragraph(sentence) for sentence in plan_words(plan))


def _plan(plan: VotePlan) -> Iterator[str]:
    yield _needed(plan)
    there = {
        "votes": votes_counted(plan.votes_there),
        "verdicts": verdicts_counted(plan.verdicts_there),
    }
    if not plan.judge:
        lacking = plan.votes_to_cast_alone
        enough, more = (
            _("There are {votes}: enough."),
            _("There are {votes}. Still needed: {alone}."),
        )
        yield (more if lacking else enough).format(**there, alone=votes_counted(lacking))
        yield from people_words(plan) if lacking else ()
    elif plan.votes_to_cast_alone:
        yield _(
            "There are {votes} and {verdicts}. Still needed: {alone} without the judge; with it "
            "{votes_more} and {verdicts_more}."
        ).format(
            **there,
            alone=votes_counted(plan.votes_to_cast_alone),
            votes_more=votes_counted(plan.votes_to_cast),
            verdicts_more=verdicts_counted(plan.verdicts_to_buy),
        )
        yield from _cost(plan)
        yield from people_words(plan)
    else:
        yield _("There are {votes} and {verdicts}: enough without the judge.").format(**there)
    yield from pooled_words(plan.reworded)


def people_words(plan: VotePlan) -> Iterator[str]:
    """Say how many people these votes are, where their tastes show."""
    if plan.people is None or plan.people_to_ask is None:
        return
    text = ngettext(
        "Tastes differ: it takes {n:,} more person with about {each}.",
        "Tastes differ: it takes {n:,} more people with about {each} each.",
        plan.people_to_ask,
    )
    if plan.judge:
        text = ngettext(
            "Tastes differ: without the judge it takes {n:,} more person with about {each}.",
            "Tastes differ: without the judge it takes {n:,} more people with about {each} each.",
            plan.people_to_ask,
        )
    yield text.format(n=rounded(plan.people_to_ask), each=votes_each(plan))
    yield same_people_words(plan)


def votes_each(plan: VotePlan) -> str:
    """Return how many comparisons each person makes, of a plan in people."""
    return comparisons_counted(plan.votes_each or 0)


def same_people_words(plan: VotePlan) -> str:
    """Say whether more votes of the same people can suffice."""
    if plan.same_people_votes is None:
        return _("More comparisons by the same people can never settle it.")
    text = ngettext(
        "About {n:,} more comparison by the same people would settle it, too.",
        "About {n:,} more comparisons by the same people would settle it, too.",
        plan.same_people_votes,
    )
    return text.format(n=rounded(plan.same_people_votes))


def _needed(plan: VotePlan) -> str:
    goal, needs = plan.question, plan.needs
    aim = _(
        "A {level} interval of width {width:g} for {model}'s win rate takes {votes} by people "
        "alone."
    )
    if plan.lead is not None:
        aim = _(
            "To separate {model} and {other}, {points} points apart, with probability {power:g} "
            "takes {votes} by people alone."
        )
    if goal.more:
        aim = _(
            "To separate {model} from {others} at once, {points} points from the hardest, with "
            "probability {power:g} takes {votes} by people alone."
        )
    judged = _(
        "With {judge} it takes {votes}, and {verdicts:.3g} verdicts on other comparisons for each "
        "vote."
    )
    aim = aim.format(
        level=level(goal.alpha),
        width=goal.width,
        model=goal.model,
        other=goal.other,
        others=named(goal.others) if goal.more else "",
        points=number(100 * abs(plan.lead), ".2g") if plan.lead is not None else "",
        power=goal.power,
        votes=votes_counted(needs.votes_alone),
    )
    judged = judged.format(
        judge=plan.judge,
        votes=votes_counted(needs.votes),
        verdicts=needs.verdicts_per_vote,
    )
    of_judge = [judged, _worth(plan)] if plan.judge else []
    return " ".join([aim, *_pilot(plan), *of_judge, *_board(plan)])


def _pilot(plan: VotePlan) -> Iterator[str]:
    """Say what a lead that is estimated may owe to chance."""
    if plan.estimated_lead is None:
        return
    yield _(
        "The votes so far say {points} points, and may owe some to chance: with 80% probability, "
        "the true difference takes {least:,} to {most:,} votes."
    ).format(
        points=number(100 * abs(plan.estimated_lead), ".2g"),
        least=plan.votes_least,
        most=plan.votes_most,
    )


def _board(plan: VotePlan) -> Iterator[str]:
    """Say what it takes that the leaderboard compares many models at once."""
    if plan.lead is None:
        return
    text = _(
        "The leaderboard compares {k} models (alpha {alpha:g} for all at once: {deviations:.2f} "
        "standard deviations)."
    )
    if plan.question.cutoff is Cutoff.ANY_TIME:
        text = _(
            "The leaderboard compares {k} models (alpha {alpha:g} for all at once, and at all "
            "looks: {deviations:.2f} standard deviations)."
        )
    yield text.format(
        k=plan.board_models, alpha=plan.question.alpha, deviations=plan.critical_value
    )


def _worth(plan: VotePlan) -> str:
    """Return what ten votes are then worth."""
    needs = plan.needs
    if math.isfinite(needs.tau_max):
        text = _(
            "10 votes then tell as much as {worth:.1f} without the judge, and with unlimited "
            "verdicts as {limit:.1f}."
        )
    else:
        text = _(
            "10 votes then tell as much as {worth:.1f} without the judge, and with unlimited "
            "verdicts as any number."
        )
    return text.format(worth=10 * needs.tau, limit=10 * needs.tau_max)


def _cost(plan: VotePlan) -> Iterator[str]:
    if plan.cost is None:
        return
    saved = plan.votes_to_cast_alone - plan.votes_to_cast
    if saved > 0:
        text = _("These verdicts cost {cost:,.2f}, {each:,.2f} for each vote saved.")
        yield text.format(cost=plan.cost, each=plan.cost / saved)
    else:
        yield _("These verdicts cost {cost:,.2f}.").format(cost=plan.cost)
