"""How many more votes a question needs, with and without a judge, and the cost of verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.analysis.audit.verdicts import AuditEstimates
from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates
from coupled_arena.core.choices import BoardSource, Cutoff, Weighting
from coupled_arena.core.errors import ArenaError, in_one_line
from coupled_arena.core.language import N_, _
from coupled_arena.stats.counts import FloatArray, PairCounts
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.planner import (
    LikelyLead,
    Needs,
    check_power,
    check_variance,
    explained_within_pairs,
    likely_lead,
    needs,
    power_of_each,
    spread_of_leads,
    unevenness_of,
    unsure_variance,
    variance_for_power,
    variance_for_width,
)
from coupled_arena.stats.judges.powered_means import contrast, explained
from coupled_arena.stats.ranking import any_time
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.store.queries.comparisons import Selection

# The votes of pairs of models that a plan is about.


def unevenness(counts: PairCounts, weights: FloatArray, weighting: Weighting) -> float:
    """Return what drawing votes anew adds to the variance of a difference of two models."""
    if weighting is Weighting.COUNT:
        return 0.0
    # A vote on the two themselves moves both, in opposite directions.
    moved = (np.abs(weights[:, None] - weights[None, :]) ** 2)[np.triu_indices(len(weights), 1)]
    pairs = counts.comparisons[np.triu_indices(len(weights), 1)]
    there = (moved > 0) & (pairs > 0)
    return unevenness_of(pairs[there].astype(np.float64), moved[there])


def touching(counts: PairCounts, weights: FloatArray) -> int:
    """Return the comparisons of any of the models that have a weight."""
    pairs, at = np.triu(counts.comparisons), weights != 0
    return int(pairs[at[:, None] | at[None, :]].sum())


UNJOINED = N_("No votes join {one} and {other}, even through others: only such votes can tell.")
PLANNED = (Cutoff.MAX_T, Cutoff.STEP_DOWN, Cutoff.BONFERRONI, Cutoff.ANY_TIME)
"""Cut-offs that a separation can be planned for."""

_ROUNDS = 4  # until cut-off and votes fit each other: the first is off by 1 % of the votes then


@dataclass(frozen=True)
class PlanGoal:
    """What is to be found out.

    Attributes
    ----------
    other : str or None
        The model to separate it from; None: an interval for `model` alone.
    width : float
        Of that interval, from end to end.
    power : float
        Probability that the leaderboard separates them, whose rank-sets hold for all its
        models at once at level `alpha`.
    lead : float or None
        True difference of the two; by default the one that people's votes say now, less what it
        may owe to chance.
    cutoff : Cutoff
        One of `PLANNED`: of a board that is looked at once, or watched until it separates the two.
    verdicts_per_vote : float
        Verdicts on comparisons that nobody votes on, for each vote; fewer where the votes that
        are there allow it.
    price : float or None
        Of one verdict.
    more : tuple of str
        Further models to separate it from, all at once with this probability.
    present : bool
        Take the differences that the votes say now for the true ones.
    """

    model: str
    other: str | None = None
    width: float = 0.05
    power: float = 0.8
    lead: float | None = None
    alpha: float = 0.05
    cutoff: Cutoff = Cutoff.MAX_T
    verdicts_per_vote: float = 10
    price: float | None = None
    more: tuple[str, ...] = ()
    present: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        """The models to separate it from."""
        return () if self.other is None else (self.other, *self.more)


_NO_TASTES = 0.05  # of a variance: what tastes add at least where they show


@dataclass(frozen=True)
class Crowd:
    """People who voted, and what their votes say of a difference.

    Attributes
    ----------
    n : int
        How many people there are.
    each : float
        Votes of a person on the whole board, the median.
    equal : float
        As many equally busy people would tell as much of how tastes differ.
    touching : float
        Share of the votes that the plan is about.
    votes : int
        These votes.
    within, between : float
        Variance of the difference for exactly these people, and what tastes add to it.
    goal : float
        The variance to reach.
    unsure : float
        How many times the people it takes because few people tell how much tastes differ. A plan
        from too small a variance loses more power than one from too large a variance gains.
    """

    n: int
    each: float
    equal: float
    touching: float
    votes: int
    within: float
    between: float
    goal: float
    unsure: float = 1.0

    def more(self, times: float) -> float:
        """Return the people to add, so that there is `times` as much information as now."""
        of_person = self.between * self.equal
        of_person += self.within * self.votes / max(self.each * self.touching, 1.0)
        return max(times * self.unsure - 1, 0.0) * of_person / (self.within + self.between)

    def same(self, goal: float) -> float:
        """Return how many times the votes of the same people reach a variance."""
        return self.within / (goal - self.between)


@dataclass(frozen=True)
class VotePlan:
    """The answer, and what is there already.

    Attributes
    ----------
    votes_there, verdicts_there : int
        On comparisons of the model, or of either of the two.
    lead : float or None
        The difference that was planned for.
    estimated_lead : float or None
        The one that people's votes say, where that one was planned from: its absolute value is
        larger, see `coupled_arena.stats.judges.planner.likely_lead`.
    votes_least, votes_most : int or None
        Between which votes by people alone, which give the power asked for at the true difference,
        lie with probability .8.
    critical_value : float
        How many standard deviations an interval goes to each side, or a difference must exceed.
    board_models : int or None
        Models that the leaderboard compares at once; None of an interval.
    reworded : int
        Questions of benchmarks that were put in several ways, all of which count.
    people : Crowd or None
        Who voted, where their tastes show.
    """

    question: PlanGoal
    judge: str
    needs: Needs
    votes_there: int
    verdicts_there: int
    lead: float | None
    critical_value: float
    board_models: int | None = None
    reworded: int = 0
    people: Crowd | None = None
    estimated_lead: float | None = None
    votes_least: int | None = None
    votes_most: int | None = None

    @property
    def people_to_ask(self) -> int | None:
        """People still needed without the judge; None where tastes do not show."""
        if self.people is None:
            return None
        return math.ceil(self.people.more(self.needs.votes_alone / max(self.votes_there, 1)))

    @property
    def votes_each(self) -> int | None:
        """Votes of each of these people: as many as the present ones cast, the median."""
        return None if self.people is None else max(round(self.people.each), 1)

    @property
    def same_people_votes(self) -> int | None:
        """More votes of the same people that would do; None where none would, see `same_people`."""
        if self.people is None or not self.same_people:
            return None
        share = self.people.same(self.people.goal)
        return max(math.ceil(self.votes_there * (share - 1)), 0)

    @property
    def same_people(self) -> bool | None:
        """Whether votes of the same people can do; None where tastes do not show."""
        return None if self.people is None else self.people.between < self.people.goal

    @property
    def cutoff(self) -> Cutoff | None:
        """How the leaderboard's cut-off allows for comparing all models at once."""
        return None if self.board_models is None else self.question.cutoff

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


def plan_interval(estimates: AuditEstimates, question: PlanGoal) -> VotePlan:
    """Plan an interval from the votes and verdicts there are, as if others were like them.

    Raises
    ------
    ArenaError
        The model is unknown to the audit, a number makes no sense, or there are too few votes.
    """
    judged, votes = estimates.judged, estimates.votes
    if judged is None or votes is None:
        raise ArenaError(_("A plan is about people's votes, not about a benchmark."))
    means, k = estimates.means, len(estimates.means.models)
    lacking = _("{judge} has no verdict on {name!r}. Models with verdicts: {known}.")
    place = _place(lacking, means.models, question.model, judge=estimates.selection.judge)
    weights, counted = contrast(k, place), touching(judged.votes, contrast(k, place))
    with in_one_line():
        goal = variance_for_width(question.width, question.alpha)
        made = _plan(
            question,
            estimates.selection,
            _Grounds(
                variance=float(weights @ means.covariance[:k, :k] @ weights),
                explained=explained(means, weights),
                counted=counted,
                votes=touching(votes, weights),
                verdicts=touching(judged.verdicts, weights),
            ),
            goal,
            float(critical_value(question.alpha)),
        )
    crowd, tasted = None, means.tasted
    if tasted is not None:
        within, total = (float(x[place, place]) for x in (tasted.these, tasted.covariance))
        busy = tasted.voters, tasted.each, tasted.equal
        crowd = _showing(within, total, busy, counted, counted / max(means.parts, 1), goal)
    return replace(made, people=crowd, reworded=estimates.reworded)


def plan_separation(board: BoardEstimates, question: PlanGoal) -> VotePlan:
    """Plan to separate two models on the leaderboard, as if others were like the votes there.

    Without a judge in the selection it is a plan for people alone.

    Raises
    ------
    ArenaError
        A model is not on the board, a number makes no sense, or there are too few votes.
    """
    human, selection = board.by_source.get(BoardSource.HUMAN), board.selection
    if human is None:
        raise ArenaError(_("Too few votes yet to plan from: there are none."))
    _check_joined(human, question)
    with in_one_line():
        leads = [_Lead.of(board, question, other) for other in question.others]
        hardest = max(leads, key=lambda each: each.error)
        apart = replace(question, power=_power_of_each(board, question, leads))
        weights, likely, variance = hardest.weights, hardest.likely, hardest.variance
        of_all, of_any = (np.zeros(len(board.votes.models)) for _each in range(2))
        at = [board.votes.models.index(model) for model in human.models]
        of_all[at], of_any[at] = weights, np.abs([each.weights for each in leads]).sum(axis=0)
        votes = touching(board.votes, of_any)
        goal, critical = _goal(board, apart, hardest.planned, variance)
        grounds = _Grounds(
            variance=variance,
            explained=_explained(board, of_all, human),
            counted=votes,
            votes=votes,
            verdicts=touching(board.judged.verdicts, of_any),
            unevenness=unevenness(board.votes, of_all, human.weighting),
        )
        made = _plan(question, selection, grounds, goal, critical)
    known = {
        "lead": hardest.planned,
        "board_models": len(human.models),
        "reworded": board.reworded,
    }
    crowd = _crowd(human, weights, votes, goal)
    if crowd is not None and human.tastes is not None and human.tastes.degrees is not None:
        unsure = unsure_variance(critical, apart.power, human.tastes.degrees, variance / goal)
        crowd = replace(crowd, unsure=unsure)
    made = replace(made, people=crowd, **known)
    if likely is None:
        return made
    least, most = (
        math.ceil(made.needs.votes_alone * (likely.planned / each) ** 2)
        for each in (likely.most, likely.least)
    )
    return replace(made, estimated_lead=hardest.estimated, votes_least=least, votes_most=most)


def _check_joined(human: Estimate, question: PlanGoal) -> None:
    """Refuse models without votes, or that no votes join."""
    lacking = _("The leaderboard has no vote on {name!r}. Models with votes: {known}.")
    place = _place(lacking, human.models, question.model)
    for other in question.others:
        if _place(lacking, human.models, other) == place:
            text = _("{model} cannot be separated from itself. Name two models.")
            raise ArenaError(text.format(model=question.model))
        if not human.joins(question.model, other):
            raise ArenaError(_(UNJOINED).format(one=question.model, other=other))


@dataclass(frozen=True, eq=False)
class _Lead:
    """How far a model is apart from another: by its votes, and as it is planned for."""

    weights: FloatArray
    variance: float
    estimated: float
    planned: float
    likely: LikelyLead | None

    @property
    def error(self) -> float:
        """Standard deviation of the difference, relative to the one that is planned for."""
        return math.sqrt(self.variance) / abs(self.planned)

    @classmethod
    def of(cls, board: BoardEstimates, question: PlanGoal, other: str) -> _Lead:
        """Return the one over another model."""
        human = board.by_source[BoardSource.HUMAN]
        weights = contrast(len(human.models), *map(human.models.index, (question.model, other)))
        variance = float(weights @ human.covariance @ weights)
        check_variance(variance)
        estimated, likely = float(weights @ human.theta), None
        planned = question.lead
        if question.present:
            planned = estimated
        elif planned is None:
            likely = _likely(board, question, weights, estimated)
            planned = math.copysign(likely.planned, estimated)
        check_power(planned, question.alpha, question.power)
        return cls(weights, variance, estimated, planned, likely)


def _power_of_each(board: BoardEstimates, question: PlanGoal, leads: list[_Lead]) -> float:
    """Return the power that the hardest of the separations needs, so that all pass at once."""
    signs = np.sign([each.planned for each in leads])
    weights = signs[:, None] * np.stack([each.weights for each in leads])
    found = weights @ board.by_source[BoardSource.HUMAN].covariance @ weights.T
    own = np.sqrt(np.diag(found))
    cutoff = Cutoff.MAX_T if question.cutoff is Cutoff.ANY_TIME else question.cutoff
    ranks = board.separation(BoardSource.HUMAN).rank_sets(question.alpha, cutoff)
    errors = np.array([each.error for each in leads])
    return power_of_each(errors, found / np.outer(own, own), ranks.critical_value, question.power)


def _crowd(human: Estimate, weights: FloatArray, votes: int, goal: float) -> Crowd | None:
    """Return who voted, where their tastes show in the difference."""
    tastes = human.tastes
    if tastes is None or tastes.within is None:
        return None
    within, total = (float(weights @ x @ weights) for x in (tastes.within, human.covariance))
    busy = tastes.voters, tastes.each, tastes.equal
    return _showing(within, total, busy, votes, votes / max(tastes.votes, 1), goal)


def _showing(
    within: float,
    total: float,
    busy: tuple[int, float, float],
    votes: int,
    share: float,
    goal: float,
) -> Crowd | None:
    """Return who voted, by a variance for exactly these people and for people like these."""
    if total - within < _NO_TASTES * total:
        return None
    return Crowd(*busy, share, votes, within, total - within, goal)


def _likely(
    board: BoardEstimates, question: PlanGoal, weights: FloatArray, lead: float
) -> LikelyLead:
    """Return how far two models are apart, as far as the board's votes tell."""
    human = board.by_source[BoardSource.HUMAN]
    check_power(lead or 0.5, question.alpha, question.power)
    critical = board.separation(BoardSource.HUMAN).rank_sets(question.alpha, Cutoff.MAX_T)
    return likely_lead(
        lead,
        float(weights @ human.covariance @ weights),
        spread_of_leads(human.theta, human.covariance),
        critical.critical_value,
        question.power,
    )


def _explained(board: BoardEstimates, weights: FloatArray, human: Estimate) -> float:
    """Return what the judge explains of the difference of two models; 0 without one judge."""
    if len(board.selection.judges) != 1:
        return 0.0
    share = explained_within_pairs(board.judged, weights, human.weighting, human.ties)
    if math.isnan(share):
        text = _("{judge} has no verdicts beside votes on these models to plan with.")
        raise ArenaError(text.format(judge=board.selection.judge))
    return share


def _goal(
    board: BoardEstimates, question: PlanGoal, lead: float, variance: float
) -> tuple[float, float]:
    """Return the variance that separates two models so far apart, and the cut-off they pass."""
    # The board's own cut-off, 3.27 for 12 models: with 1.96 a plan asks for far too few votes.
    human, alpha, power = board.by_source[BoardSource.HUMAN], question.alpha, question.power
    if question.cutoff is not Cutoff.ANY_TIME:
        ranks = board.separation(BoardSource.HUMAN).rank_sets(alpha, question.cutoff)
        critical = ranks.critical_value
        goal = variance_for_power(lead, critical, alpha, power)
        if question.cutoff is Cutoff.STEP_DOWN:
            for _ in range(_ROUNDS):
                critical = _stepped_down(board, alpha, variance / goal)
                goal = variance_for_power(lead, critical, alpha, power)
        return goal, critical
    check_power(lead, alpha, power)
    models, there = len(human.models), any_time.information(human)
    stop = any_time.stopping_votes(lead**2 / (variance * there), models, alpha, power)
    return variance * there / stop, any_time.boundary(stop, models, alpha)


def _stepped_down(board: BoardEstimates, alpha: float, more: float) -> float:
    """Return the step-down cut-off after so many times the votes: it falls as models part."""
    human = board.by_source[BoardSource.HUMAN]
    then = replace(human, covariance=human.covariance / more, size=human.size * more)
    return Separation(then, board.draws).rank_sets(alpha, Cutoff.STEP_DOWN).critical_value


@dataclass(frozen=True)
class _Grounds:
    """What a plan is scaled from.

    `variance` is that of people's estimate from `counted` votes, of which a judge can explain a
    share; `votes` and `verdicts` are there. `unevenness` is what few votes in pairs add to it.
    """

    variance: float
    explained: float
    counted: int
    votes: int
    verdicts: int
    unevenness: float = 0.0


def _plan(
    question: PlanGoal, selection: Selection, grounds: _Grounds, goal: float, critical: float
) -> VotePlan:
    if question.price is not None and not 0 <= question.price < math.inf:
        raise ArenaError(
            _("The price of a verdict cannot be {price:g}.").format(price=question.price)
        )
    found = needs(
        variance=grounds.variance,
        votes=grounds.counted,
        explained=grounds.explained,
        goal=goal,
        verdicts_per_vote=question.verdicts_per_vote,
        votes_there=grounds.votes,
        unevenness=grounds.unevenness,
    )
    return VotePlan(
        question=question,
        judge=selection.judge or "",
        needs=found,
        votes_there=grounds.votes,
        verdicts_there=grounds.verdicts,
        lead=None,
        critical_value=critical,
    )


def _place(
    lacking: str, models: tuple[str, ...], name: str | None, judge: str | None = None
) -> int:
    if name not in models:
        known = ", ".join(models) or _("none yet")
        raise ArenaError(lacking.format(judge=judge, name=name, known=known))
    return models.index(name)
