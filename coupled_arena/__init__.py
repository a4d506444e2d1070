"""Compare language models side by side, decoding in lockstep from one noise stream.

Importing this loads nothing else: each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coupled_arena.core.version import VERSION

if TYPE_CHECKING:
    from coupled_arena.api.analyses import agreement, audit, coupling, voters
    from coupled_arena.api.closeness import closeness
    from coupled_arena.api.experiments import plan, resample, simulate
    from coupled_arena.api.figures import plot, report
    from coupled_arena.api.gates import gate
    from coupled_arena.api.models import Models, generate, load
    from coupled_arena.api.rankings import leaderboard, rank
    from coupled_arena.api.reproducing import reproduce
    from coupled_arena.api.results import Result
    from coupled_arena.api.risks import risk
    from coupled_arena.api.schemas import schema
    from coupled_arena.api.stores import ArenaStore, open
    from coupled_arena.core.errors import ArenaError

__version__ = VERSION
__all__ = [
    "ArenaError",
    "ArenaStore",
    "Models",
    "Result",
    "agreement",
    "audit",
    "closeness",
    "coupling",
    "gate",
    "generate",
    "leaderboard",
    "load",
    "open",
    "plan",
    "plot",
    "rank",
    "report",
    "reproduce",
    "resample",
    "risk",
    "schema",
    "simulate",
    "voters",
]

_HOMES = {
    "api.analyses": ("agreement", "audit", "coupling", "voters"),
    "api.closeness": ("closeness",),
    "api.experiments": ("plan", "resample", "simulate"),
    "api.figures": ("plot", "report"),
    "api.gates": ("gate",),
    "api.models": ("Models", "generate", "load"),
    "api.rankings": ("leaderboard", "rank"),
    "api.reproducing": ("reproduce",),
    "api.results": ("Result",),
    "api.risks": ("risk",),
    "api.schemas": ("schema",),
    "api.stores": ("ArenaStore", "open"),
    "core.errors": ("ArenaError",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
