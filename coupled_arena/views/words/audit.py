"""An audit in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from markupsafe import Markup

from coupled_arena.analysis.audit.read import Truth
from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.stats.ranking.prompts import FEW_PROMPTS
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.names import named, without_data
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


def audit_verdict(audit: Audit) -> str:
    """Return the first sentence; without a comparison, what is missing."""
    return audit_words(audit)[0] if audit.comparisons else _nothing(audit)


def audit_details(audit: Audit) -> Markup:
    """Return the other sentences as markup, and what the audit cannot say."""
    words, warnings = audit_words(audit)[1:], audit_warnings(audit)
    return joined([listed(words, "findings"), listed(warnings, "hint")])


def audit_findings(audit: Audit) -> Markup:
    """Return all sentences as markup, the first one larger."""
    first = [paragraph(sentence, "headline") for sentence in audit_words(audit)[:1]]
    return joined([*first, audit_details(audit)])


def _worth(audit: Audit) -> Iterator[str]:
    limits = [row.tau_max for row in audit.models if row.tau_max is not None]
    now = [row.tau for row in audit.models if row.tau is not None]
    if not limits or not now:
        yield (
            f"Too early to say what the verdicts of {audit.judge} are worth: nothing in these "
            f"{audit.comparisons:,} {symbols(audit).many} can be told from chance."
        )
        return
    least = [row.tau_max_low for row in audit.models if row.tau_max_low is not None]
    unknown = not least or median(least) <= 1
    yield (
        f"{f'Too early to say whether {audit.judge} adds anything: ' if unknown else ''}"
        f"10 {symbols(audit).label}s with {audit.judge} are worth {_short(10 * median(limits))} at "
        f"most{_limits(audit)}."
    )
    there = (
        f"; with the {audit.judge_only:,} verdicts there are on other comparisons, they are worth "
        f"{_short(10 * median(now))}"
        if audit.judge_only
        else ""
    )
    yield f"That is the limit, however many verdicts it gives{there}."
    if not unknown:
        yield from _on_board(audit)
    ranges = "; ".join(
        f"{10 * low:.1f} to {10 * high:.1f} with {_TIES[ties]}"
        for ties, (low, high) in audit.tau_max_range.items()
    )
    if audit.estimates.truth is Truth.VOTES:
        yield f"At most that is, by model, {ranges}."


def _on_board(audit: Audit) -> Iterator[str]:
    if audit.board_tau_max is None:
        return
    yield (
        f"On the leaderboard, which compares like with like, they are worth "
        f"{_short(10 * audit.board_tau_max)} at most: between the same two models the verdicts "
        f"explain {audit.board_explained:.1%} of how votes vary."
    )


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


def _short(value: float) -> str:
    """Return a number with two significant digits, and all those before the point."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2g}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _nothing(audit: Audit) -> str:
    if audit.estimates.truth is Truth.VOTES:
        return f"No comparison has both a vote and a verdict of {audit.judge}."
    return f"No {audit.estimates.benchmark} answer has a readable grade of {audit.judge}."


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
        yield _nothing(audit)
        return
    if not audit.judge_only and estimates.truth is Truth.VOTES:
        yield (
            "Every verdict is on a comparison that people voted on too, so the judge adds nothing "
            "yet: let it judge battles that nobody voted on."
        )
    if unvoted := [row.model for row in audit.models if not row.n]:
        yield without_data(unvoted, "a comparison that counts")
    if unknown := [row.model for row in audit.models if row.n and row.rho is None]:
        yield (
            f"The judge, or {symbols(audit).source}, always said the same of "
            f"{named(unknown)}: no correlation can be told from that."
        )
    if estimates.silent:
        yield without_data(estimates.silent, f"a verdict of {audit.judge}")
