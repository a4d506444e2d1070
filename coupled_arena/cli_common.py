"""What all commands share: their common options, how they answer, how they open the database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.settings import Settings

Config = Annotated[Path | None, typer.Option(help="TOML file with settings and a catalog.")]
Preset = Annotated[str | None, typer.Option(help="Catalog that comes with the program.")]
Db = Annotated[Path | None, typer.Option(help="Database file.  [default: arena.duckdb]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def respond(answer: dict[str, Any], as_json: bool, text: Callable[[], str]) -> None:
    """Print an answer on stdout, for machines or for people."""
    typer.echo(json.dumps(answer, indent=2) if as_json else text())


def reading(settings: Settings) -> Any:
    """Open the database, or its newest snapshot while another process owns it."""
    from coupled_arena.store.exchange import open_for_reading

    store, age = open_for_reading(settings.db)
    if age is not None:
        typer.echo(f"{settings.db} is in use: reading its snapshot, {age:.0f} s old.", err=True)
    return store
