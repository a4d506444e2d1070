"""What the figures of an audit say, by what the judge is held against."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.core.choices import Truth
from coupled_arena.core.language import N_, _


@dataclass(frozen=True)
class _Texts:
    against: str
    counted: str
    scores: str
    below_above: str
    worth: str
    correlation: str
    without: str
    same: str
    powered: str
    alone: str
    rate: str


_TEXTS = {
    Truth.VOTES: _Texts(
        against=N_("judge {judge} against people's votes"),
        counted=N_("{n:,} comparisons with both"),
        scores=N_("judge {judge:.1%}, people {truth:.1%}"),
        below_above=N_("Judge below people, above"),
        worth=N_("Worth of 10 human votes"),
        correlation=N_("correlation with people {rho:.2f}"),
        without=N_("Human votes without the judge"),
        same=N_("Same as people"),
        powered=N_("Win rates with the judge"),
        alone=N_("people alone"),
        rate=N_("Win rates"),
    ),
    Truth.BENCHMARK: _Texts(
        against=N_("judge {judge} against a benchmark"),
        counted=N_("{n:,} answers with both"),
        scores=N_("judge {judge:.1%}, the benchmark {truth:.1%}"),
        below_above=N_("Judge below the benchmark, above"),
        worth=N_("Worth of 10 checked answers"),
        correlation=N_("correlation with the benchmark {rho:.2f}"),
        without=N_("Checked answers without the judge"),
        same=N_("Same as the benchmark"),
        powered=N_("Right answers with the judge"),
        alone=N_("the benchmark alone"),
        rate=N_("Right answers"),
    ),
}


def said(audit: Audit, name: str, **values: object) -> str:
    """Return what an audit's figures say, in the language in force."""
    text: str = getattr(_TEXTS[audit.estimates.truth], name)
    return _(text).format(**values)
