"""Options of a command that stand in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import read_toml


def _read_plan(context: typer.Context, path: Path | None) -> None:
    """Take options that are not given from a TOML file."""
    if path is None:
        return
    values = read_toml(path, f"The plan {path}")
    named = {key.replace("-", "_"): value for key, value in values.items()}
    named = {"as_json" if key == "json" else key: value for key, value in named.items()}
    switches = {param.name for param in context.command.params if getattr(param, "is_flag", False)}
    known = {param.name for param in context.command.params if param.name} - {"plan"}
    if unknown := sorted(set(named) - known):
        raise SettingsError(
            f"The plan {path} has no use for {', '.join(unknown)}. It may hold: "
            f"{', '.join(sorted(known))}."
        )
    for key, value in named.items():
        if isinstance(value, bool) != (key in switches):
            wanted = "true or false" if key in switches else "a value, not true or false"
            raise SettingsError(f"The plan {path}: {key} must be {wanted}.")
    context.default_map = {
        key: ",".join(map(str, value)) if isinstance(value, list) else value
        for key, value in named.items()
    }


PlanFile = Annotated[
    Path | None,
    typer.Option(
        help="TOML file that holds any of these options; flags win.",
        callback=_read_plan,
        is_eager=True,
    ),
]
