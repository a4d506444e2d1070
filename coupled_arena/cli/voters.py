"""The command that holds each voter against the others."""

from __future__ import annotations

from typing import Annotated

import typer

from coupled_arena.cli.shared import Config, Db, Excluded, Json, Named, check_level, reading, show
from coupled_arena.core.choices import Uncounted
from coupled_arena.core.settings import load_settings


def voters(
    alpha: Annotated[
        float,
        typer.Option(help="Largest expected share of honest voters among the named ones."),
    ] = 0.05,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            max=100,
            help="Honest voters give each outcome at most 1 + this times as often as the others.",
        ),
    ] = 0.25,
    excluded: Excluded = Uncounted.LEAVE_OUT,
    named: Named = Uncounted.LEAVE_OUT,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List voters: number and pace of votes, and evidence of unusual votes. It excludes nobody."""
    settings = load_settings(config, db=db)
    check_level(alpha)
    from coupled_arena.analysis.voters import read_voters
    from coupled_arena.views.tables.voters import voters_answer, voters_text

    with reading(settings, excluded, named) as store:
        found = read_voters(store, alpha, tolerance)
    show(voters_answer(found), as_json, lambda: voters_text(found))
