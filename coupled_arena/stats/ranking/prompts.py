"""How many prompts comparisons are on: what a variance rests on where voters share prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupled_arena.core.language import _, ngettext
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.influence import PairProducts

FEW_PROMPTS = 10
"""Prompts below which an estimate warns."""

_NAMED = 3  # pairs that a warning names, those on the fewest prompts first


@dataclass(frozen=True, eq=False)
class PairPrompts:
    """On how many prompts each pair of models has comparisons.

    Attributes
    ----------
    models : tuple of str
        Names of the k models.
    votes : ndarray of int64, shape (k, k)
        Prompts with a vote. ``[a, b]`` and ``[b, a]`` are the same number, or where orders of
        presentation are kept apart, that with a shown first and that with b.
    alone : ndarray of int64, shape (k, k)
        Prompts with a comparison that has a verdict and no vote, likewise.
    """

    models: tuple[str, ...]
    votes: IntArray
    alone: IntArray

    def of(self, models: Sequence[str]) -> PairPrompts:
        """Return the numbers of some of the models, in this order."""
        index = [self.models.index(model) for model in models]
        square = np.ix_(index, index)
        return PairPrompts(tuple(models), self.votes[square], self.alone[square])

    @property
    def at_least(self) -> PairPrompts:
        """The least that there can be in a pair, where orders were kept apart."""
        votes, alone = (np.maximum(each, each.T) for each in (self.votes, self.alone))
        return PairPrompts(self.models, votes, alone)


def few_prompts(prompts: PairPrompts, votes: FloatArray) -> tuple[str, ...]:
    """Warn of pairs whose votes share few prompts, and name those that share the fewest.

    Parameters
    ----------
    prompts : PairPrompts
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

    With v_p the part of a pair p in such a variance, and f_p the degrees of freedom that this part
    is known with, (Σ v_p)² / Σ (v_p² / f_p).

    Parameters
    ----------
    products : PairProducts
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
