"""A plan in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.stats.ranking.rank_sets import Cutoff
from coupled_arena.views.markup import joined, paragraph


def plan_words(plan: VotePlan) -> tuple[str, ...]:
    """Return what a plan asks for."""
    return tuple(_plan(plan))


def plan_findings(plan: VotePlan) -> Markup:
    """Return what a plan asks for as markup."""
    return joined(paragraph(sentence) for sentence in plan_words(plan))


def _aim(plan: VotePlan) -> str:
    goal = plan.question
    if plan.lead is None:
        level = f"{100 * (1 - goal.alpha):.4g}%"
        return f"A {level} interval of width {goal.width:g} for {goal.model}'s win-rate"
    watched = ", and at all looks" if goal.cutoff is Cutoff.ANY_TIME else ""
    return (
        f"To separate {goal.model} and {goal.other}, {100 * abs(plan.lead):.2g} points apart, on "
        f"the leaderboard of {plan.board_models} models (alpha {goal.alpha:g} for all of them at "
        f"once{watched}: {plan.critical_value:.2f} standard deviations) with probability "
        f"{goal.power:g}"
    )


def _plan(plan: VotePlan) -> Iterator[str]:
    needs, judge = plan.needs, plan.judge
    limit = f"{10 * needs.tau_max:.1f}" if math.isfinite(needs.tau_max) else "any number"
    yield (
        f"{_aim(plan)} takes {_count(needs.votes_alone, 'vote')} by people alone, or "
        f"{needs.votes:,} with {judge} and {needs.verdicts_per_vote:.3g} verdicts on other "
        f"comparisons for each vote: 10 votes are then worth {10 * needs.tau:.1f}, and with "
        f"verdicts without end {limit}."
    )
    there = (
        f"There are {_count(plan.votes_there, 'vote')} and {_count(plan.verdicts_there, 'verdict')}"
    )
    if not plan.votes_to_cast_alone:
        yield f"{there}: enough without the judge."
        return
    yield (
        f"{there}. Still needed: {_count(plan.votes_to_cast_alone, 'vote')} without the judge; "
        f"with it {_count(plan.votes_to_cast, 'vote')} and "
        f"{_count(plan.verdicts_to_buy, 'verdict')}."
    )
    saved = plan.votes_to_cast_alone - plan.votes_to_cast
    if plan.cost is not None:
        each = f", {plan.cost / saved:,.2f} for each vote saved" if saved else ""
        yield f"These verdicts cost {plan.cost:,.2f}{each}."


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
