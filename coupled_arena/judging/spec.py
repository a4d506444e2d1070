"""Who judges, and what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from coupled_arena.core.records import Outcome, Swap
from coupled_arena.core.verdicts import Probabilities
from coupled_arena.judging.answer import GRADE, VERDICT, VERDICT_OR_BOTH_BAD, Ballot
from coupled_arena.judging.prompt import LAYOUT, JudgePrompt


@dataclass(frozen=True)
class JudgeSpec:
    """Who judges: verdicts of two that differ in anything here are never pooled.

    Attributes
    ----------
    temperature : float or None
        None leaves it to the server, for models that take no temperature.
    max_tokens : int
        Longest answer, thinking included.
    both_bad : bool
        Whether the judge may say that neither answer is of any use.
    reasons : bool
        Whether it gives its reason before each verdict.
    grades : bool
        Whether it is asked if single answers are right, rather than which of two is better.
    """

    name: str
    model: str
    prompt: JudgePrompt
    temperature: float | None = 0.0
    max_tokens: int = 256
    swap: Swap = Swap.BOTH
    both_bad: bool = False
    reasons: bool = False
    grades: bool = False

    @property
    def ballot(self) -> Ballot:
        """What it may answer."""
        if self.grades:
            return GRADE
        return replace(VERDICT_OR_BOTH_BAD if self.both_bad else VERDICT, reasons=self.reasons)

    @property
    def binding(self) -> tuple[str, str, str, str]:
        """Its name, and what the name stands for: model, hash of the prompt, sampling."""
        return self.name, self.model, self.prompt.sha256, self.sampling

    @property
    def sampling(self) -> str:
        """All of it that is not model or prompt, as JSON."""
        asked = {"grades": True} if self.grades else {"reasons": True} if self.reasons else {}
        compared = {} if self.grades else {"swap": self.swap.value, "both_bad": self.both_bad}
        length = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return json.dumps({**length, **asked, **compared, "layout": LAYOUT}, sort_keys=True)


@dataclass(frozen=True)
class Answer:
    """What a judge answered.

    Attributes
    ----------
    outcome : Outcome, bool or None
        Who is better, or whether an answer is right; None: unreadable.
    raw : str
        The answer, cut if it is long.
    probability : float or None
        Of this label among all labels, where the server tells.
    tokens_in, tokens_out : int
        As counted by the server, 0 where it does not.
    probabilities : Probabilities or None
        Of all ways to decide, where the server tells; None of a grade.
    """

    outcome: Outcome | bool | None
    raw: str
    probability: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    probabilities: Probabilities | None = None
