"""A judge's audit as chosen: of verdicts, of grades, or of a model's own answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from coupled_arena.analysis.audit.grades import (
    only_grader,
    read_benchmark_estimates,
    read_key_estimates,
)
from coupled_arena.analysis.audit.verdicts import AuditEstimates, read_audit_estimates
from coupled_arena.analysis.style.judge import read_judge_style
from coupled_arena.core.choices import Control, Ties, Truth, Voters
from coupled_arena.core.errors import ArenaError, StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.transfer.comparison_rows import store_of_rows


@dataclass(frozen=True)
class AuditChoice:
    """What is held against what.

    Attributes
    ----------
    ties : Ties
        Of votes alone.
    metric : str or None
        Which benchmark; needed where there are several.
    key_from : str or None
        The model whose answers to a benchmark are the judge's key; the truth is then that one's.
    majority : bool
        Whether most of several voters on the same two answers count as one.
    own : tuple of str or None
        The models that the judge is itself; None: those of its name. Of votes alone.
    control : Control
        What of the replies' style to hold fixed besides. Of single votes alone.
    voters : Voters
        Whom intervals are for. The majority of voters has no taste that could be told.
    """

    ties: Ties = Ties.LOSS
    truth: Truth = Truth.VOTES
    metric: str | None = None
    key_from: str | None = None
    majority: bool = False
    own: tuple[str, ...] | None = None
    control: Control = Control.NONE
    voters: Voters = Voters.LIKE

    @property
    def graded(self) -> bool:
        """Whether single answers are held against a key, rather than verdicts against votes."""
        return self.truth is Truth.BENCHMARK or self.key_from is not None


def read_chosen(
    store: Store, selection: Selection, choice: AuditChoice, only_judge: Callable[[Store], str]
) -> AuditEstimates:
    """Count what was asked for, as it is now.

    Parameters
    ----------
    selection : Selection
        Without a judge, the only one there is counts.
    only_judge : callable
        Returns the only judge of pairs, or says that one must be named.

    Raises
    ------
    ArenaError
        Two choices contradict each other, or the store has not what was chosen.
    """
    if selection != selection.plain and (choice.graded or choice.majority):
        raise ArenaError(
            "Probabilities and flips are of one judge's verdicts beside single votes: leave them "
            "out with grades and with the majority of voters."
        )
    if choice.graded and choice.own is not None:
        raise ArenaError("own is about votes: leave it out where single answers are graded.")
    if choice.control is not Control.NONE and (choice.graded or choice.majority):
        raise ArenaError(
            "control is about single votes: leave it out with grades and the majority of voters."
        )
    about_votes = {
        "ties": choice.ties is Ties.DROP,
        "majority": choice.majority,
        "voters": choice.voters is Voters.THESE,
    }
    given = next((option for option, used in about_votes.items() if used), None)
    if choice.graded and given is not None:
        raise ArenaError(f"{given} is about votes: leave it out where single answers are graded.")
    if choice.key_from is not None:
        if selection.judge is not None:
            raise ArenaError("Either a judge graded or a model's answers are the key: name one.")
        return read_key_estimates(store, replace(selection, judge=choice.key_from), choice.metric)
    if choice.graded:
        judge = selection.judge or only_grader(store)
        return read_benchmark_estimates(store, replace(selection, judge=judge), choice.metric)
    selection = replace(selection, judge=selection.judge or only_judge(store))
    if not choice.majority:
        of_votes = choice.ties, choice.own, choice.voters
        estimates = read_audit_estimates(store, selection, *of_votes)
        if choice.control is Control.NONE:
            return estimates
        style = read_judge_style(store, selection, choice.control, choice.voters)
        return replace(estimates, style=style)
    with majority_store(store, selection) as (merged, of_majority):
        # A majority has votes of many people, and not who else there might have been.
        fixed = choice.ties, choice.own, Voters.THESE
        return replace(read_audit_estimates(merged, of_majority, *fixed), majority=True)


# What most of several voters say of the same two answers, as the truth.

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
    human, verdict, prompt, if(human is null, null, 'majority') as voter, mode, false as identical
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
