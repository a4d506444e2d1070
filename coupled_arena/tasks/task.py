"""What a benchmark is: questions with references, a score for each answer, and other wordings.

No benchmark is known here by name; each has a module of its own, `registry` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt

DRAWN_AS_PUBLISHED: Mapping[str, float] = MappingProxyType(
    {"temperature": 0.7, "top_k": 0, "top_p": 1.0}
)
"""How the coupling paper draws answers to benchmarks: entries of `[sampling]`."""


@dataclass(frozen=True)
class Item:
    """One question of a benchmark.

    Attributes
    ----------
    prompt : Prompt
        With the task's system prompt and response prefix, a stable id, and the subject as its
        category.
    reference : str
        What an answer is compared with.
    """

    prompt: Prompt
    reference: str

    @property
    def problem(self) -> str:
        """The question as the benchmark has it, without words of the task around it."""
        return self.prompt.text


@dataclass(frozen=True)
class Graded:
    """The score of one answer.

    Attributes
    ----------
    score : float
        1 right, 0 wrong or unreadable.
    read : str or None
        The answer as it was read from the reply; None where none could be.
    note : str
        Why a program failed, in a few words.
    """

    score: float
    read: str | None
    note: str = ""


class Task(ABC):
    """One benchmark.

    Attributes
    ----------
    name : str
        As the command line knows it.
    max_new_tokens : int
        Room for an answer, unless somebody asks for another.
    published : mapping of str to str
        Data sets on the hub that have this task, and the file of each that holds the test split.
    """

    name: ClassVar[str]
    max_new_tokens: ClassVar[int]
    published: ClassVar[Mapping[str, str]] = {}

    def ready(self) -> None:  # noqa: B027 - most tasks need nothing
        """Raise TaskError where this machine cannot score the answers."""

    @abstractmethod
    def read(self, path: Path) -> tuple[Item, ...]:
        """Return the questions of a file in the published format.

        Raises
        ------
        TaskError
            The file cannot be read, or a line of it is not a question of this task.
        """

    @abstractmethod
    def score(self, item: Item, reply_text: str) -> Graded:
        """Score what a model said after the response prefix, to which it belongs.

        Several threads may call this.

        Raises
        ------
        TaskError
            This machine cannot score the answers.
        """

    def key(self, read: str) -> str:
        """Return an answer, as it was read, in the one form that all its equals have.

        Raises
        ------
        TaskError
            Answers of this task cannot be told equal.
        """
        return read

    def score_all(self, answers: Iterable[tuple[Item, str]]) -> Iterator[Graded]:
        """Yield the scores of some answers in their order, each as soon as it is known."""
        return (self.score(item, reply) for item, reply in answers)


def checked(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """Return the items of a file if there are any, each with an id of its own."""
    if not items:
        raise TaskError(f"{path} holds no question.")
    seen: set[str | None] = set()
    for item in items:
        if item.prompt.id in seen:
            raise TaskError(f"{path} holds two questions with the id {item.prompt.id!r}.")
        seen.add(item.prompt.id)
    return tuple(items)


# How a benchmark's questions are put: in the task's own words, or in somebody else's.


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
