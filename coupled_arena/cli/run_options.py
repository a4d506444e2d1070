"""Options of the commands that run models in bulk: how they ask, and how they draw."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from coupled_arena.core.choices import Coupling, RunSampler
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.files import whole
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import Settings, load_settings

SamplerOption = Annotated[
    RunSampler,
    typer.Option(
        "--sampler",
        help="How noise becomes a token: Gumbel-max, or [inverse "
        "transform](coupling.md#another-sampler) for comparison.",
    ),
]
CouplingOption = Annotated[
    Coupling | None,
    typer.Option(
        "--coupling",
        help="Noise for each token or for each byte; `auto` uses bytes [if "
        "vocabularies differ](byte-coupling.md).",
        show_default="auto",
    ),
]


def samplings_of(
    settings: Settings,
    changes: dict[str, float],
    coupling: str,
    temperature: str | None,
    top_p: str | None,
    **given: float | None,
) -> tuple[Sampling, ...]:
    """Return every way of drawing that a command line asks for, each once.

    Parameters
    ----------
    changes : dict
        What the command takes where nothing is given, instead of the settings.
    given : what else is given

    Raises
    ------
    SettingsError
        A number is none, or out of range.
    """
    table = {**settings.sampling.model_dump(), **changes}
    table |= {name: value for name, value in given.items() if value is not None}
    each = product(
        _numbers("--temperature", temperature, table["temperature"]),
        _numbers("--top-p", top_p, table["top_p"]),
    )
    tables = ({**table, "temperature": warm, "top_p": share} for warm, share in each)
    samplings = (load_settings(sampling=one).sampling.sampling() for one in tables)
    return tuple(dict.fromkeys(replace(each, coupling=coupling) for each in samplings))


def _numbers(option: str, text: str | None, default: float) -> list[float]:
    if text is None:
        return [default]
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise SettingsError(
            f"{option} is a number, or several with commas between them: not {text!r}."
        ) from error


def text_of(value: str | None) -> str | None:
    """Return a text that is given as it is, or, after an @, by its file."""
    if value is None or not value.startswith("@"):
        return value
    path = Path(value[1:])
    try:
        # An editor ends the last line, which is no part of what was meant.
        return (
            whole(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"The text {path} cannot be read: {error}.") from error


System = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="System prompt; empty for none. A text, or @FILE.",
        show_default="as the task needs",
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="The question; `{problem}` stands for the benchmark's own question,"
        " or a program's stub. A text, or @FILE.",
        show_default="as the task needs",
    ),
]
AnswerPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="Beginning of each answer: the model continues it, and it is scored"
        " with the rest. May hold `{problem}`. A text, or @FILE.",
        show_default="as the task needs",
    ),
]
Temperature = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y…]",
        help="Sampling temperature; 0 is greedy. A list such as `0.1,0.5,1` runs each.",
    ),
]
TopK = Annotated[int | None, typer.Option(help="Keep the k likeliest tokens; 0 keeps all.")]
TopP = Annotated[
    str | None,
    typer.Option(
        metavar="X[,Y…]", help="Share of probability to keep. A list such as `0.9,1` runs each."
    ),
]
MaxNewTokens = Annotated[int | None, typer.Option(help="Longest reply, in tokens.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Battles decoded in one batch.")]
