"""How close two models are: the command, and where the answers come from that they read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.api import closeness as face
from coupled_arena.api.declared import options
from coupled_arena.api.models import Models
from coupled_arena.api.stores import ArenaStore
from coupled_arena.cli.derived import as_options, with_options
from coupled_arena.cli.generation import Tasks, task_prompts
from coupled_arena.cli.shared import Config, Db, Json, Preset, show, tracked
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.settings import load_settings

_Name = Annotated[str, typer.Argument(metavar="MODEL", help="A model of the catalog.")]


@with_options(face.closeness)
def closeness(
    model_a: _Name,
    model_b: _Name,
    prompts: Annotated[
        Path | None,
        typer.Option(help="Prompts for fresh answers: .txt, one a line, or a table with `text`."),
    ] = None,
    task: Annotated[
        Tasks | None,
        typer.Option(help="A benchmark for fresh answers, drawn as `benchmark` draws them."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="The task's file, or hub:OWNER/NAME; quiz needs none."),
    ] = None,
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Report how close two models are, exactly, without votes or scores.

    Both read the same answers: a sample of the stored ones, or fresh answers to prompts or a task.
    Their two laws are compared at each token: total variation and KL divergence. From the laws
    follows how often both draw the same token, from one noise stream, by independent noise, and by
    the best coupling. So one knows what [coupling saves](closeness.md) before a benchmark is run.
    A model may stand against itself.
    """
    require("arena", "A model")
    if prompts and task:
        raise SettingsError("Give --prompts or --task, not both.")
    if data and not task:
        raise SettingsError("--data is for --task: name the task.")
    settings = load_settings(config, preset=preset, db=db)
    for name in (model_a, model_b):
        settings.catalog[name]  # raises if there is none, before anything is read
    answers: Any = ArenaStore(settings.db)
    if task:
        answers, defaults = task_prompts(task, data)
        known = {name: value for name, value in given.items() if value is not None}
        given = {**given, **defaults, **known}
    elif prompts:
        from coupled_arena.core.prompts import read_prompts

        answers = read_prompts(prompts)
    else:
        with answers.reading():  # before the models, which take a while to load
            pass
    from coupled_arena.generation.loading import load_named

    with as_options(options(face.closeness)):
        models = Models(load_named(settings, (model_a, model_b)), settings)
        found = face.closeness(
            models, answers, progress=lambda asked: tracked(asked, "answers"), **given
        )
    show(found.to_dict(), as_json, found.text)
