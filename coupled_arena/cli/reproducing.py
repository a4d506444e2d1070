"""The ``reproduce`` command: figures and tables of the papers, from anybody's data."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.api import reproducing
from coupled_arena.api.declared import options
from coupled_arena.api.stores import ArenaStore
from coupled_arena.cli.derived import as_options, flag, read, with_flags
from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.process import Track
from coupled_arena.core.settings import load_settings

_OPTIONS = options(reproducing.reproduce)


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
    """Hand on to the function of the Python API; see `_declare`."""
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

    with as_options(_OPTIONS):
        result = reproducing.reproduce(
            *(paper, item, ArenaStore(load_settings(config, db=db).db)),
            *(votes, _verdict_files(votes, verdicts or []), scores or (), out),
            **{each.name: read(each, given[each.name]) for each in _OPTIONS},
            say=say,
            progress=_bar,
        )
    if as_json or item:  # of a whole paper all has been said
        show(dict(result.answer), as_json, result.text)


def _declare() -> None:
    """Let the command have the options of the function, before those of all commands."""
    own = [
        each
        for each in inspect.signature(reproduce, eval_str=True).parameters.values()
        if each.kind is not each.VAR_KEYWORD
    ]
    flags = [flag(each, _OPTIONS) for each in _OPTIONS]
    named = [each.replace(kind=each.KEYWORD_ONLY) for each in own]
    parameters = [*named[:-3], *flags, *named[-3:]]
    text, _, _ = (inspect.getdoc(reproducing.reproduce) or "").partition("\nParameters\n---")
    reproduce.__doc__ = with_flags(text.rstrip(), _OPTIONS)
    reproduce.__annotations__ |= {each.name: each.annotation for each in flags}
    del reproduce.__annotations__["given"]
    vars(reproduce)["__signature__"] = inspect.Signature(parameters)


_declare()


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
