"""The commands that tell whether a database is whole, mend it, and take a backup back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from coupled_arena.store.checks.check import Finding
    from coupled_arena.store.checks.mending import Mended
    from coupled_arena.store.transfer.restoring import Restored


def doctor(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="DB", help="Database file, as with --db.", show_default="that of --db"
        ),
    ] = None,
    mend: Annotated[
        bool,
        typer.Option("--mend", help="First repair impossible times; a copy of the file stays."),
    ] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Check a database and name the remedy for each fault; only --mend changes it.

    Each check is one line: ok, or the fault with its number and first place. The exit code is 1
    after any fault. Snapshots, the annotators' file and the backup are checked too.
    `--mend` needs the database alone. While another process owns it, the command ends with exit
    code 1 and changes nothing. [What it checks](hosting.md#is-a-database-whole)
    """
    if file and db:
        raise typer.BadParameter("Name the database once: as DB, or with --db.")
    settings = load_settings(config, db=file or db)
    mended = _mend(settings) if mend else None
    found, age = _examine(settings)
    from coupled_arena.views.tables.stored import findings_answer, findings_text

    whole = not any(finding.wrong for finding in found)
    answer: dict[str, Any] = {"db": str(settings.db), "age": age, "whole": whole}
    answer |= {"mended": mended and asdict(mended), "checks": findings_answer(found)}
    show(answer, as_json, lambda: _mended_text(mended) + findings_text(found))
    if not whole:
        raise typer.Exit(1)


def _mend(settings: Settings) -> Mended:
    """Repair the database, which nobody else may own."""
    from coupled_arena.store.checks.mending import mend
    from coupled_arena.store.transfer.snapshots import open_for_writing

    with open_for_writing(settings.db, create=False) as store:
        return mend(store)


def _mended_text(mended: Mended | None) -> str:
    if mended is None:
        return ""
    lines = [
        f"MENDED {each.table}.{each.column}: {each.put_right:,} put right, "
        f"{each.replaced:,} replaced by the nearest known time."
        for each in mended.times
    ]
    if mended.copy:
        lines.append(f"The file as it was before: {mended.copy}")
    return "\n".join([*(lines or ["Nothing was to mend."]), ""])


def _examine(settings: Settings) -> tuple[list[Finding], float | None]:
    """Return what all checks find, and the age of the snapshot if one was looked at instead."""
    from coupled_arena.store.checks.examine import examine
    from coupled_arena.store.transfer.sidecar_files import check_backup, check_sidecars
    from coupled_arena.store.transfer.snapshots import open_for_reading
    from coupled_arena.store.transfer.targets import backup_target

    store, age = open_for_reading(settings.db)
    if age is not None:
        text = f"{settings.db} is in use: this is its snapshot, {age:.0f} s old."
        typer.echo(text, err=True)
    with store, store.cursor() as cursor:
        found = list(examine(cursor))
        if age is None and not any(
            finding.check == "blocks" and finding.wrong for finding in found
        ):
            found += check_sidecars(cursor, settings.db)
            if settings.backup.wanted:
                place = backup_target(settings.backup.folder, settings.backup.dataset)
                found += check_backup(cursor, place)
    return found, age


def restore(
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Snapshot to restore.", show_default="the fullest whole one"),
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Restore a lost or damaged database from a snapshot, and verify it.

    Three snapshots stand beside a database: arena.snapshot.duckdb is the newest.
    arena.snapshot-hour.duckdb is about an hour old, arena.snapshot-day.duckdb about a day. Files
    in the way are renamed; nothing is deleted.
    """
    settings = load_settings(config, db=db)
    from coupled_arena.store.transfer.restoring import restore as bring_back

    done = bring_back(settings.db, source)
    show(asdict(done), as_json, lambda: _text(done))


def _text(done: Restored) -> str:
    lines = [
        f"{done.db} is back as of {done.age:.0f} s ago, from {done.source}, and verified: "
        f"{done.battles:,} battles, {done.votes:,} votes, {done.verdicts:,} verdicts."
    ]
    lines += [f"Passed over: {reason}" for reason in done.passed_over]
    lines += [f"Set aside: {path}" for path in done.set_aside]
    return "\n".join(lines)
