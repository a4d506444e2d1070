"""Who judges, what it answered, and what judging may cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from coupled_arena.core.records import Outcome, Swap
from coupled_arena.core.verdicts import Probabilities, Question
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


# The budget.


_FIRST_GUESS = 0.4  # tokens a character, before the server has counted any


@dataclass(frozen=True)
class Budget:
    """Limits of one run, and prices per million tokens; None is no limit."""

    tokens: int | None = None
    money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """Return the price of so many tokens."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6


class BudgetAccount:
    """Keeps account of a run, questions in flight included, so that no limit is passed.

    Parameters
    ----------
    overhead : int
        Characters of a question besides its texts.
    max_tokens : int
        Longest answer: what a question in flight is reckoned with.
    """

    def __init__(self, budget: Budget, overhead: int, max_tokens: int) -> None:
        self._budget = budget
        self._overhead = overhead
        self._max_tokens = max_tokens
        self._characters = 0  # of the questions whose tokens have been counted
        self._counted = 0
        self._reserved_in = 0.0
        self._reserved_out = 0
        self.tokens_in = 0
        self.tokens_out = 0

    @property
    def cost(self) -> float:
        """What has been spent."""
        return self._budget.cost(self.tokens_in, self.tokens_out)

    def reserve(self, question: Question) -> float | None:
        """Set aside what a question may cost; return its tokens, None if there is not enough."""
        expected = self._expected(question)
        tokens_in = self.tokens_in + self._reserved_in + expected
        tokens_out = self.tokens_out + self._reserved_out + self._max_tokens
        budget = self._budget
        if budget.tokens is not None and tokens_in + tokens_out > budget.tokens:
            return None
        if budget.money is not None and budget.cost(tokens_in, tokens_out) > budget.money:
            return None
        self._reserved_in += expected
        self._reserved_out += self._max_tokens
        return expected

    def settle(self, question: Question, reserved: float, answer: Answer | None) -> None:
        """Replace what was set aside by what an answer cost, or by nothing."""
        self._reserved_in -= reserved
        self._reserved_out -= self._max_tokens
        if answer is None:
            return
        # A server that does not count is reckoned by the characters.
        self.tokens_in += answer.tokens_in or round(reserved)
        self.tokens_out += answer.tokens_out or len(answer.raw)
        if answer.tokens_in:
            self._characters += self._size(question)
            self._counted += answer.tokens_in

    def _expected(self, question: Question) -> float:
        rate = self._counted / self._characters if self._counted else _FIRST_GUESS
        return rate * self._size(question)

    def _size(self, question: Question) -> int:
        return self._overhead + sum(map(len, question.texts))
