"""The command that brings a database back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.store.transfer.restoring import Restored


def restore(
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Snapshot to restore.", show_default="the newest whole one"),
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Restore a lost or damaged database from a snapshot, and verify it.

    A database has three snapshots beside it: the newest (arena.snapshot.duckdb), one of about an
    hour ago (arena.snapshot-hour.duckdb) and one of about a day ago
    (arena.snapshot-day.duckdb). Files in the way are renamed; nothing is deleted.
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
