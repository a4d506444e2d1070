"""Logs of other tools, as the functions take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

Logs = Path | Sequence[Path] | Mapping[str, Path]
"""A file or folder, several, or several by the name of their model."""

if TYPE_CHECKING:
    from coupled_arena.analysis.risk.scores import RiskScores


def logged(logs: Logs, metrics: Sequence[str] | None) -> RiskScores:
    """Return the scores in logs; by default the first metric of the first one."""
    from coupled_arena.analysis.logs.read import read_logs

    if isinstance(logs, Mapping):
        return read_logs(list(logs.values()), metrics, list(logs))
    return read_logs([logs] if isinstance(logs, Path) else list(logs), metrics)
