"""What the modules of the command line share: common options, output, reading the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import Uncounted
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import Settings

if TYPE_CHECKING:
    from coupled_arena.store.database import Store

Config = Annotated[Path | None, typer.Option(help="TOML file with settings and a catalog.")]
Preset = Annotated[str | None, typer.Option(help="Catalog of the program.")]
Db = Annotated[Path | None, typer.Option(help="Database file.  [default: arena.duckdb]")]
Excluded = Annotated[
    Uncounted,
    typer.Option(help="[Excluded](trust.md#exclusion) votes: left out, or counted."),
]
Named = Annotated[
    Uncounted,
    typer.Option(
        help="Votes on answers that [name a "
        "model](trust.md#answers-that-name-a-model): left out, or counted."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def show(answer: dict[str, Any], as_json: bool, text: Callable[[], str]) -> None:
    """Print an answer on stdout."""
    typer.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else text())


def check_level(alpha: float) -> None:
    """Refuse what is no error level, before anything is read."""
    if not 0 < alpha < 1:
        raise ArenaError(f"--alpha is an error level between 0 and 1, such as 0.05, not {alpha:g}.")


def reading(
    settings: Settings,
    excluded: str = Uncounted.LEAVE_OUT,
    named: str = Uncounted.LEAVE_OUT,
) -> AbstractContextManager[Store]:
    """Open the database, or its newest snapshot while another process owns it.

    Parameters
    ----------
    excluded, named : {"leave-out", "include"}
        Whether votes count that do not by default: see `Excluded` and `Named`.
    """
    return ArenaStore(settings.db, excluded, named).reading()
