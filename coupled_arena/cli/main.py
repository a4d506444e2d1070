"""The commands that start the app, run models and list them; and the way in."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.cli.audit import audit, plan
from coupled_arena.cli.board import leaderboard
from coupled_arena.cli.coupling import coupling
from coupled_arena.cli.data import export, import_
from coupled_arena.cli.experiments import resample, simulate
from coupled_arena.cli.judging import judge
from coupled_arena.cli.shared import Config, Db, Json, Preset, reading, show
from coupled_arena.errors import ArenaError, SettingsError
from coupled_arena.settings import Settings, load_settings, presets

app = typer.Typer(
    name="coupled-arena",
    help="Compare language models side by side, decoding in lockstep from one noise stream.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
models_app = typer.Typer(help="List the configured models, or fetch their weights.")
app.add_typer(models_app, name="models")
app.command("import")(import_)
app.command()(export)
app.command()(judge)
app.command()(leaderboard)
app.command()(audit)
app.command()(plan)
app.command()(coupling)
app.command()(resample)
app.command()(simulate)


class Modes(StrEnum):
    """Choices of ``--mode``."""

    COUPLED = "coupled"
    INDEPENDENT = "independent"
    BOTH = "both"


@app.command()
def serve(
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.")] = None,
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Serve stored battles; no model is loaded.")
    ] = False,
) -> None:
    """Start the web app.

    With --annotate people vote on battles that `generate` or `benchmark` made, here or on another
    machine: blind, the pair of models with the fewest votes first.
    """
    settings = load_settings(config, preset=preset, db=db, host=host, port=port)
    # Gradio reads these when it is imported; the arena sends nothing anywhere.
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    from coupled_arena.services import open_services
    from coupled_arena.ui.layout import launch

    with open_services(settings, annotate=annotate) as services:
        launch(services)


@models_app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    config: Config = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """List the configured models and whether their weights are here."""
    if context.invoked_subcommand:
        return
    settings = load_settings(config, preset=preset)
    from coupled_arena.generation.weights import is_ready

    catalog = settings.catalog
    rows = [
        {
            "name": spec.name,
            "source": spec.source,
            "quantization": spec.quantization,
            "dtype": spec.dtype,
            "ready": is_ready(spec, settings.cache),
            "enabled": spec in catalog.enabled,
        }
        for spec in catalog.models
    ]
    answer = {"models": rows, "presets": presets(), "problems": list(catalog.problems)}
    show(answer, as_json, lambda: _models_table(rows))
    for problem in catalog.problems:
        typer.echo(problem, err=True)


@models_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a model of the catalog.")],
    config: Config = None,
    preset: Preset = None,
) -> None:
    """Fetch a model's weights, so that it starts at once later."""
    settings = load_settings(config, preset=preset)
    from coupled_arena.generation.weights import fetch as fetch_weights

    folder = fetch_weights(settings.catalog[name], settings.cache)
    typer.echo(f"{name} is ready in {folder}", err=True)


@app.command()
def generate(
    prompts: Annotated[Path, typer.Option(help="Prompts: .txt, one a line, or .jsonl.")],
    models: Annotated[str, typer.Option(help="Two or more model names: A,B[,C].")],
    mode: Annotated[Modes, typer.Option(help="How models draw their noise.")] = Modes.BOTH,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of each prompt.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the whole experiment.")] = 0,
    temperature: Annotated[float | None, typer.Option(help="0 is greedy.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Keep the k likeliest tokens; 0: all.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Keep this share of probability.")] = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="Longest reply, in tokens.")] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Battles decoded in one batch.")] = 16,
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Let models answer prompts in bulk; interrupted, the same command goes on."""
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena import experiment
    from coupled_arena.prompt_files import read_prompts
    from coupled_arena.records import Mode
    from coupled_arena.services import load_named
    from coupled_arena.store.database import Store

    names = _names(models, settings)
    plan = experiment.Plan(
        prompts=read_prompts(prompts),
        models=names,
        modes=(Mode.COUPLED, Mode.INDEPENDENT) if mode is Modes.BOTH else (Mode(mode.value),),
        repetitions=seeds,
        seed=seed,
        sampling=_sampling(
            settings,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            max_new_tokens=max_new_tokens,
        ),
    )
    with Store.open(settings.db) as store:
        try:
            made = experiment.generate(plan, load_named(settings, names), store, at_once=at_once)
        except KeyboardInterrupt as stop:
            raise ArenaError(
                "Interrupted. Finished battles are stored; the same command makes the rest."
            ) from stop
    summary = f"{made.battles} battles, {made.tokens} tokens in {made.seconds:.1f} s"
    show(asdict(made), as_json, lambda: f"{summary}; {made.skipped} were there already.")


@app.command("replay")
def replay_battle(
    battle: Annotated[str, typer.Argument(metavar="BATTLE_ID", help="Id, or its beginning.")],
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Decode a stored battle again from its seed and compare."""
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.replay import replay
    from coupled_arena.services import load_named

    with reading(settings) as store:
        stored = store.battle(battle)
    known = {spec.name for spec in settings.catalog.models}
    wanted = [name for name in stored.models if name in known]
    result = replay(stored, load_named(settings, wanted))
    show(asdict(result), as_json, lambda: _replay_text(result))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a clear one-line error, 2 wrong usage."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("coupled_arena").setLevel(logging.INFO)
    try:
        app(args=arguments, prog_name="coupled-arena")
    except ArenaError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(1)


def _names(text: str, settings: Settings) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        settings.catalog[name]  # raises if there is none
    if len(names) < 2:
        raise SettingsError("Name at least two models, separated by commas.")
    return names


def _sampling(settings: Settings, **given: float | None) -> Any:
    """Return the sampling of the settings with what the command line changes."""
    changed = {name: value for name, value in given.items() if value is not None}
    table = {**settings.sampling.model_dump(), **changed}
    return load_settings(sampling=table).sampling.sampling()


def _models_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{row['name']:<28} {row['quantization']:<13} {row['dtype']:<9} "
        f"{'ready' if row['ready'] else 'to fetch':<9} "
        f"{'' if row['enabled'] else 'disabled':<9} {row['source']}"
        for row in rows
    ]
    return "\n".join([*lines, f"Presets: {', '.join(presets())}"])


def _replay_text(result: Any) -> str:
    if result.identical:
        return f"{result.battle}: identical"
    gap = (
        "the stored token cannot be drawn there"
        if result.score_gap is None
        else f"the token drawn now beats the stored one by {result.score_gap:.3g}"
    )
    return (
        f"{result.battle}: differs from token {result.first_difference} of {result.model}, "
        f"turn {result.turn}; {gap}"
    )
