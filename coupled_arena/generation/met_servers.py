"""With which weights each model of a server was first met, kept in the cache of weights.

Votes are cast on a name. A server that holds other weights under it would mix two models.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from coupled_arena.generation.served_weights import ServedWeights

MET = "served_weights.json"


def remember(cache: Path, name: str, weights: ServedWeights) -> ServedWeights | None:
    """Keep the weights of a first meeting; return those of an earlier one where they differ."""
    path = cache / MET
    met: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):  # nobody was met, or a crash cut it short
        met = dict(json.loads(path.read_text("utf-8")))
    with suppress(TypeError, KeyError):
        before = ServedWeights(**met[name])
        return None if before == weights else before
    met[name] = asdict(weights)
    cache.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(met, indent=1), "utf-8")
    beside.replace(path)
    return None
