"""What a gate found, in sentences: no more than its bounds hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

from coupled_arena.analysis.gate.plan import GatePlan, PromptsNeeded
from coupled_arena.analysis.gate.result import BOARD, CandidateGate, GateReport
from coupled_arena.core.choices import Look, Measure
from coupled_arena.core.language import N_, _, filled, ngettext, number
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.stats.gate.planning import MOST
from coupled_arena.views.levels import level
from coupled_arena.views.words.names import rounded

_DIGITS = 4  # of a share of the scores' range
_SEVERAL = 2  # prompts with several answers; of fewer nothing follows
_VERDICTS = {
    Verdict.AS_GOOD: N_("as good"),
    Verdict.BETTER: N_("better"),
    Verdict.WORSE: N_("worse"),
    Verdict.UNKNOWN: N_("cannot tell"),
}


def verdict_name(verdict: Verdict) -> str:
    """Return a verdict in the language in force."""
    return _(_VERDICTS[verdict])


def gate_words(found: GateReport) -> tuple[str, ...]:
    """Return what is known of each candidate, and how it was found."""
    return tuple(_all(found))


def gate_verdict(found: GateReport, candidate: CandidateGate) -> str:
    """Return what is known of one candidate, in a sentence or two."""
    if found.lacks(candidate):
        return filled(
            _(
                "It is not said whether {model} is as good as {base}: {share:.1%} of the prompts "
                "lack an answer of one of them, more than {most:.1%}. Those may be the hard ones. "
                "Answer them, or raise --most-missing."
            ),
            model=candidate.model,
            base=found.base,
            share=candidate.missing,
            most=found.settings.most_missing,
        )
    seen = round(candidate.difference, _DIGITS)  # of scores that are equal, sums may differ
    texts = {
        Verdict.AS_GOOD: _as_good(seen),
        Verdict.BETTER: _("{model} is better than {base} by {metric}."),
        Verdict.WORSE: _("{model} is worse than {base}: by {metric} it loses more than {margin}."),
        Verdict.UNKNOWN: _(
            "It is too early to say whether {model} is as good as {base} by {metric}, with a "
            "margin of {margin}."
        ),
    }
    return filled(
        texts[candidate.verdict],
        model=candidate.model,
        base=found.base,
        metric=found.metric,
        margin=_size(found, found.settings.margin),
        difference=_size(found, abs(seen)),
    )


def _as_good(seen: float) -> str:
    """Say in which direction two models differ that count as equally good."""
    if seen > 0:
        return _(
            "{model} is as good as {base}. By {metric} it is {difference} better, and a loss of "
            "{margin} or more is ruled out."
        )
    if seen < 0:
        return _(
            "{model} is as good as {base}. By {metric} it is {difference} worse, and a loss of "
            "{margin} or more is ruled out."
        )
    return _(
        "{model} is as good as {base}. By {metric} the two are equal, and a loss of {margin} or "
        "more is ruled out."
    )


def _all(found: GateReport) -> Iterator[str]:
    for each in found.candidates:
        yield gate_verdict(found, each)
        yield _difference(found, each)
        yield from _when(found, each)
    if found.judged > 1:
        yield filled(
            _(
                "All of this holds for the {k} candidates together: the chance of any wrong "
                "“as good” is at most {alpha:g}."
            ),
            k=found.judged,
            alpha=found.settings.alpha,
        )
    if found.measure is Measure.VOTES:
        return
    if any(each.uneven for each in found.candidates):
        yield _groups(found)
    if found.settings.look is Look.ALWAYS:
        yield filled(
            _(
                "The prompts came in the random order of seed {seed}. You may look, and stop, at "
                "any time."
            ),
            seed=found.settings.seed,
        )
    else:
        yield _("This holds for one look at all prompts, decided on beforehand.")


def _groups(found: GateReport) -> str:
    """Say what counts once where groups have different numbers of prompts."""
    if found.settings.largest_group is None:
        return _("Each group counts once, however many prompts it has.")
    return filled(
        _(
            "Each prompt counts the same. This holds if no group anywhere has more than {n:,} "
            "prompts."
        ),
        n=found.settings.largest_group,
    )


def _difference(found: GateReport, candidate: CandidateGate) -> str:
    text = _("The difference is {difference} ({low} to {high}). Each bound holds at {level}.")
    return filled(
        text,
        difference=_signed(found, candidate.difference),
        low=_signed(found, candidate.low),
        high=_signed(found, candidate.high),
        level=level(found.settings.alpha / found.judged),
    )


def _when(found: GateReport, candidate: CandidateGate) -> Iterator[str]:
    """Say when it was known, or how many more it takes."""
    if found.lacks(candidate):
        return
    if candidate.verdict is not Verdict.UNKNOWN:
        if candidate.known_after and found.settings.look is Look.ALWAYS:
            groups = candidate.units < candidate.prompts
            if candidate.verdict is Verdict.BETTER:
                text = _("That it is as good was known after {n:,} of {all:,} prompts.")
                if groups:
                    text = _("That it is as good was known after {n:,} of {all:,} groups.")
            elif groups:
                text = _("That was known after {n:,} of {all:,} groups of prompts.")
            else:
                text = _("That was known after {n:,} of {all:,} prompts.")
            yield filled(text, n=candidate.known_after, all=candidate.units)
        return
    if candidate.further is None:
        yield _("More data will hardly tell: the difference is too close to the margin.")
        return
    n = rounded(candidate.further)
    if candidate.method == BOARD:
        text = ngettext(
            "About {n:,} more vote will probably tell.",
            "About {n:,} more votes will probably tell.",
            n,
        )
    elif candidate.units < candidate.prompts:
        text = ngettext(
            "About {n:,} more group of prompts will probably tell.",
            "About {n:,} more groups of prompts will probably tell.",
            n,
        )
    else:
        text = ngettext(
            "About {n:,} more prompt will probably tell.",
            "About {n:,} more prompts will probably tell.",
            n,
        )
    yield filled(text, n=n)


def _size(found: GateReport, share: float) -> str:
    """Return a size in the unit of the scores."""
    return number(share * found.width, ".3g")


def _signed(found: GateReport, share: float) -> str:
    digits = max(_DIGITS - math.floor(math.log10(found.width)), 0)
    return number(share * found.width, f"+.{digits}f")


def coupling_words(found: GateReport) -> tuple[str, ...]:
    """Return what shared noise saved, or would save, as far as repetitions tell."""
    return tuple(text for each in found.candidates for text in _coupling(found, each))


def _coupling(found: GateReport, candidate: CandidateGate) -> Iterator[str]:
    worth = candidate.worth
    # In a repetition two scores vary together by shared noise alone, whatever the file says of it.
    if worth is not None and (found.coupled or worth.low > 0):
        if worth.low > 0:
            text = _(
                "Shared noise saves {saved:.0%} of the prompts for {model} ({low:.0%} to "
                "{high:.0%}), by the spread of the answers."
            )
        else:
            text = _(
                "It is too early to say whether shared noise saves prompts for {model}: "
                "{saved:.0%} ({low:.0%} to {high:.0%})."
            )
        yield filled(
            text,
            saved=worth.saved,
            model=candidate.model,
            low=max(worth.low, -1.0),
            high=worth.high,
        )
    elif worth is not None:
        yield filled(
            _(
                "Coupled answers of {model} could save up to {most:.0%} of the prompts: that much "
                "of the spread is luck of single answers."
            ),
            model=candidate.model,
            most=max(worth.most, 0.0),
        )
    if candidate.independent:
        yield from _measured(found, candidate)


def _measured(found: GateReport, candidate: CandidateGate) -> Iterator[str]:
    """Say what answers without shared noise told in the same order."""
    if found.settings.look is Look.ONCE:
        return
    if candidate.independent_after:
        text = _("Answers without shared noise, in the same order, told after {n:,} prompts.")
        yield filled(text, n=candidate.independent_after)
    else:
        yield _("Answers without shared noise, in the same order, did not tell.")


def gate_warnings(found: GateReport) -> tuple[str, ...]:
    """Return what was left out, and what these data cannot say."""
    warnings = [*found.notes]
    few = found.measure is not Measure.VOTES and not found.coupled
    if few and all(each.worth is None for each in found.candidates):
        text = _(
            "Nothing says that these answers are coupled. Two answers to each prompt would "
            "tell what coupling saves."
        )
        if any(each.repeated >= _SEVERAL for each in found.candidates):
            text = _(
                "Nothing says that these answers are coupled. What coupling saves is not known: "
                "the scores of the answers to a prompt vary too little."
            )
        warnings.append(text)
    return tuple(warnings)


_PROTOCOLS = {
    "coupled": N_("Coupled answers"),
    "independent": N_("Independent answers"),
    "as here": N_("Answers as in the pilot"),
}


def protocol_name(protocol: str) -> str:
    """Return how answers are made, in the language in force."""
    return _(_PROTOCOLS[protocol])


def gate_plan_words(plan: GatePlan) -> tuple[str, ...]:
    """Return how many prompts a gate takes, each protocol in a sentence."""
    aim = _(
        "Planned: the gate shows with probability {power:g} that {model} is as good as {base} "
        "within {margin:g}, if it is."
    )
    aim = filled(aim, model=plan.candidate, base=plan.base, power=plan.power, margin=plan.margin)
    if plan.answers_read:
        return aim, *_by_closeness(plan), *map(_range, plan.needed), *_minutes(plan)
    pilot = ngettext(
        "The pilot has {n:,} prompt. A larger one makes the range narrower.",
        "The pilot has {n:,} prompts. A larger one makes the range narrower.",
        plan.prompts,
    )
    if plan.groups < plan.prompts:
        pilot = ngettext(
            "The pilot has {n:,} prompts in {groups:,} group. More groups make the range narrower.",
            "The pilot has {n:,} prompts in {groups:,} groups. More groups make the range "
            "narrower.",
            plan.groups,
        )
    pilot = filled(pilot, n=plan.prompts, groups=plan.groups)
    return aim, *map(_range, plan.needed), *_minutes(plan), pilot


def _by_closeness(plan: GatePlan) -> Iterator[str]:
    """Say what is known before anything is scored."""
    text = ngettext(
        "This is by how close the two are, in {n:,} answer that both have read.",
        "This is by how close the two are, in {n:,} answers that both have read.",
        plan.answers_read,
    )
    yield filled(text, n=plan.answers_read)
    yield _(
        "Only answers that differ can have other scores. At least none of them have, likely half, "
        "and at most all."
    )


def _minutes(plan: GatePlan) -> Iterator[str]:
    """Say how long the prompts of each protocol take, at the pace of a stored run."""
    if plan.seconds is None:
        return
    for each in plan.needed:
        least, most = plan.minutes(each.least), plan.minutes(each.most)
        if least is None:
            continue
        text = _(
            "{answers}: about {least:,.0f} minutes, or many more, at the pace of the stored run."
        )
        if most is not None:
            text = _(
                "{answers}: about {least:,.0f} to {most:,.0f} minutes, at the pace of the stored "
                "run."
            )
        yield filled(text, answers=protocol_name(each.protocol), least=least, most=most)


def _range(needed: PromptsNeeded) -> str:
    least, most = (None if n is None else rounded(n) for n in (needed.least, needed.most))
    if least is None:
        text = _("{answers}: more than {limit:,} prompts.")
    elif most is None:
        text = _("{answers}: {least:,} prompts, or many more.")
    else:
        text = _("{answers}: {least:,} to {most:,} prompts.")
    name = protocol_name(needed.protocol)
    return filled(text, answers=name, least=least, most=most, limit=MOST)
