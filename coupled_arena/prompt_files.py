"""Prompts from files."""

from __future__ import annotations

import json
from pathlib import Path

from coupled_arena.errors import PromptError
from coupled_arena.records import Prompt


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
