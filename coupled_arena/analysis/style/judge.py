"""A judge beside people with style held fixed: traits that sway each, and the remaining bias."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from coupled_arena.analysis.style.result import TraitEffect, trait_effects
from coupled_arena.analysis.style.rows import (
    Counted,
    ObstructedError,
    Prepared,
    check_scores,
    controlled_fit,
    without_traits,
)
from coupled_arena.core.choices import Control, Trait, Voters, held_traits
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.style import (
    Measured,
    PairFit,
    PairRows,
    Sandwich,
    UnboundedError,
    combinations,
    entangled,
    fit,
    sandwich,
    values,
)
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.single_comparisons import styled_rows


@dataclass(frozen=True, eq=False)
class JudgeAndPeople:
    """A judge's fit and people's to the same comparisons, and what is known of both together.

    The joint covariance has the judge's numbers first, then people's: win rates of the k models,
    then coefficients of the p traits.
    """

    k: int
    judge: FloatArray
    people: FloatArray
    known: Sandwich

    @classmethod
    def of(cls, judge: PairFit, people: PairFit) -> JudgeAndPeople:
        """Return both with their joint covariance: comparisons of one prompt move both."""
        k = judge.rows.k
        parts = [(each, combinations(each)[k:]) for each in (judge, people)]
        return cls(k, values(judge)[k:], values(people)[k:], sandwich(parts))

    def side(self, at: int, part: slice) -> Measured:
        """Return numbers of the judge (0) or of people (1)."""
        q = len(self.known.degrees) // 2
        rows = np.arange(q)[part] + at * q
        error = np.sqrt(np.diag(self.known.covariance)[rows])
        return Measured((self.judge, self.people)[at][part], error, self.known.degrees[rows])

    def difference(self, part: slice) -> Measured:
        """Return the judge's numbers less people's."""
        q = len(self.known.degrees) // 2
        contrast = np.hstack([np.eye(q), -np.eye(q)])[part]
        variance = np.diag(contrast @ self.known.covariance @ contrast.T)
        judge, people = self.side(0, part), self.side(1, part)
        return Measured(
            judge.value - people.value,
            np.sqrt(np.maximum(variance, 0)),
            np.minimum(judge.degrees, people.degrees),
        )


@dataclass(frozen=True, eq=False)
class JudgeStyleEstimates:
    """What comparisons with a vote and a verdict say, before an error level is chosen.

    Attributes
    ----------
    plain, controlled : JudgeAndPeople or None
        Without control and with it.
    plain_agreement, agreement : Measured or None
        Log-odds that the judge gives the answer that people prefer for the other one, the models
        being held fixed, and the style too. None where a judge always agrees, say.
    obstructed : ObstructedError or None
        Why there are none.
    """

    control: Control
    counted: Counted
    plain: JudgeAndPeople | None
    controlled: JudgeAndPeople | None
    plain_agreement: Measured | None
    agreement: Measured | None
    obstructed: ObstructedError | None


@dataclass(frozen=True)
class StyleBias:
    """How much more often the judge prefers a model than people do, and its interval.

    Of win rates by Bradley-Terry scores: the mean over all opponents, ties as half a win.
    """

    model: str
    bias: float
    low: float
    high: float
    plain_bias: float
    plain_low: float
    plain_high: float


@dataclass(frozen=True)
class TraitBeside:
    """What one trait does to the judge and to people; the difference is one of log-odds."""

    judge: TraitEffect
    people: TraitEffect
    difference: float
    low: float
    high: float

    @property
    def trait(self) -> Trait:
        """Which it is."""
        return self.judge.trait


@dataclass(frozen=True)
class HeldAgreement:
    """How often the judge gives the answer that people prefer, between equally strong models."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class JudgeStyle:
    """A judge beside people with style held fixed, at one error level."""

    estimates: JudgeStyleEstimates
    alpha: float
    traits: tuple[TraitBeside, ...]
    models: tuple[StyleBias, ...]
    agreement: HeldAgreement | None
    plain_agreement: HeldAgreement | None


def read_judge_style(
    store: Store, selection: Selection, control: Control, voters: Voters = Voters.LIKE
) -> JudgeStyleEstimates:
    """Fit the comparisons with a vote and a verdict of the selected judge.

    Parameters
    ----------
    voters : Voters
        Whom errors are for.

    Raises
    ------
    StoreError
        The selection names a judge or model that the store does not know.
    """
    with store.cursor() as cursor:
        styled = styled_rows(cursor, selection, held_traits(control), voted=True, judged=True)
    prepared = Prepared.of(styled, held_traits(control), voters=voters is Voters.LIKE)
    sides = [styled.judge, styled.human]
    nothing = JudgeStyleEstimates(control, prepared.counted, *(None,) * 5)
    try:
        check_scores(prepared, sides, more=1)
        held = JudgeAndPeople.of(*(controlled_fit(prepared, side) for side in sides))
    except ObstructedError as error:
        return replace(nothing, obstructed=error)
    plain = JudgeAndPeople.of(*(fit(without_traits(prepared.rows(side))) for side in sides))
    rows = prepared.rows(styled.judge)
    return replace(
        nothing,
        plain=plain,
        controlled=held,
        plain_agreement=_agreement(without_traits(rows), styled.human),
        agreement=_agreement(rows, styled.human),
    )


def _agreement(rows: PairRows, human: FloatArray) -> Measured | None:
    """Return the log-odds of the verdict for the answer that people prefer."""
    vote = (human - 0.5)[:, None]
    with_votes = replace(rows, covariates=np.hstack([rows.covariates, vote]))
    if not vote.any() or entangled(with_votes):
        return None
    try:
        found = fit(with_votes)
    except UnboundedError:
        return None
    last = np.zeros((1, rows.k + rows.p + 1))
    last[0, -1] = 0.5  # from one half of a vote to none
    known = sandwich([(found, last)])
    return Measured(last @ found.estimate, np.sqrt(np.diag(known.covariance)), known.degrees)


def judge_style(estimates: JudgeStyleEstimates, alpha: float = 0.05) -> JudgeStyle:
    """Return what the estimates say at one error level.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    held, plain = estimates.controlled, estimates.plain
    if held is None or plain is None:
        return JudgeStyle(estimates, alpha, (), (), None, None)
    k = held.k
    traits, rates = slice(k, None), slice(k)
    effects = [trait_effects(estimates.counted, held.side(at, traits), alpha) for at in (0, 1)]
    gap = held.difference(traits)
    ends = [gap.value, *gap.interval(alpha)]
    columns = [
        end for found in (held, plain) for end in _with_interval(found.difference(rates), alpha)
    ]
    rows = zip(estimates.counted.models, *columns, strict=True)
    return JudgeStyle(
        estimates,
        alpha,
        traits=tuple(
            TraitBeside(judge, people, *(float(end) for end in row))
            for judge, people, *row in zip(*effects, *ends, strict=True)
        ),
        models=tuple(StyleBias(model, *(float(end) for end in row)) for model, *row in rows),
        agreement=_share(estimates.agreement, alpha),
        plain_agreement=_share(estimates.plain_agreement, alpha),
    )


def _with_interval(found: Measured, alpha: float) -> list[FloatArray]:
    return [found.value, *found.interval(alpha)]


def _share(found: Measured | None, alpha: float) -> HeldAgreement | None:
    if found is None:
        return None
    return HeldAgreement(*(expit(end).item() for end in _with_interval(found, alpha)))
