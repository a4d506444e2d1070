"""A ranking by risk in sentences: what it says, and what it cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from markupsafe import Markup

from coupled_arena.analysis.risk.result import PORTFOLIO, RiskReport, RiskView
from coupled_arena.stats.risk.corrections import Correction
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.dominance_sizes import fewest_bootstraps, samples_needed
from coupled_arena.stats.risk.dominance_tests import PValues
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.stats.risk.portfolio import Copula
from coupled_arena.views.markup import joined, listed, paragraph
from coupled_arena.views.words.names import named, rounded

_FEW = 30  # prompts from which a bootstrap tells little
_THIN = 5  # scores in a tail, likewise
_GAP = 0.1  # of violation ratios: .45 against .55
_POWER = 0.95


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
        return f"Only {view.models[0]} has scores: there is nobody to rank it against."
    wins, sure = view.dominance[Order.SECOND].relative.wins, _sure(report)
    ahead, others = wins.sum(axis=1), len(view.models) - 1
    best = view.models[int(ahead.argmax())]
    ranked = "ranks ahead of every other model"
    if unjudged := _unjudged(report, view):
        said = f"{best} {ranked}" if ahead.max() == others else _open(view, "be first")
        return f"{unjudged}: {said}, {sure}."
    if ahead.max() == others:
        return f"{best} fails least badly: it {ranked}, {sure}."
    return f"Cannot tell yet which model fails least badly: {_open(view, 'do so')}, {sure}."


def _open(view: RiskView, first: str) -> str:
    """Say who may come first where nobody is ahead of all others, and who is ahead of some."""
    wins = view.dominance[Order.SECOND].relative.wins
    if not wins.any():
        return "no two models can be told apart"
    unbeaten = [view.models[at] for at in np.flatnonzero(~wins.any(axis=0))]
    ahead, others = wins.sum(axis=1), len(view.models) - 1
    at = int(ahead.argmax())
    each = "each " if len(unbeaten) > 1 else ""
    may = f"{named(unbeaten)} may {each}{first}, and " if unbeaten else ""
    return f"{may}{view.models[at]} ranks ahead of {ahead[at]} of {others} others"


def _sure(report: RiskReport) -> str:
    level = f"at {100 * (1 - report.settings.alpha):.4g}%"
    correction = report.settings.correction
    if correction is Correction.NONE:
        return f"{level} for each pair by itself"
    if correction is Correction.FDR:
        return f"where {100 * report.settings.alpha:.4g}% of such orders may be wrong"
    return f"{level} for all pairs at once"


def _unjudged(report: RiskReport, view: RiskView) -> str:
    """Return the beginning of a sentence that is about no merit; nothing where it is."""
    scores = report.scores
    names = scores.metrics if view.name == PORTFOLIO else (view.name,)
    unjudged = [name for name in names if name in scores.unjudged]
    ends = {
        "lowest": [name for name in unjudged if name in scores.lower_is_better],
        "highest": [name for name in unjudged if name not in scores.lower_is_better],
    }
    first = [f"the {end} {named(these, len(these))}" for end, these in ends.items() if these]
    return f"With {' and '.join(first)} first" if first else ""


def _misplaced(view: RiskView) -> Iterator[str]:
    by_order = np.argsort(view.dominance[Order.SECOND].ranking)
    by_rate = view.ranks["mean_win_rate"]
    away = by_order + 1 - by_rate
    worst = int(np.abs(away).argmax())
    if abs(away[worst]) < 2:
        return
    each = view.mean_risks[worst]
    yield (
        f"{view.models[worst]} is number {by_rate[worst]} by mean win rate and "
        f"{by_order[worst] + 1} by the second order: its mean is {each.mean:.3g}, and that of its "
        f"worst {100 * each.tail_p:.3g} % of scores {-each.risks[Risk.TAIL]:.3g}."
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
                *(_sentence(text) for view in report.views for text in _of_view(view, report)),
            ]
        )
    )


def _of_directions(report: RiskReport) -> Iterator[str]:
    names = [name for name in report.scores.metrics if name in report.scores.unjudged]
    if names:
        yield (
            f"Nobody has said whether less or more {', '.join(names)} is better, so that the first "
            "place is no merit: say so by the choice of what is better when lower, or higher."
        )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _of_settings(report: RiskReport) -> Iterator[str]:
    settings, k = report.settings, len(report.models)
    least = fewest_bootstraps(k, report.plan)
    counted = settings.p_values in (PValues.SWAP, PValues.PERCENTILE)
    if counted and settings.bootstraps < least:
        yield (
            f"{settings.bootstraps:,} bootstrap samples cannot reject anything for {k} models at "
            f"alpha {settings.alpha:g}: take {least:,} or more."
        )
    if settings.p_values is PValues.PERCENTILE:
        yield (
            "Percentile p-values alone tell equal models apart too often where few prompts have "
            "heavy tails: swap p-values do not."
        )
    if settings.p_values is PValues.APPROXIMATE:
        yield "Normal p-values are approximate: nearly equal models are told apart too often."
    if settings.p_values is PValues.PUBLISHED:
        yield (
            "The published p-values reject half of the time at the boundary; they are here to "
            "reproduce the paper."
        )
    if settings.copula is Copula.EMPIRICAL and settings.weights is not None:
        yield "The empirical copula has no weights: they change nothing."
    if not report.paired and report.scores.paired:
        yield (
            "The models have the same prompts but are compared as independent samples, which "
            "hides most small differences."
        )


def _of_scores(report: RiskReport) -> Iterator[str]:
    size = report.scores.size
    if size < _FEW:
        yield f"There are {size} prompts only: a bootstrap of so few promises little."
    tail = size * report.settings.tail_p
    if tail < _THIN:
        yield (
            f"The worst {100 * report.settings.tail_p:.3g} % of {size:,} prompts are {tail:.2g}: "
            "the tail risks are uncertain."
        )


def _of_view(view: RiskView, report: RiskReport) -> Iterator[str]:
    whose = "" if len(report.views) == 1 else f"{view.name}: "
    constant = [
        model
        for model, sample in zip(view.models, view.samples, strict=True)
        if sample.min() == sample.max()
    ]
    if constant:
        yield f"{whose}all scores are the same of {', '.join(constant)}."
    same = [
        f"{view.models[i]} and {view.models[j]}"
        for i, j in combinations(range(len(view.models)), 2)
        if np.array_equal(view.samples[i], view.samples[j])
    ]
    if same:
        yield f"{whose}the scores are identical of {', '.join(same)}; neither can win."
    nothing = np.mean([(sample == 0).mean() for sample in view.samples])
    if view.name == PORTFOLIO and report.settings.copula is Copula.EMPIRICAL and nothing > 0.5:
        yield (
            f"{whose}{nothing:.0%} of replies have no other reply below them in every metric, so "
            "they all count as 0: take fewer metrics or the independent copula."
        )
    yield from _undecided(view, report, whose)


def _undecided(view: RiskView, report: RiskReport, whose: str) -> Iterator[str]:
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
    total = len(view.models) * (len(view.models) - 1) // 2
    yield (
        f"{whose}second order leaves {int(open_pairs.sum())} of {total} pairs undecided with "
        f"{size:,} prompts; to tell violation ratios of {0.5 - _GAP / 2:g} from "
        f"{0.5 + _GAP / 2:g} with probability {_POWER:g} takes about {rounded(needed.max()):,}."
    )
