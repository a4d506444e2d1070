"""Prompts: from anybody's files, and from our own library."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from coupled_arena.core.errors import PromptError
from coupled_arena.core.records import Prompt


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read prompts: one a line (``.txt``), or JSON lines with ``text`` or ``prompt``.

    Raises
    ------
    PromptError
        The file cannot be read, a line is wrong, or there is no prompt in it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path} cannot be read as UTF-8 text: {error}.") from error
    parse = _json_prompt if path.suffix == ".jsonl" else (lambda line, _: Prompt(line.strip()))
    prompts = tuple(
        parse(line, f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    if not prompts:
        raise PromptError(f"{path} holds no prompt.")
    return prompts


def _json_prompt(line: str, where: str) -> Prompt:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise PromptError(f"{where}: not valid JSON ({error.msg}).") from error
    text = (row.get("text") or row.get("prompt")) if isinstance(row, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise PromptError(f'{where}: needs a "text" (or "prompt") that is not blank.')
    fields = ("id", "category", "language", "system", "prefix")
    known = {key: str(row[key]) for key in fields if row.get(key) is not None}
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
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    fields = ("text", "id", "category", "language")
    return Library(tuple(Prompt(**{field: row[field] for field in fields}) for row in rows))
