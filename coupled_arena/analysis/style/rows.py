"""Comparisons as rows of a regression, and the obstacles to a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from coupled_arena.core.choices import Trait
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.style import (
    PairFit,
    PairRows,
    UnboundedError,
    entangled,
    fit,
    people_of,
)
from coupled_arena.store.queries.single_comparisons import StyledRows


class Obstacle(StrEnum):
    """Why there are no scores."""

    NOTHING = "nothing"  # no comparison
    TEXTS = "texts"  # no comparison of which the replies are known
    APART = "apart"  # some models won all, or lost all, against the others
    PROMPTS = "prompts"  # no more prompts than numbers to be estimated
    ENTANGLED = "entangled"  # a trait that follows from the models alone
    UNBOUNDED = "unbounded"  # a trait that decides every comparison


@dataclass(frozen=True, eq=False)
class Counted:
    """What there is to hold fixed, without the rows.

    Attributes
    ----------
    comparisons, prompts : int
        With the texts of both replies, and on how many prompts.
    without_texts : int
        Comparisons that do not count because nobody knows their replies.
    traits : tuple of Trait
        The p traits that are held fixed.
    constant : tuple of Trait
        Those that no two replies differ in: there is nothing to hold fixed.
    spread : ndarray of float64, shape (p,)
        Root of the mean square of (a - b)/(a + b): it does not matter who was shown first.
    differing : ndarray of float64, shape (p,)
        Share of comparisons whose replies differ.
    people : int or None
        Voters whom all of it holds for people like; None where it does not matter who voted.
    """

    models: tuple[str, ...]
    comparisons: int
    prompts: int
    without_texts: int
    traits: tuple[Trait, ...]
    constant: tuple[Trait, ...]
    spread: FloatArray
    differing: FloatArray
    people: int | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows in units of standard deviations.

    Attributes
    ----------
    covariates : ndarray of float64, shape (n, p)
    """

    styled: StyledRows
    counted: Counted
    covariates: FloatArray

    @classmethod
    def of(cls, styled: StyledRows, traits: Sequence[Trait], *, voters: bool) -> Prepared:
        """Standardise; what never differs is left out.

        Parameters
        ----------
        voters : bool
            Whether errors hold for people like the voters, or for exactly these.
        """
        found = styled.differences
        differing = (found != 0).mean(axis=0) if len(found) else np.zeros(len(traits))
        there = differing > 0
        spread = np.sqrt((found[:, there] ** 2).mean(axis=0)) if len(found) else np.zeros(0)
        counted = Counted(
            models=styled.models,
            comparisons=len(found),
            prompts=len(np.unique(styled.prompt)),
            without_texts=styled.without_texts,
            traits=tuple(trait for trait, known in zip(traits, there, strict=True) if known),
            constant=tuple(trait for trait, known in zip(traits, there, strict=True) if not known),
            spread=spread,
            differing=differing[there],
            people=people_of(styled.voter) if voters else None,
        )
        return cls(styled, counted, found[:, there] / spread)

    def rows(self, outcome: FloatArray) -> PairRows:
        """Return the rows with an outcome: 1, ½ or 0."""
        styled = self.styled
        return PairRows(
            len(styled.models),
            *(styled.first, styled.second, outcome, self.covariates, styled.prompt),
            voters=None if self.counted.people is None else styled.voter,
        )


class ObstructedError(Exception):
    """There are no scores.

    Attributes
    ----------
    traits : tuple of Trait
        Those that are to blame.
    """

    def __init__(self, obstacle: Obstacle, traits: tuple[Trait, ...] = ()) -> None:
        super().__init__(obstacle.value, traits)
        self.obstacle = obstacle
        self.traits = traits


def check_scores(prepared: Prepared, outcomes: Sequence[FloatArray], more: int = 0) -> None:
    """Refuse comparisons that scores without control do not exist for.

    Parameters
    ----------
    more : int
        Numbers to be estimated besides models and traits.

    Raises
    ------
    ObstructedError
        There are none, or too few.
    """
    counted = prepared.counted
    if not counted.comparisons:
        known = Obstacle.TEXTS if counted.without_texts else Obstacle.NOTHING
        raise ObstructedError(known)
    if not all(_joined(prepared.rows(outcome)) for outcome in outcomes):
        raise ObstructedError(Obstacle.APART)
    if counted.prompts <= len(counted.models) - 1 + len(counted.traits) + more:
        raise ObstructedError(Obstacle.PROMPTS)


def controlled_fit(prepared: Prepared, outcome: FloatArray) -> PairFit:
    """Fit models and traits together.

    Raises
    ------
    ObstructedError
        A trait cannot be told from the models, or decides every comparison.
    """
    rows = prepared.rows(outcome)
    if hidden := entangled(rows):
        traits = tuple(prepared.counted.traits[at] for at in hidden)
        raise ObstructedError(Obstacle.ENTANGLED, traits)
    try:
        return fit(rows)
    except UnboundedError:
        raise ObstructedError(Obstacle.UNBOUNDED, _deciding(prepared, rows)) from None


def without_traits(rows: PairRows) -> PairRows:
    """Return the same rows with no covariate."""
    return replace(rows, covariates=rows.covariates[:, :0])


def _joined(rows: PairRows) -> bool:
    """Return whether there is a way from every model to every other along "did not lose all"."""
    k = rows.k
    not_lost: NDArray[np.bool_] = np.zeros((k, k), dtype=np.bool_)
    won, lost = rows.outcome > 0, rows.outcome < 1
    not_lost[rows.first[won], rows.second[won]] = True
    not_lost[rows.second[lost], rows.first[lost]] = True
    pieces, _ = connected_components(not_lost, directed=True, connection="strong")
    return bool(pieces == 1)


def _deciding(prepared: Prepared, rows: PairRows) -> tuple[Trait, ...]:
    """Return the traits without any one of which there would be scores; all, if there is none."""
    found: list[Trait] = []
    for at, trait in enumerate(prepared.counted.traits):
        others = np.delete(rows.covariates, at, axis=1)
        try:
            fit(replace(rows, covariates=others))
        except UnboundedError:
            continue
        found.append(trait)
    return tuple(found) or prepared.counted.traits
