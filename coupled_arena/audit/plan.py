"""How many more votes a question needs, with and without a judge, and what its verdicts cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coupled_arena.audit.evidence import AuditEvidence
from coupled_arena.errors import ArenaError
from coupled_arena.stats.counts import FloatArray, PairCounts
from coupled_arena.stats.differences import contrast, explained
from coupled_arena.stats.planner import Needs, needs, variance_for_power, variance_for_width


@dataclass(frozen=True)
class Question:
    """What is to be found out.

    Attributes
    ----------
    model : str
    other : str or None
        The model to separate it from; None: an interval for `model` alone.
    width : float
        Of that interval, from end to end.
    power : float
        Probability that a two-sided test of the two models alone, at level `alpha`, separates
        them.
    lead : float or None
        True difference of the two; by default the one that is estimated now.
    alpha : float
    verdicts_per_vote : float
        Verdicts on comparisons that nobody votes on, for each vote; fewer where the votes that
        are there allow it.
    price : float or None
        Of one verdict.
    """

    model: str
    other: str | None = None
    width: float = 0.05
    power: float = 0.8
    lead: float | None = None
    alpha: float = 0.05
    verdicts_per_vote: float = 10
    price: float | None = None


@dataclass(frozen=True)
class Plan:
    """The answer, and what is there already.

    Attributes
    ----------
    votes_there, verdicts_there : int
        On comparisons of the model, or of either of the two.
    lead : float or None
        The difference that was planned for.
    """

    question: Question
    judge: str
    needs: Needs
    votes_there: int
    verdicts_there: int
    lead: float | None

    @property
    def votes_to_cast_alone(self) -> int:
        """Votes still needed without the judge."""
        return max(self.needs.votes_alone - self.votes_there, 0)

    @property
    def votes_to_cast(self) -> int:
        """Votes still needed with the judge."""
        return max(self.needs.votes - self.votes_there, 0)

    @property
    def verdicts_to_buy(self) -> int:
        """Verdicts still needed; none where the votes that are there suffice."""
        if not self.votes_to_cast_alone:
            return 0
        return max(self.needs.verdicts - self.verdicts_there, 0)

    @property
    def cost(self) -> float | None:
        """Of the verdicts still needed; None without a price."""
        price = self.question.price
        return None if price is None else price * self.verdicts_to_buy

    @property
    def aim(self) -> str:
        """What is planned for, as the beginning of a sentence."""
        question = self.question
        if self.lead is None:
            level = f"{100 * (1 - question.alpha):.4g}%"
            return f"A {level} interval of width {question.width:g} for {question.model}'s win-rate"
        return (
            f"To separate {question.model} and {question.other}, {100 * abs(self.lead):.2g} points "
            f"apart, at alpha {question.alpha:g} with probability {question.power:g}"
        )


def make_plan(evidence: AuditEvidence, question: Question) -> Plan:
    """Plan from the votes and verdicts there are, as if others were like them.

    Raises
    ------
    ArenaError
        A model is unknown to the audit, a number makes no sense, or there are too few votes.
    """
    model = _place(evidence, question.model)
    other = None if question.other is None else _place(evidence, question.other)
    if question.price is not None and not 0 <= question.price < math.inf:
        raise ArenaError(f"The price of a verdict cannot be {question.price:g}.")
    if model == other:
        raise ArenaError(f"{question.model} cannot be separated from itself. Name two models.")
    try:
        return _plan(evidence, question, model, other)
    except ValueError as error:
        raise ArenaError(str(error)) from error


def _plan(evidence: AuditEvidence, question: Question, model: int, other: int | None) -> Plan:
    means, k = evidence.means, len(evidence.means.models)
    weights, lead = contrast(means, model, other), None
    if other is None:
        goal = variance_for_width(question.width, question.alpha)
    else:
        estimated = float(means.human[model] - means.human[other])
        lead = estimated if question.lead is None else question.lead
        goal = variance_for_power(lead, question.alpha, question.power)
    if evidence.judged is None or evidence.votes is None:
        raise ArenaError("A plan is about people's votes, not about a benchmark.")
    votes_there = _touching(evidence.votes, weights)
    found = needs(
        variance=float(weights @ means.covariance[:k, :k] @ weights),
        votes=_touching(evidence.judged.votes, weights),
        explained=explained(means, weights),
        goal=goal,
        verdicts_per_vote=question.verdicts_per_vote,
        votes_there=votes_there,
    )
    return Plan(
        question=question,
        judge=evidence.selection.judge or "",
        needs=found,
        votes_there=votes_there,
        verdicts_there=_touching(evidence.judged.verdicts, weights),
        lead=lead,
    )


def _place(evidence: AuditEvidence, name: str) -> int:
    models = evidence.models
    if name not in models:
        raise ArenaError(
            f"{evidence.selection.judge} has no verdict on {name!r}. "
            f"Models with verdicts: {', '.join(models) or 'none yet'}."
        )
    return models.index(name)


def _touching(counts: PairCounts, weights: FloatArray) -> int:
    """Return the comparisons of any of the models that have a weight."""
    pairs, at = np.triu(counts.comparisons), weights != 0
    return int(pairs[at[:, None] | at[None, :]].sum())
