"""How a benchmark's questions are put: in the task's own words, or in somebody else's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.tasks.task import Item

PROBLEM = "{problem}"
"""Stands for what the benchmark itself has of a question: of a program, its stub."""


@dataclass(frozen=True)
class Wording:
    """What takes the place of a task's own words; None leaves them as they are.

    Attributes
    ----------
    system : str or None
        The system prompt; empty for none.
    question : str or None
        What is asked, with `PROBLEM` in it.
    answer_prefix : str or None
        The words with which each answer begins, maybe with `PROBLEM` in them; empty for none.

    Raises
    ------
    TaskError
        The question holds no problem, so that all questions would be the same.
    """

    system: str | None = None
    question: str | None = None
    answer_prefix: str | None = None

    def __post_init__(self) -> None:
        """Check the question."""
        if self.question is not None and PROBLEM not in self.question:
            raise TaskError(f"The question needs {PROBLEM}, where the benchmark's own stands.")

    def of(self, item: Item) -> Item:
        """Return a question of a benchmark in these words."""
        return replace(item, prompt=self.of_prompt(item.prompt, item.problem))

    def of_prompt(self, prompt: Prompt, problem: str) -> Prompt:
        """Return a prompt in these words."""
        given = {"system": self.system, "text": self.question, "prefix": self.answer_prefix}
        words = {
            # The system prompt opens a conversation, and knows no problem.
            name: text if name == "system" else text.replace(PROBLEM, problem)
            for name, text in given.items()
            if text is not None
        }
        return replace(prompt, **words)
