"""A plan in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.choices import Cutoff
from coupled_arena.core.language import _, ngettext
from coupled_arena.views.markup import joined, paragraph
from coupled_arena.views.words.names import level, verdicts_counted, votes_counted


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
    if plan.votes_to_cast_alone:
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
    else:
        yield _("There are {votes} and {verdicts}: enough without the judge.").format(**there)
    yield from pooled_words(plan.reworded)


def _needed(plan: VotePlan) -> str:
    goal, needs = plan.question, plan.needs
    return _aim(plan).format(
        level=level(goal.alpha),
        width=goal.width,
        model=goal.model,
        other=goal.other,
        points=f"{100 * abs(plan.lead):.2g}" if plan.lead is not None else "",
        k=plan.board_models,
        alpha=goal.alpha,
        deviations=plan.critical_value,
        power=goal.power,
        n=needs.votes_alone,
        votes=needs.votes,
        judge=plan.judge,
        verdicts=needs.verdicts_per_vote,
        worth=_worth(plan),
    )


def _aim(plan: VotePlan) -> str:
    n = plan.needs.votes_alone
    if plan.lead is None:
        return ngettext(
            "A {level} interval of width {width:g} for {model}'s win-rate takes {n:,} vote by "
            "people alone, or {votes:,} with {judge} and {verdicts:.3g} verdicts on other "
            "comparisons for each vote: {worth}",
            "A {level} interval of width {width:g} for {model}'s win-rate takes {n:,} votes by "
            "people alone, or {votes:,} with {judge} and {verdicts:.3g} verdicts on other "
            "comparisons for each vote: {worth}",
            n,
        )
    if plan.question.cutoff is Cutoff.ANY_TIME:
        return ngettext(
            "To separate {model} and {other}, {points} points apart, on the leaderboard of {k} "
            "models (alpha {alpha:g} for all of them at once, and at all looks: {deviations:.2f} "
            "standard deviations) with probability {power:g} takes {n:,} vote by people alone, or "
            "{votes:,} with {judge} and {verdicts:.3g} verdicts on other comparisons for each "
            "vote: {worth}",
            "To separate {model} and {other}, {points} points apart, on the leaderboard of {k} "
            "models (alpha {alpha:g} for all of them at once, and at all looks: {deviations:.2f} "
            "standard deviations) with probability {power:g} takes {n:,} votes by people alone, or "
            "{votes:,} with {judge} and {verdicts:.3g} verdicts on other comparisons for each "
            "vote: {worth}",
            n,
        )
    return ngettext(
        "To separate {model} and {other}, {points} points apart, on the leaderboard of {k} models "
        "(alpha {alpha:g} for all of them at once: {deviations:.2f} standard deviations) with "
        "probability {power:g} takes {n:,} vote by people alone, or {votes:,} with {judge} and "
        "{verdicts:.3g} verdicts on other comparisons for each vote: {worth}",
        "To separate {model} and {other}, {points} points apart, on the leaderboard of {k} models "
        "(alpha {alpha:g} for all of them at once: {deviations:.2f} standard deviations) with "
        "probability {power:g} takes {n:,} votes by people alone, or {votes:,} with {judge} and "
        "{verdicts:.3g} verdicts on other comparisons for each vote: {worth}",
        n,
    )


def _worth(plan: VotePlan) -> str:
    """Return what ten votes are then worth: a sentence of its own, which follows a colon."""
    needs = plan.needs
    if math.isfinite(needs.tau_max):
        text = _("10 votes are then worth {worth:.1f}, and with unlimited verdicts {limit:.1f}.")
    else:
        text = _("10 votes are then worth {worth:.1f}, and with unlimited verdicts any number.")
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
