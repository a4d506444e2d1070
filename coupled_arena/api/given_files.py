"""Files as the functions take them, where a store or a DataFrame may stand: tables, or logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from coupled_arena.core.files import ending

if TYPE_CHECKING:
    from coupled_arena.analysis.risk.scores import RiskScores

Files = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""A file or folder, several, or several by the name of their model.

A path ``NAME=LOG``, which no file is called, is a log whose model has this name.
"""


def are_files(given: Any) -> TypeGuard[Files]:
    """Return whether something is files, where a store or a table may be given, too."""
    if isinstance(given, str | Path) and _is_database(Path(given)):
        return False  # whoever means a store opens it
    return isinstance(given, str | Path | list | tuple | dict)


def _is_database(path: Path) -> bool:
    try:
        with ending(path).open("rb") as file:
            return file.read(12).endswith(b"DUCK")
    except OSError:
        return False


def paths_of(files: Files) -> Path | list[Path]:
    """Return one path, or several."""
    if isinstance(files, str | Path):
        return Path(files)
    paths = [Path(each) for each in (files.values() if isinstance(files, Mapping) else files)]
    return paths[0] if len(paths) == 1 else paths


def scores_in(files: Files, metrics: Sequence[str] | None) -> RiskScores:
    """Return the scores of tables, or of logs.

    Parameters
    ----------
    metrics : sequence of str, optional
        By default all of a table, and the first of logs.
    """
    from coupled_arena.analysis.logs.score_logs import read_logs
    from coupled_arena.analysis.risk.scores import read_risk_scores

    if not hold_logs(files):
        return read_risk_scores(paths_of(files), metrics)
    if isinstance(files, Mapping):
        return read_logs([Path(each) for each in files.values()], metrics, list(files))
    several = [files] if isinstance(files, str | Path) else files
    named = [named_path(Path(each)) for each in several]
    return read_logs([path for _, path in named], metrics, [name for name, _ in named])


def hold_logs(files: Files) -> bool:
    """Return whether files are logs of other tools, or folders, which may hold some.

    So is what somebody has given names to, for a table names its models itself.
    """
    from coupled_arena.analysis.logs.score_logs import format_of

    if isinstance(files, Mapping):
        return True
    several = [files] if isinstance(files, str | Path) else files
    named = [named_path(Path(each)) for each in several]
    return any(name or path.is_dir() or format_of(path) for name, path in named)


def named_path(given: Path) -> tuple[str | None, Path]:
    """Return the name and the path of ``NAME=PATH``, unless a path is called so."""
    name, sign, path = str(given).partition("=")
    return (name, Path(path)) if name and sign and not given.exists() else (None, given)
