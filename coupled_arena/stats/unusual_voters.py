r"""Voters who vote unlike the others, and times with more voters than the past explains.

A voter's votes on a pair of models are compared with the votes of others on this pair. Blocks have
n₁ votes of the voter and n₂ of the others. For any two laws a and b of an outcome,

.. math:: E = \prod_{i \le n_1} \frac{a(x_i)}{c(x_i)} \prod_{j \le n_2} \frac{b(y_j)}{c(y_j)},
          \qquad c = \frac{n_1 a + n_2 b}{n_1 + n_2},

has a mean of at most 1 if all votes come from one law, whichever it is [1]_. Nothing about the
models need be known. Factors with a and b chosen before their block multiply to a capital. It ever
reaches 1 / alpha with a probability of at most alpha (Ville).

A voter may differ a little: each outcome is at most 1 + τ times as likely as with the others. Then
each factor of the voter's own votes is divided by 1 + τ, and the same holds.

A burst is tested for each window of time, given the sum. Under the null, counts of different
windows are independent and Poisson. The rate of a window is at most ρ times the mean rate of the m
windows before it. Let N events come in it and S in those. Then N is no larger than a draw of Bin(N
+ S, ρ / (ρ + m)), whatever the rate [3]_. The p-values are multiplied by the number of all windows,
also empty ones (Bonferroni). So an honest board has any named window with a probability of at most
alpha.

References
----------
.. [1] R. Turner, A. Ly & P. Grünwald, "Generic E-variables for exact sequential k-sample tests
   that allow for optional stopping", Journal of Statistical Planning and Inference 230 (2024).
.. [2] R. Wang & A. Ramdas, "False discovery rate control with e-values", Journal of the Royal
   Statistical Society B 84 (2022).
.. [3] J. Przyborowski & H. Wilenski, "Homogeneity of results in testing samples from Poisson
   series", Biometrika 31 (1940).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from coupled_arena.stats.counts import FloatArray, IntArray

TOLERANCE = 0.25
"""τ: how much more often than others an honest voter may cast the same vote."""

OUTCOMES = 3  # the first of the pair, the second, neither
_BLOCK = 20  # votes of others that each vote is held against
_LEARNT = 200  # votes of others, at most, that are only learnt from before the first block
_EVER = 0.1  # of the error level, for voters who were unlike the others once
_SHARES = (0.3, 0.95)  # of votes that do not follow the others, as bets have it


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes in the order in which they were cast, n of them; pairs are of k models.

    Attributes
    ----------
    voter : ndarray of int64, shape (n,)
        From 0 on.
    first, second : ndarray of int64, shape (n,)
        The models, from 0 on: the first one has the smaller number.
    outcome : ndarray of int64, shape (n,)
        0: the first is preferred; 1: the second; 2: neither.
    """

    voter: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray


@dataclass(frozen=True, eq=False)
class Capitals:
    """What bets against each voter have made of 1.

    Attributes
    ----------
    now : ndarray of float64, shape (voters,)
        Logarithm of the capital after the last vote: an e-value's.
    peak : ndarray of float64, shape (voters,)
        Of the largest capital so far. An honest voter's reaches ln(1 / alpha) with at most alpha.
    bet : ndarray of int64, shape (voters,)
        The bet that has won most: 0 against the others' choice, 1 to k for that model, k + 1 to
        2 k against it.
    """

    now: FloatArray
    peak: FloatArray
    bet: IntArray

    def suspects(self, alpha: float) -> NDArray[np.bool_]:
        """Return the voters who are too unlike the others; at most a share alpha of them is honest.

        That is the expected share at each look; where all are honest, any is named with a
        probability of at most alpha. Nine tenths of alpha are for voters who are so now. Where r of
        n voters have a capital of at least n / (0.9 · alpha · r), they are named (e-BH [2]_,
        whatever the dependence between voters). One tenth is for voters who were ever so unlike the
        others that of all voters none would be by chance (Bonferroni). Voting honestly afterwards
        hides nobody.
        """
        voters = len(self.now)
        if not voters:
            return np.zeros(0, dtype=np.bool_)
        ever = self.peak >= np.log(voters / (_EVER * alpha))
        rank = np.arange(1, voters + 1)
        threshold = np.log(voters / ((1 - _EVER) * alpha * rank))
        named = rank[np.sort(self.now)[::-1] >= threshold].max(initial=0)
        return ever | (self.now >= threshold[named - 1]) if named else ever


def capitals(votes: Votes, models: int, tolerance: float = TOLERANCE) -> Capitals:
    """Bet against each voter, vote by vote, on a difference from the others.

    Parameters
    ----------
    models : int
        k.
    tolerance : float
        τ, 0 or more.
    """
    voters = int(votes.voter.max(initial=-1)) + 1
    learnt, block = _held_against(votes, models)
    others = (learnt + 0.5) / (learnt + 0.5).sum(axis=1, keepdims=True)
    bets = _bets(votes, models, others)  # (n, bets, outcomes)
    size = block.sum(axis=1)
    common = (bets + size[:, None, None] * others[:, None]) / (1 + size)[:, None, None]
    own = np.arange(len(size)), slice(None), votes.outcome
    gained = np.log(bets[own] / common[own])
    gained += np.einsum("no,nbo->nb", block, np.log(others[:, None] / common))
    there = (size[:, None] > 0) & _placed(votes, models)
    gained = np.where(there, gained - np.log1p(tolerance), 0.0)
    return _grown(votes.voter, voters, gained, _weights(models))


def _held_against(votes: Votes, models: int) -> tuple[IntArray, IntArray]:
    """Return earlier outcomes of others on each vote's pair: to learn from, and to compare with.

    Each vote of another is in one block of a voter at most, and learnt from only afterwards.
    """
    learnt = np.zeros((len(votes.voter), OUTCOMES), dtype=np.int64)
    block = np.zeros_like(learnt)
    pair = votes.first * models + votes.second
    for at in _groups(pair):
        outcomes = np.eye(OUTCOMES, dtype=np.int64)[votes.outcome[at]]
        before = np.concatenate([np.zeros((1, OUTCOMES), np.int64), outcomes.cumsum(axis=0)])
        for own in _groups(votes.voter[at]):
            begin, end = _blocks(own - np.arange(len(own)))
            mine = np.concatenate([np.zeros((1, OUTCOMES), np.int64), outcomes[own].cumsum(axis=0)])
            counts = [_of_others(before, mine, own, number) for number in (begin, end)]
            learnt[at[own]], block[at[own]] = counts[0], counts[1] - counts[0]
    return learnt, block


def _blocks(others: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each block begins and ends, among the votes of others on a pair."""
    begin, end = np.zeros_like(others), np.zeros_like(others)
    used = 0
    for n, there in enumerate(others.tolist()):
        if used == 0:
            used = min(there // 2, _LEARNT)
        begin[n] = used
        used = min(used + _BLOCK, there)
        end[n] = used
    return begin, end


def _of_others(before: IntArray, mine: IntArray, own: IntArray, number: IntArray) -> IntArray:
    """Count the outcomes of the first votes of others on a pair."""
    passed = np.searchsorted(own - np.arange(len(own)), number, side="left")
    return before[number + passed] - mine[passed]


def _groups(label: IntArray) -> list[IntArray]:
    """Return the places of each label, in their order."""
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return np.split(order, cuts) if len(order) else []


def _bets(votes: Votes, models: int, others: FloatArray) -> FloatArray:
    """Return the law of each bet for each vote; where it bets on nothing, that of the others."""
    n, unit = len(others), np.eye(OUTCOMES)
    wanted = np.repeat(others[:, None], 1 + 2 * models, axis=1)
    wanted[:, 0] = others[:, [1, 0, 2]]
    rows = np.arange(n)
    for place, model in enumerate((votes.first, votes.second)):
        wanted[rows, 1 + model] = unit[place]
        wanted[rows, 1 + models + model] = unit[1 - place]
    return np.concatenate(
        [share * wanted + (1 - share) * others[:, None] for share in _SHARES], axis=1
    )


def _placed(votes: Votes, models: int) -> NDArray[np.bool_]:
    """Return which bets are placed on each vote: those on one of its two models, and the first."""
    there = np.zeros((len(votes.voter), 1 + 2 * models), dtype=bool)
    there[:, 0] = True
    for model in (votes.first, votes.second):
        for kind in (0, models):
            there[np.arange(len(there)), 1 + kind + model] = True
    return np.tile(there, len(_SHARES))


def _weights(models: int) -> FloatArray:
    """Return the stake of each bet: a third for each kind."""
    kinds = np.r_[1.0, np.full(2 * models, 1 / models)] / 3
    return np.tile(kinds / len(_SHARES), len(_SHARES))


def _grown(voter: IntArray, voters: int, gained: FloatArray, weights: FloatArray) -> Capitals:
    now, peak, bet = np.zeros(voters), np.zeros(voters), np.zeros(voters, dtype=np.int64)
    for at in _groups(voter):
        each = gained[at].cumsum(axis=0) + np.log(weights)
        path = logsumexp(each, axis=1)
        who = voter[at[0]]
        now[who], peak[who] = path[-1], max(path.max(), 0.0)
        by_kind = logsumexp(each[-1].reshape(len(_SHARES), -1), axis=0)
        bet[who] = by_kind.argmax()
    return Capitals(now, peak, bet)


RATE_TOLERANCE = 4.0
"""How much higher than in the past the rate of a window may be, ρ: a day has its hours."""


@dataclass(frozen=True, eq=False)
class Bursts:
    """Events of each of the n windows that have any.

    Attributes
    ----------
    window : ndarray of int64, shape (n,)
        Its number, ascending; windows of these numbers lie side by side.
    count : ndarray of int64, shape (n,)
    usual : ndarray of float64, shape (n,)
        The mean of the windows before it; nan of the first one, which has no past.
    p_value : ndarray of float64, shape (n,)
        For all windows together; 1 of the first one.
    """

    window: IntArray
    count: IntArray
    usual: FloatArray
    p_value: FloatArray


def bursts(window: IntArray, past: int, tolerance: float = RATE_TOLERANCE) -> Bursts:
    """Test each window.

    Parameters
    ----------
    window : ndarray of int64, shape (events,)
        In which window each event came; at least one.
    past : int
        How many windows before a window are its past, or as many as there are.
    tolerance : float
        See ρ above.
    """
    at, count = np.unique(window, return_counts=True)
    before = np.concatenate([[0], np.cumsum(count)])
    there: IntArray = np.minimum(past, at - at[0])
    begin: IntArray = np.asarray(np.searchsorted(at, at - there), np.int64)
    earlier = before[:-1] - before[begin]
    with np.errstate(invalid="ignore"):
        usual = earlier / there
    p = stats.binom.sf(count - 1, count + earlier, tolerance / (tolerance + there))
    windows = at[-1] - at[0] + 1
    return Bursts(at, count, usual, np.where(there > 0, np.minimum(1.0, p * windows), 1.0))
