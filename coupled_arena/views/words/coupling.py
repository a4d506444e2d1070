"""What coupling saves, in sentences."""

from __future__ import annotations

import math

from markupsafe import Markup

from coupled_arena.analysis.coupling.result import Coupling, prompts_needed
from coupled_arena.stats.coupling.row_blocks import other_blocks
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.views.markup import listed


def coupling_words(found: Coupling, pair: PairSavings) -> tuple[str, ...]:
    """Return what one pair's scores say, the most useful first."""
    error = pair.identity_gap_error
    chance = "as chance allows" if abs(pair.identity_gap) <= 3 * error else "more than chance"
    return (
        _savings(pair, found.alpha),
        f"Their scores differ by {pair.difference_coupled:+.4f} ± "
        f"{pair.difference_error_coupled:.4f} coupled and {pair.difference_independent:+.4f} ± "
        f"{pair.difference_error_independent:.4f} independent (standard errors, clustered by "
        "prompt).",
        "Proposition 1, with the covariance taken within prompts: the independent variance less "
        f"the coupled one less twice the covariance is {pair.identity_gap:+.4f} ± {error:.4f}, "
        f"{chance}.",
    )


def coupling_warnings(found: Coupling) -> tuple[str, ...]:
    """Return what was left out, and what these scores cannot say."""
    warnings: list[str] = []
    if n := found.left_out:
        warnings.append(f"Left out, for they lack repetitions: {n:,} prompt{'s' * (n != 1)}.")
    if other_blocks(found.scores.table):
        seeds = found.scores.table.coupled.shape[1]
        warnings.append(
            f"The scores change at other places than every {seeds} rows, as if a prompt had more "
            "repetitions, or fewer: check their number (--seeds), for all of this depends on it."
        )
    still = [pair for pair in found.pairs if not math.isfinite(pair.savings)]
    if unclear := [f"{pair.model_a} and {pair.model_b}" for pair in still]:
        warnings.append(
            f"The scores of {'; '.join(unclear)} never differed under independent generation, so "
            "that there is nothing to save."
        )
    return tuple(warnings)


def coupling_verdict(found: Coupling, pair: PairSavings) -> str:
    """Return whether coupling saves samples for one pair, as far as its interval allows."""
    return coupling_words(found, pair)[0]


def coupling_details(found: Coupling, pair: PairSavings) -> Markup:
    """Return the other sentences as markup, and what these scores cannot say."""
    rest = coupling_words(found, pair)[1:]
    return listed([*rest, *coupling_warnings(found)], "findings")


def calculator_findings(pair: PairSavings, error: float, repetitions: int, alpha: float) -> Markup:
    """Return how many prompts a difference with this error takes under each protocol.

    Raises
    ------
    ScoreError
        A number is out of range.
    """
    coupled, independent = prompts_needed(pair, error, repetitions, alpha)
    unknown = pair.savings_low <= 0 <= pair.savings_high
    share = (
        " by the estimates: too early to say whether coupling takes fewer"
        if unknown
        else f", {1 - coupled / independent:.0%} fewer by the estimates"
        if 0 < coupled < independent
        else ""
    )
    level = f"{100 * (1 - alpha):.4g}%"
    return Markup(
        f"<p>A {level} interval of ± {error:g} for the difference, with {repetitions} "
        f"answer{'s' * (repetitions > 1)} to each prompt, takes <b>{coupled:,}</b> prompts coupled "
        f"and <b>{independent:,}</b> independent{share}.</p>"
    )


def _savings(pair: PairSavings, alpha: float) -> str:
    names = f"{pair.model_a} and {pair.model_b}"
    if not math.isfinite(pair.savings):
        return f"{names}: the independent difference never varies, so nothing can be saved."
    level = f"{100 * (1 - alpha):.4g}% interval"
    found = f"{pair.savings:.1%} of the samples"
    bounds = f"{pair.savings_low:.1%} to {pair.savings_high:.1%}, {level}"
    if pair.savings_low > 0:
        return f"To compare {names}, coupling saves {found} ({bounds})."
    if pair.savings_high < 0:
        return f"To compare {names}, coupling costs samples: it saves {found} ({bounds})."
    return (
        f"Too early to say whether coupling saves samples to compare {names}: {found} ({bounds})."
    )
