"""What judging may cost, and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.core.verdicts import Question
from coupled_arena.judging.spec import Answer

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
    budget : Budget
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
