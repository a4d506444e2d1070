"""The commands that list the models of the catalog, fetch their weights and check them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Json, Preset, show
from coupled_arena.core.errors import ModelError
from coupled_arena.core.settings import load_settings, presets

if TYPE_CHECKING:
    from coupled_arena.generation.language_model import LanguageModel

models_app = typer.Typer(help="List the configured models, fetch their weights, or check them.")


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


@models_app.command()
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models of the catalog; all enabled ones by default.")
    ] = None,
    config: Config = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """Load models one after the other, and say which weights they are and whether they read.

    The perplexity is that of a fixed plain text: a variant whose perplexity is far from that of
    the model it is like was not unpacked as it was packed, or is another model.
    """
    settings = load_settings(config, preset=preset)
    catalog = settings.catalog
    specs = [catalog[name] for name in names] if names else list(catalog.enabled)
    from coupled_arena.generation.fingerprint import strangers
    from coupled_arena.services import load

    rows: list[dict[str, Any]] = []
    problems = list(catalog.problems)
    for spec in specs:
        try:
            rows.append(_row(load(spec, settings.cache)))
        except ModelError as error:
            problems.append(str(error))
    parents = {spec.name: spec.like for spec in catalog.models}
    problems += strangers({row["name"]: row["perplexity"] for row in rows}, parents)
    show({"models": rows, "problems": problems}, as_json, lambda: _checked(rows))
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)


def _row(model: LanguageModel) -> dict[str, Any]:
    row: dict[str, Any] = {"name": model.name, "perplexity": model.perplexity}
    weights = getattr(model, "fingerprint", None)  # a server keeps them to itself
    if weights:
        row |= {
            "fingerprint": weights.digest,
            "bytes_per_weight": weights.bytes_per_weight,
            "layers": dict(weights.layers),
        }
    return row


def _checked(rows: list[dict[str, Any]]) -> str:
    head = f"{'model':<28} {'perplexity':>10} {'bytes/weight':>12}  {'fingerprint':<16}  layers"
    lines = [
        f"{row['name']:<28} {row['perplexity']:>10.4g} {row.get('bytes_per_weight', 0):>12.2f}  "
        f"{row.get('fingerprint', '-'):<16}  "
        + ", ".join(f"{count} {kind}" for kind, count in row.get("layers", {}).items())
        for row in rows
    ]
    return "\n".join([head, *lines])


def _models_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{row['name']:<28} {row['quantization']:<13} {row['dtype']:<9} "
        f"{'ready' if row['ready'] else 'to fetch':<9} "
        f"{'' if row['enabled'] else 'disabled':<9} {row['source']}"
        for row in rows
    ]
    return "\n".join([*lines, f"Presets: {', '.join(presets())}"])
