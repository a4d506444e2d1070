"""Biases of a judge: order of presentation, length, its own models; and how its verdicts are used.

All functions work on a given cursor. Orders and lengths come from the raw verdicts, one for each
order in which the judge was asked. The table `comparisons` keeps one outcome a pair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.core.sql import Cursor
from coupled_arena.store.queries.comparisons import (
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
)


@dataclass(frozen=True)
class Orders:
    """Verdicts of one judge by the order of the answers.

    Attributes
    ----------
    first, second, ties : int
        Readable verdicts for the answer shown first to the judge, for the other, for neither.
    unreadable : int
        Questions that the judge never answered readably.
    swapped : int
        Pairs with a readable verdict in both orders.
    same : int
        Of these, both verdicts are for the same model, or for neither.
    first_twice, second_twice : int
        Of these, the verdict goes to whatever is shown first, or second.
    """

    first: int
    second: int
    ties: int
    unreadable: int
    swapped: int
    same: int
    first_twice: int
    second_twice: int

    @property
    def readable(self) -> int:
        """Readable verdicts."""
        return self.first + self.second + self.ties

    @property
    def flipped(self) -> int:
        """Pairs with another winner in the other order."""
        return self.first_twice + self.second_twice

    @property
    def to_tie(self) -> int:
        """Pairs that one order calls a tie and the other does not."""
        return self.swapped - self.same - self.flipped


@dataclass(frozen=True)
class Lengths:
    """How often the longer answer is preferred, in characters, of answers unequally long.

    Attributes
    ----------
    judge_longer, judge_all : int
        Pairs with a verdict for the longer answer, and for either answer.
    human_longer, human_all : int
        Votes on the same pairs, likewise.
    """

    judge_longer: int
    judge_all: int
    human_longer: int
    human_all: int


def orders(cursor: Cursor, selection: Selection) -> Orders:
    """Count the verdicts of the selected judge in each order; `selection.voter` does not matter."""
    condition, values = _pair_condition(selection)
    counted = cursor.execute(
        f"""
        with questions as (
            select
                battle,
                least(first_place, second_place) + 1 as i,
                greatest(first_place, second_place) + 1 as j,
                first_place < second_place as forward,
                replace(
                    arg_max(outcome, seq) filter (outcome is not null), 'both_bad', 'tie'
                ) as choice
            from verdicts
            where judge = $judge
            group by all
        ),
        pairs as (
            select min(choice) filter (forward), min(choice) filter (not forward), count(*)
            from questions
            join battles using (battle)
            where {condition}
            group by battle, i, j
        )
        select *, count(*) from pairs as p(one, two, asked) group by all
        """,
        values,
    ).fetchall()
    return _orders(counted)


def _orders(counted: list[tuple[str | None, str | None, int, int]]) -> Orders:
    """Add up pairs of (choice in one order, choice in the other, orders asked in, pairs)."""
    choices = {"first": 0, "second": 0, "tie": 0}
    twice = {"first": 0, "second": 0, "tie": 0}
    swapped = same = unreadable = 0
    for one, two, asked, n in counted:
        readable = [outcome for outcome in (one, two) if outcome]
        unreadable += n * (asked - len(readable))
        for outcome in readable:
            choices[outcome] += n
        if one and two:
            swapped += n
            if one == two:
                twice[one] += n
            elif "tie" not in readable:
                same += n
    return Orders(
        first=choices["first"],
        second=choices["second"],
        ties=choices["tie"],
        unreadable=unreadable,
        swapped=swapped,
        same=same + twice["tie"],
        first_twice=twice["first"],
        second_twice=twice["second"],
    )


def lengths(cursor: Cursor, selection: Selection) -> Lengths:
    """Count how often the longer answer wins, on pairs with a verdict of the selected judge."""
    condition, values = _pair_condition(selection)
    rows = cursor.execute(
        f"""
        with sizes as (
            select battle, place + 1 as place, sum(length(text)) as size
            from replies
            group by all
        ),
        pairs as (
            select battle, i, j, verdict, x.size > y.size as longer_first
            from judgements
            join battles using (battle)
            join sizes as x using (battle)
            join sizes as y using (battle)
            where judge = $judge and x.place = i and y.place = j and x.size <> y.size
                and {condition}
        )
        select 'judge', count(*) filter ((verdict = 'first') = longer_first), count(*)
        from pairs
        where verdict in ('first', 'second')
        union all
        select 'human', count(*) filter ((ranks[i] < ranks[j]) = longer_first), count(*)
        from pairs
        join counted_votes using (battle)
        where ranks[i] <> ranks[j]
        """,
        values,
    ).fetchall()
    found = {whose: (longer, n) for whose, longer, n in rows}
    return Lengths(*found["judge"], *found["human"])


def _pair_condition(selection: Selection) -> tuple[str, dict[str, object]]:
    """Return the SQL condition on a pair of places (i, j) of a battle, and its values."""
    values: dict[str, object] = {"judge": selection.judge}
    conditions = ["true"]
    if selection.mode is not None:
        values["mode"] = selection.mode.value
        conditions.append("mode = $mode")
    if selection.models is not None:
        values["models"] = list(selection.models)
        conditions += [f"list_contains($models, models[{place}])" for place in "ij"]
    for name in ("category", "language"):
        if (wanted := getattr(selection, name)) is not None:
            values[name] = wanted
            conditions.append(
                f"battle in (select battle from turns where turn = 0 and {name} = ${name})"
            )
    return " and ".join(conditions), values


_BOTH = "judge_no > 0 and human is not null and model_a <> model_b"


def own_models(cursor: Cursor, selection: Selection) -> tuple[str, ...]:
    """Return the models that the selected judge is, by its name or its model's.

    Names are compared in lower case, without the part before a slash, and with one sign for
    anything but letters and digits. One name may continue the other: ``gpt-4-0613`` is a ``gpt-4``,
    and ``gpt-4o`` is not.
    """
    query = "select judge, model from judges where judge = $judge"
    names = cursor.execute(query, {"judge": selection.judge}).fetchall()
    judges = {_plain(name) for row in names for name in row} - {"", "imported"}
    known = model_numbers(cursor, selection)
    return tuple(model for model in known if any(_same(_plain(model), name) for name in judges))


@dataclass(frozen=True, eq=False)
class Cast:
    """Prompts, numbers and voters of rows of comparisons, shape (rows,); -1 is nobody known.

    `voter` is None where nobody asked.
    """

    prompt: IntArray
    times: IntArray
    voter: IntArray | None


_VOTER = {
    False: ("-1", ""),
    True: ("coalesce(voter_no, -1)::bigint", "left join voter_numbers using (voter)"),
}


def own_preference(
    cursor: Cursor, selection: Selection, models: Sequence[str], *, voters: bool = False
) -> tuple[Cast, IntArray, IntArray]:
    """Return how often these models are preferred to others, by rows of equal comparisons.

    Parameters
    ----------
    voters : bool
        Whether to say who voted, by the numbers of `number_voters`.

    Returns
    -------
    rows : Cast
    by_judge, by_people : ndarray of int64, shape (rows,)
        1 where an own model is preferred, else 0: a tie is a win for neither.
    """
    known = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    chosen = ", ".join(str(known[model]) for model in models) or "-1"
    rows = cursor.execute(
        f"""
        with sides as (
            select *, if(model_a in ({chosen}), 'first', 'second') as own
            from comparisons
            where {where} and {_BOTH} and (model_a in ({chosen})) <> (model_b in ({chosen}))
        )
        select
            prompt_no, {_VOTER[voters][0]} as voter_no, count(*) as n,
            (verdict::text = own)::integer as judge, (human::text = own)::integer as people
        from sides
        {_VOTER[voters][1]}
        group by all
        order by all
        """,
        values,
    ).fetchnumpy()
    judge, people = (np.asarray(rows[name], np.int64) for name in ("judge", "people"))
    return _cast(rows, voters=voters), judge, people


def _cast(rows: dict[str, Any], *, voters: bool) -> Cast:
    prompt, n, voter = (np.asarray(rows[name], np.int64) for name in ("prompt_no", "n", "voter_no"))
    return Cast(prompt, n, voter if voters else None)


def probabilities(
    cursor: Cursor, selection: Selection, *, voters: bool = False
) -> tuple[FloatArray, FloatArray, Cast]:
    """Return probabilities of the judge with the votes of people, who voted and on which prompts.

    Parameters
    ----------
    voters : bool
        As in `own_preference`.

    Returns
    -------
    likely : ndarray of float64, shape (n, 3)
        Probabilities of the first model, the second, and neither: means of both orders.
    outcomes : ndarray of float64, shape (n, 3)
        1 for the outcome that people chose, else 0.
    rows : Cast
        One a comparison.
    """
    known: Any = model_numbers(cursor, selection)
    where, values = condition_of(cursor, selection, known)
    rows = cursor.execute(
        f"""
        select
            p_first, p_second, replace(human::text, 'both_bad', 'tie') as human, prompt_no,
            {_VOTER[voters][0]} as voter_no, 1 as n
        from comparisons
        {_VOTER[voters][1]}
        where {where} and {_BOTH} and p_first is not null
        order by all
        """,
        values,
    ).fetchnumpy()
    first, second = (np.asarray(rows[name], np.float64) for name in ("p_first", "p_second"))
    human = np.asarray(rows["human"], dtype=object)
    ways = [np.asarray(human == way, np.float64) for way in ("first", "second", "tie")]
    likely = np.column_stack([first, second, 1 - first - second])
    return likely, np.column_stack(ways), _cast(rows, voters=voters)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower().rpartition("/")[2]).strip("-")


def _same(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and f"{long}-".startswith(f"{short}-")


@dataclass(frozen=True)
class JudgeUse:
    """How many comparisons a judge counts on, and how.

    Attributes
    ----------
    comparisons : int
        Those that it judged.
    abstained : int
        Of these, those with different verdicts in both orders, which count for nothing.
    abstained_voted : int
        Of these, those with a vote, which counts by itself.
    without_probability : int
        Of all others, those with a verdict of 0 or 1, because its probability is not known.
    """

    comparisons: int = 0
    abstained: int = 0
    abstained_voted: int = 0
    without_probability: int = 0


def judge_use(cursor: Cursor, selection: Selection) -> JudgeUse:
    """Count the comparisons that the selected judge counts on; none with plain verdicts.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    if selection == selection.plain:
        return JudgeUse()
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    abstains = "flipped" if selection.flips is Flips.ABSTAIN else "false"
    lacking = "p_first is null" if selection.judge_score is JudgeScore.PROBABILITY else "false"
    row = cursor.execute(
        f"""
        select
            count(*),
            count(*) filter ({abstains}),
            count(*) filter ({abstains} and human is not null),
            count(*) filter ({lacking} and not {abstains})
        from comparisons
        where {where} and judge_no > 0 and model_a <> model_b
        """,
        values,
    ).fetchall()[0]
    return JudgeUse(*row)


@dataclass(frozen=True)
class RatesByProbability:
    """What a judge's probabilities say of the models, where a board takes its verdicts alone.

    Attributes
    ----------
    comparisons : int
        Those that it judged.
    between : int
        Of these, those with a probability that is neither a sure verdict nor a sure tie.
    rates : dict
        The mean over opponents of each model's mean share, a sure verdict for its own.
    """

    comparisons: int
    between: int
    rates: dict[str, float]


def rates_by_probability(cursor: Cursor, selection: Selection) -> RatesByProbability:
    """Return the win rates by the selected judge's probabilities, each comparison for one.

    Raises
    ------
    StoreError
        The store knows no such judge or model.
    """
    where, values = condition_of(cursor, selection, model_numbers(cursor, selection))
    judged = f"from comparisons where {where} and judge_no > 0 and model_a <> model_b"
    rows: list[tuple[str, float, int, int]] = cursor.execute(
        f"""
        with shares as (
            select
                model_a, model_b,
                coalesce(greatest(p_first, p_second, p_tie) < 1, false) as between,
                coalesce(p_first + p_tie / 2, case verdict when 'first' then 1 when 'second' then 0
                    else 0.5 end) as share
            from (select *, 1 - p_first - p_second as p_tie {judged})
        ),
        sided as (
            select model_a as one, model_b as other, share, between from shares
            union all
            select model_b, model_a, 1 - share, between from shares
        ),
        pairs as (
            select one, avg(share) as share, count(*) as n, count(*) filter (between) as told
            from sided group by one, other
        )
        select model, avg(share), sum(n), sum(told)
        from pairs join models on model_no = one
        group by model order by model
        """,
        values,
    ).fetchall()
    return RatesByProbability(
        sum(n for *_, n, _told in rows) // 2,
        sum(told for *_, told in rows) // 2,
        {model: float(share) for model, share, *_ in rows},
    )
