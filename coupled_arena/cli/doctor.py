"""The command that tells whether a database is whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from coupled_arena.store.checks.check import Finding


def doctor(
    file: Annotated[
        Path | None, typer.Argument(metavar="DB", help="Database file, as with --db.")
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Check all that must hold in a database, and say what to do; nothing is changed.

    A line a check: ok, or what is wrong, how often, and where first. Exit 1 where anything is.
    Snapshots, the annotators' file and the backup, where one is set, are looked at, too.
    """
    if file and db:
        raise typer.BadParameter("Name the database once: as DB, or with --db.")
    settings = load_settings(config, db=file or db)
    found, age = _examine(settings)
    from coupled_arena.views.tables.findings import findings_answer, findings_text

    whole = not any(finding.wrong for finding in found)
    answer: dict[str, Any] = {"db": str(settings.db), "age": age, "whole": whole}
    show(answer | {"checks": findings_answer(found)}, as_json, lambda: findings_text(found))
    if not whole:
        raise typer.Exit(1)


def _examine(settings: Settings) -> tuple[list[Finding], float | None]:
    """Return what all checks find, and the age of the snapshot if one was looked at instead."""
    from coupled_arena.store.checks.examine import examine
    from coupled_arena.store.transfer.backup_places import place_of
    from coupled_arena.store.transfer.beside import backup, beside
    from coupled_arena.store.transfer.snapshots import open_for_reading

    store, age = open_for_reading(settings.db)
    if age is not None:
        text = f"{settings.db} is in use: this is its snapshot, {age:.0f} s old."
        typer.echo(text, err=True)
    with store, store.cursor() as cursor:
        found = list(examine(cursor))
        if age is None and not any(
            finding.check == "blocks" and finding.wrong for finding in found
        ):
            found += beside(cursor, settings.db)
            if settings.backup.wanted:
                place = place_of(settings.backup.folder, settings.backup.dataset)
                found += backup(cursor, place)
    return found, age
