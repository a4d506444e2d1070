"""The ``reproduce`` command: figures and tables of the papers, from anybody's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.api import reproducing
from coupled_arena.api.declared import options
from coupled_arena.api.stores import ArenaStore
from coupled_arena.cli.derived import as_options, with_options
from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.process import Track
from coupled_arena.core.settings import load_settings


@with_options(reproducing.reproduce, documented=True)
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="Name of a paper, see --list.")
    ] = None,
    item: Annotated[
        str | None,
        typer.Argument(metavar="ITEM", help="A figure or table: figure-2.", show_default="all"),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="Name all items, and what each needs; make nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("reproduced"),
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="A table of scores, or a log of another tool; `NAME=LOG` names its model. "
            "May be given several times."
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            help="Votes of people, in any format that `import` reads; or a folder of judged "
            "comparisons of both protocols."
        ),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="A judge's verdicts on them; may be given several times."
        ),
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Hand on to the function of the Python API."""
    if list_all:
        answer, text = reproducing.listed_items(paper)
        show(answer, as_json, lambda: text)
        return
    if paper is None:
        raise ArenaError("Name a paper, or ask for --list.")
    if votes and db:
        raise ArenaError("Votes are read from --votes or from --db: leave one of them out.")

    def say(text: str) -> None:
        typer.echo(text, err=as_json)  # with --json the answer alone goes to stdout

    with as_options(options(reproducing.reproduce)):
        result = reproducing.reproduce(
            *(paper, item, ArenaStore(load_settings(config, db=db).db)),
            *(votes, _verdict_files(votes, verdicts or []), scores or (), out),
            **given,
            say=say,
            progress=_bar,
        )
    if as_json or item:  # of a whole paper all has been said
        show(dict(result.answer), as_json, result.text)


def _bar(name: str) -> Track:
    from coupled_arena.cli.shared import tracked

    return lambda repeats: tracked(repeats, name)


def _verdict_files(votes: Path | None, verdicts: list[str]) -> dict[str, Path]:
    if verdicts and not votes:
        raise ArenaError("--verdicts are on the votes of --votes: name that file, too.")
    pairs = [text.partition("=") for text in verdicts]
    if any(not (name and path) for name, _, path in pairs):
        raise ArenaError("--verdicts needs the judge's name: give NAME=FILE.")
    return {name: Path(path) for name, _, path in pairs}
