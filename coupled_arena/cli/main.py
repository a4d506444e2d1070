"""The commands that start the app, run models and list them; and the way in."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Annotated, Any

import typer

from coupled_arena.api.declared import without_links
from coupled_arena.cli.analyses import (
    agreement,
    audit,
    coupling,
    leaderboard,
    plan,
    report,
    resample,
    risk,
    schema,
    simulate,
    voters,
)
from coupled_arena.cli.annotators import annotators_app, password
from coupled_arena.cli.battles import battles, explain, replay_battle
from coupled_arena.cli.closeness import closeness
from coupled_arena.cli.data import import_, import_scores
from coupled_arena.cli.doctor import doctor, restore
from coupled_arena.cli.excluding import exclude, exclusions, include, names
from coupled_arena.cli.exporting import export
from coupled_arena.cli.gating import gate
from coupled_arena.cli.generation import benchmark, generate
from coupled_arena.cli.judging import judge
from coupled_arena.cli.models import models_app
from coupled_arena.cli.reproducing import reproduce
from coupled_arena.cli.servers import server_check
from coupled_arena.cli.shared import Config, Db, Preset
from coupled_arena.core.choices import Reveals
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.extras import require
from coupled_arena.core.files import is_text, reason
from coupled_arena.core.language import install
from coupled_arena.core.logs import write_log_as
from coupled_arena.core.process import noted_interrupts, termination_as_interrupt
from coupled_arena.core.settings import load_settings

app = typer.Typer(
    name="coupled-arena",
    help="Compare language models side by side, decoding in lockstep from one noise stream.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(models_app, name="models")
app.add_typer(annotators_app, name="annotators")
app.command("import")(import_)
app.command("import-scores")(import_scores)
app.command()(export)
app.command()(generate)
app.command()(benchmark)
app.command("replay")(replay_battle)
app.command()(explain)
app.command()(judge)
app.command()(battles)
app.command()(leaderboard)
app.command()(agreement)
app.command()(audit)
app.command()(plan)
app.command()(coupling)
app.command()(closeness)
app.command()(risk)
app.command()(gate)
app.command()(report)
app.command("server-check")(server_check)
app.command()(restore)
app.command()(doctor)
app.command()(voters)
app.command()(exclude)
app.command()(include)
app.command()(exclusions)
app.command()(names)
app.command()(password)
app.command()(resample)
app.command()(simulate)
app.command()(reproduce)
app.command()(schema)


@app.command()
def serve(
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 picks a free one.", show_default="7860")
    ] = None,
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Serve stored battles; no model is loaded.")
    ] = False,
    reveal: Annotated[
        Reveals | None,
        typer.Option(
            help="When annotators see names, boards and battles: once their share is done, after "
            "each vote, or never. Admins always do.",
            show_default="end",
        ),
    ] = None,
    votes_each: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many votes a battle wants; those with fewer come first.",
            show_default="one of everybody",
        ),
    ] = None,
    repeat_share: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.5,
            help="Share of a person's battles that come twice, with their sides exchanged.",
            show_default="0.05; 0 with --reveal each",
        ),
    ] = None,
    example: Annotated[
        bool,
        typer.Option("--example", help="Look around with example data; no model is loaded."),
    ] = False,
) -> None:
    """Start the web app.

    --example shows real answers and scores of small models, with votes and verdicts that are made
    up. What happens there is not kept.

    With --annotate people vote blind on battles that `generate` or `benchmark` made, here or on
    another machine. The pair of models with the fewest votes comes first. --reveal, --votes-each
    and --repeat-share are for --annotate.
    """
    require("arena", "The app")
    asked = {"reveal": reveal, "votes_each": votes_each, "repeat_share": repeat_share}
    rules = {name: value for name, value in asked.items() if value is not None}
    if example and (annotate or db or preset):
        raise typer.BadParameter(
            "--example has a database of its own: leave out --db, --preset and --annotate."
        )
    if rules and not annotate:
        option = next(iter(rules)).replace("_", "-")
        raise typer.BadParameter(f"--{option} is for --annotate: leave it out, or add --annotate.")
    # Gradio reads these when it is imported; the arena sends nothing anywhere.
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    from coupled_arena.store.transfer.example import example_database, example_settings

    with example_database() if example else nullcontext() as path:
        settings = load_settings(
            config, preset=preset, db=db, host=host, port=port, annotate=rules or None
        )
        if path:
            settings = example_settings(settings, path)
        install(settings.language)
        write_log_as(settings.log)
        from coupled_arena.ui.server import launch

        launch(settings, annotate=annotate or example, example=example)


@cache
def _command() -> Any:
    """Return the tree of all commands, which takes a moment to build."""
    tree = typer.main.get_command(app)
    for command in commands(tree):
        for part in (command, *command.params):
            part.help = without_links(part.help or "")
    return tree


def commands(tree: Any) -> Iterator[Any]:
    """Yield every command of a tree."""
    for command in getattr(tree, "commands", {}).values():
        yield command
        yield from commands(command)


_INTERRUPTED = 128 + signal.SIGINT  # as shells tell it


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    With 0 done, 1 a clear one-line error, 2 wrong usage, 3 done in part. The command gate exits
    with 3 for worse, and 4 for cannot tell.
    """
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("coupled_arena").setLevel(logging.INFO)
    with noted_interrupts() as interrupts:
        try:
            _run(arguments)
        except (Exception, KeyboardInterrupt, SystemExit) as end:
            silent = not isinstance(end, SystemExit) or end.code == _INTERRUPTED
            if not (interrupts and silent):
                raise
            typer.echo("Interrupted.", err=True)
            sys.exit(_INTERRUPTED)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        if odd := [each for each in given if not is_text(each)]:
            raise ArenaError(f"{odd[0]!r} is not UTF-8, as arguments and names of files are here.")
        with termination_as_interrupt():
            _command()(args=[*given], prog_name="coupled-arena")
    except ArenaError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        typer.echo(f"Error: {where}{reason(error)}.", err=True)
        sys.exit(1)
