"""Stored battles that people can be asked about, and which one to ask about next."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
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
# Where battles want a number of votes, all get their first one before any gets its second.
_DRAW = """
with given as (
    select battle_no, least(model_a, model_b) as low, greatest(model_a, model_b) as high, voter
    from comparisons
    where judge_no = 0 and human is not null
    union all
    select battle_no, low, high, 'open ' || nth
    from (
        select nth, ($open::bigint[])[nth] as battle_no
        from range(1, len($open::bigint[]) + 1) as numbers(nth)
    )
    join waiting using (battle_no)
),
of_pair as (select low, high, count(*) as n from given group by all),
of_battle as (select battle_no, count(distinct voter) as n from given group by all)
select battle, battle_no
from waiting
left join of_pair using (low, high)
left join of_battle using (battle_no)
where not list_contains($skipped::bigint[], battle_no)
    and battle not in (select battle from votes where voter = $voter)
    and coalesce(coalesce(of_battle.n, 0) < $each, true)
order by
    if($each is null, 0, coalesce(of_battle.n, 0)),
    coalesce(of_pair.n, 0), coalesce(of_battle.n, 0), hash(battle_no, $salt)
limit 1
"""
_PROGRESS = """
select
    $battles,
    count(distinct battle),
    count(distinct battle) filter (voter = $voter and source = 'human'),
    count(distinct battle) filter (voter = $voter and source <> 'human'),
    (
        select count(distinct battle_no)
        from waiting
        left join (
            select battle_no, count(distinct voter) as n
            from comparisons
            where judge_no = 0 and human is not null
            group by all
        ) as given using (battle_no)
        where battle not in (select battle from votes where voter = $voter)
            and not list_contains($known::bigint[], battle_no)
            and coalesce(coalesce(given.n, 0) < $each, true)
    )
from votes
where battle in (select battle from waiting)
"""
# What a voter has said in the order in which they did, and whether it came twice.
_OWN = """
select
    battle, battle_no, second.voter is not null as repeated,
    battle in (select battle from reveals where voter = $voter) as told
from (
    select battle, min(seq) as first from votes
    where voter = $voter and source = 'human'
    group by battle
)
join (select distinct battle, battle_no from waiting) using (battle)
left join (select distinct battle, voter from repeats where voter = $voter) as second
    using (battle)
order by first
"""
_APART = 10
"""How many votes on other battles come between the two on one: nobody is to remember the first."""
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
    """A battle to ask about, by its id and by its number.

    Attributes
    ----------
    repeat : bool
        The voter has a vote on it already, and is asked again to see how far they agree.
    """

    id: str
    number: int
    repeat: bool = False


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
    left : int
        Battles that this voter can still be asked about. Not those in which an answer would tell
        who gave it, as far as has been found out. Nor those that have all votes they want.
    repeated, due : int
        Battles that this voter has seen twice, and those that are still to come twice, if nothing
        else changes.
    due_now : int
        Those that can come now.
    """

    battles: int
    voted: int
    yours: int
    identical: int
    left: int
    repeated: int = 0
    due: int = 0
    due_now: int = 0

    @property
    def done(self) -> int:
        """How many battles this voter is done with; one that came twice counts twice."""
        return self.yours + self.identical + self.repeated

    @property
    def asked(self) -> int:
        """How many there are for this voter."""
        return self.done + self.left + self.due


class Backlog:
    """Battles of batch runs and of imports in which every model has answered every turn.

    For any thread. What it has of the store is of the moment it was made, except for votes.

    Parameters
    ----------
    votes_each : int, optional
        How many votes a battle wants; without it, one of everybody.
    repeat_share : float
        Of the battles that somebody votes on, how many come a second time.

    Attributes
    ----------
    battles : int
        How many there are.

    Raises
    ------
    StoreError
        There are none.
    """

    def __init__(
        self, store: Store, votes_each: int | None = None, repeat_share: float = 0.0
    ) -> None:
        self._cursor = store.cursor()
        self._each = votes_each
        self._share = repeat_share
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

        Where battles want a number of votes, the battle with the fewest comes first. Battles with a
        vote of this voter are left out, and battles with an answer that would tell its model. The
        noise of a plan is the same for all pairs of models, so the voter may have seen that text
        with a name. Of one pair, battles with the fewest votes come first; ties are broken at
        random.

        Parameters
        ----------
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
            asked = {"voter": voter, "salt": salt, "open": list(opened), "skipped": left_out}
            row = self._first(_DRAW, **asked, each=self._each)
            if row is None:
                return None
            if not self._row(_KNOWN_BY_TEXT, battle=row[0], voter=voter)[0]:
                return Drawn(*row)
            known.append(row[1])

    def draw_again(self, voter: str, salt: int, skipped: Collection[int] = ()) -> Drawn | None:
        """Return a battle that this voter is to be asked about a second time; None if none is due.

        Parameters
        ----------
        salt : int
            32 random bits: which of those that may come does.
        skipped : collection of int
            Numbers of battles to leave out.
        """
        # Whoever was told the names of a battle would not vote on it blind a second time.
        own = [each[:3] for each in self._own(voter) if not each[3]] if self._share else []
        if self._due(voter, len(own)) <= sum(repeated for *_, repeated in own):
            return None
        there = [
            Drawn(battle, number, repeat=True)
            for battle, number, repeated in own[:-_APART]
            if not repeated
        ]
        there = [each for each in there if each.number not in skipped]
        return random.Random(f"{salt} {len(own)}").choice(there) if there else None

    def _own(self, voter: str) -> list[tuple[str, int, bool, bool]]:
        with self._using:
            return self._cursor.execute(_OWN, {"voter": voter}).fetchall()

    def _due(self, voter: str, votes: int) -> int:
        """Return how many battles are to have come twice after so many votes.

        One in each stretch of 1 / share votes, at a place that the voter cannot foresee: it follows
        from who they are, so that it stays where it is when the server starts anew.
        """
        if not self._share:
            return 0
        stretches = (
            (number + random.Random(f"{voter} {number}").random()) / self._share
            for number in range(math.ceil(votes * self._share))
        )
        return min(sum(at <= votes for at in stretches), max(0, votes - _APART))

    def find(self, battle: str) -> Drawn | None:
        """Return a battle that people can be asked about by its id; None if it is none."""
        row = self._first("select battle, battle_no from waiting where battle = $id", id=battle)
        return Drawn(*row) if row else None

    def progress(self, voter: str) -> Progress:
        """Return how far the voting is; takes milliseconds."""
        known = self._known.get(voter, [])
        asked = {"voter": voter, "battles": self.battles, "known": known}
        found = Progress(*self._row(_PROGRESS, **asked, each=self._each))
        own = self._own(voter) if self._share else []
        blind = [repeated for *_, repeated, told in own if not told]
        now, end = (self._due(voter, len(blind) + more) - sum(blind) for more in (0, found.left))
        repeated = sum(repeated for *_, repeated, _told in own)
        return replace(found, repeated=repeated, due=max(0, end), due_now=max(0, now))

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
