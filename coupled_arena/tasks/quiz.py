"""Short questions of our own, easy enough for a model of 135 million parameters.

Each row of the file has an id, a category, a question, a response prefix and the answer. Where the
question offers some words to choose from, it has all of them. The prefix leaves a model nothing to
say but the answer, so the first thing said that could be one is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.tasks.data_files import TaskRow, rows
from coupled_arena.tasks.gsm8k import numbers, read_number
from coupled_arena.tasks.task import Graded, Item, Task, checked


@dataclass(frozen=True)
class QuizItem(Item):
    """A question whose answer is one of some words, or a number where there are none."""

    choices: tuple[str, ...] = ()


class Quiz(Task):
    """Two words to choose from, or a small number."""

    name = "quiz"
    max_new_tokens = 6

    def read(self, path: Path) -> tuple[Item, ...]:
        """Return the questions of a file of JSON lines."""
        return checked([_item(row) for row in rows(path)], path)

    def score(self, item: Item, reply_text: str) -> Graded:
        """Compare the first choice that the reply names, or its first number."""
        choices = item.choices if isinstance(item, QuizItem) else ()
        if choices:
            answer = read_choice(reply_text, choices, item.prompt.prefix)
            return Graded(float(answer == item.reference), answer)
        prefix = item.prompt.prefix
        answer = next(iter(numbers(prefix + reply_text, len(prefix))), None)
        right = answer is not None and Fraction(answer) == Fraction(item.reference)
        return Graded(float(right), answer)

    def key(self, read: str) -> str:
        """Return a choice as it is, a number in lowest terms."""
        return str(Fraction(read)) if read_number(read) == read else read


def read_choice(reply: str, choices: tuple[str, ...], prefix: str = "") -> str | None:
    """Return the choice that a reply names first, whole words only, or None.

    The prefix is how the answer was begun for the model; a word may go on from there.
    """
    longest_first = sorted(choices, key=len, reverse=True)
    either = "|".join(re.escape(choice) for choice in longest_first)
    whole = re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)
    match = whole.search(prefix + reply, len(prefix))
    if match is None:
        return None
    return next(choice for choice in choices if choice.casefold() == match[0].casefold())


def _item(row: TaskRow) -> QuizItem:
    choices = row.texts("choices", (2, 3, 4)) if "choices" in row else ()
    answer = row.text("answer")
    if choices and (answer not in choices or len({c.casefold() for c in choices}) < len(choices)):
        raise TaskError(f"{row.where}: the answer must be one of the choices, and they differ.")
    if not choices and read_number(answer) != answer:
        raise TaskError(f"{row.where}: without choices the answer must be a number.")
    prompt = Prompt(
        row.text("question"),
        row.text("id"),
        row.text("category"),
        prefix=row.text("prefix").rstrip(" "),
    )
    return QuizItem(prompt, answer, choices)
