"""How close two models are: what follows at one error level from the laws along answers.

Who reads the answers is `battles.closeness`. Here each position is a row: both laws compared, the
kind of the token and its place in the answer. Means over positions and over answers have intervals
by the prompt that a conversation begins with, because all answers after it depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.choices import TokenKind
from coupled_arena.core.records import Sampling
from coupled_arena.stats.closeness import LawPairs, Mean, Together, clustered_mean, going_together
from coupled_arena.stats.counts import FloatArray, IntArray

BoolArray = NDArray[np.bool_]
KINDS = tuple(TokenKind)
_EDGES = (0, 1, 4, 16, 64, 256, 1024, 1 << 62)  # positions: the first, then four times as many


class LeftOut(StrEnum):
    """Why an answer is left out."""

    OTHER_TEXT = "other_text"  # its tokens do not spell its text: another version wrote them
    UNREADABLE = "unreadable"  # a model cannot read the conversation, or has no room for it


@dataclass(frozen=True)
class AnswerRead:
    """An answer that both models have read.

    Attributes
    ----------
    battle : str
    turn, place : int
        The reply, as in `Reply`.
    writer : int
        Which of the two models wrote it: 0 or 1.
    cluster : int
        Number of the prompt that the conversation begins with.
    positions : slice
        Of all positions, those of this answer.
    drawn_so : bool
        Whether it was drawn with the settings that the laws are compared at.
    """

    battle: str
    turn: int
    place: int
    writer: int
    cluster: int
    positions: slice
    drawn_so: bool


@dataclass(frozen=True)
class Observed:
    """A coupled battle of the two models, as it came out.

    Attributes
    ----------
    cluster : int
        Number of the prompt that the conversation begins with.
    common : int
        Tokens that both answers begin with.
    identical : bool
    """

    cluster: int
    common: int
    identical: bool


@dataclass(frozen=True, eq=False)
class Readings:
    """The laws of two models along answers.

    Attributes
    ----------
    models : tuple of str
    sampling : Sampling
        Which laws: temperature, top-k, top-p.
    laws : LawPairs
    whole_kl, whole_kl_reverse : ndarray of float64, shape (n,)
        Divergences without top-k and top-p, at temperature 1 where that asked for is 0.
    kind : ndarray of int64, shape (n,)
        Of the answer's token: its place in `KINDS`.
    place : ndarray of int64, shape (n,)
        Index of the token in the answer.
    ends : ndarray of bool, shape (n,)
        Whether the answer ends there, rather than goes on with a token.
    untold : ndarray of float64, shape (n,)
        How much probability servers do not tell of, at most.
    answers : tuple of AnswerRead
    observed : tuple of Observed
        Coupled battles of both models under this sampling.
    left_out : mapping of str to int
        How many answers were left out, by reason.
    """

    models: tuple[str, str]
    sampling: Sampling
    laws: LawPairs
    whole_kl: FloatArray
    whole_kl_reverse: FloatArray
    kind: IntArray
    place: IntArray
    ends: BoolArray
    untold: FloatArray
    answers: tuple[AnswerRead, ...]
    observed: tuple[Observed, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def itself(self) -> bool:
        """Whether it is one model against itself: then nothing can differ, anywhere."""
        return self.models[0] == self.models[1]

    @cached_property
    def lengths(self) -> IntArray:
        """How many positions each answer has."""
        return np.array([each.positions.stop - each.positions.start for each in self.answers])

    @cached_property
    def cluster(self) -> IntArray:
        """The prompt of each position."""
        return np.repeat([each.cluster for each in self.answers], self.lengths)

    @cached_property
    def together(self) -> Together:
        """How likely both models still write the same, after each position."""
        return going_together(
            self.laws,
            [each.positions for each in self.answers],
            [each.writer for each in self.answers],
            [each.drawn_so for each in self.answers],
        )


@dataclass(frozen=True)
class Part:
    """How close two models are at some positions.

    Attributes
    ----------
    kind : TokenKind or None
        Only tokens of this kind.
    first, last : int or None
        Only these places in the answer.
    positions, answers : int
        How many there are, and in how many answers.
    total_variation, same_top, coupled, independent, best : Mean
        See `LawPairs`.
    kl, kl_reverse : Mean
        Without top-k and top-p.
    sampled_kl, sampled_kl_reverse : Mean
        Under the sampling, where they are finite.
    infinite, infinite_reverse : Mean
        How often they are not.
    untold : float
        Mean probability that servers do not tell of, at most.
    """

    kind: TokenKind | None
    first: int | None
    last: int | None
    positions: int
    answers: int
    total_variation: Mean
    same_top: Mean
    coupled: Mean
    independent: Mean
    best: Mean
    kl: Mean
    kl_reverse: Mean
    sampled_kl: Mean
    sampled_kl_reverse: Mean
    infinite: Mean
    infinite_reverse: Mean
    untold: float


@dataclass(frozen=True)
class Expected:
    """What is expected of whole answers under one kind of noise.

    Attributes
    ----------
    common : Mean
        Tokens that both answers begin with.
    identical : Mean
        Share of answers that are the same throughout.
    """

    common: Mean
    identical: Mean


@dataclass(frozen=True, eq=False)
class Closeness:
    """How close two models are, with the settings this was made with.

    Attributes
    ----------
    readings : Readings
    alpha : float
        Error level of the intervals.
    overall : Part
    places, kinds : tuple of Part
        By position in the answer, and by kind of token.
    coupled, independent, best : Expected
        Of whole answers; `best` is a bound for every coupling.
    observed : Expected or None
        The same counted in coupled battles of both models, where there are any.
    """

    readings: Readings
    alpha: float
    overall: Part
    places: tuple[Part, ...]
    kinds: tuple[Part, ...]
    coupled: Expected
    independent: Expected
    best: Expected
    observed: Expected | None

    @property
    def models(self) -> tuple[str, str]:
        """Names of the two models."""
        return self.readings.models


def closeness(readings: Readings, alpha: float = 0.05) -> Closeness:
    """Conclude how close two models are.

    Raises
    ------
    ValueError
        The error level is not between 0 and 1.
    """
    everywhere = np.ones(len(readings.place), np.bool_)
    places = (
        _part(readings, alpha, (readings.place >= low) & (readings.place < high), first=low)
        for low, high in pairwise(_EDGES)
    )
    kinds = (
        _part(readings, alpha, readings.kind == at, kind=kind) for at, kind in enumerate(KINDS)
    )
    together = {
        name: _expected(readings, alpha, getattr(readings.together, name))
        for name in ("coupled", "independent", "best")
    }
    return Closeness(
        readings,
        alpha,
        _part(readings, alpha, everywhere),
        tuple(part for part in places if part.positions),
        tuple(part for part in kinds if part.positions),
        **together,
        observed=_counted(readings.observed, alpha),
    )


def _part(
    readings: Readings,
    alpha: float,
    here: BoolArray,
    kind: TokenKind | None = None,
    first: int | None = None,
) -> Part:
    laws, cluster = readings.laws, readings.cluster[here]

    def share(values: FloatArray) -> Mean:
        mean = clustered_mean(values[here], cluster, alpha)
        settled = readings.itself and values is not laws.independent
        return Mean(mean.value, mean.value, mean.value) if settled else mean

    def finite(values: FloatArray) -> Mean:
        known = here & np.isfinite(values)
        return clustered_mean(values[known], readings.cluster[known], alpha, share=False)

    numbers = np.repeat(np.arange(len(readings.answers)), readings.lengths)
    last = int(readings.place[here].max()) if first is not None and here.any() else None
    return Part(
        kind,
        first,
        last,
        positions=int(here.sum()),
        answers=len(np.unique(numbers[here])),
        total_variation=share(laws.total_variation),
        same_top=share(laws.same_top),
        coupled=share(laws.coupled),
        independent=share(laws.independent),
        best=share(laws.best),
        kl=finite(readings.whole_kl),
        kl_reverse=finite(readings.whole_kl_reverse),
        sampled_kl=finite(laws.kl),
        sampled_kl_reverse=finite(laws.kl_reverse),
        infinite=share(np.isinf(laws.kl).astype(np.float64)),
        infinite_reverse=share(np.isinf(laws.kl_reverse).astype(np.float64)),
        untold=float(readings.untold[here].mean()) if here.any() else np.nan,
    )


def _expected(readings: Readings, alpha: float, same: FloatArray) -> Expected:
    """Return what follows of how likely both still write the same after each position."""
    clusters = np.array([each.cluster for each in readings.answers], np.int64)
    # The end of an answer is no token: what is common to there is not one more.
    tokens = np.where(readings.ends, 0.0, same)
    common = np.array([tokens[each.positions].sum() for each in readings.answers])
    whole = np.array([same[each.positions][-1] for each in readings.answers])
    if readings.itself and (whole == 1).all():
        return Expected(clustered_mean(common, clusters, alpha, share=False), Mean(1.0, 1.0, 1.0))
    return Expected(
        clustered_mean(common, clusters, alpha, share=False),
        clustered_mean(whole, clusters, alpha),
    )


def _counted(observed: tuple[Observed, ...], alpha: float) -> Expected | None:
    if not observed:
        return None
    clusters = np.array([each.cluster for each in observed], np.int64)
    common = np.array([each.common for each in observed], np.float64)
    same = np.array([each.identical for each in observed], np.float64)
    return Expected(
        clustered_mean(common, clusters, alpha, share=False), clustered_mean(same, clusters, alpha)
    )


# How likely both models still write the same, by the number of tokens.


@dataclass(frozen=True, eq=False)
class Going:
    """Shares of answers that are expected to be the same after so many tokens.

    Attributes
    ----------
    tokens : ndarray of int64, shape (m,)
    coupled, independent, best : ndarray of float64, shape (m,)
    """

    tokens: IntArray
    coupled: FloatArray
    independent: FloatArray
    best: FloatArray


def going(found: Closeness, most: int = 60) -> Going:
    """Return the shares at so many numbers of tokens at most; answers that ended stay as they are.

    An answer that is the same to its end counts as the same from there on.
    """
    readings = found.readings
    longest = int(readings.lengths.max())
    tokens = np.unique(np.linspace(1, longest, min(most, longest)).astype(np.int64))
    curves: list[FloatArray] = []
    for name in ("coupled", "independent", "best"):
        same = getattr(readings.together, name)
        each = [
            same[answer.positions][np.minimum(tokens, length) - 1]
            for answer, length in zip(readings.answers, readings.lengths, strict=True)
        ]
        curves.append(np.mean(each, axis=0))
    return Going(tokens, *curves)
