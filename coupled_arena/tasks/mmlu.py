"""Multiple choice in the format of MMLU: four choices, one letter.

Hendrycks et al., "Measuring massive multitask language understanding", ICLR 2021.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.core.tables import read_rows
from coupled_arena.tasks.data_files import TaskRow, rows
from coupled_arena.tasks.task import Graded, Item, Task, checked

_LETTERS = "ABCD"
_SYSTEM = "Answer each multiple choice question with its letter alone: A, B, C or D. Add nothing."
_SPLIT = re.compile(r"_(test|dev|val|train)$")

# "A" also begins sentences: at the start it is an answer only if no ordinary word follows.
_FIRST = re.compile(
    r"[\W_]*([ABCD])(?![A-Za-z0-9'\u2019])(?![ \t]+(?!is\b|because\b|since\b)[a-z])"
)
_LONE_SMALL = re.compile(r"[\W_]*([abcd])[\W_]*")
_STATED = re.compile(r"(?i:answer|choice|option)(?i:\s+is)?\W*\(?([ABCD])(?![A-Za-z0-9'\u2019])")
_STANDING = re.compile(r"(?<![A-Za-z0-9'\u2019])(?:([BCD])(?![A-Za-z0-9'\u2019])|\(([ABCD])\))")


class Mmlu(Task):
    """Multiple choice; a CSV file, a folder of them, JSON lines or Parquet."""

    name = "mmlu"
    max_new_tokens = 8
    published: ClassVar[Mapping[str, str]] = {"cais/mmlu": "all/test-00000-of-00001.parquet"}

    def read(self, path: Path) -> tuple[Item, ...]:
        """Return the questions; those of a CSV file have its name as their subject."""
        if path.is_dir():
            files = sorted(path.glob("*.csv"))
            if not files:
                raise TaskError(f"The folder {path} holds no CSV file.")
            return checked([item for file in files for item in _from_csv(file)], path)
        from_file = _from_csv if path.suffix == ".csv" else _from_rows
        return checked(list(from_file(path)), path)

    def score(self, item: Item, reply_text: str) -> Graded:
        """Compare the letter that the reply gives."""
        letter = read_letter(reply_text, item.prompt.prefix)
        return Graded(float(letter == item.reference), letter)


def read_letter(reply: str, prefix: str = "") -> str | None:
    """Return the letter a reply settles on: at its start, as its answer, or the only one.

    The prefix is how the answer was begun for the model: a letter in it is none of the reply's.
    """
    if match := _LONE_SMALL.fullmatch(reply):
        return match[1].upper()
    if match := _FIRST.match(reply):
        return match[1]
    answer, begun = prefix + reply, len(prefix)
    if stated := [m[1] for m in _STATED.finditer(answer) if m.start(1) >= begun]:
        return stated[-1]
    standing = {m[1] or m[2] for m in _STANDING.finditer(answer) if m.end() > begun}
    return standing.pop() if len(standing) == 1 else None


def _from_csv(path: Path) -> Iterator[Item]:
    subject = _SPLIT.sub("", path.stem)
    for number, row in enumerate(read_rows(path, TaskError, header=False), start=1):
        cells = [cell.strip() for cell in row.values.values()]
        if len(cells) != 6:
            wanted = "question, A, B, C, D, answer"
            raise TaskError(f"{row.where} has {len(cells)} columns, not {wanted}.")
        *asked, letter = cells
        if not all(asked):
            raise TaskError(f"{row.where}: the question or a choice is empty.")
        if letter not in tuple(_LETTERS):
            raise TaskError(f"{row.where}: the answer is {letter!r}, not A, B, C or D.")
        yield _item(subject, number, asked[0], asked[1:], letter)


def _from_rows(path: Path) -> Iterator[Item]:
    numbers: dict[str, int] = {}
    for row in rows(path):
        subject = row.text("subject") if "subject" in row else _SPLIT.sub("", path.stem)
        numbers[subject] = numbers.get(subject, 0) + 1
        choices = list(row.texts("choices", (4,)))
        yield _item(subject, numbers[subject], row.text("question"), choices, _letter(row))


def _letter(row: TaskRow) -> str:
    answer = row.value("answer")
    if isinstance(answer, str) and answer.strip() in tuple(_LETTERS):
        return answer.strip()
    if isinstance(answer, int) and not isinstance(answer, bool) and answer in range(4):
        return _LETTERS[answer]
    raise TaskError(f"{row.where}: the answer is {answer!r}, not 0 to 3 or A to D.")


def _item(subject: str, number: int, question: str, choices: list[str], letter: str) -> Item:
    lines = (f"{name}. {choice.strip()}" for name, choice in zip(_LETTERS, choices, strict=True))
    text = "\n".join([question.strip(), *lines])
    prompt = Prompt(text, f"{subject}/{number}", subject, system=_SYSTEM)
    return Item(prompt, letter)
