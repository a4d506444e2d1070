r"""Pairs of models with few votes: a Bradley-Terry fit to all votes fills in the rest.

A pair with n < 5 votes gets 5 - n more from the fit. So the probability that a is preferred to b
is estimated by

.. math:: w \bar h_{ab} + (1 - w) \hat d\,\sigma(\hat s_a - \hat s_b), \qquad w = n / 5.

d is the share of decisive votes. The strengths s are fitted to these. A normal prior keeps them
finite, also where a model won all its votes or no votes join two groups of models. So a vote moves
its pair by a fifth at most, and the part from other pairs does not depend on it.

A vote adds to the error through the mean of its pair and through the fit, also for third models.
The variance gets two more terms: shrinkage by the prior, and lack of fit. The lack of fit is a
variance of margins and one of shares of ties, estimated from the pairs with votes [1]_. It is wide
where these are few.

References
----------
.. [1] R. DerSimonian & N. Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7,
   177-188 (1986).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from coupled_arena.core.choices import TieScore
from coupled_arena.core.language import _
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import Influence, PairProducts
from coupled_arena.stats.ranking.strata import (
    MINIMUM_PER_PAIR,
    Strata,
    StratumCells,
    degrees_of_freedom,
)

_PRIOR = 2.0  # standard deviation of strengths, in log-odds
_STEPS, _TOLERANCE = 100, 1e-10
# Variances of misfit where no pair tells them: of margins spread evenly over a range of 1.34, of
# shares of ties over .69, so that an error bar there says that next to nothing is known.
_OF_MARGINS, _OF_TIES = 0.15, 0.04
_FIRST, _SECOND = range(2)  # of OUTCOMES


@dataclass(frozen=True, eq=False)
class SparsePairs:
    """How win rates rest on a fit to all votes where pairs have few.

    Attributes
    ----------
    share : ndarray of float64, shape (k, k)
        w, the weight of the pair's own mean; 1 on the diagonal.
    expected : ndarray of float64, shape (k, k)
        Probability that the model of the row is preferred to that of the column, by the fit.
    added : ndarray of float64, shape (k, k, 4, k)
        ``[a, b, h, m]``: what a vote h on a, shown first, and b adds through the fit to the error
        of m.
    misfit : ndarray of float64, shape (k, k)
        Covariance that no vote tells of.
    """

    share: FloatArray
    expected: FloatArray
    added: FloatArray
    misfit: FloatArray

    @property
    def pairs(self) -> int:
        """How many pairs are filled in."""
        return int((self.share < 1).sum()) // 2

    @property
    def groups(self) -> IntArray:
        """Number of the group of each model, shape (k,): votes join the models of a group."""
        return groups_of(self.share)

    def of_both(self, direct: Influence) -> Influence:
        """Return what comparisons add for their two models, through the fit as well."""
        each = np.arange(len(self.share))
        first, second = self.added[each, :, :, each], self.added[:, each, :, each]
        through = np.stack([first, second.swapaxes(0, 1)], axis=-1)
        return Influence(direct.labelled + through[:, :, :, None], direct.unlabelled)

    def on_all(self, a: IntArray, b: IntArray, vote: IntArray, own: FloatArray) -> FloatArray:
        """Return what votes add for every model, shape (n, k).

        Parameters
        ----------
        a, b, vote : ndarray of int64, shape (n,)
            The models shown first and second, and the code of the vote, as in `OUTCOMES`.
        own : ndarray of float64, shape (n, 2)
            What they add for these two, as in `of_both`.
        """
        found = self.added[a, b, vote]
        rows = np.arange(len(a))
        found[rows, a], found[rows, b] = own.T
        return found

    def gram(self, influence: Influence, counts: JudgedCounts) -> FloatArray:
        """Return the covariance where no two comparisons depend on each other, shape (k, k)."""
        a, b, vote, verdict = np.nonzero(counts.labelled)
        times = counts.labelled[a, b, vote, verdict][:, None]
        votes = self.on_all(a, b, vote, influence.labelled[a, b, vote, verdict])
        nobody = np.zeros_like(counts.labelled)
        alone = influence.gram(JudgedCounts(counts.models, nobody, counts.unlabelled))
        return (times * votes).T @ votes + alone + self.misfit

    def size(self, votes: FloatArray) -> FloatArray:
        """Return the votes (or prompts) on one pair that would tell as much, shape (k,)."""
        return 1 / (votes * self._weights(votes) ** 2).sum(axis=1)

    def degrees_alone(self, votes: FloatArray) -> FloatArray:
        """Return the degrees of freedom where each vote has a prompt of its own, shape (k, k)."""
        weight = self._weights(votes)
        free = np.where(votes > 0, votes - (self.share == 1), np.inf)
        parts = PairProducts(votes * weight**2, -votes * weight * weight.T)
        return degrees_of_freedom(parts, free)

    def _weights(self, votes: FloatArray) -> FloatArray:
        """Return the weight of one vote in a model's win rate: that of its fit is all votes'."""
        own = np.where(votes > 0, self.share / np.maximum(votes, 1), 0.0)
        lack = (1 - self.share).sum(axis=1) / votes.sum(axis=1)
        return (own + lack[:, None] * (votes > 0)) / (len(votes) - 1)


def _share_of_votes(strata: Strata) -> FloatArray:
    """Return the weight of each pair's own mean, shape (k, k): 1 where there are votes enough."""
    share = np.minimum(strata.votes[..., 0] / MINIMUM_PER_PAIR, 1.0)
    np.fill_diagonal(share, 1.0)
    return share


def sparse_pairs(cells: StratumCells, strata: Strata, ties: TieScore) -> SparsePairs | None:
    """Fit strengths to all votes, for the pairs that have few of their own; None if none has."""
    share = _share_of_votes(strata)
    if (share == 1).all():
        return None
    # Scores are 1, 0 and what a tie counts for, so that wins alone follow from their squares.
    n, wins = cells.n.sum(axis=2), (2 * cells.hh - cells.h).sum(axis=2)
    fit, of_tie = _fit(n, wins), 0.5 if ties is TieScore.HALF else 0.0
    lack = (1 - share) / (len(share) - 1)
    slope = lack * fit.decided * fit.chance * (1 - fit.chance)
    by_strength = (np.diag(slope.sum(axis=1)) - slope) @ fit.inverse
    by_decided = (lack * (fit.chance - of_tie)).sum(axis=1) / fit.votes
    held_back = by_strength @ by_strength.T / _PRIOR**2
    return SparsePairs(
        share=share,
        expected=of_tie + fit.decided * (fit.chance - of_tie),
        added=_added(fit, by_strength, by_decided),
        misfit=held_back + _misfit(fit, n, wins, (lack, of_tie), (by_strength, by_decided)),
    )


def groups_of(votes: FloatArray) -> IntArray:
    """Return a number of its group for each model; no votes join two groups."""
    return np.asarray(connected_components(votes > 0, directed=False)[1], dtype=np.int64)


def unjoined_groups(cells: StratumCells) -> str:
    """Say that no votes join some models with others; nothing if they do."""
    groups = int(groups_of(cells.n.sum(axis=2)).max()) + 1
    if groups < 2:
        return ""
    text = _(
        "No votes join {n} groups of models. The order between groups is unknown, and error bars "
        "say so."
    )
    return text.format(n=groups)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Chances to win a decisive vote, shape (k, k), and the share of decisive votes among n.

    `inverse` is that of the information on strengths, the prior's included.
    """

    chance: FloatArray
    decided: float
    votes: float
    inverse: FloatArray

    @property
    def leverage(self) -> FloatArray:
        """How far a decisive vote of each pair moves what is expected of it, shape (k, k)."""
        own = np.diag(self.inverse)
        return (own[:, None] + own - 2 * self.inverse) * self.chance * (1 - self.chance)


def _fit(n: FloatArray, wins: FloatArray) -> _Fit:
    k = len(n)
    decisive, prior = wins + wins.T, np.eye(k) / _PRIOR**2
    strength: FloatArray = np.zeros(k)
    for __ in range(_STEPS):
        chance, information = _at(strength, decisive)
        gradient = (wins - decisive * chance).sum(axis=1) - strength / _PRIOR**2
        step: FloatArray = np.asarray(
            np.linalg.solve(information + prior, gradient), dtype=np.float64
        )
        # Newton's step may go too far where nearly all votes agree.
        strength = strength + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < _TOLERANCE:
            break
    chance, information = _at(strength, decisive)
    votes = float(n.sum() / 2 + 2)  # with one of each kind more, so that both are possible
    decided = float((decisive.sum() / 2 + 1) / votes)
    inverse = np.asarray(np.linalg.inv(information + prior), dtype=np.float64)
    return _Fit(chance, decided, votes, inverse)


def _at(strength: FloatArray, decisive: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chances to win and the information on strengths."""
    chance = np.asarray(expit(strength[:, None] - strength))
    information = decisive * chance * (1 - chance)
    return chance, np.diag(information.sum(axis=1)) - information


def _added(fit: _Fit, by_strength: FloatArray, by_decided: FloatArray) -> FloatArray:
    """Return what votes add through the fit, their scores as if the fit had not seen them."""
    k = len(fit.chance)
    score = np.zeros((k, k, len(OUTCOMES)))
    score[..., _FIRST], score[..., _SECOND] = 1 - fit.chance, -fit.chance
    score /= (1 - fit.leverage)[..., None]
    decided = np.full(len(OUTCOMES), -fit.decided)
    decided[[_FIRST, _SECOND]] += 1
    turn = by_strength.T[:, None] - by_strength.T
    return score[..., None] * turn[:, :, None] + decided[:, None] * by_decided


def _misfit(
    fit: _Fit,
    n: FloatArray,
    wins: FloatArray,
    filled: tuple[FloatArray, float],
    response: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return the covariance from pairs that are not as the fit has them, voted on or not."""
    k, (lack, of_tie), (by_strength, by_decided) = len(n), filled, response
    first, second = np.triu_indices(k, 1)
    votes, chance, won = n[first, second], fit.chance[first, second], wins[first, second]
    size, lost = np.maximum(votes, 1), wins[second, first]
    margin, decisive = (won - lost) / size, (won + lost) / size
    expected = fit.decided * (2 * chance - 1)
    of_margins = _beyond_chance(
        margin - expected,
        votes / np.maximum(fit.decided - expected**2, 1e-3),
        np.where(votes > 0, 1 - (won + lost) * fit.leverage[first, second], 0),
        _OF_MARGINS,
    )
    of_ties = _beyond_chance(
        decisive - fit.decided,
        votes / (fit.decided * (1 - fit.decided)),
        np.where(votes > 0, 1 - votes / fit.votes, 0),
        _OF_TIES,
    )
    # What a pair's departure moves: the fit, and where the fit stands for it, what is missed.
    turn = by_strength[:, first] - by_strength[:, second]
    unit = np.eye(k)
    to_first = lack[first, second] * unit[:, first] / 2
    to_second = lack[second, first] * unit[:, second] / 2
    margins = votes * turn / 2 - (to_first - to_second)
    ties = votes * (turn * (0.5 - chance) + by_decided[:, None])
    ties -= (1 - 2 * of_tie) * (to_first + to_second)
    return of_margins * margins @ margins.T + of_ties * ties @ ties.T


def _beyond_chance(
    residual: FloatArray, weight: FloatArray, left: FloatArray, unknown: float
) -> float:
    """Return the variance of pairs' residuals beyond what so few votes vary by themselves.

    It is the moment estimate and one standard error, averaged with what is believed where it is
    not known, as much as one pair's.

    Parameters
    ----------
    residual, weight, left : ndarray of float64, shape (pairs,)
        The weight is one over the variance by chance; of each pair some is left by the fit.
    """
    free, scale = float(left.sum()), float((weight * left).sum())
    if not scale > 0:
        return unknown
    found = max(float((weight * residual**2).sum()) - free, 0.0) + (2 * free) ** 0.5
    return (unknown + free * found / scale) / (1 + free)
