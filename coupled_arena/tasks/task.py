"""What a benchmark is: questions with references, and a score for each answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt


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
