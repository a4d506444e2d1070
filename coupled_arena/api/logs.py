"""Files of scores, as the functions take them: tables, or logs of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

Logs = Path | Sequence[Path] | Mapping[str, Path]
"""A file or folder, several, or several by the name of their model.

A path ``NAME=LOG``, which no file is called, is a log whose model has this name.
"""

if TYPE_CHECKING:
    from coupled_arena.analysis.risk.scores import RiskScores


def are_files(given: Any) -> TypeGuard[Logs]:
    """Return whether something is files, where a store or a table may be given, too."""
    return isinstance(given, Path | list | tuple | dict)


def scores_in(files: Logs, metrics: Sequence[str] | None) -> RiskScores:
    """Return the scores of a table, or of logs.

    Parameters
    ----------
    metrics : sequence of str, optional
        By default all of a table, and the first of logs.
    """
    from coupled_arena.analysis.logs.read import read_logs
    from coupled_arena.analysis.risk.scores import read_risk_scores

    if isinstance(files, Mapping):
        return read_logs(list(files.values()), metrics, list(files))
    named = [named_path(path) for path in ([files] if isinstance(files, Path) else files)]
    if len(named) == 1 and named[0][0] is None and not is_log(named[0][1]):
        return read_risk_scores(named[0][1], metrics)
    return read_logs([path for _, path in named], metrics, [name for name, _ in named])


def is_log(path: Path) -> bool:
    """Return whether a file is a log of another tool, or a folder, which may hold some."""
    from coupled_arena.analysis.logs.read import format_of

    return path.is_dir() or format_of(path) is not None


def named_path(given: Path) -> tuple[str | None, Path]:
    """Return the name and the path of ``NAME=PATH``, unless a path is called so."""
    name, sign, path = str(given).partition("=")
    return (name, Path(path)) if name and sign and not given.exists() else (None, given)
