"""The ``report`` command: all that a store says, as one page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.api.checks import listed
from coupled_arena.cli.shared import Config, Db, Json, check_level, reading, show
from coupled_arena.core.choices import Battles
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.views.report.collect import Report


def report(
    out: Annotated[Path, typer.Option(help="Folder for report.html; created if missing.")],
    judge: Annotated[str | None, typer.Option(help="Only this judge.", show_default="all")] = None,
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    metric: Annotated[
        str | None, typer.Option(help="Only these scores.", show_default="all")
    ] = None,
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    mode: Annotated[
        Battles,
        typer.Option(help="Battles with votes and verdicts that count."),
    ] = Battles.ALL,
    tell_seeds: Annotated[
        bool,
        typer.Option(
            "--tell-seeds", help="Show seeds of experiments even while people vote on them."
        ),
    ] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page on a store: leaderboard, coupling, audits, settings."""
    settings = load_settings(config, db=db)
    check_level(alpha)
    if out.suffix.lower() in {".html", ".htm"}:
        raise ArenaError("--out is a folder: report.html is written into it.")
    from coupled_arena.views.report.collect import ReportSettings, collect
    from coupled_arena.views.report.page import folder_for, page, write

    wanted = ReportSettings(
        judge=judge,
        metric=metric,
        models=listed(models) if models else None,
        mode=mode.mode,
        alpha=alpha,
        hidden="rounds" if tell_seeds else None,
    )
    with reading(settings) as store:
        folder = folder_for(out)  # before the work, which may take a while
        found = collect(store, settings.db.name, wanted, datetime.now(UTC))
    path = write(page(found), folder)
    answer = _answer(found, path)
    show(answer, as_json, lambda: f"{path} holds {answer['bytes'] / 1e6:.1f} MB.")


def _answer(found: Report, path: Path) -> dict[str, Any]:
    return {
        "report": str(path),
        "bytes": path.stat().st_size,
        "fingerprint": found.fingerprint,
        "boards": [board.source.value for board in found.boards],
        "compares_modes": found.modes is not None,
        "metrics": [each.metric for each in found.metrics],
        "audits": [each.judge for each in found.audits],
        "gradings": [
            {"judge": each.judge, "benchmark": each.estimates.benchmark} for each in found.gradings
        ],
    }
