"""People's votes as the statistics count them, for tests that cast some."""

from __future__ import annotations

from itertools import combinations

from coupled_arena.core.records import Outcome


def counted(store):
    """Return (shown first, shown second, source, outcome, n), sorted."""
    with store.cursor() as cursor:
        return cursor.execute(
            """
            select
                a.model, b.model, if(identical, 'identical', 'human') as source,
                human::text as outcome, count(*) as n
            from comparisons
            join models as a on a.model_no = model_a
            join models as b on b.model_no = model_b
            where judge_no = 0 and human is not null
            group by all
            order by all
            """
        ).fetchall()


def vote_count(store):
    """The votes that no later vote supersedes."""
    with store.cursor() as cursor:
        return cursor.execute("select count(*) from current_votes").fetchone()[0]


def pairwise(ranks: tuple[int, ...], *, both_bad: bool) -> dict[tuple[int, int], Outcome]:
    """Return what an order says of each pair of places (i, j), i < j."""
    if both_bad:
        return dict.fromkeys(combinations(range(len(ranks)), 2), Outcome.BOTH_BAD)
    return {
        (i, j): Outcome.TIE
        if ranks[i] == ranks[j]
        else (Outcome.FIRST if ranks[i] < ranks[j] else Outcome.SECOND)
        for i, j in combinations(range(len(ranks)), 2)
    }
