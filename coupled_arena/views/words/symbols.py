"""What an audit calls things, by what the judge is held against."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.analysis.audit.read import Truth
from coupled_arena.analysis.audit.result import Audit


@dataclass(frozen=True)
class Symbols:
    """Words for the truth, its labels, and what they are given to.

    Attributes
    ----------
    source : str
        Who knows the truth.
    does : str
        The verb that goes with it.
    label : str
        One label of the truth.
    labels : str
        Several, in short.
    many : str
        What is labelled.
    rate : str
        b as a figure's title has it.
    favours : str
        What the judge does when it labels an answer as a win.
    """

    source: str
    does: str
    label: str
    labels: str
    many: str
    rate: str
    favours: str


_SYMBOLS = {
    Truth.VOTES: Symbols(
        *("people", "do", "human vote", "votes", "comparisons", "Win rates"),
        "prefers this model",
    ),
    Truth.BENCHMARK: Symbols(
        *("the benchmark", "does", "checked answer", "checked answers", "answers", "Right answers"),
        "calls this model's answers right",
    ),
}


def symbols(audit: Audit) -> Symbols:
    """Return what to call an audit's votes and comparisons."""
    return _SYMBOLS[audit.estimates.truth]
