"""The process that renders chat templates: programs that came with a model, within bounds.

It needs the template engine and nothing of torch, so it starts in a second. See `templates`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

from coupled_arena.generation.limits import bounded

SECONDS = 2.0  # of the processor, for one rendering; a template takes some milliseconds
MEMORY = 256 << 20  # bytes, likewise
_MARGIN = 1 << 20  # characters that a template may write of its own


def serve() -> None:
    """Say that all is imported, and render what arrives, until the other end is closed."""
    orders, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # answers go here alone
    answers.write(b"ready\n")
    answers.flush()
    for order in orders:
        answers.write(json.dumps(_rendered(*json.loads(order))).encode() + b"\n")
        answers.flush()


def _rendered(
    template: str, conversations: list[list[dict[str, str]]], options: dict[str, Any]
) -> list[Any]:
    """Return whether a template takes conversations, and their texts or why not."""
    texts = []
    for messages in conversations:
        longest = _MARGIN + 16 * sum(len(message["content"]) for message in messages)
        try:
            with bounded(SECONDS, MEMORY):
                (text,), _ = render_jinja_template(
                    conversations=[messages],
                    chat_template=template,
                    add_generation_prompt=True,
                    **options,
                )
        except Exception as error:  # noqa: BLE001 - a template is a program that may raise anything
            line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
            return [False, line[:300]]
        if len(text) > longest:
            return [False, f"it writes {len(text):,} characters"]
        texts.append(text)
    return [True, texts]
