"""What a judge is swayed by besides the answers: the order they are shown in, and their length.

All functions work on a cursor that somebody else opened. They read the raw verdicts, one for each
order the judge was asked in; the table `comparisons` keeps one outcome a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from coupled_arena.store.queries.comparisons import Selection

Cursor = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Orders:
    """What one judge said, by the order in which it was shown the answers.

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
        """Pairs whose winner changes with the order."""
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
        Pairs whose verdict is for the longer answer, and for either.
    human_longer, human_all : int
        Votes on the same pairs, likewise.
    """

    judge_longer: int
    judge_all: int
    human_longer: int
    human_all: int


def orders(cursor: Cursor, selection: Selection) -> Orders:
    """Count what the selected judge said in each order; `selection.voter` does not matter."""
    condition, values = _condition(selection)
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
        heard = [outcome for outcome in (one, two) if outcome]
        unreadable += n * (asked - len(heard))
        for outcome in heard:
            choices[outcome] += n
        if one and two:
            swapped += n
            if one == two:
                twice[one] += n
            elif "tie" not in heard:
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
    condition, values = _condition(selection)
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


def _condition(selection: Selection) -> tuple[str, dict[str, object]]:
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
