"""What a judge has not judged or graded yet: pairs of answers, and scored answers of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from coupled_arena.core.records import Swap
from coupled_arena.core.verdicts import NOT_ASKED, Grade, Matchup, Solution, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from coupled_arena.store.tables.battles import ANSWERED

_PAGE = 500  # battles, or answers, whose texts are in memory at once


@dataclass(frozen=True)
class MatchupSelection:
    """Which battles a judge is to judge.

    Attributes
    ----------
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
_PENDING_PAIRS = f"""
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


class _Pending:
    """The temporary table ``pending`` of a cursor, read page by page; a context manager."""

    def __init__(
        self, store: Store, judge: str, answers: str, query: str, values: Mapping[str, object]
    ) -> None:
        self._store = store
        self._cursor = store.cursor()
        self._cursor.execute(query, values)
        self.questions, self._last = self._row(
            "select count(*), coalesce(max(nth), 0) from pending"
        )
        (self.skipped,) = self._row(f"select count(*) from {answers} where judge = ?", judge)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def _pages(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        for begin in range(1, self._last + 1, _PAGE):
            yield self._cursor.execute(query, [begin, begin + _PAGE - 1]).fetchall()

    def _row(self, query: str, *values: object) -> tuple[int, ...]:
        return self._cursor.execute(query, list(values)).fetchall()[0]


class PendingMatchups(_Pending):
    """The pairs of answers that a judge has not judged at one moment; use it as a context manager.

    Attributes
    ----------
    questions : int
        How many times it would have to be asked. Those on identical answers count too: only the
        texts tell them.
    skipped : int
        Verdicts of this judge that were there already.
    """

    def __init__(self, store: Store, wanted: MatchupSelection) -> None:
        query = _PENDING_PAIRS.format(wanted=_REVEALED if wanted.revealed else "$after_vote = 0")
        values = {name: getattr(wanted, name) for name in ("after_vote", "again", "limit")}
        of_judge = {"judge": wanted.judge, "swap": wanted.swap.value, "not_asked": NOT_ASKED}
        super().__init__(store, wanted.judge, "verdicts", query, values | of_judge)

    def pages(self) -> Iterator[list[Matchup]]:
        """Yield everything that is missing, battle by battle in the order of the store."""
        for rows in self._pages(_MATCHUPS):
            yield [
                Matchup(battle, i, j, tuple(questions), tuple(first), tuple(second), attempt)
                for battle, i, j, questions, first, second, attempt in rows
            ]

    def add(self, answers: Sequence[Verdict]) -> None:
        """Write verdicts in one transaction; those that are there already change nothing.

        Raises
        ------
        StoreError
            The database cannot be written.
        """
        self._store.write(lambda cursor: judges.add_verdicts(cursor, answers))


# Equal answers to a question are graded once, whoever gave them.
_PENDING_ANSWERS = """
create or replace temp table pending as
with given as (
    select answer_key, count(*)::integer as attempts, bool_or(correct is not null) as scored
    from grades
    where judge = $judge
    group by all
),
missing as (
    select answer_key, min(battle_no) as battle_no, coalesce(any_value(attempts), 0) as attempt
    from benchmark_answers
    join battles using (battle)
    left join given using (answer_key)
    where attempts is null or ($again and not scored)
    group by all
)
select *, row_number() over (order by battle_no, answer_key) as nth
from missing
qualify $limit is null or nth <= $limit
"""
_SOLUTIONS = """
select answer_key, any_value(prompt), any_value(answer), any_value(attempt)
from pending
join benchmark_answers using (answer_key)
where nth between ? and ?
group by answer_key
order by any_value(nth)
"""


class PendingSolutions(_Pending):
    """The answers that a judge has not graded at one moment; use it as a context manager.

    Parameters
    ----------
    again : bool
        Whether to ask again what had unreadable answers.
    limit : int or None
        Most answers.

    Attributes
    ----------
    questions : int
        Answers that it has not graded.
    skipped : int
        Grades of this judge that were there already.
    """

    def __init__(
        self, store: Store, judge: str, *, again: bool = False, limit: int | None = None
    ) -> None:
        values = {"judge": judge, "again": again, "limit": limit}
        super().__init__(store, judge, "grades", _PENDING_ANSWERS, values)

    def pages(self) -> Iterator[list[Solution]]:
        """Yield everything that is missing, in the order of the store."""
        for rows in self._pages(_SOLUTIONS):
            yield [Solution(*row) for row in rows]

    def add(self, answers: Sequence[Grade]) -> None:
        """Write grades in one transaction; those that are there already change nothing.

        Raises
        ------
        StoreError
            The database cannot be written.
        """
        self._store.write(lambda cursor: judges.add_grades(cursor, answers))
