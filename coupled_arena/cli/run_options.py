"""Options of the commands that run models in bulk: how they ask, and how they draw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coupled_arena.core.errors import SettingsError


def text_of(value: str | None) -> str | None:
    """Return a text that is given as it is, or, after an @, by its file."""
    if value is None or not value.startswith("@"):
        return value
    path = Path(value[1:])
    try:
        # An editor ends the last line, which is no part of what was meant.
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, ValueError) as error:
        raise SettingsError(f"The text {path} cannot be read: {error}.") from error


System = Annotated[
    str | None,
    typer.Option(metavar="TEXT|@FILE", help="System prompt; empty for none."),
]
Question = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="What is asked; {problem} stands for the benchmark's own question, or stub.",
    ),
]
AnswerPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="Words with which each answer begins, scored with it; may hold {problem}.",
    ),
]
Temperature = Annotated[float | None, typer.Option(help="0 is greedy.")]
TopK = Annotated[int | None, typer.Option(help="Keep the k likeliest tokens; 0: all.")]
TopP = Annotated[float | None, typer.Option(help="Keep this share of probability.")]
MaxNewTokens = Annotated[int | None, typer.Option(help="Longest reply, in tokens.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Battles decoded in one batch.")]
