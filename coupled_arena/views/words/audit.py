"""An audit in sentences, the same on the command line, in Python and in the page."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from markupsafe import Markup

from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.choices import Ties, Truth, Voters
from coupled_arena.core.language import N_, _, ngettext, number
from coupled_arena.stats.ranking.strata import FEW_PROMPTS
from coupled_arena.store.queries.judge_quality import JudgeUse
from coupled_arena.views.levels import level
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.audit_texts import by_truth, few_prompts
from coupled_arena.views.words.names import modes_named, named
from coupled_arena.views.words.people import taste_words

_TIES = {
    Ties.LOSS: N_("{low:.1f} to {high:.1f} with ties as losses"),
    Ties.DROP: N_("{low:.1f} to {high:.1f} with ties dropped"),
}


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
    return (*_warnings(audit), *judge_use_words(audit.estimates.use))


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
        yield by_truth(audit, "worthless", judge=audit.judge, n=audit.comparisons)
        return
    least = [row.tau_max_low for row in audit.models if row.tau_max_low is not None]
    unknown = not least or median(least) <= 1
    worth = _worth_at_most(audit, median(limits))
    if unknown:
        early = _("Too early to say whether {judge} adds anything. {worth}")
        worth = early.format(judge=audit.judge, worth=worth)
    yield worth
    yield _limit(audit, median(now))
    if not unknown and audit.board_tau_max is not None:
        yield _(
            "On the leaderboard they tell as much as {worth} at most. Between the same two models "
            "the verdicts explain {share:.1%} of the variance of votes."
        ).format(worth=_short(10 * audit.board_tau_max), share=audit.board_explained)
    if audit.estimates.truth is Truth.VOTES:
        ranges = "; ".join(
            _(_TIES[ties]).format(low=10 * low, high=10 * high)
            for ties, (low, high) in audit.tau_max_range.items()
        )
        yield _("The limit by model: {ranges}.").format(ranges=ranges)


def _limit(audit: Audit, now: float) -> str:
    if not audit.judge_only:
        return _("That is the limit, however many verdicts it gives.")
    return _(
        "That is the limit, however many verdicts it gives. With the {n:,} verdicts on other "
        "comparisons they tell as much as {worth} now."
    ).format(n=audit.judge_only, worth=_short(10 * now))


def _worth_at_most(audit: Audit, limit: float) -> str:
    """Bound the median: if the bounds of all models hold, so do their medians."""
    bounds = [
        (row.tau_max_low, row.tau_max_high)
        for row in audit.models
        if row.tau_max_low is not None and row.tau_max_high is not None
    ]
    known = {"judge": audit.judge, "worth": _short(10 * limit)}
    if not bounds:
        return by_truth(audit, "worth_unbounded", **known)
    low, high = (_short(10 * median(ends)) for ends in zip(*bounds, strict=True))
    return by_truth(audit, "worth", **known, low=low, high=high, level=level(audit.alpha))


def _frontier(audit: Audit) -> Iterator[str]:
    at = [row.model for row in audit.models if row.at_frontier]
    if at:
        yield by_truth(audit, "frontier", models=named(at, len(at)))


def _bias(audit: Audit) -> Iterator[str]:
    known = [(row.judge_bias, row) for row in audit.models if row.judge_bias is not None]
    if not known:
        return
    bias, row = max(known, key=lambda pair: abs(pair[0]))
    yield _largest(audit, row, bias)
    if audit.order_is_safe is None or audit.smallest_gap is None:
        return
    gap = _short(100 * audit.smallest_gap)
    yield by_truth(audit, "safe" if audit.order_is_safe else "unsafe", gap=gap)


def _largest(audit: Audit, row: ModelAudit, bias: float) -> str:
    if row.bias_low is None or row.bias_high is None:
        return _(
            "Too early to say whether it is biased. The largest bias is {points:+.1f} points, on "
            "{model}, with unknown certainty."
        ).format(model=row.model, points=100 * bias)
    bounds = {"low": 100 * row.bias_low, "high": 100 * row.bias_high, "level": level(audit.alpha)}
    if row.bias_low <= 0 <= row.bias_high:
        return _(
            "Too early to say whether it is biased. The largest bias is {points:+.1f} points, on "
            "{model} ({low:+.1f} to {high:+.1f}, {level} interval)."
        ).format(model=row.model, points=100 * bias, **bounds)
    way = "more" if bias > 0 else "less"
    return by_truth(audit, way, model=row.model, points=100 * abs(bias), **bounds)


def _agreement(audit: Audit) -> Iterator[str]:
    if audit.row_agreement is not None:
        yield by_truth(audit, "agreement", share=audit.row_agreement, n=audit.comparisons)


def _positions(audit: Audit) -> Iterator[str]:
    orders = audit.estimates.orders
    if orders.readable and audit.first_by_people is not None:
        yield _(
            "The answer shown first wins {judge:.1%} of the judge's verdicts and {people:.1%} of "
            "people's votes."
        ).format(judge=orders.first / orders.readable, people=audit.first_by_people)


def _swaps(audit: Audit) -> Iterator[str]:
    orders = audit.estimates.orders
    if audit.estimates.truth is Truth.BENCHMARK:
        return
    if not orders.swapped:
        yield _("No pair was judged in both orders, so flips are unknown.")
        return
    yield _(
        "With the answers swapped, it names the other model in {flipped:.1%} of {n:,} pairs. In "
        "{tied:.1%} it goes to or from a tie."
    ).format(
        flipped=orders.flipped / orders.swapped,
        n=orders.swapped,
        tied=orders.to_tie / orders.swapped,
    )


def _lengths(audit: Audit) -> Iterator[str]:
    lengths = audit.estimates.lengths
    if not lengths.judge_all:
        return
    share, n = lengths.judge_longer / lengths.judge_all, lengths.judge_all
    if not lengths.human_all:
        yield _("It prefers the longer answer in {share:.1%} of {n:,} verdicts.").format(
            share=share, n=n
        )
        return
    yield _(
        "It prefers the longer answer in {share:.1%} of {n:,} verdicts, people in {people:.1%} of "
        "{votes:,}."
    ).format(
        share=share, n=n, people=lengths.human_longer / lengths.human_all, votes=lengths.human_all
    )


def _short(value: float) -> str:
    """Return a number with two significant digits, and all those before the point."""
    return number(value, ",.0f" if value >= 99.5 else ".1f" if value >= 9.95 else ".2g")


def _nothing(audit: Audit) -> str:
    if audit.estimates.truth is Truth.VOTES:
        nothing = _("No comparison has both a vote and a verdict of {judge}.")
        return nothing.format(judge=audit.judge)
    nothing = _("No {benchmark} answer has a readable grade of {judge}.")
    return nothing.format(benchmark=audit.estimates.benchmark, judge=audit.judge)


def _warnings(audit: Audit) -> Iterator[str]:
    estimates = audit.estimates
    if len(estimates.mixed) > 1:
        mixed = _("This audit mixes battles of different modes: {modes}.")
        yield mixed.format(modes=modes_named(estimates.mixed))
    yield from _people(audit)
    yield from key_words(audit)
    yield from pooled_words(estimates.reworded)
    clusters = estimates.means.clusters
    if clusters is not None and clusters < FEW_PROMPTS:
        yield few_prompts(audit, clusters)
    if unreadable := estimates.orders.unreadable:
        yield _("Unreadable answers of the judge, which do not count: {n}.").format(n=unreadable)
    if not audit.comparisons:
        yield _nothing(audit)
        return
    if not audit.judge_only and estimates.truth is Truth.VOTES:
        yield _(
            "The judge adds nothing yet, because people voted on every comparison that it judged. "
            "Let it judge battles without votes."
        )
    yield from _of_models(audit)


def _people(audit: Audit) -> Iterator[str]:
    """Say whom intervals are for, and what it costs that each voter has a taste."""
    estimates = audit.estimates
    if estimates.truth is not Truth.VOTES or not audit.comparisons:
        return
    if estimates.majority:
        yield _(
            "The majority of voters is one vote, so nobody's taste can be told. The intervals hold "
            "for exactly the people who voted."
        )
        return
    if estimates.voters is Voters.THESE:
        yield _("This audit holds for exactly the people who voted, and for nobody else.")
        return
    voted = estimates.voted
    if voted is None or voted.people == voted.votes:
        return
    if voted.alone:
        yield _("One person cast all votes: this audit speaks for that person only.")
    elif voted.worth is not None:
        more = _("More people help this audit, not more comparisons by the same people.")
        yield from taste_words(voted.people, voted.votes, voted.worth, more)


def key_words(audit: Audit) -> Iterator[str]:
    """Say which answers count alone where a model's own are the key."""
    if audit.estimates.only is not None:
        yield _(
            "Only answers of battles of the mode {mode} count. Coupled answers share their luck, "
            "so a key from the same battles would agree with them too often."
        ).format(mode=modes_named((audit.estimates.only,)))


def _of_models(audit: Audit) -> Iterator[str]:
    """Say which models nothing is known of, or too little."""
    if unvoted := [row.model for row in audit.models if not row.n]:
        lacking = ngettext(
            "{n} model without a comparison that counts: {models}.",
            "{n} models without a comparison that counts: {models}.",
            len(unvoted),
        )
        yield lacking.format(n=len(unvoted), models=named(unvoted))
    if unknown := [row.model for row in audit.models if row.n and row.rho is None]:
        yield by_truth(audit, "constant", models=named(unknown))
    if silent := audit.estimates.silent:
        lacking = ngettext(
            "{n} model without a verdict of {judge}: {models}.",
            "{n} models without a verdict of {judge}: {models}.",
            len(silent),
        )
        yield lacking.format(n=len(silent), judge=audit.judge, models=named(silent))


def judge_use_words(use: JudgeUse) -> Iterator[str]:
    """Say where a judge abstains, and where its verdicts have no probabilities."""
    if use.abstained:
        text = ngettext(
            "The judge contradicts itself in the two orders of {n:,} of {judged:,} comparisons, "
            "and abstains there. {votes:,} vote counts without it.",
            "The judge contradicts itself in the two orders of {n:,} of {judged:,} comparisons, "
            "and abstains there. {votes:,} votes count without it.",
            use.abstained_voted,
        )
        yield text.format(n=use.abstained, judged=use.comparisons, votes=use.abstained_voted)
    if use.without_probability:
        text = ngettext(
            "{n:,} of {judged:,} comparisons has no probabilities of the judge: its verdict there "
            "counts as 0 or 1.",
            "{n:,} of {judged:,} comparisons have no probabilities of the judge: its verdicts "
            "there count as 0 or 1.",
            use.without_probability,
        )
        yield text.format(n=use.without_probability, judged=use.comparisons)
