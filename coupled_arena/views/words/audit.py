"""An audit and a plan in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from markupsafe import Markup

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.analysis.audit.read import Truth
from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.stats.ranking.prompts import FEW_PROMPTS
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.symbols import symbols

_TIES = {Ties.LOSS: "ties as losses", Ties.DROP: "ties dropped"}


def audit_words(audit: Audit) -> tuple[str, ...]:
    """Return what the audit found, the most useful first; nothing without votes and verdicts."""
    if not audit.comparisons:
        return ()
    return tuple(
        sentence
        for part in (_worth, _frontier, _bias, _agreement, _positions, _swaps, _lengths)
        for sentence in part(audit)
    )


def audit_warnings(audit: Audit) -> tuple[str, ...]:
    """Return what the audit cannot say, and what would help."""
    return tuple(_warnings(audit))


def audit_findings(audit: Audit) -> Markup:
    """Return the sentences as markup, the first one larger, and what the audit cannot say."""
    words = audit_words(audit)
    first = [paragraph(sentence, "headline") for sentence in words[:1]]
    return joined([*first, listed(words[1:], "findings"), listed(audit_warnings(audit), "hint")])


def _worth(audit: Audit) -> Iterator[str]:
    limits = [row.tau_max for row in audit.models if row.tau_max is not None]
    now = [row.tau for row in audit.models if row.tau is not None]
    if not limits or not now:
        return
    there = (
        f"; with the {audit.judge_only:,} verdicts there are on other comparisons, "
        f"{_short(10 * median(now))}"
        if audit.judge_only
        else ""
    )
    least = [row.tau_max_low for row in audit.models if row.tau_max_low is not None]
    unknown = not least or median(least) <= 1
    yield (
        f"{f'Too early to say whether {audit.judge} adds anything: ' if unknown else ''}"
        f"10 {symbols(audit).label}s with {audit.judge} are worth {_short(10 * median(limits))} at "
        f"most{_limits(audit)}, however many verdicts it gives{there}."
    )
    ranges = "; ".join(
        f"{10 * low:.1f} to {10 * high:.1f} with {_TIES[ties]}"
        for ties, (low, high) in audit.tau_max_range.items()
    )
    if audit.estimates.truth is Truth.VOTES:
        yield f"At most that is, by model, {ranges}."


def _limits(audit: Audit) -> str:
    """Return what bounds the median: if the bounds of all models hold, so do their medians."""
    bounds = [
        (row.tau_max_low, row.tau_max_high)
        for row in audit.models
        if row.tau_max_low is not None and row.tau_max_high is not None
    ]
    if not bounds:
        return ", with nothing known of how sure that is"
    low, high = (median(ends) for ends in zip(*bounds, strict=True))
    level = f"{100 * (1 - audit.alpha):.4g}% intervals"
    return f" ({_short(10 * low)} to {_short(10 * high)}, medians of the models' {level})"


def _frontier(audit: Audit) -> Iterator[str]:
    at = [row.model for row in audit.models if row.at_frontier]
    if at and audit.estimates.truth is Truth.BENCHMARK:
        yield (
            f"{_listed(at)}: the judge knows what is right no more often than the model does, so "
            "that no number of its grades can double the worth of a checked answer."
        )
    elif at:
        yield (
            f"{_listed(at)}: the judge agrees with people at most as often as people prefer the "
            "model, so that no number of verdicts can double the worth of a vote."
        )


def _bias(audit: Audit) -> Iterator[str]:
    known = [(abs(row.judge_bias), row) for row in audit.models if row.judge_bias is not None]
    if not known:
        return
    largest, row = max(known, key=lambda pair: pair[0])
    yield _largest(audit, row, largest)
    if audit.order_is_safe is None or audit.smallest_gap is None:
        return
    source, who = symbols(audit).source, f"{symbols(audit).source} {symbols(audit).does}"
    gap = f"the two closest models are {_short(100 * audit.smallest_gap)} points apart"
    if audit.order_is_safe:
        yield (
            f"By the estimates alone it would rank the models as {who} by itself: {gap}, more than "
            "twice that."
        )
    else:
        yield f"By itself it could rank models in another order than {source}: {gap}."


def _largest(audit: Audit, row: ModelAudit, largest: float) -> str:
    if row.bias_low is None or row.bias_high is None:
        bounds, known = "nothing is known of how sure that is", False
    else:
        level = f"{100 * (1 - audit.alpha):.4g}% interval"
        bounds = f"{100 * row.bias_low:+.1f} to {100 * row.bias_high:+.1f}, {level}"
        known = not row.bias_low <= 0 <= row.bias_high
    if not known:
        return (
            f"Too early to say whether it is biased: the largest bias found, on {row.model}, is "
            f"{100 * (row.judge_bias or 0):+.1f} points ({bounds})."
        )
    more = "more" if (row.judge_bias or 0) > 0 else "less"
    return (
        f"Its largest bias is on {row.model}: it {symbols(audit).favours} {100 * largest:.1f} "
        f"points {more} often than {symbols(audit).source} {symbols(audit).does} ({bounds})."
    )


def _agreement(audit: Audit) -> Iterator[str]:
    if audit.row_agreement is not None:
        yield (
            f"Judge and {symbols(audit).source} say the same of {audit.row_agreement:.1%} of the "
            f"{audit.comparisons:,} {symbols(audit).many} that have both."
        )


def _positions(audit: Audit) -> Iterator[str]:
    orders = audit.estimates.orders
    if orders.readable and audit.first_by_people is not None:
        yield (
            f"The answer shown first wins {orders.first / orders.readable:.1%} of the judge's "
            f"verdicts and {audit.first_by_people:.1%} of people's votes."
        )


def _swaps(audit: Audit) -> Iterator[str]:
    orders = audit.estimates.orders
    if audit.estimates.truth is Truth.BENCHMARK:
        return
    if not orders.swapped:
        yield "No pair was judged in both orders, so nothing is known of flips."
        return
    yield (
        f"Asked again with the answers swapped, it names the other model in "
        f"{orders.flipped / orders.swapped:.1%} of {orders.swapped:,} pairs and goes to or from a "
        f"tie in {orders.to_tie / orders.swapped:.1%}."
    )


def _lengths(audit: Audit) -> Iterator[str]:
    lengths = audit.estimates.lengths
    if not lengths.judge_all:
        return
    people = (
        f", people in {lengths.human_longer / lengths.human_all:.1%} of {lengths.human_all:,}"
        if lengths.human_all
        else ""
    )
    yield (
        f"It prefers the longer answer in {lengths.judge_longer / lengths.judge_all:.1%} of "
        f"{lengths.judge_all:,} verdicts{people}."
    )


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
    return (
        f"To separate {goal.model} and {goal.other}, {100 * abs(plan.lead):.2g} points apart, on "
        f"the leaderboard of {plan.board_models} models (alpha {goal.alpha:g} for all of them at "
        f"once: {plan.critical_value:.2f} standard deviations) with probability {goal.power:g}"
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


def _short(value: float) -> str:
    """Return a number with two significant digits, and all those before the point."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2g}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _warnings(audit: Audit) -> Iterator[str]:
    estimates = audit.estimates
    if len(estimates.mixed) > 1:
        yield f"This audit mixes battles of different modes: {', '.join(estimates.mixed)}."
    clusters = estimates.means.clusters
    if clusters is not None and clusters < FEW_PROMPTS:
        yield (
            f"All {symbols(audit).labels} are on {clusters} prompt{'s' * (clusters != 1)}: the "
            "intervals know little of what other prompts would say."
        )
    if unreadable := estimates.orders.unreadable:
        yield f"Answers of the judge that are unreadable and not counted: {unreadable}."
    if not audit.comparisons:
        yield (
            f"No comparison has both a vote and a verdict of {audit.judge}."
            if estimates.truth is Truth.VOTES
            else f"No {estimates.benchmark} answer has a readable grade of {audit.judge}."
        )
        return
    if not audit.judge_only and estimates.truth is Truth.VOTES:
        yield (
            "Every verdict is on a comparison that people voted on too, so the judge adds nothing "
            "yet: let it judge battles that nobody voted on."
        )
    if unvoted := [row.model for row in audit.models if not row.n]:
        yield f"Without a comparison that counts: {', '.join(unvoted)}."
    if unknown := [row.model for row in audit.models if row.n and row.rho is None]:
        yield (
            f"The judge, or {symbols(audit).source}, always said the same of "
            f"{', '.join(unknown)}: no correlation can be told from that."
        )
    if estimates.silent:
        yield f"Without a verdict of {audit.judge}: {', '.join(estimates.silent)}."
