"""What coupling saves, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from coupled_arena.analysis.coupling.savings import Coupling, prompts_needed
from coupled_arena.core.language import _, filled, ngettext, number
from coupled_arena.stats.coupling.score_tables import PairSavings, other_blocks
from coupled_arena.views.levels import level
from coupled_arena.views.markup import bold, listed, paragraph, worded
from coupled_arena.views.words.names import pair_named


def coupling_words(found: Coupling, pair: PairSavings) -> tuple[str, ...]:
    """Return what one pair's scores say, the most useful first."""
    return _savings(pair, found.alpha), _differences(pair), _identity(pair)


def coupling_warnings(found: Coupling) -> tuple[str, ...]:
    """Return what was left out, and what these scores cannot say."""
    warnings: list[str] = []
    if n := found.left_out:
        left_out = ngettext(
            "Left out because repetitions are missing: {n:,} prompt.",
            "Left out because repetitions are missing: {n:,} prompts.",
            n,
        )
        warnings.append(left_out.format(n=n))
    if other_blocks(found.scores.table):
        elsewhere = _(
            "The scores change at other places than every {seeds} rows. Check the number of "
            "repetitions of a prompt (--seeds): every result here depends on it."
        )
        warnings.append(elsewhere.format(seeds=found.scores.table.coupled.shape[1]))
    if still := [pair for pair in found.pairs if not math.isfinite(pair.savings)]:
        unclear = _(
            "The scores of {pairs} never differed under independent generation, so nothing can be "
            "saved."
        )
        names = [pair_named(pair.model_a, pair.model_b) for pair in still]
        warnings.append(unclear.format(pairs="; ".join(names)))
    return tuple(warnings)


def coupling_verdict(found: Coupling, pair: PairSavings) -> str:
    """Return whether coupling saves samples for one pair, and how much it saves for all pairs."""
    return " ".join([coupling_words(found, pair)[0], *_range(found, pair)])


def _range(found: Coupling, pair: PairSavings) -> Iterator[str]:
    """Say what coupling saves for all pairs: one pair alone may have been picked for its result."""
    known = [each for each in found.by_saving if math.isfinite(each.savings)]
    if len(known) < 2:
        return
    if pair is known[0]:
        text = _(
            "This pair has the largest saving of {n} pairs; the range is {low:.1%} to {high:.1%}."
        )
    else:
        text = _("The savings of all {n} pairs range from {low:.1%} to {high:.1%}.")
    yield filled(text, n=len(known), low=known[-1].savings, high=known[0].savings)


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
    answers = ngettext("{n} answer", "{n} answers", repetitions).format(n=repetitions)
    needed = _(
        "With {answers} to each prompt, a {level} interval of ± {error:g} for the difference takes "
        "{coupled} prompts coupled and {independent} independent."
    )
    text = worded(
        needed,
        answers=answers,
        level=level(alpha),
        error=error,
        coupled=bold(number(coupled, ",")),
        independent=bold(number(independent, ",")),
    )
    return paragraph(Markup(" ").join([text, *_fewer(pair, coupled, independent)]))


def _fewer(pair: PairSavings, coupled: int, independent: int) -> Iterator[str]:
    """Say whether coupling takes fewer prompts, as far as the interval allows."""
    if pair.savings_low <= 0 <= pair.savings_high:
        yield _("It is too early to say whether coupling takes fewer.")
    elif 0 < coupled < independent:
        text = _("By the estimates, coupling takes {share:.0%} fewer.")
        yield text.format(share=1 - coupled / independent)


def _savings(pair: PairSavings, alpha: float) -> str:
    if not math.isfinite(pair.savings):
        text = _("{names}: the independent difference never varies, so nothing can be saved.")
    elif pair.savings_low > 0:
        text = _(
            "To compare {names}, coupling saves {share:.1%} of the samples ({low:.1%} to "
            "{high:.1%}, {level} interval)."
        )
    elif pair.savings_high < 0:
        text = _(
            "To compare {names}, coupling costs samples: it saves {share:.1%} of the samples "
            "({low:.1%} to {high:.1%}, {level} interval)."
        )
    elif pair.too_few_prompts:
        text = _(
            "Too few prompts to say whether coupling saves samples to compare {names}: the "
            "estimate of {share:.1%} has no lower bound at {level}."
        )
    else:
        text = _(
            "Too early to say whether coupling saves samples to compare {names}: {share:.1%} of "
            "the samples ({low:.1%} to {high:.1%}, {level} interval)."
        )
    return text.format(
        names=pair_named(pair.model_a, pair.model_b),
        share=pair.savings,
        low=pair.savings_low,
        high=pair.savings_high,
        level=level(alpha),
    )


def _differences(pair: PairSavings) -> str:
    return _(
        "Their scores differ by {coupled:+.4f} ± {coupled_error:.4f} coupled and "
        "{independent:+.4f} ± {independent_error:.4f} independent (standard errors, clustered by "
        "prompt)."
    ).format(
        coupled=pair.difference_coupled,
        coupled_error=pair.difference_error_coupled,
        independent=pair.difference_independent,
        independent_error=pair.difference_error_independent,
    )


def _identity(pair: PairSavings) -> str:
    gap, error = pair.identity_gap, pair.identity_gap_error
    if abs(gap) <= 3 * error:
        text = _(
            "Proposition 1 within prompts: independent variance minus coupled variance minus "
            "twice the covariance is {gap:+.4f} ± {error:.4f}, as chance allows."
        )
    else:
        text = _(
            "Proposition 1 within prompts: independent variance minus coupled variance minus "
            "twice the covariance is {gap:+.4f} ± {error:.4f}, more than chance explains."
        )
    return text.format(gap=gap, error=error)
