"""The battles behind a number: a filter, its SQL conditions, and the battles counted and listed.

A filter for votes or verdicts selects comparisons, by the condition of `queries.comparisons`. So a
number on a board equals the number of comparisons behind it. All functions work on a given cursor;
in one transaction they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from coupled_arena.core.errors import BattleError, StoreError
from coupled_arena.core.language import _
from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import ANYHOW, Drawn, Mode, Outcome
from coupled_arena.core.sql import Cursor
from coupled_arena.store.queries.battle_conditions import DRAWN, Hidden, drawn_values, shown_to
from coupled_arena.store.queries.comparisons import Selection, condition_of, model_numbers
from coupled_arena.store.tables.times import utc


class Rater(StrEnum):
    """Who rated a comparison."""

    PEOPLE = "people"
    JUDGE = "judge"


class Ending(StrEnum):
    """How a comparison ended without a winner."""

    TIE = "tie"  # a voter or judge chose it
    BOTH_BAD = "both_bad"
    IDENTICAL = "identical"  # equal replies, which nobody was asked about
    EVEN = "even"  # all of these
    ASKED = "asked"  # however it ended, not identical


class Agreement(StrEnum):
    """How a judge's verdict relates to people's vote."""

    BOTH = "both"  # there are both
    ALONE = "alone"  # a verdict and no vote
    AGREES = "agrees"
    DIFFERS = "differs"


@dataclass(frozen=True)
class BattleFilter:
    """Which battles; None takes all.

    Attributes
    ----------
    model, other : str or None
        A model of the battle; both: one of its pairs.
    rater : Rater or None
        None takes the judge where one is named, people where another field needs ratings, and else
        all battles.
    winner : str or None
        The model that the rater prefers.
    agreement : Agreement or None
        The judge agrees with people if both or neither prefer `model`. Without a model, they agree
        on the same winner or on none.
    decided : bool
        Leave out ties, by people or by the judge.
    benchmark : str or None
        A metric that the battle's replies have scores by.
    temperature, top_p : float or None
        What the replies were drawn at.
    sampler : str or None
        How noise became their tokens, see `Drawn`.
    text : str or None
        Words of a question or of an answer, in either case.
    before : str or None
        A battle: only those that were listed after it.
    reason : Criterion or None
        Somebody who voted on the battle gave this reason.
    """

    model: str | None = None
    other: str | None = None
    rater: Rater | None = None
    judge: str | None = None
    winner: str | None = None
    ending: Ending | None = None
    agreement: Agreement | None = None
    decided: bool = False
    mode: Mode | None = None
    category: str | None = None
    language: str | None = None
    voter: str | None = None
    benchmark: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    sampler: str | None = None
    text: str | None = None
    before: str | None = None
    reason: Criterion | None = None

    @property
    def drawn(self) -> Drawn:
        """How the replies were drawn."""
        return Drawn(self.temperature, self.top_p, self.sampler)

    @property
    def rated_by(self) -> Rater | None:
        """The rater of the selected comparisons; None where no ratings are needed."""
        if self.rater is not None:
            return self.rater
        if self.judge is not None:
            return Rater.JUDGE
        asks = (self.winner, self.ending, self.agreement, self.voter, self.decided or None)
        return None if all(part is None for part in asks) else Rater.PEOPLE


def selection_of(cursor: Cursor, wanted: BattleFilter) -> tuple[str, str, dict[str, object]]:
    """Return SQL for the selected battles (``n``: comparisons of each), and the values.

    The second element is the condition on the comparisons to show of each battle.
    """
    values: dict[str, object] = {}
    conditions = _battle_conditions(cursor, wanted, values)
    if wanted.rated_by is None:
        where = "judge_no = 0 and human is not null"
        source = "select *, 0 as n from battles"
    else:
        where = _comparison_condition(cursor, wanted, values)
        counted = f"select battle_no, count(*) as n from comparisons where {where} group by all"
        source = f"select battles.*, n from battles join ({counted}) using (battle_no)"
    return f"select * from ({source}) where {' and '.join(conditions)}", where, values


def _battle_conditions(
    cursor: Cursor, wanted: BattleFilter, values: dict[str, object]
) -> list[str]:
    conditions = ["true"]
    if wanted.benchmark is not None:
        conditions.append("battle in (select battle from scores where metric = $benchmark)")
        values["benchmark"] = wanted.benchmark
    if wanted.drawn != ANYHOW:
        conditions.append(DRAWN)
        values.update(drawn_values(wanted.drawn))
    if wanted.reason is not None:
        conditions.append(
            """battle in (
                select battle from current_votes join current_rationales using (vote)
                where list_contains(criteria, $reason)
            )"""
        )
        values["reason"] = wanted.reason.value
    if wanted.text is not None:
        conditions.append(
            """battle in (
                select battle from turns where contains(lower(prompt), lower($text))
                union
                select battle from replies where contains(lower(text), lower($text))
            )"""
        )
        values["text"] = wanted.text
    if wanted.rated_by is not None:  # the comparisons have the rest
        return conditions
    if wanted.mode is not None:
        conditions.append("mode = $mode")
        values["mode"] = wanted.mode.value
    asked = [name for name in ("category", "language") if getattr(wanted, name) is not None]
    if asked:
        of_first = " and ".join(f"{name} = ${name}" for name in asked)
        conditions.append(f"battle in (select battle from turns where turn = 0 and {of_first})")
        values.update({name: getattr(wanted, name) for name in asked})
    named = [name for name in (wanted.model, wanted.other) if name is not None]
    model_numbers(cursor, Selection(models=tuple(named)))  # raises if there is no such model
    for place, name in enumerate(named):
        conditions.append(f"list_contains(models, $model{place})")
        values[f"model{place}"] = name
    if named[1:] and named[0] == named[1]:
        conditions.append("len(list_filter(models, lambda name: name = $model0)) > 1")
    return conditions


def _comparison_condition(cursor: Cursor, wanted: BattleFilter, values: dict[str, object]) -> str:
    """Return the condition on comparisons; what the statistics leave out is in none of them."""
    if wanted.judge is None and (wanted.rated_by is Rater.JUDGE or wanted.agreement is not None):
        raise StoreError(_("Name the judge of these verdicts."))
    selection = Selection(
        judge=wanted.judge,
        mode=wanted.mode,
        category=wanted.category,
        language=wanted.language,
        voter=wanted.voter,
    )
    known = model_numbers(cursor, selection)
    where, selected = condition_of(cursor, selection, known)
    values.update(selected)
    # People's votes are in the rows of no judge, and again in those of each that has a verdict.
    by_judge = wanted.rated_by is Rater.JUDGE or wanted.agreement is not None
    conditions = [where, "judge_no > 0" if by_judge else "judge_no = 0"]
    label = "verdict" if wanted.rated_by is Rater.JUDGE else "human"
    conditions.append(f"{label} is not null")
    conditions += _model_conditions(cursor, wanted)
    if wanted.winner is not None:
        (number,) = _numbers(cursor, wanted.winner)
        conditions.append(_won(number, label))
    if wanted.ending is not None:
        conditions.append(_ENDINGS[wanted.ending].format(label))
        if label == "human" and wanted.ending in (Ending.TIE, Ending.BOTH_BAD):
            conditions.append("not identical")
    if wanted.agreement is not None:
        conditions.append(_agreement(cursor, wanted))
    if wanted.decided:
        labels = ("human", "verdict") if by_judge else ("human",)
        conditions += [f"({each} is null or {each} in ('first', 'second'))" for each in labels]
    return " and ".join(conditions)


def _model_conditions(cursor: Cursor, wanted: BattleFilter) -> list[str]:
    numbers = _numbers(cursor, *(name for name in (wanted.model, wanted.other) if name is not None))
    conditions = [f"{number} in (model_a, model_b)" for number in numbers]
    if numbers[1:] and numbers[0] == numbers[1]:
        return [*conditions, "model_a = model_b"]
    return [*conditions, "model_a <> model_b"]  # one model has a winner by chance alone


def _numbers(cursor: Cursor, *models: str) -> list[int]:
    known = model_numbers(cursor, Selection(models=models))
    return [known[model] for model in models]


def _won(number: int, label: str) -> str:
    return f"if({label} = 'first', model_a, if({label} = 'second', model_b, 0)) = {number}"


_ENDINGS = {
    Ending.TIE: "{0} = 'tie'",
    Ending.BOTH_BAD: "{0} = 'both_bad'",
    Ending.IDENTICAL: "identical",
    Ending.EVEN: "{0} in ('tie', 'both_bad')",
    Ending.ASKED: "not identical",
}
_WINNER = "case {0} when 'first' then model_a when 'second' then model_b else 0 end"


def _agreement(cursor: Cursor, wanted: BattleFilter) -> str:
    if wanted.agreement is Agreement.ALONE:
        return "human is null"
    both = "human is not null and verdict is not null"
    if wanted.agreement is Agreement.BOTH:
        return both
    people, judge = _WINNER.format("human"), _WINNER.format("verdict")
    if wanted.model is not None:
        (number,) = _numbers(cursor, wanted.model)
        people, judge = f"({people} = {number})", f"({judge} = {number})"
    same = "=" if wanted.agreement is Agreement.AGREES else "<>"
    return f"{both} and {people} {same} {judge}"


PAGE = 20


@dataclass(frozen=True)
class Tally:
    """What a filter selects: battles that may be shown and their comparisons, and what is not."""

    battles: int
    comparisons: int
    hidden: int


@dataclass(frozen=True)
class Preferences:
    """A comparison of a listed battle: the model that people and the judge prefer, or how it ended.

    None where one of them gave no rating, or was not selected.
    """

    people: str | Outcome | None
    judge: str | Outcome | None


@dataclass(frozen=True)
class FoundBattle:
    """A battle in a list; `comparisons` of it are selected (0 without a rater).

    `preferences` are on these comparisons; without a rater, on those with people's votes.
    """

    battle: str
    created_at: datetime
    mode: Mode
    models: tuple[str, ...]
    question: str
    votes: int
    verdicts: int
    comparisons: int
    preferences: tuple[Preferences, ...]


def tally(cursor: Cursor, wanted: BattleFilter, hidden: Hidden, told: str | None = None) -> Tally:
    """Count what a filter selects, page or not.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}
        What may not be shown, as in `transfer.export.export`.
    told : str, optional
        As in `shown_to`.

    Raises
    ------
    StoreError
        The store knows no such model or judge.
    """
    found, _, values = selection_of(cursor, wanted)
    may_be_shown = shown_to(hidden, told, values)
    row = cursor.execute(
        f"""
        select
            count(*) filter (shown),
            coalesce(sum(n) filter (shown), 0)::bigint,
            coalesce(sum(n) filter (not shown), 0)::bigint
        from (select n, ({may_be_shown}) as shown from ({found}))
        """,
        values,
    ).fetchall()[0]
    return Tally(*row)


def page(
    cursor: Cursor,
    wanted: BattleFilter,
    hidden: Hidden,
    size: int = PAGE,
    told: str | None = None,
) -> list[FoundBattle]:
    """Return the selected battles that may be shown, the newest first, at most one page of them.

    Raises
    ------
    StoreError
        The store knows no such model or judge.
    BattleError
        The list cannot begin after a battle that is not there, or may not be shown.
    """
    selected, condition, values = selection_of(cursor, wanted)
    after = "true"
    if wanted.before is not None:
        after = """
            (created_at, battle_no)
                < (select (created_at, battle_no) from battles where battle = $after)
        """
        values["after"] = _place(cursor, wanted.before, hidden, told)
    may_be_shown = shown_to(hidden, told, values)
    found = cursor.execute(
        f"""
        with listed as (
            select *
            from ({selected})
            where ({may_be_shown}) and {after}
            order by created_at desc, battle_no desc
            limit {size}
        )
        select
            battle, {utc("created_at")}, mode, models,
            (select prompt from turns where turns.battle = listed.battle and turn = 0),
            (select count(*) from counted_votes as v where v.battle = listed.battle),
            (select count(*) from verdicts where verdicts.battle = listed.battle),
            n,
            (
                select list([one.model, other.model, human::text, verdict::text])
                from comparisons as c
                join models as one on one.model_no = c.model_a
                join models as other on other.model_no = c.model_b
                where c.battle_no = listed.battle_no and {condition}
            )
        from listed
        order by created_at desc, battle_no desc
        """,
        values,
    ).fetchall()
    return [_found(*row) for row in found]


def _found(*row: Any) -> FoundBattle:
    battle, made, mode, models, question, votes, verdicts, n, rated = row
    preferences = tuple(_preferences(*each) for each in rated or ())
    when, names = made.replace(tzinfo=UTC), tuple(models)
    return FoundBattle(
        battle, when, Mode(mode), names, question or "", votes, verdicts, n, preferences
    )


def _preferences(first: str, second: str, human: str | None, verdict: str | None) -> Preferences:
    return Preferences(_preferred(first, second, human), _preferred(first, second, verdict))


def _preferred(first: str, second: str, outcome: str | None) -> str | Outcome | None:
    if outcome is None:
        return None
    return {Outcome.FIRST: first, Outcome.SECOND: second}.get(Outcome(outcome), Outcome(outcome))


@dataclass(frozen=True)
class NamedBattle:
    """A battle that somebody named by its number or by its question."""

    battle: str
    models: tuple[str, ...]
    question: str


SHORTEST_NUMBER = 4  # digits; fewer are the number of too many battles


def _has_words(words: str, values: dict[str, object]) -> str:
    """Return the condition that a question has all of some words, in any order and either case."""
    named = {f"word{place}": word for place, word in enumerate(words.split())}
    values.update(named)
    return " and ".join(["true", *(f"contains(lower(prompt), lower(${name}))" for name in named)])


def named(
    cursor: Cursor, words: str, hidden: Hidden, size: int, told: str | None = None
) -> list[NamedBattle]:
    """Return battles that may be shown, by the first digits of an id or words of a first question.

    A question has all words, in any order. Those that begin with them come first, then those that
    have them one after another; then the newest.
    """
    values: dict[str, object] = {"words": words, "size": size}
    may_be_shown = shown_to(hidden, told, values)
    by_number = f"(len($words) >= {SHORTEST_NUMBER} and starts_with(battle, lower($words)))"
    found = cursor.execute(
        f"""
        select battle, models, prompt
        from battles
        left join (select battle, prompt from turns where turn = 0) using (battle)
        where ({may_be_shown}) and ({_has_words(words, values)} or {by_number})
        order by {by_number} desc, starts_with(lower(prompt), lower($words)) desc nulls last,
            contains(lower(prompt), lower($words)) desc nulls last, created_at desc, battle_no desc
        limit $size
        """,
        values,
    ).fetchall()
    return [
        NamedBattle(battle, tuple(models), question or "") for battle, models, question in found
    ]


def is_shown(cursor: Cursor, battle: str, hidden: Hidden, told: str | None = None) -> bool:
    """Tell whether there is a battle of this id that may be shown, see `shown_to`."""
    values: dict[str, object] = {"battle": battle}
    may_be_shown = shown_to(hidden, told, values)
    query = f"select 1 from battles where battle = $battle and ({may_be_shown})"
    return cursor.execute(query, values).fetchone() is not None


def _place(cursor: Cursor, battle: str, hidden: Hidden, told: str | None) -> str:
    if not is_shown(cursor, battle, hidden, told):
        raise BattleError(_("This page of battles is gone: begin with the newest ones again."))
    return battle
