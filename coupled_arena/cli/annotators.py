"""The commands on the people who vote: their own links, and passwords for the settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.passwords import hash_password
from coupled_arena.core.settings import Settings, load_settings

annotators_app = typer.Typer(
    help="List annotators with links and the voters they are; add or revoke "
    "links. [People with links](annotate.md#people-with-links)."
)


@annotators_app.callback(invoke_without_command=True)
def annotators(
    context: typer.Context, config: Config = None, db: Db = None, as_json: Json = False
) -> None:
    """List annotators with links and the voters they are."""
    if context.invoked_subcommand:
        return
    from coupled_arena.store.annotators import read_annotators

    rows = [
        {"name": row.name, "voter": row.voter, "made_at": row.made_at, "link": bool(row.token_hash)}
        for row in read_annotators(_path(load_settings(config, db=db)))
    ]
    text = "\n".join(map(_line, rows)) or "Nobody has a link."
    show({"annotators": rows}, as_json, lambda: text)


@annotators_app.command()
def add(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Name of a person who gets a link.")
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="Number of further links, for people named 1, 2 and so on."
        ),
    ] = 0,
    url: Annotated[
        str | None, typer.Option(help="Address of the page.", show_default="this machine")
    ] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make a link for each person and print it once; it cannot be shown again.

    A person with a revoked link gets another one, and is the same voter. A running app accepts
    new links at once.
    """
    settings = load_settings(config, db=db)
    page = _page(settings, url)
    if not names and not count:
        raise ArenaError("Say who is to have a link: give names, or --count.")
    from coupled_arena.store.annotators import add_annotators

    tokens = add_annotators(_path(settings), names or [], count)
    rows = [
        {"name": name, "address": f"{page}?annotator={token}"} for name, token in tokens.items()
    ]
    lines = [f"{row['address']}  {row['name']}" for row in rows]
    show({"annotators": rows}, as_json, lambda: "\n".join(lines))


@annotators_app.command()
def revoke(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Name of the person.")],
    config: Config = None,
    db: Db = None,
) -> None:
    """Revoke links at once; their votes stay."""
    from coupled_arena.store.annotators import revoke_annotators

    revoke_annotators(_path(load_settings(config, db=db)), names)
    typer.echo(f"Revoked: {', '.join(names)}", err=True)


def _line(row: dict[str, Any]) -> str:
    link = "link" if row["link"] else "revoked"
    return f"{row['voter']}  {row['made_at']}  {link:<7}  {row['name']}"


def _path(settings: Settings) -> Path:
    from coupled_arena.store.annotators import annotators_path

    return annotators_path(settings.db)


def _page(settings: Settings, url: str | None) -> str:
    """Return the address that links begin with."""
    if url is None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"http://{host}:{settings.port}/"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ArenaError(f"{url!r} is no address of a page: give one such as https://a.org/arena.")
    return f"{url.rstrip('/')}/"


def password() -> None:
    """Ask for a password, and print its hash for `users` in the table `access`.

    Without a terminal, the first line of the input is the password.
    """
    if sys.stdin.isatty():
        given = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    typer.echo(hash_password(given))
