"""The ``agreement`` command: how far annotators agree."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from coupled_arena.cli.shared import (
    Config,
    Db,
    Excluded,
    Json,
    Named,
    check_level,
    listed,
    reading,
    show,
)
from coupled_arena.core.settings import load_settings


def agreement(
    mode: Annotated[
        Literal["all", "coupled", "independent"], typer.Option(help="Which battles count.")
    ] = "all",
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    language: Annotated[str | None, typer.Option(help="Only prompts in this language.")] = None,
    excluded: Excluded = "leave-out",
    named: Named = "leave-out",
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say how far people who voted on the same battles agree: Krippendorff's alpha."""
    settings = load_settings(config, db=db)
    check_level(alpha)
    from coupled_arena.analysis.agreement import read_agreement
    from coupled_arena.core.records import Mode
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.views.tables.agreement import agreement_answer, agreement_text

    with reading(settings, excluded, named) as store:
        selection = Selection(
            mode=None if mode == "all" else Mode(mode),
            models=listed(models) if models else None,
            category=category,
            language=language,
        )
        found = read_agreement(store, selection, alpha)
    show(agreement_answer(found), as_json, lambda: agreement_text(found))
