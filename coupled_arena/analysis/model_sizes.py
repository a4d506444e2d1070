"""What a model is, and how much memory its weights take: by what is stored with its answers.

What no battle holds, or holds in no form that can be read, is unknown: nothing is guessed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coupled_arena.core.sql import value_of
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.model_pages import newest_facts

# An import may hold any text in their place; a model of 10^15 weights is none.
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,4}([.][0-9]{1,9})?")


@dataclass(frozen=True)
class ModelSize:
    """What is known of a model as it was loaded for its newest answers.

    Attributes
    ----------
    source : str
        Where its weights came from, as the catalog says it; empty where that is unknown.
    dtype, quantization : str
        What it computes with, and how its weights are packed; empty where that is unknown.
    weights : int or None
        How many there are, however they are packed.
    bytes_per_weight : float or None
        Bytes of all tensors as loaded, for each weight, to two decimals.
    """

    source: str = ""
    dtype: str = ""
    quantization: str = ""
    weights: int | None = None
    bytes_per_weight: float | None = None

    @property
    def memory(self) -> float | None:
        """Bytes of all tensors as loaded; None where either number is unknown."""
        if self.weights is None or self.bytes_per_weight is None:
            return None
        return self.weights * self.bytes_per_weight


def size_of(facts: Mapping[str, str]) -> ModelSize:
    """Return what facts of a battle say of a model; a number that is none is unknown."""
    weights, each = facts.get("weights", ""), facts.get("bytes per weight", "")
    return ModelSize(
        source=facts.get("source", ""),
        dtype=facts.get("dtype", ""),
        quantization=facts.get("quantization", ""),
        weights=(int(weights) or None) if _WHOLE.fullmatch(weights) else None,
        bytes_per_weight=(float(each) or None) if _DECIMAL.fullmatch(each) else None,
    )


def read_sizes(store: Store, models: Sequence[str], hidden: Hidden) -> dict[str, ModelSize]:
    """Return what is known of models by their newest battles that may be shown."""
    with store.cursor() as cursor:
        found = newest_facts(cursor, models, hidden)
    return {model: size_of(facts) for model, facts in found.items()}


class LiveSizes:
    """Sizes that are read again once there are newer battles, for any thread.

    A vote alone does not change them, and on many battles reading them takes longer than a board.
    """

    def __init__(self, store: Store, hidden: Hidden) -> None:
        self._store = store
        self._hidden: Hidden = hidden
        self._lock = threading.Lock()
        self._known: tuple[object, dict[str, ModelSize]] = None, {}

    def get(self, models: Sequence[str]) -> dict[str, ModelSize]:
        """Return what is known of models; see `read_sizes`."""
        with self._lock:
            with self._store.cursor() as cursor:
                newest = value_of(cursor, "select max(battle_no) from battles")
            moment = newest, tuple(models)
            if self._known[0] != moment:
                self._known = moment, read_sizes(self._store, models, self._hidden)
            return self._known[1]
