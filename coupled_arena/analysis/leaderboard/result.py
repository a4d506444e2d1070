"""The leaderboard at one error level, as plain values: each model's row, and each pair's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from coupled_arena.analysis.leaderboard.board_estimates import (
    BoardEstimates,
)
from coupled_arena.analysis.model_sizes import ModelSize
from coupled_arena.analysis.style.result import StyleBoard
from coupled_arena.core.choices import BoardSource, Control, Cutoff, Scope, TieScore, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.stats.ranking.fragility import Fragility, fragility
from coupled_arena.stats.ranking.rank_sets import RankSets, intervals
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR

_ONE_JUDGE = "A board of verdicts alone is one judge's: several only help people's votes, together."
_AS_SAID = (
    "A board of verdicts alone counts them as they are: probabilities, and flips that abstain, "
    "only help people's votes."
)


@dataclass(frozen=True)
class Standing:
    """Where a model stands.

    Attributes
    ----------
    win_rate, standard_error, low, high : float
        Mean over opponents of the probability to be preferred, and its interval.
    rank, rank_low, rank_high : int
        Position by the estimates, and the best and worst one that they leave possible.
    """

    win_rate: float
    standard_error: float
    low: float
    high: float
    rank: int
    rank_low: int
    rank_high: int

    @property
    def likely_rate(self) -> float:
        """The win rate to show: with a judge's correction the estimate may leave 0 to 1."""
        return min(max(self.win_rate, 0.0), 1.0)


@dataclass(frozen=True)
class BoardRow:
    """One model's row.

    ``wins + losses + ties + both_bad`` are the `human_votes`: comparisons that a person decided. A
    battle of three models counts as two for each. `identical` are ties of equal replies that nobody
    was asked about. The win-rate counts them like others; they are shown apart.

    Attributes
    ----------
    place : Standing or None
        None while the model has no votes (on a judge's board: no verdicts).
    """

    model: str
    place: Standing | None
    wins: int
    losses: int
    ties: int
    both_bad: int
    identical: int
    judge_verdicts: int

    @property
    def human_votes(self) -> int:
        """Comparisons that a person decided."""
        return self.wins + self.losses + self.ties + self.both_bad

    @property
    def comparisons(self) -> int:
        """Comparisons that people's win-rate is a fraction of."""
        return self.human_votes + self.identical


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """What is known of the models at one moment and one error level.

    Attributes
    ----------
    standings : tuple of BoardRow
        Of the models with a vote (on a judge's board: a verdict), best first; those without a
        place last, by name.
    head_to_head : tuple of tuples of HeadToHead
        ``head_to_head[i][j]`` is the model of row i of the standings against that of row j. It
        counts people, or the judge on its own board, and is empty where i = j.
    source : BoardSource
        Whose word the standings take.
    estimate : Estimate or None
        What they come from; None without votes.
    alpha : float
        Error level of the intervals, and of the rank-sets: jointly, or of each by itself.
    identical : int
        Comparisons of equal replies, which nobody was asked about.
    missing : tuple of MissingVotes
        Pairs of these models with fewer than `MINIMUM_PER_PAIR` human comparisons, those nearest
        to it first.
    idle : tuple of str
        The other models that there are battles of.
    style : StyleBoard or None
        Scores of the same comparisons with style held fixed, where that was asked for.
    model_sizes : mapping of str to ModelSize
        What is known of its models, see `coupled_arena.analysis.leaderboard.memory.with_sizes`.
    """

    estimates: BoardEstimates
    source: BoardSource
    alpha: float
    cutoff: Cutoff
    scope: Scope
    standings: tuple[BoardRow, ...]
    head_to_head: tuple[tuple[HeadToHead, ...], ...]
    identical: int
    missing: tuple[MissingVotes, ...]
    idle: tuple[str, ...]
    style: StyleBoard | None = None
    model_sizes: Mapping[str, ModelSize] = field(default_factory=dict[str, ModelSize])

    @property
    def voters(self) -> Voters:
        """Whom it holds for: where one person voted, nothing is known of people like that one."""
        tastes = self.estimate.tastes if self.estimate else None
        return Voters.THESE if tastes and tastes.alone else self.estimates.method.voters

    @property
    def control(self) -> Control:
        """What is held fixed beside the board."""
        return self.style.estimates.control if self.style else Control.NONE

    @property
    def estimate(self) -> Estimate | None:
        """The estimate that the standings come from."""
        return self.estimates.by_source.get(self.source)

    @property
    def mode(self) -> Mode | None:
        """The mode that is counted; None: all."""
        return self.estimates.selection.mode

    @cached_property
    def fragility(self) -> Fragility | None:
        """The fewest votes found that hold the first place; None of other sources than people."""
        mixed = bool(self.estimates.method.mix)  # whose first place no single vote holds
        if self.source is not BoardSource.HUMAN or self.estimate is None or mixed:
            return None
        votes, asked = self.estimates.votes, self.estimates.asked
        return fragility(votes, asked, self.estimate.weighting, self.estimate.ties)

    @property
    def human_votes(self) -> int:
        """Comparisons that a person decided, each counted once."""
        return sum(standing.human_votes for standing in self.standings) // 2

    def sizes(self, source: BoardSource) -> dict[str, int]:
        """Return how many ranks each model may have by one source; nothing without its data."""
        if source not in self.estimates.by_source:
            return {}
        found = self.estimates.separation(source).rank_sets(self.alpha, self.cutoff, self.scope)
        models = self.estimates.by_source[source].models
        return {model: int(size) for model, size in zip(models, found.sizes, strict=True)}


def leaderboard(
    estimates: BoardEstimates,
    *,
    source: BoardSource | None = None,
    alpha: float = 0.05,
    cutoff: Cutoff = Cutoff.MAX_T,
    scope: Scope = Scope.JOINT,
) -> Leaderboard:
    """Return what the estimates say at one error level.

    Parameters
    ----------
    source : BoardSource, optional
        By default `default_source`.
    alpha : float
        Error level, between 0 and 1.
    scope : Scope
        Whether rank-sets hold for all models together, or each by itself.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    ArenaError
        A board of verdicts alone is asked for, of several judges or not as they are.
    """
    if source is None:
        source = default_source(estimates)
    if source is BoardSource.JUDGE and estimates.selection.more_judges:
        raise ArenaError(_ONE_JUDGE)
    if source is BoardSource.JUDGE and estimates.selection != estimates.selection.plain:
        raise ArenaError(_AS_SAID)
    votes, ranks = estimates.votes, None
    if source in estimates.by_source:
        ranks = estimates.separation(source).rank_sets(alpha, cutoff, scope)
    shown = estimates.judged.verdicts if source is BoardSource.JUDGE else votes
    named = (shown if shown.compared else estimates.judged.verdicts).compared
    standings = tuple(
        standing for standing in _standings(estimates, source, ranks) if standing.model in named
    )
    order = [votes.models.index(standing.model) for standing in standings]
    return Leaderboard(
        estimates=estimates,
        source=source,
        alpha=alpha,
        cutoff=cutoff,
        scope=scope,
        standings=standings,
        head_to_head=head_to_head(order, shown),
        identical=int(estimates.identical.comparisons.sum()) // 2,
        missing=() if source is BoardSource.JUDGE else missing_votes(named, votes),
        idle=(*(model for model in votes.models if model not in named), *estimates.idle),
    )


def default_source(estimates: BoardEstimates) -> BoardSource:
    """Return people's votes, or prediction-powered where a selected judge's verdicts add to them.

    Without a vote it is prediction-powered as well, for there is nothing else to wait for.
    """
    if not estimates.selection.judge:
        return BoardSource.HUMAN
    powered = estimates.by_source.get(BoardSource.PPR)
    if powered is not None and powered.power_tuning > 0:
        return BoardSource.PPR
    return BoardSource.HUMAN if BoardSource.HUMAN in estimates.by_source else BoardSource.PPR


def _standings(
    estimates: BoardEstimates, source: BoardSource, ranks: RankSets | None
) -> tuple[BoardRow, ...]:
    votes, identical, asked = estimates.votes, estimates.identical, estimates.asked
    verdicts = estimates.judged.verdicts.comparisons.sum(axis=1)
    placed = {} if ranks is None else standings_of(estimates.by_source[source], ranks)
    rows = [
        BoardRow(
            model=model,
            place=placed.get(model),
            wins=int(asked.wins[i].sum()),
            losses=int(asked.wins[:, i].sum()),
            ties=int(asked.ties[i].sum()),
            both_bad=int(asked.both_bad[i].sum()),
            identical=int(identical.comparisons[i].sum()),
            judge_verdicts=int(verdicts[i]),
        )
        for i, model in enumerate(votes.models)
    ]
    return tuple(sorted(rows, key=lambda s: (-s.place.win_rate if s.place else 1.0, s.model)))


def standings_of(estimated: Estimate, ranks: RankSets) -> dict[str, Standing]:
    """Return where each model stands, at the level of the rank-sets."""
    low, high = intervals(estimated, ranks.alpha)
    return {
        model: Standing(
            win_rate=float(estimated.theta[i]),
            standard_error=float(estimated.standard_error[i]),
            low=float(low[i]),
            high=float(high[i]),
            rank=int(ranks.rank[i]),
            rank_low=int(ranks.low[i]),
            rank_high=int(ranks.high[i]),
        )
        for i, model in enumerate(estimated.models)
    }


@dataclass(frozen=True)
class HeadToHead:
    """One model against another, whichever was shown first; ties include "both bad"."""

    wins: int
    losses: int
    ties: int

    @property
    def comparisons(self) -> int:
        """How often the two were compared."""
        return self.wins + self.losses + self.ties

    def win_rate(self, ties: TieScore) -> float | None:
        """Return the model's share of the comparisons, None without any."""
        if not self.comparisons:
            return None
        won = self.wins + (self.ties / 2 if ties is TieScore.HALF else 0)
        return won / self.comparisons


@dataclass(frozen=True)
class MissingVotes:
    """A pair that was compared too seldom, and how many comparisons it still needs."""

    first: str
    second: str
    votes: int


def head_to_head(order: list[int], counts: PairCounts) -> tuple[tuple[HeadToHead, ...], ...]:
    """Return how often each model of an order beat each other; on the diagonal nothing."""
    wins, ties = counts.wins, counts.ties + counts.both_bad
    return tuple(
        tuple(HeadToHead(int(wins[i, j]), int(wins[j, i]), int(ties[i, j])) for j in order)
        for i in order
    )


def missing_votes(models: tuple[str, ...], votes: PairCounts) -> tuple[MissingVotes, ...]:
    """Return the pairs that lack votes, those that lack the fewest first."""
    n, place = votes.comparisons, votes.models.index
    short = [
        MissingVotes(a, b, int(MINIMUM_PER_PAIR - n[place(a), place(b)]))
        for a, b in combinations(models, 2)
        if n[place(a), place(b)] < MINIMUM_PER_PAIR
    ]
    return tuple(sorted(short, key=lambda pair: pair.votes))
