"""The pairs of answers that a judge has not judged yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from coupled_arena.core.records import Swap
from coupled_arena.core.verdicts import NOT_ASKED, Matchup, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import verdicts
from coupled_arena.store.tables.battles import ANSWERED

_PAGE = 500  # battles whose texts are in memory at once


@dataclass(frozen=True)
class MatchupSelection:
    """Which battles a judge is to judge.

    Attributes
    ----------
    judge : str
    swap : Swap
        In which order it is asked.
    revealed : bool
        Only battles whose models somebody has been shown: a verdict on another one moves the
        judge's board, which could tell who plays.
    after_vote : int
        Only battles that were voted on after the vote of this number.
    again : bool
        Whether to ask again what had unreadable answers.
    limit : int or None
        Most battles.
    """

    judge: str
    swap: Swap
    revealed: bool = False
    after_vote: int = 0
    again: bool = False
    limit: int | None = None


# All turns with a reply of every model; a battle that was stopped counts once somebody found it
# worth a vote. Equal verdicts on identical replies are given once, for either order.
_PENDING = f"""
create or replace temp table pending as
with whole as (
    select battle, battle_no, models
    from {ANSWERED}
    where replies = turns * len(models)
        and (not stopped or battle in (select battle from votes))
        and {{wanted}}
),
pairs as (
    select battle, battle_no, i, unnest(range(i + 1, len(models)))::integer as j
    from (select *, unnest(range(len(models) - 1))::integer as i from whole)
),
asked as (
    select
        battle, battle_no, i, j,
        unnest(if(
            $swap = 'both',
            [false, true],
            [md5(concat_ws('/', battle, i, j)) >= '8']
        )) as turned
    from pairs
),
given as (
    select
        battle, first_place, second_place,
        count(*)::integer as attempts,
        bool_or(outcome is not null) as scored,
        bool_or(raw = $not_asked and outcome = 'tie') as identical
    from verdicts
    where judge = $judge
    group by all
),
missing as (
    select asked.*, coalesce(attempts, 0) as attempt
    from asked
    left join given on given.battle = asked.battle
        and first_place = if(turned, j, i)
        and second_place = if(turned, i, j)
    anti join (select * from given where identical) as settled
        on settled.battle = asked.battle
        and least(settled.first_place, settled.second_place) = i
        and greatest(settled.first_place, settled.second_place) = j
    where attempts is null or ($again and not scored)
)
select *, dense_rank() over (order by battle_no) as nth
from missing
qualify $limit is null or nth <= $limit
order by battle_no, i, j, turned
"""
_MATCHUPS = """
with page as (select * from pending where nth between ? and ?),
asked as (
    select battle, list(prompt order by turn) as prompts
    from turns
    where battle in (select battle from page)
    group by all
),
answers as (
    select battle, place, list(prefix || text order by turn) as texts
    from replies
    join turns using (battle, turn)
    where battle in (select battle from page)
    group by all
)
select
    page.battle, if(turned, j, i), if(turned, i, j), prompts,
    if(turned, b.texts, a.texts),
    if(turned, a.texts, b.texts),
    attempt
from page
join asked using (battle)
join answers as a on a.battle = page.battle and a.place = i
join answers as b on b.battle = page.battle and b.place = j
order by battle_no, i, j, turned
"""
_REVEALED = """
battle in (
    select battle from reveals join votes using (battle, voter) where votes.seq > $after_vote
)
"""


class PendingMatchups:
    """What a judge has not judged at one moment; use it as a context manager.

    Attributes
    ----------
    questions : int
        How many times it would have to be asked; those on identical answers, which nobody can
        tell before they are read, are counted in.
    skipped : int
        Verdicts of this judge that were there already.
    """

    def __init__(self, store: Store, wanted: MatchupSelection) -> None:
        self._store = store
        self._cursor = cursor = store.cursor()
        condition = _REVEALED if wanted.revealed else "$after_vote = 0"
        cursor.execute(
            _PENDING.format(wanted=condition),
            {
                "judge": wanted.judge,
                "swap": wanted.swap.value,
                "after_vote": wanted.after_vote,
                "again": wanted.again,
                "limit": wanted.limit,
                "not_asked": NOT_ASKED,
            },
        )
        self.questions, self._battles = self._numbers(
            "select count(*), coalesce(max(nth), 0) from pending"
        )
        (self.skipped,) = self._numbers(
            "select count(*) from verdicts where judge = ?", wanted.judge
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def pages(self) -> Iterator[list[Matchup]]:
        """Yield everything that is missing, battle by battle in the order of the store."""
        for begin in range(1, self._battles + 1, _PAGE):
            rows = self._cursor.execute(_MATCHUPS, [begin, begin + _PAGE - 1]).fetchall()
            yield [_matchup(*row) for row in rows]

    def add(self, answers: Sequence[Verdict]) -> None:
        """Write verdicts in one transaction; those that are there already change nothing.

        Raises
        ------
        StoreError
            The database cannot be written.
        """
        self._store.write(lambda cursor: verdicts.add(cursor, answers))

    def _numbers(self, query: str, *values: object) -> tuple[int, ...]:
        return self._cursor.execute(query, list(values)).fetchall()[0]


def _matchup(
    battle: str,
    first_place: int,
    second_place: int,
    questions: Iterable[str],
    first: Iterable[str],
    second: Iterable[str],
    attempt: int,
) -> Matchup:
    texts = tuple(questions), tuple(first), tuple(second)
    return Matchup(battle, first_place, second_place, *texts, attempt)
