"""The ``battles`` command: those behind a number."""

from __future__ import annotations

from typing import Annotated

import typer

from coupled_arena.cli.shared import Config, Db, Json, reading, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings


def battles(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="An [address of the page](battles.md#addresses), complete or from "
            "`?` on. Without one: all battles.",
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=1 << 31, help="Number of battles, the newest first.")
    ] = 20,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV on stdout.")] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List the battles of an address of the Battles tab, also those that the tab hides."""
    settings = load_settings(config, db=db)
    from coupled_arena.analysis.battles import read_battles
    from coupled_arena.views.addresses import read_address
    from coupled_arena.views.tables.battles import battle_table, battles_answer, battles_text

    asked = read_address(address.rpartition("?")[2])
    if asked.battle or asked.model or asked.mine:
        raise ArenaError(
            "Give the address of a list, with voter=LABEL rather than one's own votes: "
            "'?tab=battles&a=MODEL&b=MODEL'."
        )
    with reading(settings) as store:
        found = read_battles(store, asked.wanted, "nothing", size=limit)
    if as_csv:
        typer.echo(battle_table(found).csv(), nl=False)
    else:
        show(battles_answer(found), as_json, lambda: battles_text(found))
