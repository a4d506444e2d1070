"""Prompts: from anybody's files, and from our own library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coupled_arena.core.errors import PromptError
from coupled_arena.core.files import reason, whole
from coupled_arena.core.records import Prompt
from coupled_arena.core.tables import Row, read_rows

_TABLES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz")
_FIELDS = ("id", "category", "language", "system", "prefix")


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read prompts: one a line, or rows of a table with ``text`` or ``prompt``.

    Raises
    ------
    PromptError
        The file cannot be read, a line is wrong, or there is no prompt in it.
    """
    if path.suffix.lower() in _TABLES:
        prompts = tuple(_prompt(row) for row in read_rows(path, PromptError))
    else:
        prompts = tuple(Prompt(line.strip()) for line in _lines(path) if line.strip())
    if not prompts:
        raise PromptError(f"{path} holds no prompt.")
    return prompts


def _lines(path: Path) -> list[str]:
    try:
        return whole(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path} cannot be read as UTF-8 text: {reason(error)}.") from error


def _prompt(row: Row) -> Prompt:
    text = row.values.get("text") or row.values.get("prompt")
    if not isinstance(text, str) or not text.strip():
        raise PromptError(f'{row.where}: needs a "text" (or "prompt") that is not blank.')
    known = {name: str(row.values[name]) for name in _FIELDS if row.values.get(name) is not None}
    return Prompt(text, **known)


@dataclass(frozen=True)
class Library:
    """Our own prompts by category, in the order of the file: each can be judged in a minute."""

    prompts: tuple[Prompt, ...]

    @property
    def categories(self) -> list[str]:
        """All categories, in order of appearance."""
        return list(dict.fromkeys(prompt.category or "other" for prompt in self.prompts))

    def of(self, category: str) -> list[Prompt]:
        """Return the prompts of a category."""
        return [prompt for prompt in self.prompts if prompt.category == category]

    def identify(self, text: str) -> Prompt:
        """Return the library's prompt with this text, or a prompt of the visitor's own."""
        return next((p for p in self.prompts if p.text == text.strip()), Prompt(text.strip()))


def read_library(path: Path) -> Library:
    """Read the library from JSON lines with ``id``, ``category``, ``language``, ``text``."""
    return Library(read_prompts(path))
