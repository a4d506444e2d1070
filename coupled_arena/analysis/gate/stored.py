"""What stored gates found, from the scores of their battles, as these are added.

A prompt counts once all before it are answered, as in the run itself: nothing here draws an order.
Several candidates are judged together, as in their run. What was read once is not read again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from coupled_arena.analysis.gate.churn import with_answers_and_facts
from coupled_arena.analysis.gate.paired import PairedScores
from coupled_arena.analysis.gate.result import CandidateGate, GateReport, GateSettings, gate_scores
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.gate_answers import (
    GateAnswer,
    count_answers,
    gate_answers,
    newest_facts,
)
from coupled_arena.store.tables import gates, scores
from coupled_arena.store.tables.gates import ScoredPrompt, StoredGate

_REST = 10.0  # times as long as counting took, before a gate that goes on is counted again
_FEWEST = 2  # prompts that anything can be said of


@dataclass(frozen=True, eq=False)
class GateRows:
    """What was read of a gate.

    Attributes
    ----------
    prompts : tuple of ScoredPrompt
        Those that count.
    answers : tuple of GateAnswer
        All of its models, oldest battles first: others than the gate's tell what independent noise
        changes.
    facts : mapping of str to mapping
        Of each model, what its newest answers were computed with.
    """

    prompts: tuple[ScoredPrompt, ...] = ()
    answers: tuple[GateAnswer, ...] = ()
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    def after(self, cursor: Cursor, gate: StoredGate) -> GateRows:
        """Return the rows that are there now, of which only later ones are read."""
        models = gate.base, gate.candidate
        last = self.answers[-1].number if self.answers else 0
        answers = self.answers + gate_answers(cursor, gate.metric, models, Selection(), last)
        if len(answers) != count_answers(cursor, gate.metric, models):
            # Older answers were scored since.
            answers = gate_answers(cursor, gate.metric, models, Selection())
        facts = {
            model: {**self.facts.get(model, {}), **newest_facts(cursor, model, last)}
            for model in models
        }
        more = gates.scored_prompts(cursor, gate, len(self.prompts))
        return GateRows(self.prompts + more, answers, facts)


@dataclass(frozen=True, eq=False)
class GateStanding:
    """How a gate stands.

    Attributes
    ----------
    gate : StoredGate
    report : GateReport or None
        None before the second prompt.
    rows : GateRows
        What it was read from.
    """

    gate: StoredGate
    report: GateReport | None
    rows: GateRows

    @property
    def answered(self) -> int:
        """How many prompts count."""
        return len(self.rows.prompts)

    @property
    def mode(self) -> Mode | None:
        """The noise of its battles; None before the first prompt."""
        return self.rows.prompts[0].mode if self.rows.prompts else None

    @property
    def candidate(self) -> CandidateGate | None:
        """What is known of the candidate."""
        return self.report.candidates[0] if self.report else None

    @property
    def over(self) -> bool:
        """Whether no further prompt can tell more than is known."""
        known = self.candidate is not None and self.candidate.known_after is not None
        return known or self.answered == self.gate.prompts


def read_standing(
    store: Store, gate: StoredGate, known: GateStanding | None = None
) -> GateStanding:
    """Return how a gate stands.

    Parameters
    ----------
    known : GateStanding, optional
        How it stood: only what came later is read.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # one state of the store, whatever is written meanwhile
        rows = (known.rows if known else GateRows()).after(cursor, gate)
        cursor.execute("commit")
    prompts = rows.prompts
    if len(prompts) < _FEWEST:
        return GateStanding(gate, None, rows)
    categories = tuple(prompt.category for prompt in prompts)
    paired = PairedScores(
        metric=gate.metric,
        models=(gate.base, *gate.judged),
        prompts=tuple(" ".join(prompt.text.split()) for prompt in prompts),
        values=np.array([prompt.scores for prompt in prompts]),
        categories=categories if any(categories) else (),
        clusters=tuple(map(str, range(len(prompts)))),  # each was drawn by itself
        battles=tuple(prompt.battle for prompt in prompts),
        coupled=all(prompt.mode is Mode.COUPLED for prompt in prompts),
        drawn=True,
    )
    settings = GateSettings(gate.margin, gate.alpha, seed=int(gate.experiment, 16))
    report = gate_scores(paired, settings).only(gate.candidate)
    counted = gate.battles[: len(prompts) * gate.answers]
    return GateStanding(
        gate, with_answers_and_facts(report, rows.answers, rows.facts, counted), rows
    )


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
        self._counting, self._listing = threading.Lock(), threading.Lock()
        self._known: dict[str, tuple[GateStanding, int, float]] = {}
        self._gates: tuple[int, tuple[StoredGate, ...]] = 0, ()

    def all(self) -> tuple[StoredGate, ...]:
        """Return all gates, the newest first."""
        with self._listing, self._store.cursor() as cursor:
            number = gates.count(cursor)
            if number != self._gates[0]:
                self._gates = number, gates.stored(cursor)
            return self._gates[1]

    def standing(self, gate: StoredGate) -> GateStanding:
        """Return how a gate stands, or stood a moment ago."""
        known = self._known.get(gate.id)
        if known and time.monotonic() < known[2]:
            return known[0]
        # Whoever has something to show does not wait for what somebody else counts.
        if not self._counting.acquire(blocking=known is None):
            assert known
            return known[0]
        try:
            return self._counted(gate)
        finally:
            self._counting.release()

    def _counted(self, gate: StoredGate) -> GateStanding:
        known = self._known.get(gate.id)
        began = time.monotonic()
        with self._store.cursor() as cursor:
            written = scores.count(cursor)
        if known and known[1] == written:
            return known[0]
        found = read_standing(self._store, gate, known[0] if known else None)
        now = time.monotonic()
        self._known[gate.id] = found, written, now + self._rest * (now - began)
        return found
