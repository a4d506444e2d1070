"""SQL of verdicts: of one judge, of several together, or with probabilities and abstentions.

Several judges together act as one judge. A comparison counts as judged only where all of them have
judged it. So comparisons with and without a vote come from the same kind of battles. Votes without
a verdict are rows of no judge, and where they are asked for, of this one with the code `silent`.

A verdict with probabilities, or an abstention, is a mixture of the codes of
`coupled_arena.core.verdicts.MIXED_CODES`: a row for each code, with its weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Outcome
from coupled_arena.core.sql import Cursor
from coupled_arena.core.verdicts import ABSTAINED_CODE, MIXED_CODES, MOST_JUDGES, TIE_CODE

_OUTCOMES = list(Outcome)


@dataclass(frozen=True)
class VerdictSource:
    """The source of comparisons and verdicts for statistics.

    Attributes
    ----------
    numbers : tuple of int
        Those of the judges.
    score, flips
        How one judge counts.
    """

    numbers: tuple[int, ...]
    score: JudgeScore = JudgeScore.VERDICT
    flips: Flips = Flips.TIE

    @property
    def mixed(self) -> bool:
        """Whether a comparison may have several rows, each with a weight."""
        return self.score is not JudgeScore.VERDICT or self.flips is not Flips.TIE

    @property
    def weight(self) -> str:
        """SQL of the weight of a row of ``c``."""
        return "c.weight" if self.mixed else "1.0::double"

    @property
    def table(self) -> str:
        """SQL of the rows: the table, or where judges are several, what follows from it.

        It has the columns of the table. Several judges have the number of the first. Their
        verdicts are digits of one code, to the base of the number of outcomes. Mixtures have one
        more column, the weight.
        """
        if self.mixed:
            return self._mixtures
        if len(self.numbers) < 2:
            return "comparisons"
        verdicts = ", ".join(
            _verdict_of(number, place) for place, number in enumerate(self.numbers)
        )
        base, code = (
            len(_OUTCOMES),
            "verdict_0" if len(self.numbers) <= MOST_JUDGES else "verdict_0::bigint",
        )
        for place in range(1, len(self.numbers)):
            code = f"({code}) * {base} + verdict_{place}"
        return f"""(
            with verdicts as (
                select battle_no, model_a, model_b, {verdicts}
                from comparisons
                where judge_no in ({", ".join(map(str, self.numbers))})
                group by all
            ),
            codes as (
                select battle_no, model_a, model_b, ({code})::{self._whole} as code
                from verdicts
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
    def _mixtures(self) -> str:
        """SQL of the rows of one judge's mixtures; what it abstains from is no verdict alone."""
        abstains, likely = self.flips is Flips.ABSTAIN, self.score is JudgeScore.PROBABILITY
        cases = ["when judge_no = 0 then [{code: null::tinyint, weight: 1.0::double}]"]
        if abstains:
            cases.append(f"when flipped then [{{code: {ABSTAINED_CODE}::tinyint, weight: 1.0}}]")
        if likely:
            parts = ", ".join(
                f"{{code: {code}::tinyint, weight: {weight}}}" for code, weight in _MIXTURE.items()
            )
            cases.append(f"when p_first is not null then [{parts}]")
        numbers = ", ".join(map(str, (0, *self.numbers)))
        counted = "not (judge_no > 0 and flipped and human is null)" if abstains else "true"
        return f"""(
            select * exclude (mixture) replace (mixture.code as verdict), mixture.weight as weight
            from (
                select *, unnest(
                    case
                        {" ".join(cases)}
                        else [{{code: enum_code(verdict)::tinyint, weight: 1.0}}]
                    end
                ) as mixture
                from comparisons
                where judge_no in ({numbers}) and {counted}
            )
            where mixture.weight <> 0
        )"""

    @property
    def once(self) -> str:
        """SQL: whether rows are materialized before they are joined with others.

        Rows of several judges come from a join, which must not be mixed with another one. Mixtures
        are to be made once.
        """
        return "materialized" if len(self.numbers) > 1 or self.mixed else "not materialized"

    @property
    def verdict(self) -> str:
        """SQL of the code of a verdict, where there is none that of silence."""
        if len(self.numbers) < 2 and not self.mixed:
            return f"coalesce(enum_code(verdict)::tinyint, {self.silent})"
        return f"coalesce(verdict, {self.silent})"

    @property
    def silent(self) -> int:
        """The code of votes without a verdict: of mixtures, as if the judge had abstained."""
        return ABSTAINED_CODE if self.mixed else self.codes

    @property
    def all_votes(self) -> str:
        """SQL of the same rows, and the judge's on votes without a verdict."""
        first = self.numbers[0]
        code, weight = "", ""
        if self.mixed:
            code, weight = ", null::tinyint as verdict", ", 1.0::double as weight"
        return f"""(
            from {self.table}
            union all by name
            select * replace ({first}::smallint as judge_no{code}){weight}
            from ({_unjudged(first) if len(self.numbers) < 2 else self._not_by_all})
        )"""

    @property
    def _not_by_all(self) -> str:
        """SQL of the votes that one of several judges has not judged."""
        judged = " intersect ".join(f"({_judged_by(number)})" for number in self.numbers)
        return f"""
            select * replace (null::{self._whole} as verdict)
            from comparisons as c anti join ({judged}) using (battle_no, model_a, model_b)
            where c.judge_no = 0 and human is not null
        """

    @property
    def heard(self) -> str:
        """SQL: whether the judge of a row of it said anything."""
        return f"verdict <> {ABSTAINED_CODE}" if self.mixed else "true"

    @property
    def number(self) -> str:
        """SQL of how many comparisons rows are, as an aggregate."""
        return "sum(weight)" if self.mixed else "count(*)"

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return MIXED_CODES if self.mixed else len(_OUTCOMES) ** max(len(self.numbers), 1)


def verdict_source(
    cursor: Cursor,
    judges: tuple[str, ...],
    score: JudgeScore = JudgeScore.VERDICT,
    flips: Flips = Flips.TIE,
) -> VerdictSource:
    """Return where the verdicts of some judges are.

    Raises
    ------
    StoreError
        The store does not know one of them, or they cannot be combined in this way.
    """
    if len(judges) > MOST_JUDGES:
        raise StoreError(
            f"At most {MOST_JUDGES} judges can be taken together, not {len(judges)}: "
            f"{', '.join(judges)}."
        )
    found = VerdictSource(tuple(judge_number(cursor, judge) for judge in judges), score, flips)
    if found.mixed and len(judges) != 1:
        raise StoreError(
            "Probabilities and flips need one judge: name one, or use verdicts with flips as ties."
        )
    return found


def type_of_counts(codes: int) -> Any:
    """Return numpy's type of counts of so many codes: those of mixtures are real numbers."""
    return np.float64 if codes == MIXED_CODES else np.int64


def judge_number(cursor: Cursor, judge: str) -> int:
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


# As MIXED_CODES says, of p and q in one row.
_TIE = "(1 - p_first - p_second)"
_MIXTURE = {
    0: "p_first * (2 * p_first - 1)",
    1: "p_second * (2 * p_second - 1)",
    TIE_CODE: f"{_TIE} * (2 * {_TIE} - 1)",
    4: "4 * p_first * p_second",
    5: f"4 * p_first * {_TIE}",
    6: f"4 * p_second * {_TIE}",
}


def _judged_by(number: int) -> str:
    return f"select battle_no, model_a, model_b from comparisons where judge_no = {number}"


def _unjudged(number: int) -> str:
    """Return SQL of the votes that a judge has not judged.

    Places of a battle tell its pairs apart, but where a model answered twice: there a judge may
    have judged one answer of it, so that rows are counted.
    """
    same = "battle_no, prompt_no, mode, model_a, model_b, human, identical, voter"
    voted = "from comparisons where judge_no = {} and human is not null and battle_no"
    twice = "(select battle_no from battles where len(list_distinct(models)) < len(models))"
    return f"""
        select c.*
        from (select * {voted.format(0)} not in {twice}) as c
        anti join ({_judged_by(number)}) as judged using (battle_no, model_a, model_b)
        union all by name
        select {same}, category, language, null::outcome as verdict, 0::smallint as judge_no,
            null::double as p_first, null::double as p_second, false as flipped
        from (
            select {same}, category, language {voted.format(0)} in {twice}
            except all
            select {same}, category, language {voted.format(number)} in {twice}
        )
    """


def _verdict_of(number: int, place: int) -> str:
    """Return SQL of a judge's verdict on two models of a battle.

    Different verdicts on several answers of one model are a tie, as are different verdicts in both
    orders.
    """
    least, most = (
        f"{which}(enum_code(verdict)) filter (judge_no = {number})" for which in ("min", "max")
    )
    agreed = f"when {least} = {most} then {least} when {least} < {most} then {TIE_CODE}"
    return f"case {agreed} end as verdict_{place}"
