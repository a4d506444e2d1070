"""The texts of an audit for each kind of truth: people's votes, or a benchmark's key."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.core.choices import Truth
from coupled_arena.core.language import N_, _, ngettext


@dataclass(frozen=True)
class _Texts:
    """Sentences first, then what figures say; each field says one thing of either truth."""

    worthless: str
    worth: str
    worth_unbounded: str
    frontier: str
    more: str
    less: str
    safe: str
    unsafe: str
    agreement: str
    constant: str
    against: str
    counted: str
    scores: str
    below_above: str
    worth_title: str
    correlation: str
    without: str
    same: str
    powered: str
    alone: str
    rate: str


_TEXTS = {
    Truth.VOTES: _Texts(
        worthless=N_(
            "Too early to say what the verdicts of {judge} are worth. Nothing in these {n:,} "
            "comparisons differs from chance."
        ),
        worth=N_(
            "With {judge}, 10 human votes tell as much as {worth} without it, at most ({low} to "
            "{high}, medians of the models' {level} intervals)."
        ),
        worth_unbounded=N_(
            "With {judge}, 10 human votes tell as much as {worth} without it, at most, with "
            "unknown certainty."
        ),
        frontier=N_(
            "{models}: the judge agrees with people no more often than people prefer the model. "
            "No number of verdicts can double the worth of a vote."
        ),
        more=N_(
            "Its largest bias: it prefers {model} {points:.1f} points more often than people do "
            "({low:+.1f} to {high:+.1f}, {level} interval)."
        ),
        less=N_(
            "Its largest bias: it prefers {model} {points:.1f} points less often than people do "
            "({low:+.1f} to {high:+.1f}, {level} interval)."
        ),
        safe=N_(
            "By the estimates, the judge alone would rank the models as people do. The two "
            "closest models are {gap} points apart, more than twice that bias."
        ),
        unsafe=N_(
            "The judge alone may rank the models in another order than people. The two closest "
            "models are {gap} points apart."
        ),
        agreement=N_(
            "Judge and people say the same of {share:.1%} of the {n:,} comparisons that have both."
        ),
        constant=N_(
            "The judge, or people, always said the same of {models}, so the correlation is unknown."
        ),
        against=N_("judge {judge} against people's votes"),
        counted=N_("{n:,} comparisons with both"),
        scores=N_("judge {judge:.1%}, people {truth:.1%}"),
        below_above=N_("Judge below people, above"),
        worth_title=N_("What 10 human votes tell with the judge"),
        correlation=N_("correlation with people {rho:.2f}"),
        without=N_("Human votes without the judge"),
        same=N_("Same as people"),
        powered=N_("Win rates with the judge"),
        alone=N_("people alone"),
        rate=N_("Win rates"),
    ),
    Truth.BENCHMARK: _Texts(
        worthless=N_(
            "Too early to say what the verdicts of {judge} are worth. Nothing in these {n:,} "
            "answers differs from chance."
        ),
        worth=N_(
            "With {judge}, 10 checked answers tell as much as {worth} without it, at most ({low} "
            "to {high}, medians of the models' {level} intervals)."
        ),
        worth_unbounded=N_(
            "With {judge}, 10 checked answers tell as much as {worth} without it, at most, with "
            "unknown certainty."
        ),
        frontier=N_(
            "{models}: the judge knows the right answer no more often than the model does. No "
            "number of its grades can double the worth of a checked answer."
        ),
        more=N_(
            "Its largest bias: it calls {model} right {points:.1f} points more often than the "
            "benchmark does ({low:+.1f} to {high:+.1f}, {level} interval)."
        ),
        less=N_(
            "Its largest bias: it calls {model} right {points:.1f} points less often than the "
            "benchmark does ({low:+.1f} to {high:+.1f}, {level} interval)."
        ),
        safe=N_(
            "By the estimates, the judge alone would rank the models as the benchmark does. The "
            "two closest models are {gap} points apart, more than twice that bias."
        ),
        unsafe=N_(
            "The judge alone may rank the models in another order than the benchmark. The two "
            "closest models are {gap} points apart."
        ),
        agreement=N_(
            "Judge and benchmark say the same of {share:.1%} of the {n:,} answers that have both."
        ),
        constant=N_(
            "The judge, or the benchmark, always said the same of {models}, so the correlation is "
            "unknown."
        ),
        against=N_("judge {judge} against a benchmark"),
        counted=N_("{n:,} answers with both"),
        scores=N_("judge {judge:.1%}, the benchmark {truth:.1%}"),
        below_above=N_("Judge below the benchmark, above"),
        worth_title=N_("What 10 checked answers tell with the judge"),
        correlation=N_("correlation with the benchmark {rho:.2f}"),
        without=N_("Checked answers without the judge"),
        same=N_("Same as the benchmark"),
        powered=N_("Right answers with the judge"),
        alone=N_("the benchmark alone"),
        rate=N_("Right answers"),
    ),
}


def by_truth(audit: Audit, name: str, **values: object) -> str:
    """Return a text of an audit by its name, in the language in force."""
    text: str = getattr(_TEXTS[audit.estimates.truth], name)
    return _(text).format(**values)


def few_prompts(audit: Audit, n: int) -> str:
    """Return that all labels are on so few prompts."""
    if audit.estimates.truth is Truth.VOTES:
        text = ngettext(
            "All votes are on {n} prompt, so the intervals say little about other prompts.",
            "All votes are on {n} prompts, so the intervals say little about other prompts.",
            n,
        )
    else:
        text = ngettext(
            "All checked answers are on {n} prompt, so the intervals say little about other "
            "prompts.",
            "All checked answers are on {n} prompts, so the intervals say little about other "
            "prompts.",
            n,
        )
    return text.format(n=n)
