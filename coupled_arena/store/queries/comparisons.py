"""Counts of comparisons from SQL, which the statistics read.

All functions work on a given cursor; in one transaction they agree.

A comparison is the vote of one voter, or of none, on one pair of a battle's models. With it goes
the verdict of one judge, or of none, on the same pair. The table `comparisons` follows from
battles, votes and verdicts: `coupled_arena.store.tables.derived_rows` keeps it in line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.core.sql import Cursor, column_of, value_of
from coupled_arena.store.queries.verdict_source import judge_number, type_of_counts, verdict_source

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_OUTCOMES = [outcome.value for outcome in Outcome]


@dataclass(frozen=True)
class Selection:
    """Which comparisons to count; None selects all.

    Attributes
    ----------
    judge : str or None
        The judge of the verdicts; None: people's votes alone.
    more_judges : tuple of str
        Others that act with it as one judge: see `verdict_source`.
    models : tuple of str or None
        Only comparisons between these.
    voter : str or None
        Only this person's votes.
    judge_score, flips
        How one judge counts: by verdicts or probabilities, and with different verdicts in both
        orders.
    until : int or None
        Only the first so many battles, by their numbers.
    """

    judge: str | None = None
    mode: Mode | None = None
    models: tuple[str, ...] | None = None
    category: str | None = None
    language: str | None = None
    voter: str | None = None
    more_judges: tuple[str, ...] = ()
    judge_score: JudgeScore = JudgeScore.VERDICT
    flips: Flips = Flips.TIE
    until: int | None = None

    @property
    def plain(self) -> Selection:
        """The same selection with plain verdicts, and flips as ties."""
        return replace(self, judge_score=JudgeScore.VERDICT, flips=Flips.TIE)

    @property
    def values(self) -> dict[str, Any]:
        """Mode, models, category and language as values of a query; None selects all."""
        return {
            "mode": self.mode and self.mode.value,
            "models": self.models and list(self.models),
            "category": self.category,
            "language": self.language,
        }

    @property
    def judging(self) -> tuple[tuple[str, ...], JudgeScore, Flips]:
        """Judges and how they count: the arguments of `verdict_source`."""
        return self.judges, self.judge_score, self.flips

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges of the verdicts."""
        return () if self.judge is None else (self.judge, *self.more_judges)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many comparisons there are of each kind.

    Attributes
    ----------
    models : tuple of str
        Names of the k models, sorted.
    votes : ndarray of int64, shape (3, 2, k, k, 4)
        ``[mode, identical, a, b, h]``: a, shown before b, got the vote h. Modes and outcomes are
        in the order of `records.Mode` and `records.Outcome`; "identical" are ties of equal
        replies, which nobody was asked about.
    labelled : ndarray of int64, shape (3, k, k, 4, 4**judges)
        ``[mode, a, b, h, g]``: those that have the verdict g of the selected judge too (of several,
        their code, as in `stats.counts.JudgedCounts`, which says what mixtures are).
    unlabelled : ndarray of int64, shape (3, k, k, 4**judges)
        ``[mode, a, b, g]``: a verdict and no vote.
    left_out : int
        Comparisons in none of these: votes that rank two answers apart that have the same words.
    """

    models: tuple[str, ...]
    votes: IntArray
    labelled: IntArray
    unlabelled: IntArray
    left_out: int

    @property
    def compared(self) -> tuple[str, ...]:
        """The models that people, or the selected judge, compared with another one."""
        met = self.votes.sum((0, 1, 4)) + self.labelled.sum((0, 3, 4)) + self.unlabelled.sum((0, 3))
        np.fill_diagonal(met, 0)
        there = (met + met.T).any(axis=1)
        return tuple(m for m, known in zip(self.models, there, strict=True) if known)

    def of(self, models: Sequence[str]) -> Counts:
        """Return the counts of some of the models, in this order."""
        at = [self.models.index(model) for model in models]
        rows, columns = np.ix_(at, at)
        return replace(
            self,
            models=tuple(models),
            votes=self.votes[:, :, rows, columns],
            labelled=self.labelled[:, rows, columns],
            unlabelled=self.unlabelled[:, rows, columns],
        )


LEFT_OUT = "human is null and voter is not null"


def count(cursor: Cursor, selection: Selection) -> Counts:
    """Count the selected comparisons, in one pass over the table.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    known, verdicts = model_numbers(cursor, selection), verdict_source(cursor, *selection.judging)
    where, values = condition_of(cursor, selection, known)
    rows = cursor.execute(
        f"""
        select
            judge_no, identical, model_a, model_b, {verdicts.number} as n,
            {CODES["mode"]} as mode, {CODES["human"]} as human, {verdicts.verdict} as verdict
        from {verdicts.table}
        where {where}
        group by all
        """,
        values,
    ).fetchnumpy()
    where, values = condition_of(cursor, replace(selection, judge=None), known, counted=False)
    query = f"select count(*) from comparisons where {where}"
    left_out = value_of(cursor, query, values)
    found = {name: np.asarray(column) for name, column in rows.items()}
    return _tabulate(found, known, left_out, verdicts.codes)


CODES = {
    "mode": "enum_code(mode)",
    "human": "coalesce(enum_code(human)::tinyint, -1)",
}


def model_numbers(cursor: Cursor, selection: Selection) -> dict[str, int]:
    """Return the numbers of the selected models, by name in order.

    Raises
    ------
    StoreError
        The store knows no such model.
    """
    known = dict(cursor.execute("select model, model_no from models order by model").fetchall())
    if selection.models is None:
        return known
    if unknown := [model for model in selection.models if model not in known]:
        text = _("No battle has {models}. Known models: {known}.")
        there = ", ".join(known) or _("none yet")
        raise StoreError(text.format(models=", ".join(unknown), known=there))
    return {model: known[model] for model in sorted(set(selection.models))}


def condition_of(
    cursor: Cursor, selection: Selection, known: dict[str, int], *, counted: bool = True
) -> tuple[str, dict[str, object]]:
    """Return the SQL condition of a selection, and its values.

    It selects what the statistics count, or what they leave out.
    """
    judges = [0]
    if selection.judge is not None:
        judges.append(judge_number(cursor, selection.judge))
    conditions = [f"judge_no in ({', '.join(map(str, judges))})"]
    conditions.append(f"not ({LEFT_OUT})" if counted else LEFT_OUT)
    values: dict[str, object] = {}
    for name in ("mode", "category", "language", "voter"):
        if (wanted := getattr(selection, name)) is not None:
            conditions.append(f"{name} = ${name}")
            values[name] = str(wanted)
    if selection.until is not None:
        conditions.append("battle_no <= $until")
        values["until"] = selection.until
    if selection.models is not None:
        numbers = ", ".join(map(str, known.values()))
        conditions += [f"model_a in ({numbers})", f"model_b in ({numbers})"]
    return " and ".join(conditions), values


def places_of(known: dict[str, int], most: int = 0) -> IntArray:
    """Return the place of each model, in the order of `known`, by its number; -1 for others.

    Numbers go up to `most` at least.
    """
    places = np.full(max(most, *known.values(), 0) + 1, -1, dtype=np.int64)
    places[list(known.values())] = np.arange(len(known))
    return places


def _tabulate(rows: dict[str, Any], known: dict[str, int], left_out: int, codes: int) -> Counts:
    k, outcomes, places = len(known), len(_OUTCOMES), places_of(known)
    a, b, n = places[rows["model_a"]], places[rows["model_b"]], rows["n"]
    mode, human, verdict = rows["mode"], rows["human"], rows["verdict"]
    votes = np.zeros((len(Mode), 2, k, k, outcomes), dtype=np.int64)
    kind = type_of_counts(codes)
    labelled: Any = np.zeros((len(Mode), k, k, outcomes, codes), dtype=kind)
    unlabelled: Any = np.zeros((len(Mode), k, k, codes), dtype=kind)
    by_judge, voted = rows["judge_no"] > 0, human >= 0
    at = ~by_judge & voted
    identical = rows["identical"][at].astype(int)
    np.add.at(votes, (mode[at], identical, a[at], b[at], human[at]), n[at].astype(np.int64))
    at = by_judge & voted
    np.add.at(labelled, (mode[at], a[at], b[at], human[at], verdict[at]), n[at])
    at = by_judge & ~voted
    np.add.at(unlabelled, (mode[at], a[at], b[at], verdict[at]), n[at])
    return Counts(tuple(known), votes, labelled, unlabelled, left_out)


# A judge's rows repeat the others; those of one battle that agree in all but the verdict are paired
# in an order of their own.
_COMPARED = f"""
with numbered as (
    select *, row_number() over (
        partition by judge_no, battle_no, model_a, model_b, voter order by human
    ) as n
    from comparisons
    where not ({LEFT_OUT}) and model_a <> model_b and judge_no in (0, $judge)
),
whole as (
    select plain.* exclude (verdict), judged.verdict
    from (from numbered where judge_no = 0) as plain
    left join (from numbered where judge_no > 0) as judged
        on judged.battle_no = plain.battle_no and judged.model_a = plain.model_a
        and judged.model_b = plain.model_b and judged.n = plain.n
        and judged.voter is not distinct from plain.voter
)
select
    battle, a.model as model_a, b.model as model_b,
    {{winner}} as winner, {{verdict}} as verdict,
    whole.mode::text as mode, prompt_key as prompt, voter, identical, category, language,
    whole.n as repeat
from whole
join battles using (battle_no)
join models as a on a.model_no = model_a
join models as b on b.model_no = model_b
join prompts using (prompt_no)
where whole.human is not null or verdict is not null
order by battle_no, voter, model_a, model_b
"""


def _word(outcome: str) -> str:
    sides = "when 'first' then 'model_a' when 'second' then 'model_b'"
    return f"case {outcome} {sides} else {outcome}::text end"


def relation(cursor: Cursor, judge: str | None) -> duckdb.DuckDBPyRelation:
    """Return all comparisons that are counted, with a judge's verdicts, to be read on this cursor.

    Raises
    ------
    StoreError
        The store knows no such judge.
    """
    number = 0 if judge is None else judge_number(cursor, judge)
    query = _COMPARED.format(winner=_word("whole.human"), verdict=_word("whole.verdict"))
    found = cursor.sql(query, params={"judge": number})
    return found if judge else found.project("* exclude (verdict)")


_SAID = "model_a <> model_b and (human is not null or judge_no > 0)"


def counted_by_battle(cursor: Cursor, selection: Selection, step: int) -> dict[int, int]:
    """Return how many of the selected comparisons each `step` of battles has, numbered from 1."""
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    query = f"""
        select (battle_no + $step - 1) // $step, count(*)
        from comparisons
        where {where} and {_SAID}
        group by all
    """
    return dict(cursor.execute(query, {**values, "step": step}).fetchall())


def counted_by_category(cursor: Cursor, selection: Selection) -> dict[str, int]:
    """Return how many of the selected comparisons each category has, the most first."""
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    query = f"""
        select category, count(*) as n
        from comparisons
        where {where} and {_SAID} and category <> ''
        group by all
        order by n desc, category
    """
    return dict(cursor.execute(query, values).fetchall())


def any_there(cursor: Cursor) -> bool:
    """Tell whether a person or a judge has compared answers, whether or not that counts."""
    return value_of(cursor, f"select exists (from comparisons where {_SAID})")


def judges(cursor: Cursor) -> list[str]:
    """Return the names of the judges of pairs that the store knows, sorted: no graders."""
    return column_of(
        cursor,
        """select judge from judges where sampling not like '%"grades": true%' order by judge""",
    )


def categories(cursor: Cursor) -> list[str]:
    """Return the categories that comparisons have, sorted."""
    return column_of(
        cursor, "select distinct category from comparisons where category <> '' order by category"
    )


def prompts_of_several(cursor: Cursor, categories: Sequence[str]) -> int:
    """Return how many prompts have comparisons in more than one of these categories."""
    query = """
        select count(*)
        from (
            select prompt_no
            from comparisons
            where list_contains(?, category)
            group by prompt_no
            having count(distinct category) > 1
        )
    """
    return value_of(cursor, query, [list(categories)])


def languages(cursor: Cursor) -> list[str]:
    """Return the languages that comparisons have, sorted."""
    return column_of(
        cursor, "select distinct language from comparisons where language <> '' order by language"
    )
