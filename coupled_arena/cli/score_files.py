"""Files of scores that commands take: tables, or logs of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coupled_arena.core.errors import ScoreError

if TYPE_CHECKING:
    from coupled_arena.analysis.risk.scores import RiskScores


def read_scores(given: Sequence[Path], metrics: Sequence[str] | None) -> RiskScores:
    """Return the scores of a table, or of logs, of which ``NAME=LOG`` names the model of one.

    Parameters
    ----------
    metrics : sequence of str, optional
        By default all of a table, and the first of logs.
    """
    from coupled_arena.analysis.logs.read import read_logs
    from coupled_arena.analysis.risk.files import read_risk_scores

    named = [named_path(path) for path in given]
    (name, path), *more = named
    if not (name or more or is_log(path)):
        return read_risk_scores(path, metrics)
    return read_logs([path for _, path in named], metrics, [name for name, _ in named])


def is_log(path: Path) -> bool:
    """Return whether a file is a log of another tool, or a folder, which may hold some."""
    from coupled_arena.analysis.logs.read import format_of

    return path.is_dir() or format_of(path) is not None


def refuse_store_options(given: Mapping[str, object], instead: str, what: str) -> None:
    """Raise an error where an option is given that chooses among what a store has.

    Parameters
    ----------
    given : mapping
        Options' names, and whether they say something.
    instead : str
        The option or the files that are read in place of a store.
    what : str
        What the options choose.
    """
    if options := [option for option, value in given.items() if value]:
        raise ScoreError(f"{options[0]} is for {what}: leave it out, or {instead}.")


def named_path(given: Path) -> tuple[str | None, Path]:
    """Return the name and the path of ``NAME=PATH``, unless a path is called so."""
    name, sign, path = str(given).partition("=")
    return (name, Path(path)) if name and sign and not given.exists() else (None, given)
