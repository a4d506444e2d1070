"""The command that makes of a password what may stand in the settings."""

from __future__ import annotations

import sys

import typer

from coupled_arena.core.passwords import hash_password


def password() -> None:
    """Ask for a password, and print its hash for `users` in the table `access`.

    Without a terminal, the first line of the input is the password.
    """
    if sys.stdin.isatty():
        given = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    typer.echo(hash_password(given))
