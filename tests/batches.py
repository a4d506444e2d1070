"""Many battles, votes and verdicts in one transaction, as an import writes them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from coupled_arena.core.records import Battle, Outcome, Score, Vote, new_id
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.tables import battles, derived_rows, judges, scores, votes


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
        new = [battle.id for battle in self.battles]
        if len(set(new)) == len(new) and not _any(cursor, "battles", new):
            battles.insert(cursor, self.battles)
        else:
            for battle in self.battles:
                battles.add(cursor, battle)
        for id, marks in self.marks:
            scores.add(cursor, id, marks)
        self._cast(cursor, set(new))
        for name in sorted({verdict.judge for verdict in self.verdicts}):
            cursor.execute(
                "insert into judges (judge, model, prompt_hash, sampling) values (?, '', '', '') "
                "on conflict do nothing",
                [name],
            )
        changed = [*new, *(vote.battle for vote, _ in self.votes)]
        derived_rows.derive(cursor, "list_contains($battles, battle)", {"battles": new})
        derived_rows.refresh(cursor, "list_contains($battles, battle)", {"battles": changed})
        if self.verdicts:
            judges.add_verdicts(cursor, self.verdicts)

    def _cast(self, cursor, new):
        """Write votes; only those are not looked at one by one that nothing can be wrong with."""
        places = {(vote.battle, vote.voter) for vote, _ in self.votes}
        size = {battle.id: len(battle.models) for battle in self.battles}
        if (
            len(places) < len(self.votes)
            or not new.issuperset(battle for battle, _ in places)
            or any(len(vote.ranks) != size[vote.battle] for vote, _ in self.votes)
            or any(min(vote.ranks) != 1 for vote, _ in self.votes)
            or any(vote.both_bad and max(vote.ranks) != 1 for vote, _ in self.votes)
            or cursor.execute("from probation").fetchone()
            or _any(cursor, "votes", [vote.id for vote, _ in self.votes])
            or _any(cursor, "reveals", list(new), "battle")
        ):
            for vote, reveal in self.votes:
                votes.cast(cursor, derived_rows.Due(), [votes.Casting(vote, reveal)])
        elif self.votes:
            votes.insert(cursor, [vote for vote, _ in self.votes])
            if told := [(vote.battle, vote.voter) for vote, reveal in self.votes if reveal]:
                votes.add_reveals(cursor, told)


def _any(cursor, table, keys, column=None):
    """Tell whether a table has rows with one of these keys."""
    query = f"select 1 from {table} where list_contains(?, {column or table[:-1]}) limit 1"
    return cursor.execute(query, [keys]).fetchone() is not None


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
