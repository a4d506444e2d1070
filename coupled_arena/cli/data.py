"""The commands that bring data in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupled_arena.api.checks import listed
from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.errors import ArenaError, StoreError, UnknownFormError
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.store.transfer.file_rows import Rejected
    from coupled_arena.store.transfer.importing import Imported
    from coupled_arena.store.transfer.importing_scores import ImportedScores

_SHOWN = 10  # reasons printed; --json has all rows


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="JSON, CSV or Parquet, or the folder of an export."),
    ],
    judge: Annotated[
        str | None, typer.Option(help="The winners are verdicts of this judge.")
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="Name of the data set; its rows are matched with each other.")
    ] = "import",
    single_turn: Annotated[
        bool, typer.Option("--single-turn", help="Leave out conversations of several turns.")
    ] = False,
    no_toxic: Annotated[
        bool, typer.Option("--no-toxic", help="Leave out conversations flagged as toxic.")
    ] = False,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OURS=THEIRS",
            help="A column of ours and the one that it is in the file: `winner=label`. Or a word "
            "for the winner and its meaning: `1=model_a`. May be given several times.",
        ),
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Import votes or verdicts from elsewhere, or an export; a second import adds nothing.

    Files of an export keep their battles' ids, so copies of a database merge.

    [The columns](data-dictionary.md#tables-of-votes-from-elsewhere) are also those of `ca.rank`.
    The command names ignored columns, and each reason for rejected rows. The exit code is 3 if
    some rows were rejected, 1 if all were. A board of the rest may favour a model.
    """
    settings = load_settings(config, db=db)
    from coupled_arena.cli.shared import Bar
    from coupled_arena.store.transfer.foreign_rows import ColumnMap
    from coupled_arena.store.transfer.importing import import_files
    from coupled_arena.store.transfer.snapshots import open_to_fill

    files = _files_in(files)
    with (
        open_to_fill(settings.db) as store,
        Bar(len(files) + 1) as bar,
    ):
        begun: list[str] = []

        def progress(step: str) -> None:
            bar.advance(1 if begun else 0, step)
            begun.append(step)

        with _all_or_nothing(), _told_of_logs(files):
            done = import_files(
                store,
                files,
                judge=judge,
                dataset=dataset,
                single_turn=single_turn,
                no_toxic=no_toxic,
                columns=ColumnMap.of(map),
                progress=progress,
            )
    show(asdict(done), as_json, lambda: _import_text(done))
    _end(done)


def import_scores(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="CSV, JSON or Parquet.")],
    metrics: Annotated[
        str | None, typer.Option(help="Metrics to take: `a,b`.", show_default="all")
    ] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Metrics with lower values that are better: a,b.")
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Import scores of stored replies; a second import adds nothing.

    A row has a battle and a model, or its place in the battle from 0 on. It has a turn if it is
    not the first (0). It has a column for each metric, or a metric and its score.
    """
    settings = load_settings(config, db=db)
    from coupled_arena.analysis.risk.replies import COMPUTED
    from coupled_arena.store.transfer.importing_scores import import_scores as import_files
    from coupled_arena.store.transfer.snapshots import open_to_fill

    with open_to_fill(settings.db) as store, _all_or_nothing():
        done = import_files(
            store,
            files,
            listed(metrics) if metrics else None,
            listed(lower_is_better or ""),
            reserved=COMPUTED,
        )
    show(asdict(done), as_json, lambda: _scores_text(done))
    _end(done)


def _end(done: Imported | ImportedScores) -> None:
    """End with an exit code of its own where rows were rejected."""
    if done.all_rejected:
        raise ArenaError("Nothing was imported: every row was rejected.")
    if done.rejected:
        raise typer.Exit(3)


def _files_in(paths: Sequence[Path]) -> list[Path]:
    """Return files as they are, and the files of the exports in folders."""
    from coupled_arena.store.transfer.export_tables import files_of

    with _told_of_logs(paths):
        return [file for path in paths for file in (files_of(path) if path.is_dir() else [path])]


@contextmanager
def _told_of_logs(files: Sequence[Path]) -> Iterator[None]:
    """Say where logs of another tool are read, if one is given that holds no votes."""
    try:
        yield
    except StoreError as error:
        from coupled_arena.analysis.logs.score_logs import told_as_log

        # Some logs are no rows at all: then the error is about their lines.
        told = error.path if isinstance(error, UnknownFormError) else None
        for path in [told] if told else [each for each in files if str(each) in str(error)]:
            if log := told_as_log(path):
                raise ArenaError(
                    f"{log}, with scores and no votes. Give it to `gate --scores`, "
                    "`leaderboard --scores` or `risk`."
                ) from error
        raise


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Say that an import was interrupted, which leaves nothing of it."""
    try:
        yield
    except (KeyboardInterrupt, RuntimeError) as stop:
        # DuckDB tells of a Ctrl-C in the middle of a query by an error of no type of its own.
        if isinstance(stop, RuntimeError) and str(stop) != "Query interrupted":
            raise
        raise ArenaError("Interrupted. Nothing was imported.") from stop


def _scores_text(done: ImportedScores) -> str:
    head = (
        f"{done.rows} rows: {done.scores} new scores by {', '.join(done.metrics) or 'no metric'}; "
        f"{len(done.rejected)} rejected."
    )
    return "\n".join([head, *_rejected_lines(done)])


def _import_text(done: Imported) -> str:
    why = f"{done.rationales} new rationales, " if done.rationales else ""
    marks = f", {done.scores} new scores, {done.grades} new grades"
    head = (
        f"{done.rows} rows: {done.battles} new battles, {done.votes} new votes, "
        f"{why}{done.verdicts} new verdicts{marks if done.scores or done.grades else ''}; "
        f"{done.filtered} filtered, {len(done.rejected)} rejected."
    )
    texts = [
        f"{done.completed} battles that lacked texts have them now." if done.completed else "",
        f"{done.unread_texts} rows have texts that could not be read: they came without them."
        if done.unread_texts
        else "",
    ]
    return "\n".join([head, *filter(None, texts), *_rejected_lines(done), *done.notes])


def _rejected_lines(done: Imported | ImportedScores) -> list[str]:
    """Return a line for each reason, the most frequent ones first."""
    rows: dict[str, list[Rejected]] = {}
    for row in done.rejected:
        rows.setdefault(row.reason, []).append(row)
    reasons = sorted(rows.items(), key=lambda item: -len(item[1]))
    lines = [_reason_line(*each) for each in reasons[:_SHOWN]]
    if len(reasons) > _SHOWN:
        lines.append(f"and {len(reasons) - _SHOWN} more reasons; --json lists all rows.")
    return lines


def _reason_line(reason: str, rows: list[Rejected]) -> str:
    more = f" ({len(rows) - 1:,} more such {'row' if len(rows) == 2 else 'rows'})"
    return f"{rows[0].file}, line {rows[0].line}: {reason}{more if rows[1:] else ''}"
