"""How close two models are, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.closeness import Closeness, LeftOut
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.records import Sampling
from coupled_arena.stats.closeness import Mean
from coupled_arena.views.levels import level
from coupled_arena.views.words.names import pair_named

_NOTABLE = 1e-4  # of untold probability: the last digit that is said


def closeness_words(found: Closeness) -> tuple[str, ...]:
    """Return what the laws say, the most useful first."""
    if found.readings.itself:
        return (_itself(found), _assumed(found))
    return (
        _tokens(found),
        _answers(found),
        *_flips(found),
        *_counted(found),
        _laws(found),
        _divergences(found),
        _assumed(found),
    )


def closeness_verdict(found: Closeness) -> str:
    """Return the first sentence."""
    return closeness_words(found)[0]


def _itself(found: Closeness) -> str:
    length = round(found.readings.lengths.mean())
    text = ngettext(
        "This is {model} against itself: coupled, nothing differs. By independent noise it draws "
        "the same token with probability {same}. Then answers of {length:.0f} token have their "
        "first {common:.1f} in common, and {whole:.1%} of whole answers are identical.",
        "This is {model} against itself: coupled, nothing differs. By independent noise it draws "
        "the same token with probability {same}. Then answers of {length:.0f} tokens have their "
        "first {common:.1f} in common, and {whole:.1%} of whole answers are identical.",
        length,
    )
    return text.format(
        model=found.models[0],
        same=_interval(found.overall.independent, found.alpha),
        length=length,
        common=found.independent.common.value,
        whole=found.independent.identical.value,
    )


def _tokens(found: Closeness) -> str:
    part = found.overall
    text = _(
        "With one noise stream, {names} draw the same token with probability {coupled}. No "
        "coupling can exceed {best:.1%}. Independent noise has {independent:.1%}."
    )
    return text.format(
        names=pair_named(*found.models),
        coupled=_interval(part.coupled, found.alpha),
        best=part.best.value,
        independent=part.independent.value,
    )


def _answers(found: Closeness) -> str:
    coupled, apart, best = found.coupled, found.independent, found.best
    length = round(found.readings.lengths.mean())
    text = ngettext(
        "Answers of {length:.0f} token are expected to have their first {coupled:.1f} tokens in "
        "common, instead of {independent:.1f} by independent noise. {same:.1%} of whole answers "
        "are expected to be identical ({low:.1%} to {high:.1%}), instead of {apart:.1%}. No "
        "coupling can exceed {best:.1%}.",
        "Answers of {length:.0f} tokens are expected to have their first {coupled:.1f} tokens in "
        "common, instead of {independent:.1f} by independent noise. {same:.1%} of whole answers "
        "are expected to be identical ({low:.1%} to {high:.1%}), instead of {apart:.1%}. No "
        "coupling can exceed {best:.1%}.",
        length,
    )
    return text.format(
        length=length,
        coupled=coupled.common.value,
        independent=apart.common.value,
        same=coupled.identical.value,
        low=coupled.identical.low,
        high=coupled.identical.high,
        apart=apart.identical.value,
        best=best.identical.value,
    )


def _flips(found: Closeness) -> Iterator[str]:
    text = _(
        "In a coupled benchmark {share:.1%} of the answers are expected to differ, and only these "
        "can have different scores."
    )
    yield text.format(share=1 - found.coupled.identical.value)


def _counted(found: Closeness) -> Iterator[str]:
    if not found.observed:
        return
    n = len(found.readings.observed)
    text = ngettext(
        "Counted in {n:,} coupled battle: {common:.1f} tokens in common, {same:.1%} of the answers "
        "identical.",
        "Counted in {n:,} coupled battles: {common:.1f} tokens in common, {same:.1%} of the "
        "answers identical.",
        n,
    )
    yield text.format(n=n, common=found.observed.common.value, same=found.observed.identical.value)


def _laws(found: Closeness) -> str:
    part = found.overall
    text = _(
        "The total variation of the two laws is {distance} on average. {top:.1%} of the "
        "likeliest tokens are the same."
    )
    return text.format(
        distance=_interval(part.total_variation, found.alpha), top=part.same_top.value
    )


def _divergences(found: Closeness) -> str:
    part = found.overall
    whole = _(
        "KL divergence over the whole vocabulary: {kl:.3g} nats from {first} to {second}, "
        "{reverse:.3g} back."
    ).format(
        kl=part.kl.value,
        reverse=part.kl_reverse.value,
        first=found.models[0],
        second=found.models[1],
    )
    if not part.infinite.value and not part.infinite_reverse.value:
        return whole
    kept = _(
        "With top-k and top-p it is infinite at {share:.1%} and {back:.1%} of the tokens, because "
        "one model excludes what the other may draw."
    ).format(share=part.infinite.value, back=part.infinite_reverse.value)
    return f"{whole} {kept}"


def _assumed(found: Closeness) -> str:
    readings = found.readings
    n, prompts = len(readings.answers), len({each.cluster for each in readings.answers})
    text = _(
        "This is computed from {answers} to {prompts}, at {sampling}. It holds for prompts like "
        "these, this sampling, and noise for each token by Gumbel-max."
    )
    if any(each.turn for each in readings.answers):
        text = _(
            "This is computed from {answers} in conversations that begin with {prompts}, at "
            "{sampling}. It holds for conversations like these, this sampling, and noise for each "
            "token by Gumbel-max."
        )
    return text.format(
        answers=ngettext("{n:,} answer", "{n:,} answers", n).format(n=n),
        prompts=ngettext("{n:,} prompt", "{n:,} prompts", prompts).format(n=prompts),
        sampling=sampling_words(readings.sampling),
    )


def sampling_words(sampling: Sampling) -> str:
    """Return how tokens are drawn, in a few words."""
    parts = [_("temperature {value:g}").format(value=sampling.temperature)]
    if sampling.temperature and sampling.top_k:
        parts.append(_("top-k {value}").format(value=sampling.top_k))
    if sampling.temperature and sampling.top_p < 1:
        parts.append(_("top-p {value:g}").format(value=sampling.top_p))
    return ", ".join(parts)


def closeness_warnings(found: Closeness) -> tuple[str, ...]:
    """Return what was left out, and what the figures cannot say."""
    return tuple(_warnings(found))


def _warnings(found: Closeness) -> Iterator[str]:
    readings = found.readings
    if n := readings.left_out.get(LeftOut.OTHER_TEXT, 0):
        text = ngettext(
            "Left out: {n:,} answer with tokens that do not spell its text. Another version of the "
            "model wrote it.",
            "Left out: {n:,} answers with tokens that do not spell their text. Another version of "
            "the model wrote them.",
            n,
        )
        yield text.format(n=n)
    if n := readings.left_out.get(LeftOut.UNREADABLE, 0):
        text = ngettext(
            "Left out: {n:,} answer to a conversation that one of the models cannot read.",
            "Left out: {n:,} answers to conversations that one of the models cannot read.",
            n,
        )
        yield text.format(n=n)
    if n := sum(not each.drawn_so for each in readings.answers):
        text = ngettext(
            "{n:,} answer was drawn with other settings. What is expected of whole answers is an "
            "approximation there.",
            "{n:,} answers were drawn with other settings. What is expected of whole answers is an "
            "approximation there.",
            n,
        )
        yield text.format(n=n)
    if found.overall.untold > _NOTABLE:
        text = _(
            "A server tells only of the likeliest tokens: up to {share:.2%} of the probability is "
            "unknown. The total variation may be lower by as much. The agreement from one noise "
            "stream may be higher by twice as much."
        )
        yield text.format(share=found.overall.untold)
    if len({each.cluster for each in readings.answers}) < 2:
        yield _("All answers are to one prompt, so nothing can be said of other prompts.")


def _interval(mean: Mean, alpha: float) -> str:
    text = _("{value:.1%} ({low:.1%} to {high:.1%}, {level} interval)")
    return text.format(value=mean.value, low=mean.low, high=mean.high, level=level(alpha))
