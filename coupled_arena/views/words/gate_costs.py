"""What a candidate changes beside the scores, and what it costs, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.gate.result import CandidateGate, Cost, GateReport
from coupled_arena.core.language import _, filled
from coupled_arena.stats.closeness import Mean
from coupled_arena.views.levels import level


def churn_words(found: GateReport) -> tuple[str, ...]:
    """Return how many answers each candidate changes, beside what independent noise changes."""
    return tuple(text for each in found.candidates for text in _churned(found, each))


def _churned(found: GateReport, candidate: CandidateGate) -> Iterator[str]:
    churn = candidate.churn
    if churn is None:
        return
    text = _(
        "{model} changes the words of {text} of the answers, and what is read from {read} "
        "({level} intervals)."
    )
    yield filled(
        text,
        model=candidate.model,
        text=_share(churn.text),
        read=_share(churn.read),
        level=level(found.settings.alpha),
    )
    if churn.text_alone is None or churn.read_alone is None:
        return
    text = _("Independent noise would change {text} and {read}, by the repetitions.")
    if churn.measured:
        text = _("Independent noise changes {text} and {read}.")
    yield filled(text, text=_share(churn.text_alone), read=_share(churn.read_alone))


def _share(mean: Mean) -> str:
    text = _("{share:.1%} ({low:.1%} to {high:.1%})")
    return filled(text, share=mean.value, low=mean.low, high=mean.high)


def cost_words(found: GateReport) -> tuple[str, ...]:
    """Return what each candidate costs beside the base, as far as it is known."""
    base = found.base_cost
    if base is None:
        return ()
    return tuple(text for each in found.candidates for text in _cost(found.base, base, each))


def _cost(name: str, base: Cost, candidate: CandidateGate) -> Iterator[str]:
    cost = candidate.cost
    if cost is None:
        return
    if cost.bytes_per_weight == base.bytes_per_weight and cost.memory == base.memory:
        pass  # both are as large
    elif cost.memory and base.memory:
        yield filled(
            _("{model} takes {memory:,.0f} MB, {base} {other:,.0f} MB."),
            model=candidate.model,
            base=name,
            memory=cost.memory / 1e6,
            other=base.memory / 1e6,
        )
    elif cost.bytes_per_weight and base.bytes_per_weight:
        yield filled(
            _("{model} takes {each:.2f} bytes per weight, {base} {other:.2f}."),
            model=candidate.model,
            base=name,
            each=cost.bytes_per_weight,
            other=base.bytes_per_weight,
        )
    if cost.tokens_per_second and base.tokens_per_second:
        text = _("{model} writes {speed:,.0f} tokens a second in this run, {base} {other:,.0f}.")
        yield filled(
            text,
            model=candidate.model,
            base=name,
            speed=cost.tokens_per_second,
            other=base.tokens_per_second,
        )
