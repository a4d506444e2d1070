"""What most of several voters say of the same two answers, as the truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from coupled_arena.core.errors import StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.transfer.comparison_rows import store_of_rows

# Imported battles that are on one question compare the same two answers, whatever their order.
# A judge that says different things of them, such as one for each order, says "tie".
_MERGED = """
with sided as (
    select
        if(mode = 'unknown', prompt, battle) as answers, prompt, mode,
        least(model_a, model_b) as low, greatest(model_a, model_b) as high,
        case
            when winner in ('tie', 'both_bad') then 'tie'
            when (winner = 'model_a') = (model_a < model_b) then 'first'
            when winner is not null then 'second'
        end as said,
        case
            when verdict in ('tie', 'both_bad') then 'tie'
            when (verdict = 'model_a') = (model_a < model_b) then 'first'
            when verdict is not null then 'second'
        end as judged
    from compared
),
counted as (
    select * exclude (judged), count(*) as n from sided where said is not null group by all
),
most as (
    select * exclude (said, n), max(n) as n from counted group by all
),
voted as (
    select * exclude (said, n), if(count(*) > 1, 'tie', any_value(said)) as human
    from counted join most using (answers, prompt, mode, low, high, n)
    group by all
),
judged as (
    select
        * exclude (said, judged),
        if(count(distinct judged) > 1, 'tie', any_value(judged)) as verdict
    from sided where judged is not null
    group by all
)
select
    row_number() over (order by answers, low, high) as n, low as model_a, high as model_b,
    human, verdict, prompt, if(human is null, null, 'majority') as voter, mode
from voted full join judged using (answers, prompt, mode, low, high)
"""


@contextmanager
def majority_store(store: Store, selection: Selection) -> Iterator[tuple[Store, Selection]]:
    """Give a store in memory in which the majority is the only voter, and the selection for it.

    The outcome with the most votes on the same two answers counts; without one it is a tie.

    Parameters
    ----------
    selection : Selection
        With a judge.

    Raises
    ------
    StoreError
        The store knows no such judge, or nothing is selected.
    """
    judge = selection.judge or ""
    wanted = {
        "mode": selection.mode,
        "category": selection.category,
        "language": selection.language,
    }
    with store.cursor() as cursor:
        compared = comparisons.relation(cursor, judge).to_df()
        for column, value in wanted.items():
            if value is not None:
                compared = compared[compared[column] == str(value)]
        if selection.models is not None:
            comparisons.model_numbers(cursor, selection)  # raises if there is no such model
            both = [compared[side].isin(selection.models) for side in ("model_a", "model_b")]
            compared = compared[both[0] & both[1]]
        if compared.empty:
            raise StoreError(f"There is no vote and no verdict of {judge} in this selection.")
        cursor.register("compared", compared)
        rows = cursor.execute(_MERGED).fetchdf()
        cursor.unregister("compared")
    merged = store_of_rows(rows, judge)
    try:
        # The prompts' categories and languages stayed behind: they are chosen already.
        yield merged, replace(selection, category=None, language=None, models=None)
    finally:
        merged.close()
