"""A ranking by risk in sentences: what it says, and what it cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from markupsafe import Markup

from coupled_arena.analysis.risk.result import PORTFOLIO, RiskReport, RiskView
from coupled_arena.core.choices import Copula, Correction, PValues
from coupled_arena.core.language import N_, _, ngettext, number
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_tests import fewest_bootstraps, samples_needed
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.views.levels import level
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.names import named, pair_named, rounded

_FEW = 30  # prompts from which a bootstrap tells little
_THIN = 5  # scores in a tail, likewise
_GAP = 0.1  # of violation ratios: .45 against .55
_POWER = 0.95
_DOUBTS = {
    PValues.PERCENTILE: N_(
        "Percentile p-values alone separate equal models too often if few prompts have heavy "
        "tails. Swap p-values do not."
    ),
    PValues.APPROXIMATE: N_(
        "Normal p-values are approximate: they separate nearly equal models too often."
    ),
    PValues.PUBLISHED: N_(
        "The published p-values reject half of the time at the boundary; they are here to "
        "reproduce the paper."
    ),
}


def risk_words(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return who fails least badly, and whom a mean win rate puts in quite another place.

    Where nobody has said which way a metric is better, who is first is all that is said.
    """
    return (_leader(report, view), *_misplaced(view))


def risk_verdict(report: RiskReport, view: RiskView) -> str:
    """Return who fails least badly, as far as the tests allow."""
    return _leader(report, view)


def risk_details(report: RiskReport, view: RiskView) -> Markup:
    """Return the other sentences as markup, and what to keep in mind."""
    rest, warnings = risk_words(report, view)[1:], risk_warnings(report)
    return joined([listed(rest, "findings"), listed(warnings, "hint")])


def risk_findings(report: RiskReport, view: RiskView) -> Markup:
    """Return all sentences as markup, the first one larger."""
    first = paragraph(risk_verdict(report, view), "headline")
    return joined([first, risk_details(report, view)])


def _leader(report: RiskReport, view: RiskView) -> str:
    if len(view.models) == 1:
        text = _("Only {model} has scores: there is no other model to compare it with.")
        return text.format(model=view.models[0])
    ahead, others = view.dominance[Order.SECOND].relative.wins.sum(axis=1), len(view.models) - 1
    best = view.models[int(ahead.argmax())]
    if unjudged := _unjudged(report, view):
        ranked = _("{model} ranks ahead of every other model").format(model=best)
        text = ranked if ahead.max() == others else _open(view, judged=False)
        lowest = [name for name in unjudged if name in report.scores.lower_is_better]
        highest = [name for name in unjudged if name not in report.scores.lower_is_better]
        return _by_no_merit(lowest, highest).format(
            lowest=_all(lowest), highest=_all(highest), said=text, sure=_sure(report)
        )
    if ahead.max() == others:
        text = _("{model} fails least badly: it ranks ahead of every other model, {sure}.")
        return text.format(model=best, sure=_sure(report))
    text = _("Cannot tell yet which model fails least badly: {said}, {sure}.")
    return text.format(said=_open(view, judged=True), sure=_sure(report))


def _open(view: RiskView, *, judged: bool) -> str:
    """Say who may come first where nobody is ahead of all others, and who is ahead of some."""
    wins = view.dominance[Order.SECOND].relative.wins
    if not wins.any():
        return _("no two models can be told apart")
    unbeaten = [view.models[at] for at in np.flatnonzero(~wins.any(axis=0))]
    ahead, others = wins.sum(axis=1), len(view.models) - 1
    at = int(ahead.argmax())
    return _possible(len(unbeaten), judged=judged).format(
        names=named(unbeaten) if unbeaten else "", model=view.models[at], n=ahead[at], others=others
    )


def _possible(unbeaten: int, *, judged: bool) -> str:
    """Return the clause for so many that nobody is ahead of."""
    if not unbeaten:
        return _("{model} ranks ahead of {n} of {others} others")
    if judged:
        return ngettext(
            "{names} may do so, and {model} ranks ahead of {n} of {others} others",
            "{names} may each do so, and {model} ranks ahead of {n} of {others} others",
            unbeaten,
        )
    return ngettext(
        "{names} may be first, and {model} ranks ahead of {n} of {others} others",
        "{names} may each be first, and {model} ranks ahead of {n} of {others} others",
        unbeaten,
    )


def _sure(report: RiskReport) -> str:
    """Return how sure a sentence is: what stands at its end."""
    alpha, correction = report.settings.alpha, report.settings.correction
    if correction is Correction.NONE:
        return _("at {level} for each pair by itself").format(level=level(alpha))
    if correction is Correction.FDR:
        wrong = _("where {share} of such orders may be wrong")
        return wrong.format(share=f"{number(100 * alpha, '.4g')}%")
    return _("at {level} for all pairs at once").format(level=level(alpha))


def _unjudged(report: RiskReport, view: RiskView) -> list[str]:
    """Return the metrics of which nobody has said whether less or more is better."""
    names = report.scores.metrics if view.name == PORTFOLIO else (view.name,)
    return [name for name in names if name in report.scores.unjudged]


def _all(names: list[str]) -> str:
    return named(names, len(names)) if names else ""


def _by_no_merit(lowest: list[str], highest: list[str]) -> str:
    if not highest:
        return _("With the lowest {lowest} first: {said}, {sure}.")
    if not lowest:
        return _("With the highest {highest} first: {said}, {sure}.")
    return _("With the lowest {lowest} and the highest {highest} first: {said}, {sure}.")


def _misplaced(view: RiskView) -> Iterator[str]:
    by_order = np.argsort(view.dominance[Order.SECOND].ranking)
    by_rate = view.ranks["mean_win_rate"]
    away = by_order + 1 - by_rate
    worst = int(np.abs(away).argmax())
    if abs(away[worst]) < 2:
        return
    each = view.mean_risks[worst]
    yield _(
        "{model} is number {rate} by mean win rate and {order} by the second order. Its mean is "
        "{mean:.3g}; the mean of its worst {share:.3g} % of scores is {tail:.3g}."
    ).format(
        model=view.models[worst],
        rate=by_rate[worst],
        order=by_order[worst] + 1,
        mean=each.mean,
        share=100 * each.tail_p,
        tail=-each.risks[Risk.TAIL],
    )


def risk_warnings(report: RiskReport) -> tuple[str, ...]:
    """Return what to keep in mind with a ranking, each once."""
    return tuple(
        dict.fromkeys(
            [
                *report.scores.notes,
                *_of_directions(report),
                *_of_settings(report),
                *_of_scores(report),
                *(_sentence(text) for view in report.views for text in _named_of(view, report)),
            ]
        )
    )


def _of_directions(report: RiskReport) -> Iterator[str]:
    names = [name for name in report.scores.metrics if name in report.scores.unjudged]
    if names:
        text = _(
            "No direction is set for {metrics}, so the first place is no merit. "
            "Choose the metrics with lower, or higher, values that are better."
        )
        yield text.format(metrics=", ".join(names))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _of_settings(report: RiskReport) -> Iterator[str]:
    settings, k = report.settings, len(report.models)
    least = fewest_bootstraps(k, report.plan)
    counted = settings.p_values in (PValues.SWAP, PValues.PERCENTILE)
    if counted and settings.bootstraps < least:
        text = _(
            "{n:,} bootstrap samples cannot reject anything for {k} models at alpha {alpha:g}: "
            "take {least:,} or more."
        )
        yield text.format(n=settings.bootstraps, k=k, alpha=settings.alpha, least=least)
    if settings.p_values in _DOUBTS:
        yield _(_DOUBTS[settings.p_values])
    if settings.copula is Copula.EMPIRICAL and settings.weights is not None:
        yield _("The empirical copula has no weights: they change nothing.")
    if not report.paired and report.scores.paired:
        yield _(
            "The models have the same prompts but are compared as independent samples, which hides "
            "most small differences."
        )


def _of_scores(report: RiskReport) -> Iterator[str]:
    size = report.scores.size
    if size < _FEW:
        few = _("There are only {n} prompts, too few for a reliable bootstrap.")
        yield few.format(n=size)
    share, tail = 100 * report.settings.tail_p, size * report.settings.tail_p
    if tail < _THIN:
        thin = _(
            "The worst {share:.3g} % of {n:,} prompts are {tail:.2g}: the tail risks are uncertain."
        )
        yield thin.format(share=share, n=size, tail=tail)


def _named_of(view: RiskView, report: RiskReport) -> Iterator[str]:
    """Return what there is to say of a view, under its name where there are several."""
    for text in _of_view(view, report):
        yield text if len(report.views) == 1 else f"{view.name}: {text}"


def _of_view(view: RiskView, report: RiskReport) -> Iterator[str]:
    constant = [
        model
        for model, sample in zip(view.models, view.samples, strict=True)
        if sample.min() == sample.max()
    ]
    if constant:
        yield _("all scores of {models} are the same.").format(models=", ".join(constant))
    same = [
        pair_named(view.models[i], view.models[j])
        for i, j in combinations(range(len(view.models)), 2)
        if np.array_equal(view.samples[i], view.samples[j])
    ]
    if same:
        text = _("the scores of {pairs} are identical; neither can win.")
        yield text.format(pairs=", ".join(same))
    nothing = np.mean([(sample == 0).mean() for sample in view.samples])
    if view.name == PORTFOLIO and report.settings.copula is Copula.EMPIRICAL and nothing > 0.5:
        yield _(
            "{share:.0%} of replies have no other reply below them in every metric, so they all "
            "count as 0. Take fewer metrics or the independent copula."
        ).format(share=nothing)
    yield from _undecided(view, report)


def _undecided(view: RiskView, report: RiskReport) -> Iterator[str]:
    """Say where n is too small for the second order to decide."""
    tests = view.dominance[Order.SECOND].relative
    pairs = np.triu(~(tests.wins | tests.wins.T), 1)
    # Without any spread more prompts of the same kind would not change a thing.
    open_pairs = pairs & (tests.deviation > 0)
    if not open_pairs.any():
        return
    size = report.scores.size
    needed = samples_needed(tests, size, report.plan, _GAP, _POWER)[open_pairs]
    if needed.max() <= size:
        return
    yield _(
        "second order leaves {n} of {total} pairs undecided with {prompts:,} prompts. About "
        "{needed:,} would separate violation ratios of {low:g} and {high:g} with probability "
        "{power:g}."
    ).format(
        n=int(open_pairs.sum()),
        total=len(view.models) * (len(view.models) - 1) // 2,
        prompts=size,
        low=0.5 - _GAP / 2,
        high=0.5 + _GAP / 2,
        power=_POWER,
        needed=rounded(needed.max()),
    )
