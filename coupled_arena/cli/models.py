"""The commands that list the models of the catalog, fetch their weights and check them."""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Json, Preset, show
from coupled_arena.core.errors import ModelError
from coupled_arena.core.extras import require
from coupled_arena.core.settings import Settings, load_settings, presets

if TYPE_CHECKING:
    from coupled_arena.core.catalog import ModelSpec
    from coupled_arena.generation.fingerprint import Fingerprint
    from coupled_arena.generation.language_model import LanguageModel
    from coupled_arena.generation.vocabulary import Vocabulary

models_app = typer.Typer(help="List the configured models, fetch their weights, or check them.")


@models_app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    config: Config = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """List the configured models and whether their weights are here.

    What is wrong with the files of a model is told in one line; `models check` loads it, too.
    """
    if context.invoked_subcommand:
        return
    require("arena", "A model")
    settings = load_settings(config, preset=preset)
    from coupled_arena.generation.loading import fault
    from coupled_arena.generation.weights import is_ready

    catalog = settings.catalog
    faults = [fault(spec, settings.cache) for spec in catalog.enabled]
    problems = [*catalog.problems, *filter(None, faults)]
    rows = [
        {
            "name": spec.name,
            "source": spec.source,
            "quantization": spec.quantization,
            "dtype": spec.dtype,
            "server": spec.server,
            "ready": is_ready(spec, settings.cache),
            "enabled": spec in catalog.enabled,
        }
        for spec in catalog.models
    ]
    answer = {"models": rows, "presets": presets(), "problems": problems}
    show(answer, as_json, lambda: _models_table(rows))
    for problem in problems:
        typer.echo(problem, err=True)


@models_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a model of the catalog.")],
    packed: Annotated[
        bool,
        typer.Option("--packed", help="Leave a GGUF file packed. The first start unpacks it."),
    ] = False,
    config: Config = None,
    preset: Preset = None,
) -> None:
    """Fetch a model's weights, so that it starts at once later."""
    require("arena", "A model")
    settings = load_settings(config, preset=preset)
    from coupled_arena.generation.weights import fetch as fetch_weights

    spec = settings.catalog[name]
    if spec.server:
        raise ModelError(f"Model {name!r} is on the server {spec.server}: nothing is fetched.")
    place = fetch_weights(spec, settings.cache, packed)
    # A file is packed, also where it was so before.
    told = "is ready in" if place.is_dir() else "is packed, and its first start unpacks it:"
    typer.echo(f"{name} {told} {place}", err=True)


@models_app.command()
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models of the catalog; all enabled ones by default.")
    ] = None,
    config: Config = None,
    preset: Preset = None,
    as_json: Json = False,
) -> None:
    """Load models one after the other, and check their weights, reading and writing.

    The perplexity is that of a fixed plain text. If a variant's perplexity is far from that of
    its model, it was unpacked wrongly, or is another model. Each model also writes two made-up
    texts together. It then writes "many" replies at once, or "one" if neighbours change them.
    A model that writes wrong text alone is refused.

    The JSON has `models`, each with `name` and `perplexity`. Those of this process also have
    `fingerprint`, `bytes_per_weight`, `layers` and `replies_at_once` (`many` or `one`). With
    `problems` the exit code is 1.
    """
    require("arena", "A model")
    settings = load_settings(config, preset=preset)
    catalog = settings.catalog
    specs = [catalog[name] for name in names] if names else list(catalog.enabled)
    from coupled_arena.generation.fingerprint import strangers

    checked: list[Checked] = []
    met: dict[str, LanguageModel] = {}
    problems = list(catalog.problems)
    for spec in specs:
        try:
            checked.append(_loaded(spec, settings, met))
        except ModelError as error:
            problems.append(str(error))
        gc.collect()  # what accelerate hooks into a model holds it in circles
    problems += strangers(catalog, checked)
    rows = [each.row() for each in checked]
    show({"models": rows, "problems": problems}, as_json, lambda: _checked(rows))
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)


def _loaded(spec: ModelSpec, settings: Settings, met: dict[str, LanguageModel]) -> Checked:
    """Load a model and let it go; keep only those that others must share noise with."""
    from coupled_arena.generation.language_model import brings_noise
    from coupled_arena.generation.loading import join, load

    model = load(spec, settings.cache, sampling=settings.sampling.sampling())
    join(model, met)
    if brings_noise(model):  # a server holds it: it takes no memory here
        met[spec.name] = model
    return Checked.of(model)


@dataclass(frozen=True)
class Checked:
    """What is kept of a model that was loaded and let go."""

    name: str
    perplexity: float
    vocabulary: Vocabulary
    fingerprint: Fingerprint | None
    at_once: str

    @classmethod
    def of(cls, model: LanguageModel) -> Checked:
        """Keep what a model says of itself."""
        weights = getattr(model, "fingerprint", None)  # a server keeps them to itself
        at_once = model.arithmetic.get("replies at once", "")
        return cls(model.name, model.perplexity, model.vocabulary, weights, at_once)

    def row(self) -> dict[str, Any]:
        """Return it for JSON."""
        finite = math.isfinite(self.perplexity)
        row = {"name": self.name, "perplexity": self.perplexity if finite else None}
        if self.fingerprint is None:
            return row
        return row | {
            "fingerprint": self.fingerprint.digest or None,
            "bytes_per_weight": self.fingerprint.bytes_per_weight,
            "layers": dict(self.fingerprint.layers),
            "replies_at_once": self.at_once,
        }


def _checked(rows: list[dict[str, Any]]) -> str:
    head = f"{'model':<28} {'perplexity':>10} {'bytes/weight':>12}  {'fingerprint':<16}  "
    head += f"{'at once':<7}  layers"
    return "\n".join([head, *map(_checked_line, rows)])


def _checked_line(row: dict[str, Any]) -> str:
    perplexity, size = (
        "-" if row.get(key) is None else f"{row[key]:.4g}"
        for key in ("perplexity", "bytes_per_weight")
    )
    layers = ", ".join(f"{count} {kind}" for kind, count in row.get("layers", {}).items())
    digest = row.get("fingerprint") or "-"
    at_once = row.get("replies_at_once") or "-"
    line = f"{row['name']:<28} {perplexity:>10} {size:>12}  {digest:<16}  {at_once:<7}  {layers}"
    return line.rstrip()


def _models_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{row['name']:<28} {row['quantization']:<13} {row['dtype']:<9} "
        f"{'served' if row['server'] else 'ready' if row['ready'] else 'to fetch':<9} "
        f"{'' if row['enabled'] else 'disabled':<9} {row['source']}"
        for row in rows
    ]
    return "\n".join([*lines, f"Presets: {', '.join(presets())}"])
