"""What coupling saves, in tables and sentences, as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence

from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.views.markup import Html, bold, html, joined, listed, paragraph, table

_COLUMNS = (
    *("Pair", "Samples saved", "Interval", "Difference, coupled", "Independent"),
    *("Variance, coupled", "Independent", "Covariance", "Proposition 1: gap"),
)


def savings_said(pair: PairSavings, alpha: float, left_out: int = 0) -> Html:
    """Return what a pair's scores say, the first sentence larger."""
    names = f"{pair.model_a} and {pair.model_b}"
    level = f"{100 * (1 - alpha):.4g}% interval"
    if not math.isfinite(pair.savings):
        head = f"{names}: the independent difference never varies, so nothing can be saved."
    else:
        found = f"{pair.savings:.1%} of the samples"
        range_ = f"{pair.savings_low:.1%} to {pair.savings_high:.1%}, {level}"
        head = (
            f"To compare {names}, coupling saves {found} ({range_})."
            if pair.savings_low > 0
            else f"To compare {names}, coupling costs samples: it saves {found} ({range_})."
            if pair.savings_high < 0
            else f"Too early to say whether coupling saves samples to compare {names}: {found} "
            f"({range_})."
        )
    error = pair.identity_gap_error
    rest = [
        f"Their scores differ by {pair.difference_coupled:+.4f} ± "
        f"{pair.difference_error_coupled:.4f} coupled and {pair.difference_independent:+.4f} ± "
        f"{pair.difference_error_independent:.4f} independent (standard errors, clustered by "
        "prompt).",
        "Proposition 1, with the covariance taken within prompts: the independent variance less "
        f"the coupled one less twice the covariance is {pair.identity_gap:+.4f} ± {error:.4f}, "
        f"{'as chance allows' if abs(pair.identity_gap) <= 3 * error else 'more than chance'}.",
    ]
    if left_out:
        rest.append(f"Left out, for they lack repetitions: {left_out} prompts.")
    return joined([paragraph(head, "headline"), listed(rest, "said")])


def savings_table(pairs: Sequence[PairSavings]) -> Html:
    """Return a row of numbers for each pair."""
    return table(_COLUMNS, (_row(pair) for pair in pairs))


def calculator_said(pair: PairSavings, error: float, repetitions: int, alpha: float) -> Html:
    """Return how many prompts a difference with this error takes under each protocol.

    Raises
    ------
    ValueError
        A number is out of range.
    """
    coupled, independent = (math.ceil(n) for n in pair.prompts_needed(error, repetitions, alpha))
    unknown = pair.savings_low <= 0 <= pair.savings_high
    share = (
        " by the estimates: too early to say whether coupling takes fewer"
        if unknown
        else f", {1 - coupled / independent:.0%} fewer by the estimates"
        if 0 < coupled < independent
        else ""
    )
    level = f"{100 * (1 - alpha):.4g}%"
    return Html(
        f"<p>A {level} interval of ± {error:g} for the difference, with {repetitions} "
        f"answer{'s' * (repetitions > 1)} to each prompt, takes <b>{coupled:,}</b> prompts coupled "
        f"and <b>{independent:,}</b> independent{share}.</p>"
    )


def _row(pair: PairSavings) -> list[str]:
    return [
        Html(f"{html(pair.model_a)}<br>{html(pair.model_b)}"),
        bold(_percent(pair.savings)),
        f"{_percent(pair.savings_low)} to {_percent(pair.savings_high)}",
        f"{pair.difference_coupled:+.4f}",
        f"{pair.difference_independent:+.4f}",
        f"{pair.pooled_variance_coupled:.4f}",
        f"{pair.pooled_variance_independent:.4f}",
        f"{pair.mean_covariance:+.4f}",
        f"{pair.identity_gap:+.4f} ± {pair.identity_gap_error:.4f}",
    ]


def _percent(value: float) -> str:
    return f"{value:.1%}" if math.isfinite(value) else "\N{EN DASH}"
