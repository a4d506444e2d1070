"""Many battles, votes and verdicts in one transaction, as an import writes them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from coupled_arena.core.records import Battle, Outcome, Score, Vote, new_id
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.tables import battles, scores, upkeep, verdicts, votes


@dataclass
class Batch:
    """Battles, votes and verdicts that reach a store together."""

    battles: list[Battle] = field(default_factory=list)
    votes: list[tuple[Vote, bool]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    marks: list[tuple[str, Sequence[Score]]] = field(default_factory=list)

    def add_battle(self, battle, marks=()):
        self.battles.append(battle)
        self.marks.append((battle.id, marks))

    def cast(self, vote, *, reveal=True):
        self.votes.append((vote, reveal))

    def write(self, cursor):
        for battle in self.battles:
            battles.add(cursor, battle)
        for id, marks in self.marks:
            scores.add(cursor, id, marks)
        for vote, reveal in self.votes:
            votes.cast(cursor, vote, reveal=reveal)
        for name in sorted({verdict.judge for verdict in self.verdicts}):
            cursor.execute(
                "insert into judges (judge, model, prompt_hash, sampling) values (?, '', '', '') "
                "on conflict do nothing",
                [name],
            )
        new = [battle.id for battle in self.battles]
        changed = [*new, *(vote.battle for vote, _ in self.votes)]
        upkeep.enrol(cursor, "list_contains($battles, battle)", {"battles": new})
        upkeep.refresh(cursor, "list_contains($battles, battle)", {"battles": changed})
        if self.verdicts:
            verdicts.add(cursor, self.verdicts)


@contextmanager
def at_once(store):
    """Collect what is stored and write it together: many times faster than one by one.

    Within another batch it joins that.
    """
    if isinstance(store, Batch):
        yield store
        return
    batch = Batch()
    yield batch
    store.write(batch.write)


def judge(store, name, battle, first, second, outcome, *likely):
    """Store a verdict, as the judging code does: with its comparisons, in one transaction."""
    outcome = outcome and Outcome(outcome)
    place = new_id(), battle.id, name, first, second
    with at_once(store) as batch:
        batch.verdicts.append(Verdict(*place, outcome, "", None, *likely))
