"""The sums that a win rate is estimated from, the strata of its settings, and its prompts.

First the sums over comparisons by stratum; then the numbers of prompts behind them. Where voters
share prompts, a variance rests on prompts and not on votes. This module knows no error level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import TieScore, Weighting
from coupled_arena.core.language import _, ngettext
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.influence import PairProducts

_WINS = np.eye(len(OUTCOMES))[:2]


def tie_scores(ties: TieScore) -> FloatArray:
    """Return the score of each outcome, shape (2, 4): of the model shown first, of the other."""
    if ties is TieScore.LOSS:
        return _WINS
    return (1 + _WINS - _WINS[::-1]) / 2


MINIMUM_PER_PAIR = 5
"""Human comparisons, on as many prompts, that a pair's own mean needs to stand alone. With two in
each pair, 95 % rank-sets covered .85: such variances are too small too often."""

FEWEST_ALONE = 2
"""Verdicts alone, on as many prompts, that a pair needs before the judge has a say on it; and where
the judge is silent on some votes, verdicts beside others."""


_MEANS = {Weighting.COUNT: 0, Weighting.STRATIFIED: 1, Weighting.POSITION: 2}
"""Means that are taken from the comparisons of one pair, and from no others."""


class StratumCells(NamedTuple):
    """Sums over the comparisons of a model with an opponent in a position, shape (k, k, 2).

    Position 0 is being shown first. `n` comparisons have a vote. `h` is the sum of the model's
    scores by people, `g` by the judge, `hg` of their products, `hh` and `gg` of their squares. On
    `m` of the n the judge says something. Of these alone are g, hg and gg, and `hm`, the sum of
    people's scores. `N` have a verdict alone, with `G` and `GG`. A score is 1 where the model is
    preferred to the other, see `TieScore` for ties.
    """

    n: FloatArray
    h: FloatArray
    g: FloatArray
    hg: FloatArray
    hh: FloatArray
    gg: FloatArray
    N: FloatArray
    G: FloatArray
    GG: FloatArray
    m: FloatArray
    hm: FloatArray

    @classmethod
    def of(
        cls,
        counts: JudgedCounts,
        ties: TieScore = TieScore.LOSS,
        verdicts: FloatArray | None = None,
    ) -> StratumCells:
        """Add up counts; `verdicts` are the scores of verdicts, where not those of outcomes."""
        votes, echoes = counts.votes.counts, counts.labelled.sum(2)
        sizes, alone = votes.sum(2), counts.alone
        spoken = np.rint(counts.labelled @ counts.spoken)
        scores = tie_scores(ties)
        scores_of_verdicts = scores if verdicts is None else verdicts

        def sums(outcomes: IntArray | FloatArray, weights: FloatArray) -> FloatArray:
            return _by_position(outcomes @ weights[0], outcomes @ weights[1])

        return cls(
            n=_by_position(sizes, sizes),
            h=sums(votes, scores),
            g=sums(echoes, scores_of_verdicts),
            hg=_by_position(
                *(counts.labelled @ g @ h for h, g in zip(scores, scores_of_verdicts, strict=True))
            ),
            hh=sums(votes, scores**2),
            gg=sums(echoes, scores_of_verdicts**2),
            N=_by_position(alone, alone),
            G=sums(counts.unlabelled, scores_of_verdicts),
            GG=sums(counts.unlabelled, scores_of_verdicts**2),
            m=_by_position(spoken.sum(2), spoken.sum(2)),
            hm=sums(spoken, scores),
        )

    def pooled(self, weighting: Weighting) -> StratumCells:
        """Return sums over strata, repeated over the cells of each stratum."""
        axes = {Weighting.COUNT: (2, 3), Weighting.STRATIFIED: (3,), Weighting.POSITION: ()}
        table = np.stack(self)
        return StratumCells(
            *np.broadcast_to(table.sum(axis=axes[weighting], keepdims=True), table.shape)
        )


def _by_position(first: IntArray | FloatArray, second: IntArray | FloatArray) -> FloatArray:
    return np.stack([first, second.T], axis=2).astype(np.float64)


class Strata(NamedTuple):
    """Sums over strata, repeated over the cells of each, and how many prompts they rest on.

    `votes`, `alone` and `heard` are the prompts of `sums.n`, `sums.N` and `sums.m`, shape (k, k,
    2), at most as many as these. With count weighting a prompt counts once for each opponent.
    """

    sums: StratumCells
    votes: FloatArray
    alone: FloatArray
    heard: FloatArray

    @property
    def tuned(self) -> NDArray[np.bool_]:
        """Where the judge has a say, shape (k, k, 2)."""
        both = (self.heard >= FEWEST_ALONE) | (self.sums.m == self.sums.n)
        return both & (self.alone >= FEWEST_ALONE)

    @classmethod
    def of(cls, cells: StratumCells, prompts: PairPrompts | None, weighting: Weighting) -> Strata:
        """Add up cells; without prompts each comparison has one of its own."""
        sums = cells.pooled(weighting)
        if prompts is None:
            return cls(sums, sums.n, sums.N, sums.m)
        found = [_by_position(x, x) for x in (prompts.votes, prompts.alone, prompts.judged)]
        if weighting is Weighting.COUNT:
            found = [np.broadcast_to(x[..., :1].sum(axis=1, keepdims=True), x.shape) for x in found]
        sizes = sums.n, sums.N, sums.m
        return cls(sums, *(np.minimum(*both) for both in zip(found, sizes, strict=True)))


def shortage(cells: StratumCells, prompts: PairPrompts | None, weighting: Weighting) -> str:
    """Say how many pairs lack comparisons for a weighting; nothing if none does."""
    strata = Strata.of(cells, prompts, weighting)
    others = ~np.eye(len(cells.n), dtype=np.bool_)
    for size, scores_of_verdicts in (
        (strata.sums.n, _lack_of_votes),
        (strata.votes, _lack_of_prompts),
    ):
        pairs = int(((size < MINIMUM_PER_PAIR).any(2) & others).sum()) // 2
        if pairs:
            text = scores_of_verdicts(pairs, in_each_order=weighting is Weighting.POSITION)
            return text.format(n=pairs, least=MINIMUM_PER_PAIR)
    return ""


def _lack_of_votes(pairs: int, *, in_each_order: bool) -> str:
    if in_each_order:
        return ngettext(
            "{n} pair has fewer than {least} human comparisons in each order",
            "{n} pairs have fewer than {least} human comparisons in each order",
            pairs,
        )
    return ngettext(
        "{n} pair has fewer than {least} human comparisons",
        "{n} pairs have fewer than {least} human comparisons",
        pairs,
    )


def _lack_of_prompts(pairs: int, *, in_each_order: bool) -> str:
    if in_each_order:
        return ngettext(
            "{n} pair has fewer than {least} prompts in each order",
            "{n} pairs have fewer than {least} prompts in each order",
            pairs,
        )
    return ngettext(
        "{n} pair has fewer than {least} prompts",
        "{n} pairs have fewer than {least} prompts",
        pairs,
    )


def degrees_by_pair(
    cells: StratumCells, prompts: PairPrompts | None, weighting: Weighting, power_tuning: float
) -> FloatArray:
    """Return the degrees of freedom of each pair's part in the variances, shape (k, k)."""
    votes, alone = cells.n.sum(axis=2), cells.N.sum(axis=2)
    if prompts is not None:
        votes, alone = (
            np.minimum(x + x.T if weighting is Weighting.POSITION else x, most)
            for x, most in ((prompts.votes, votes), (prompts.alone, alone))
        )
    if power_tuning:  # the verdicts alone have their part in the variance
        tuned = alone >= FEWEST_ALONE
        least = np.where(tuned, np.minimum(votes, alone), votes)
        silent = tuned & (cells.m.sum(axis=2) < cells.n.sum(axis=2))
        if silent.any():
            some = _where_silent(cells, prompts, weighting, power_tuning, (votes, alone))
            least = np.where(silent, some, least)
        votes = least
    return np.maximum(votes - _MEANS[weighting], 0.0)


def _where_silent(
    cells: StratumCells,
    prompts: PairPrompts | None,
    weighting: Weighting,
    power_tuning: float,
    sizes: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return how many votes stand for the parts of a pair's variance where a judge is silent.

    These are votes without a verdict, votes with one and verdicts alone. If all scores vary alike,
    they have the variances below, and Satterthwaite's rule weighs their sizes. The least of these
    would be too few: a judge that speaks on a tenth of the votes has a tenth of the weight.
    """
    n, m, others = (x.sum(axis=2) for x in (cells.n, cells.m, cells.N))
    votes, alone = sizes
    heard = m
    if prompts is not None:
        judged = prompts.judged
        heard = np.minimum(m, judged + judged.T if weighting is Weighting.POSITION else judged)
    tuning = np.where(heard >= FEWEST_ALONE, power_tuning, 0.0) ** 2
    of_all = np.maximum(n, 1) ** 2
    parts = (n - m) / of_all, m / of_all + tuning / np.maximum(m, 1), tuning / np.maximum(others, 1)
    counted = np.minimum(n - m, votes), heard, alone
    squares = sum(v**2 / np.maximum(size, 1) for v, size in zip(parts, counted, strict=True))
    return np.minimum(sum(parts) ** 2 / np.where(squares > 0, squares, 1), votes)


def unbiased(size: FloatArray, taken: FloatArray | float = 1.0) -> FloatArray:
    """Return what squared residuals are short of where means were taken from as few."""
    return size / np.maximum(size - taken, 1)


def residuals_by_pair(
    strata: Strata, weighting: Weighting, filled: FloatArray | None = None
) -> FloatArray:
    """Return what squared residuals of votes are short of in each pair, shape (k, k)."""
    if weighting is Weighting.COUNT:
        return np.ones(strata.votes.shape[:2])
    found = unbiased(np.maximum(strata.votes, 1)).mean(axis=2)
    return np.where(filled < 1, 1.0, found) if filled is not None else found


def stratum_weight(k: int, weighting: Weighting) -> float:
    """Return the weight of a stratum's mean in a model's mean."""
    strata = {Weighting.COUNT: 1, Weighting.STRATIFIED: k - 1, Weighting.POSITION: 2 * (k - 1)}
    return 1 / max(strata[weighting], 1)


def certain_variance(
    cells: StratumCells, strata: Strata, weighting: Weighting, filled: FloatArray | None = None
) -> FloatArray:
    """Return the variance of strata where all ended alike, which show none, shape (k,).

    `filled` is the weight of pairs' own means. Opponents with another weight than 1 do not count,
    as their part is never 0 or 1.
    """
    s, parts = strata.sums, strata.votes
    weight = stratum_weight(len(cells.n), weighting)
    certain = (s.hh * s.n == s.h**2) & (s.n > 0)
    fraction = (parts * s.h / np.maximum(s.n, 1) + 0.5) / (parts + 1)
    share = cells.n / np.maximum(s.n, 1)  # a stratum is repeated over its cells, which sum to 1
    variance = weight**2 * fraction * (1 - fraction) / np.maximum(parts, 1)
    if filled is not None:
        share = share * filled[..., None] ** 2
    return (variance * share * certain).sum((1, 2))


def effective_size(cells: StratumCells, strata: Strata, weighting: Weighting) -> FloatArray:
    """Return the votes (or prompts) of one pair that would tell as much, shape (k,)."""
    weight = stratum_weight(len(cells.n), weighting)
    share = cells.n / np.maximum(strata.sums.n, 1)  # as in `certain_variance`
    return 1 / (weight**2 * share / np.maximum(strata.votes, 1)).sum((1, 2))


def certain_size(
    n: FloatArray, weighting: Weighting, filled: FloatArray | None = None
) -> FloatArray:
    """Return the comparisons (or prompts) that a win rate of 0 or 1 rests on, shape (k,).

    `filled` is the weight of pairs' own means. Opponents with another weight than 1 do not count,
    as their part is never 0 or 1.
    """
    others = ~np.eye(len(n), dtype=np.bool_)[..., None]
    if filled is not None:
        others = others & (filled == 1)[..., None]
    least = np.min(n, axis=(1, 2), where=others, initial=np.inf)
    if filled is not None:
        least = np.where(np.isfinite(least), least, 1.0)
    return least / stratum_weight(len(n), weighting)


FEW_PROMPTS = 10
"""Prompts of a pair below which an estimate warns: variances by prompt have few degrees there."""

_NAMED = 3  # pairs that a warning names, those on the fewest prompts first


@dataclass(frozen=True, eq=False)
class PairPrompts:
    """On how many prompts each pair of models has comparisons.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    votes : ndarray of int64, shape (k, k)
        Prompts with a vote. ``[a, b]`` and ``[b, a]`` are the same number. Where orders of
        presentation are kept apart, they are that with a shown first and that with b.
    alone : ndarray of int64, shape (k, k)
        Prompts with a comparison that has a verdict and no vote, likewise.
    heard : ndarray of int64, shape (k, k), or None
        Prompts with a comparison that has both; None: of all with a vote.
    """

    models: tuple[str, ...]
    votes: IntArray
    alone: IntArray
    heard: IntArray | None = None

    @property
    def judged(self) -> IntArray:
        """Prompts with a vote and a verdict, at most."""
        return self.votes if self.heard is None else self.heard

    @property
    def of_verdicts(self) -> PairPrompts:
        """The same of comparisons with a verdict alone, and with both."""
        return PairPrompts(self.models, self.judged, self.alone)

    def of(self, models: Sequence[str]) -> PairPrompts:
        """Return the numbers of some of the models, in this order."""
        index = [self.models.index(model) for model in models]
        square = np.ix_(index, index)
        heard = None if self.heard is None else self.heard[square]
        return PairPrompts(tuple(models), self.votes[square], self.alone[square], heard)

    @property
    def at_least(self) -> PairPrompts:
        """The least that there can be in a pair, where orders were kept apart."""
        votes, alone = (np.maximum(each, each.T) for each in (self.votes, self.alone))
        heard = None if self.heard is None else np.maximum(self.heard, self.heard.T)
        return PairPrompts(self.models, votes, alone, heard)


def few_prompts(prompts: PairPrompts, votes: FloatArray) -> tuple[str, ...]:
    """Warn of pairs whose votes share few prompts, and name those that share the fewest.

    Parameters
    ----------
    votes : ndarray of float64, shape (k, k), symmetric
        Comparisons with a vote.
    """
    on = np.minimum(prompts.at_least.votes, votes)
    first, second = np.nonzero(np.triu((on < FEW_PROMPTS) & (on < votes)))
    if not len(first):
        return ()
    order = np.argsort(on[first, second], kind="stable")[:_NAMED]
    pair = _("{one}\N{EN DASH}{other} on {n:.0f}")
    few: list[list[int]] = np.stack([first[order], second[order]], axis=1).tolist()
    named = ", ".join(
        pair.format(one=prompts.models[i], other=prompts.models[j], n=on[i, j]) for i, j in few
    )
    more = ", …" if len(first) > _NAMED else ""
    text = ngettext(
        "{n} pair was compared on fewer than {few} prompts ({named}): others may rank the models "
        "otherwise. Ask more prompts; more voters on the same ones do not help.",
        "{n} pairs were compared on fewer than {few} prompts ({named}): others may rank the models "
        "otherwise. Ask more prompts; more voters on the same ones do not help.",
        len(first),
    )
    return (text.format(n=len(first), few=FEW_PROMPTS, named=named + more),)


def degrees_of_freedom(products: PairProducts, free: FloatArray) -> FloatArray:
    """Return Satterthwaite's degrees of freedom [1]_ of the variances of differences.

    They are (Σ v_p)² / Σ (v_p² / f_p). Here v_p is the part of a pair p in such a variance, and f_p
    the degrees of freedom that this part is known with.

    Parameters
    ----------
    free : ndarray of float64, shape (k, k), symmetric
        f_p, of pairs that were compared; at least 1.

    Returns
    -------
    ndarray of float64, shape (k, k)
        On the diagonal: of each model's own variance.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components",
       Biometrics Bulletin 2, 110-114 (1946).
    """
    own, between = products.own, products.of_difference
    parts, shares = own.sum(axis=1), own**2 / free
    squares = shares.sum(axis=1)
    total = parts[:, None] + parts - 2 * products.cross
    square = squares[:, None] + squares - shares - shares.T + between**2 / free
    np.fill_diagonal(total, parts)
    np.fill_diagonal(square, squares)
    # What never varied has no parts to weigh, and is not judged by its variance.
    known = square > 0
    # A model against itself is no pair, and known with no degrees.
    least = float(free[~np.eye(len(free), dtype=np.bool_)].min())
    return np.where(known, total**2 / np.where(known, square, 1.0), least)


def degrees_alone(votes: FloatArray, *, counted: bool) -> FloatArray:
    """Return the degrees of freedom where each vote has a prompt of its own.

    They are those of votes that vary as much in every pair, so that they depend on the design
    alone.

    Parameters
    ----------
    votes : ndarray of float64, shape (k, k), symmetric
    counted : bool
        Each vote weighs the same in a model's mean, not each pair.

    Returns
    -------
    ndarray of float64, shape (k, k)
    """
    met = votes > 0
    part = votes if counted else np.where(met, 1 / np.where(met, votes, 1), 0)
    free = np.where(met, np.maximum(votes - (0 if counted else 1), 1), np.inf)
    return degrees_of_freedom(PairProducts(part, -part), free)
