"""A gate at work: models answer in random order until it is known whether one is as good.

Prompts count in the order in which they were drawn, never in that in which their answers end.
Short answers end first, and may be right more often than others.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from coupled_arena.analysis.gate.order import drawn_order
from coupled_arena.battles.batch import BatchPlan, Watcher
from coupled_arena.core.records import Prompt, is_guessable, new_id, seed_to_hex
from coupled_arena.stats.gate.betting import Gate
from coupled_arena.stats.gate.expected import further
from coupled_arena.store.database import Store
from coupled_arena.store.tables import battles, gates
from coupled_arena.store.tables.gates import StoredGate


def in_drawn_order(prompts: Sequence[Prompt], seed: int) -> tuple[Prompt, ...]:
    """Return prompts in the random order of a seed, in which `gate` takes stored ones, too."""
    names = [prompt.id or prompt.text for prompt in prompts]
    return tuple(prompts[at] for at in drawn_order(names, seed))


def seed_of_run(
    store: Store,
    metric: str,
    aim: tuple[float, float],
    planned: Callable[[int], BatchPlan],
) -> int:
    """Return the seed of the stored run that a plan goes on with, or a new one that nobody guesses.

    A run that asked the same comes first, then the newest of these models that drew alike. Seeds of
    small numbers are left out: whoever guesses one knows the sides of all battles that come.

    Parameters
    ----------
    aim : tuple of float
        Margin and error level of what is asked.
    planned : callable
        Returns all battles that there may be, by their seed.
    """
    new = secrets.randbits(64)
    models = planned(new).models
    with store.cursor() as cursor:
        known = [each for each in gates.stored(cursor) if (each.base, *each.judged) == models]
        runs = battles.experiments(cursor, models)  # of one look, too, which is no stored gate
    known.sort(key=lambda each: each.asks[2:] != (metric, *aim))
    made: dict[str, Collection[str]] = {}
    for gate in known:
        made.setdefault(gate.experiment, gate.battles)
    for experiment in runs:
        made.setdefault(experiment, ())
    for experiment, own in made.items():
        if is_guessable(experiment):
            continue
        seed = int(experiment, 16)
        there = set(own or store.battles_of(experiment))
        if any(battle.id in there for battle, _prompt in planned(seed).battles()):
            return seed
    return new


def keep_gates(
    store: Store, plan: BatchPlan, metric: str, margin: float, alpha: float
) -> tuple[StoredGate, ...]:
    """Store what a plan asks of each candidate, and return it.

    The same question, on the same prompts, is one gate: none ever changes, for exports and backups
    may hold it. Each of several candidates is kept with the others, because they are judged
    together.
    """
    base, *candidates = plan.models
    ids = tuple(battle.id for battle, _prompt in plan.battles())
    with store.cursor() as cursor:
        known = gates.stored(cursor)
    answers = plan.size // max(len(plan.prompts), 1)
    together = tuple(candidates) if len(candidates) > 1 else ()
    begun = datetime.now(UTC)
    found: list[StoredGate] = []
    for each in candidates:
        asks = base, each, metric, margin, alpha
        of_run = seed_to_hex(plan.seed), answers, ids, begun, together
        gate = StoredGate(new_id(), *asks, *of_run)
        same = (old for old in known if replace(old, id=gate.id, begun_at=begun) == gate)
        found.append(next(same, gate))
    for gate in found:
        store.write(lambda cursor, gate=gate: gates.add(cursor, gate))
    return tuple(found)


class GateWatcher(Watcher):
    """Bets on each prompt once all before it are answered, and ends the run when it is known.

    Parameters
    ----------
    plan : BatchPlan
        With one way of drawing, in one mode; its first model is the base, the others candidates.
    gate : Gate
        What is known before the first prompt.
    early : bool
        Whether to end once it is known; else only at the end of prompts or time.
    seconds : float, optional
        After which no further prompt begins.
    """

    def __init__(
        self,
        plan: BatchPlan,
        gate: Gate,
        *,
        early: bool = True,
        seconds: float | None = None,
    ) -> None:
        self.gate = gate
        self._early = early
        self._until = None if seconds is None else time.monotonic() + seconds
        self._models = plan.models
        self._answers = plan.size // max(len(plan.prompts), 1)
        self._prompts = len(plan.prompts)
        self._prompt = {
            battle.id: n // self._answers for n, (battle, _) in enumerate(plan.battles())
        }
        self._waiting: defaultdict[int, list[list[float]]] = defaultdict(list)

    def take(self, battle: str, scores: Mapping[str, float]) -> None:
        """Take in the scores of a battle by model, and bet on all prompts that are complete."""
        prompt = self._prompt.get(battle)
        if prompt is None:
            return  # the same experiment has battles of other plans
        base, *others = (scores[model] for model in self._models)
        self._waiting[prompt].append([other - base for other in others])
        while len(self._waiting[self.gate.seen]) == self._answers:
            differences = np.mean(self._waiting.pop(self.gate.seen), axis=0)
            self.gate = self.gate.after(differences[None])

    @property
    def battles(self) -> tuple[str, ...]:
        """The battles that the plan makes."""
        return tuple(self._prompt)

    @property
    def known(self) -> bool:
        """Whether it is known of each candidate that it is as good, or that it is worse."""
        return None not in self.gate.known_after

    def enough(self) -> bool:
        """Return whether no further prompt needs to begin."""
        return (self._early and self.known) or (
            self._until is not None and time.monotonic() >= self._until
        )

    def words(self) -> str:
        """Return the difference so far, and how many prompts are still expected."""
        low, high = self.gate.interval()
        each = (f"[{a:+.3f}, {b:+.3f}]" for a, b in zip(low, high, strict=True))
        more = [n for n in further(self.gate) if n is None or n > 0]
        if not more:
            return " ".join(each)
        left = self._prompts - self.gate.seen
        most = None if None in more else max(n for n in more if n is not None)
        about = (
            f"about {most:,} more" if most is not None and most <= left else "more than there are"
        )
        return f"{' '.join(each)}, prompts: {about}"
