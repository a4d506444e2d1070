"""Stored battles that people can be asked about, and which one to ask about next."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from coupled_arena.core.errors import StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.tables.battles import ANSWERED

# A battle of the battle tab belongs to the visitor who asked for it. Built once: as long as a
# `Backlog` lives, its process is the only writer, and it adds votes alone.
_WAITING = f"""
create or replace temp table waiting as
with whole as (
    select battle, battle_no, seed, experiment
    from {ANSWERED}
    where origin <> 'arena' and not stopped and replies = turns * len(models)
)
select distinct
    battle, battle_no, seed, experiment,
    least(model_a, model_b) as low,
    greatest(model_a, model_b) as high
from whole
join comparisons using (battle_no)
where judge_no = 0
"""
# Whoever has a battle open is counted as if they had voted, so that the next one gets another.
_DRAW = """
with given as (
    select battle_no, least(model_a, model_b) as low, greatest(model_a, model_b) as high
    from comparisons
    where judge_no = 0 and human is not null
    union all
    select battle_no, low, high
    from (select unnest($open::bigint[]) as battle_no)
    join waiting using (battle_no)
),
of_pair as (select low, high, count(*) as n from given group by all),
of_battle as (select battle_no, count(*) as n from given group by all)
select battle, battle_no
from waiting
left join of_pair using (low, high)
left join of_battle using (battle_no)
where not list_contains($skipped::bigint[], battle_no)
    and battle not in (select battle from votes where voter = $voter)
order by coalesce(of_pair.n, 0), coalesce(of_battle.n, 0), hash(battle_no, $salt)
limit 1
"""
_PROGRESS = """
select
    $battles,
    count(distinct battle),
    count(distinct battle) filter (voter = $voter and source = 'human'),
    count(distinct battle) filter (voter = $voter and source <> 'human')
from votes
where battle in (select battle from waiting)
"""
_SEED_IS_OPEN = """
select count(*)
from waiting
where seed = (select any_value(seed) from waiting where battle = $battle)
    and battle <> $battle
    and battle not in (select battle from votes where voter = $voter)
    and not list_contains($known::bigint[], battle_no)
"""
# Equal noise, or none at all, makes equal texts of one model; others may say the same by chance.
_KNOWN_BY_TEXT = """
select count(*)
from reveals
join battles as there on there.battle = reveals.battle
join battles as here on here.seed = there.seed or here.temperature = 0
join turns as was on was.battle = there.battle
join turns as asked on asked.battle = here.battle and asked.prompt = was.prompt
join replies as seen on seen.battle = was.battle and seen.turn = was.turn
join replies as mine
    on mine.battle = here.battle and mine.turn = asked.turn and mine.text = seen.text
where voter = $voter and here.battle = $battle and here.battle <> there.battle
"""


@dataclass(frozen=True)
class Drawn:
    """A battle to ask about, by its id and by its number."""

    id: str
    number: int


@dataclass(frozen=True)
class Progress:
    """How far the voting is.

    Attributes
    ----------
    battles : int
        All that people can be asked about.
    voted : int
        Those that anybody has voted on, or that were counted as a tie of identical answers.
    yours, identical : int
        This voter's votes, and ties of identical answers that they were not asked about.
    known : int
        Battles that this voter is not asked about, for an answer would tell who gave it; as far as
        has been found out.
    """

    battles: int
    voted: int
    yours: int
    identical: int
    known: int = 0

    @property
    def done(self) -> int:
        """How many of the battles are done with, for this voter."""
        return self.yours + self.identical

    @property
    def asked(self) -> int:
        """How many there are for this voter."""
        return self.battles - self.known


class Backlog:
    """Battles of batch runs and of imports in which every model has answered every turn.

    For any thread. What it has of the store is of the moment it was made, except for votes.

    Attributes
    ----------
    battles : int
        How many there are.

    Raises
    ------
    StoreError
        There are none.
    """

    def __init__(self, store: Store) -> None:
        self._cursor = store.cursor()
        self._using = threading.Lock()
        self._known: dict[str, list[int]] = {}  # what each voter could tell the sides of
        self._cursor.execute(_WAITING)
        (self.battles,) = self._row("select count(distinct battle_no) from waiting")
        if not self.battles:
            self.close()
            raise StoreError(
                f"{store.path} holds no battles to vote on: run `generate` on it first, or "
                "`import` battles with their texts."
            )

    def close(self) -> None:
        """Give back what it holds of the store."""
        self._cursor.close()

    def draw(
        self, voter: str, salt: int, opened: Collection[int] = (), skipped: Collection[int] = ()
    ) -> Drawn | None:
        """Return a battle of the pair of models that has the fewest votes, None if none is left.

        Battles with a vote of this voter are left out, and battles with an answer that would tell
        its model. The noise of a plan is the same for all pairs of models, so the voter may have
        seen that text with a name. Of one pair, battles with the fewest votes come first; ties are
        broken at random.

        Parameters
        ----------
        voter : str
        salt : int
            32 random bits, for the order.
        opened : collection of int
            Numbers of the battles that others look at; each counts as a vote.
        skipped : collection of int
            Numbers of battles to leave out.
        """
        known = self._known.setdefault(voter, [])
        while True:
            left_out = [*skipped, *known]
            row = self._first(_DRAW, voter=voter, salt=salt, open=list(opened), skipped=left_out)
            if row is None:
                return None
            if not self._row(_KNOWN_BY_TEXT, battle=row[0], voter=voter)[0]:
                return Drawn(*row)
            known.append(row[1])

    def find(self, battle: str) -> Drawn | None:
        """Return a battle that people can be asked about by its id; None if it is none."""
        row = self._first("select battle, battle_no from waiting where battle = $id", id=battle)
        return Drawn(*row) if row else None

    def progress(self, voter: str) -> Progress:
        """Return how far the voting is; takes milliseconds."""
        known = len(self._known.get(voter, ()))
        return Progress(*self._row(_PROGRESS, voter=voter, battles=self.battles), known=known)

    def seed_is_open(self, battle_id: str, voter: str) -> bool:
        """Return whether this voter may still be asked about another battle with the same seed."""
        known = self._known.get(voter, [])
        return self._row(_SEED_IS_OPEN, battle=battle_id, voter=voter, known=known)[0] > 0

    def guessable(self) -> bool:
        """Return whether a batch run's seed is a small number, which people might try."""
        return (
            self._row("select count(*) from waiting where starts_with(experiment, '00000000')")[0]
            > 0
        )

    def _row(self, query: str, **values: Any) -> tuple[Any, ...]:
        row = self._first(query, **values)
        assert row is not None
        return row

    def _first(self, query: str, **values: Any) -> tuple[Any, ...] | None:
        with self._using:
            return self._cursor.execute(query, values).fetchone()
