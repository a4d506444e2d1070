"""What the modules of the command line share: common options, output, reading the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import Settings

Config = Annotated[Path | None, typer.Option(help="TOML file with settings and a catalog.")]
Preset = Annotated[str | None, typer.Option(help="Catalog that comes with the program.")]
Db = Annotated[Path | None, typer.Option(help="Database file.  [default: arena.duckdb]")]
Voter = Annotated[
    str | None, typer.Option(help="Only this person's votes: an annotator's name, or a voter.")
]
Excluded = Annotated[
    Literal["leave-out", "include"],
    typer.Option(help="Votes that `exclude` has excluded: left out, or counted all the same."),
]
Named = Annotated[
    Literal["leave-out", "include"],
    typer.Option(help="Votes on answers that name a model: left out, or counted all the same."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]

# Spelled out rather than imported, which would cost every command the time to load scipy; a test
# holds them against the enumerations.
Weightings = Literal["stratified", "position", "count"]
Covariances = Literal["corrected", "published"]
Cutoffs = Literal["max-t", "step-down", "any-time", "bonferroni", "chi2"]

JudgeScores = Annotated[
    Literal["verdict", "probability"],
    typer.Option(help="A judge's verdict counts as 0 or 1, or as likely as it was to prefer each."),
]
FlipsOption = Annotated[
    Literal["tie", "abstain"],
    typer.Option(help="What a judge says that does not say the same in both orders."),
]
TieScores = Literal["loss", "half"]
ControlNames = Literal["none", "length", "style"]
Controls = Annotated[
    ControlNames,
    typer.Option(help="Hold the length of replies fixed, or their Markdown too."),
]
Scopes = Literal["joint", "marginal"]


def show(answer: dict[str, Any], as_json: bool, text: Callable[[], str]) -> None:
    """Print an answer on stdout."""
    typer.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else text())


def check_level(alpha: float) -> None:
    """Refuse what is no error level, before anything is read."""
    if not 0 < alpha < 1:
        raise ArenaError(f"--alpha is an error level between 0 and 1, such as 0.05, not {alpha:g}.")


def reading(settings: Settings, excluded: str = "leave-out", named: str = "leave-out") -> Any:
    """Open the database, or its newest snapshot while another process owns it.

    Parameters
    ----------
    excluded, named : {"leave-out", "include"}
        Whether votes count that do not by default: see `Excluded` and `Named`.
    """
    from coupled_arena.store.transfer.snapshots import open_for_reading

    store, age = open_for_reading(settings.db)
    if age is not None:
        typer.echo(f"{settings.db} is in use: reading its snapshot, {age:.0f} s old.", err=True)
    too = {"excluded": excluded == "include", "named": named == "include"}
    return store.counting(**too) if any(too.values()) else store


def voter_of(settings: Settings, store: Any, voter: str | None) -> str | None:
    """Return the voter whom a name or a voter stands for; whoever has no vote here is refused."""
    if voter is None:
        return None
    from coupled_arena.store.annotators import annotators_path, voter_called
    from coupled_arena.store.queries.voters import check_voter

    called = voter_called(annotators_path(settings.db), voter)
    check_voter(store, called, voter)
    return called


def only_judge(store: Any) -> str:
    """Return the judge of a store that has one; where there are several, one must be named."""
    from coupled_arena.api.checks import only_judge as named

    return named(store, "--judge")


def judges_of(store: Any, text: str | None) -> tuple[str, ...]:
    """Return the judges that a text names: one, whatever its name, or a list; each once."""
    from coupled_arena.store.queries import comparisons

    if text is None:
        return ()
    with store.cursor() as cursor:
        known = comparisons.judges(cursor)
    # A name without a comma that nobody has is told by whoever looks for its verdicts.
    return (text,) if text in known or "," not in text else tuple(dict.fromkeys(listed(text)))


def listed(text: str) -> tuple[str, ...]:
    """Return the items of a list separated by commas; of an empty text none."""
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if text and not items:
        raise ArenaError(f"{text!r} names nothing: give names separated by commas.")
    return items
