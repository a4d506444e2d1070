"""What several judges said of the same comparisons, as if it were one judge's verdict.

A comparison counts as judged only where all of them have judged it: the battles of the comparisons
with a vote and of those without are then alike, whoever judged what.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Outcome
from coupled_arena.core.verdicts import MOST_JUDGES

_OUTCOMES = list(Outcome)
_TIE = _OUTCOMES.index(Outcome.TIE)


@dataclass(frozen=True)
class Judged:
    """Where statistics read comparisons and verdicts.

    Attributes
    ----------
    numbers : tuple of int
        Those of the judges.
    """

    numbers: tuple[int, ...]

    @property
    def table(self) -> str:
        """SQL of the rows: the table, or where judges are several, what follows from it.

        It has the columns of the table. All judges together go by the first one's number, and
        their verdicts are one code, to the base of the number of outcomes.
        """
        if len(self.numbers) < 2:
            return "comparisons"
        said = ", ".join(_said(number, place) for place, number in enumerate(self.numbers))
        base, code = (
            len(_OUTCOMES),
            "said_0" if len(self.numbers) <= MOST_JUDGES else "said_0::bigint",
        )
        for place in range(1, len(self.numbers)):
            code = f"({code}) * {base} + said_{place}"
        return f"""(
            with said as (
                select battle_no, model_a, model_b, {said}
                from comparisons
                where judge_no in ({", ".join(map(str, self.numbers))})
                group by all
            ),
            codes as (
                select battle_no, model_a, model_b, ({code})::{self._whole} as code
                from said
                where code is not null
            )
            select * replace (null::{self._whole} as verdict) from comparisons where judge_no = 0
            union all
            select c.* replace ({self.numbers[0]}::smallint as judge_no, code as verdict)
            from comparisons as c
            join codes using (battle_no, model_a, model_b)
            where c.judge_no = 0
        )"""

    @property
    def _whole(self) -> str:
        """SQL's type that holds all codes."""
        return "tinyint" if len(self.numbers) <= MOST_JUDGES else "bigint"

    @property
    def once(self) -> str:
        """SQL of whether rows are put down before they are joined with others.

        Several judges' are the outcome of a join, which must not be mixed with another one.
        """
        return "materialized" if len(self.numbers) > 1 else "not materialized"

    @property
    def verdict(self) -> str:
        """SQL of the code of a verdict, -1 where there is none."""
        if len(self.numbers) < 2:
            return "coalesce(enum_code(verdict)::tinyint, -1)"
        return "coalesce(verdict, -1)"

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return len(_OUTCOMES) ** max(len(self.numbers), 1)


def judged(cursor: duckdb.DuckDBPyConnection, judges: tuple[str, ...]) -> Judged:
    """Return where the verdicts of some judges are.

    Raises
    ------
    StoreError
        The store does not know one of them, or they are too many.
    """
    if len(judges) > MOST_JUDGES:
        raise StoreError(
            f"At most {MOST_JUDGES} judges can be taken together, not {len(judges)}: "
            f"{', '.join(judges)}."
        )
    return Judged(tuple(judge_number(cursor, judge) for judge in judges))


def judge_number(cursor: duckdb.DuckDBPyConnection, judge: str) -> int:
    """Return the number of a judge.

    Raises
    ------
    StoreError
        The store knows no such judge.
    """
    judges = dict(cursor.execute("select judge, judge_no from judges order by judge").fetchall())
    if judge not in judges:
        text = _("There is no judge {judge!r}. Judges here: {known}.")
        raise StoreError(text.format(judge=judge, known=", ".join(judges) or _("none yet")))
    return judges[judge]


def _said(number: int, place: int) -> str:
    """Return SQL of what a judge says of two models of a battle.

    Where one of them gave several answers, and the judge does not say the same of all: a tie, as
    where it does not say the same in both orders.
    """
    least, most = (
        f"{which}(enum_code(verdict)) filter (judge_no = {number})" for which in ("min", "max")
    )
    agreed = f"when {least} = {most} then {least} when {least} < {most} then {_TIE}"
    return f"case {agreed} end as said_{place}"
