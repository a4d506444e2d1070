"""What stored gates found, from the scores of their battles, as these are added.

A prompt counts once all before it are answered, as in the run itself: nothing here draws an order.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np

from coupled_arena.analysis.gate.churn import with_churn_and_costs
from coupled_arena.analysis.gate.paired import PairedScores
from coupled_arena.analysis.gate.result import CandidateGate, GateReport, GateSettings, gate_scores
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import gates
from coupled_arena.store.tables.gates import StoredGate

_REST = 10.0  # times as long as counting took, before a gate that goes on is counted again
_FEWEST = 2  # prompts that anything can be said of


@dataclass(frozen=True, eq=False)
class GateStanding:
    """How a gate stands.

    Attributes
    ----------
    gate : StoredGate
    report : GateReport or None
        None before the second prompt.
    answered : int
        Prompts that count.
    """

    gate: StoredGate
    report: GateReport | None
    answered: int

    @property
    def candidate(self) -> CandidateGate | None:
        """What is known of the candidate."""
        return self.report.candidates[0] if self.report else None

    @property
    def over(self) -> bool:
        """Whether no further prompt can tell more than is known."""
        known = self.candidate is not None and self.candidate.known_after is not None
        return known or self.answered == self.gate.prompts


def read_standing(store: Store, gate: StoredGate) -> GateStanding:
    """Return how a gate stands."""
    with store.cursor() as cursor:
        prompts = gates.scored_prompts(cursor, gate)
    if len(prompts) < _FEWEST:
        return GateStanding(gate, None, len(prompts))
    categories = tuple(prompt.category for prompt in prompts)
    scores = PairedScores(
        metric=gate.metric,
        models=(gate.base, gate.candidate),
        prompts=tuple(" ".join(prompt.text.split()) for prompt in prompts),
        values=np.array([prompt.scores for prompt in prompts]),
        categories=categories if any(categories) else (),
        clusters=tuple(map(str, range(len(prompts)))),  # each was drawn by itself
        battles=tuple(prompt.battle for prompt in prompts),
        coupled=all(prompt.mode is Mode.COUPLED for prompt in prompts),
        drawn=True,
    )
    settings = GateSettings(gate.margin, gate.alpha, seed=int(gate.experiment, 16))
    counted = gate.battles[: len(prompts) * gate.answers]
    report = with_churn_and_costs(
        *(gate_scores(scores, settings), store, gate.metric, Selection()), battles=counted
    )
    return GateStanding(gate, report, len(prompts))


class LiveGates:
    """The gates of a store, counted anew where there is something new, for all who look.

    Parameters
    ----------
    store : Store
    rest : float
        How long nothing is counted again, in times as long as it took.
    """

    def __init__(self, store: Store, rest: float = _REST) -> None:
        self._store, self._rest = store, rest
        self._counting = threading.Lock()
        self._known: dict[str, tuple[GateStanding, int, float]] = {}
        self._gates: tuple[int, tuple[StoredGate, ...]] = 0, ()

    def all(self) -> tuple[StoredGate, ...]:
        """Return all gates, the newest first."""
        with self._counting, self._store.cursor() as cursor:
            number = gates.count(cursor)
            if number != self._gates[0]:
                self._gates = number, gates.stored(cursor)
            return self._gates[1]

    def standing(self, gate: StoredGate) -> GateStanding:
        """Return how a gate stands, or stood a moment ago."""
        with self._counting:
            known = self._known.get(gate.id)
            began = time.monotonic()
            if known and began < known[2]:
                return known[0]
            with self._store.cursor() as cursor:
                answered = gates.answered(cursor, gate)
            if known and known[1] == answered:
                return known[0]
            found = read_standing(self._store, gate)
            now = time.monotonic()
            self._known[gate.id] = found, answered, now + self._rest * (now - began)
            return found
