"""A judge's audit as it was asked for: of verdicts, of grades, or of a model's own answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from coupled_arena.analysis.audit.benchmark import only_grader, read_benchmark_estimates
from coupled_arena.analysis.audit.keys import read_key_estimates
from coupled_arena.analysis.audit.majority import majority_store
from coupled_arena.analysis.audit.read import AuditEstimates, read_audit_estimates
from coupled_arena.analysis.style.judge import read_judge_style
from coupled_arena.core.choices import Control, Ties, Truth
from coupled_arena.core.errors import ArenaError
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection


@dataclass(frozen=True)
class AuditChoice:
    """What is held against what.

    Attributes
    ----------
    ties : Ties
        Of votes alone.
    truth : Truth
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
    """

    ties: Ties = Ties.LOSS
    truth: Truth = Truth.VOTES
    metric: str | None = None
    key_from: str | None = None
    majority: bool = False
    own: tuple[str, ...] | None = None
    control: Control = Control.NONE

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
    if choice.graded and (choice.ties is Ties.DROP or choice.majority):
        said = "ties" if choice.ties is Ties.DROP else "majority"
        raise ArenaError(f"{said} is about votes: leave it out where single answers are graded.")
    if choice.key_from is not None:
        if selection.judge is not None:
            raise ArenaError("Either a judge graded or a model's answers are the key: name one.")
        return read_key_estimates(store, replace(selection, judge=choice.key_from), choice.metric)
    if choice.graded:
        judge = selection.judge or only_grader(store)
        return read_benchmark_estimates(store, replace(selection, judge=judge), choice.metric)
    selection = replace(selection, judge=selection.judge or only_judge(store))
    if not choice.majority:
        estimates = read_audit_estimates(store, selection, choice.ties, choice.own)
        if choice.control is Control.NONE:
            return estimates
        return replace(estimates, style=read_judge_style(store, selection, choice.control))
    with majority_store(store, selection) as (merged, of_majority):
        return read_audit_estimates(merged, of_majority, choice.ties, choice.own)
