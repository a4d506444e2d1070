"""The prompt library: questions of our own that a reader can judge within a minute."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from coupled_arena.records import Prompt


@dataclass(frozen=True)
class Library:
    """Prompts by category, in the order of the file."""

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
