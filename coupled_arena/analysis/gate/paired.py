"""Scores of a base and its candidates on the same prompts, from any source.

Tables and logs come as other analyses read them; `store_scores` reads stores. Nothing here knows
margin or error level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.coupling.score_tables import subject_scores_from_frame
from coupled_arena.analysis.risk.scores import RiskScores, check_models, risk_scores_from_frame
from coupled_arena.analysis.score_columns import PROMPTS, SUBJECTS, is_missing, text_of
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.stats.counts import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("group", "cluster")
"""Names of a column, in lower case, that tells which prompts depend on each other."""

_NOISE = "Noise"  # of a table of coupled and independent scores
_EQUAL = 1e-12  # of the range: means that differ by less do so by rounding


@dataclass(frozen=True)
class Scale:
    """What scores mean.

    Attributes
    ----------
    low, high : float
        The least and the greatest possible score.
    lower_is_better : bool
    """

    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    @property
    def width(self) -> float:
        """The range of the scores."""
        return self.high - self.low

    @classmethod
    def of(cls, bounds: Sequence[float], *, lower_is_better: bool = False) -> Scale:
        """Return the scale between two bounds.

        Raises
        ------
        ScoreError
            They are not two numbers, the smaller one first.
        """
        if len(bounds) != 2 or not -np.inf < bounds[0] < bounds[1] < np.inf:
            given = ", ".join(f"{each:g}" for each in bounds)
            raise ScoreError(
                f"`bounds` are the least and the greatest possible score, such as 0,1: not {given}."
            )
        return cls(float(bounds[0]), float(bounds[1]), lower_is_better)


@dataclass(frozen=True, eq=False)
class PairedScores:
    """Scores of a base, the first model, and its candidates.

    Attributes
    ----------
    metric : str
    models : tuple of k str
    prompts : tuple of n str
        Their names.
    values : ndarray of float64, shape (n, repetitions, k)
        NaN where there is no answer. Under coupling the answers of a repetition read one noise
        stream.
    scale : Scale
    categories, clusters, battles : tuple of n str, or empty
        Of each prompt: its category, what it shares with others that depend on it, and the first
        battle behind it. Empty where nobody knows.
    coupled : bool
        Whether it is known that the models shared their noise.
    drawn : bool
        Whether the prompts stand in the order in which they were drawn, and count in that.
    independent : ndarray of float64, shape (n, any, k), or None
        Scores on the same prompts without shared noise, where there are some beside coupled ones.
    left_out : int
        Prompts that are not here, for not all answers to them are known.
    asked : ndarray of bool, shape (n, k), or None
        Which prompts base and candidate were asked together; None if all were. Without an answer
        of both such a prompt is missing.
    run : str or None
        The batch run that made all answers, by its seed in hex; None where there is no such run.
    notes : tuple of str
        What is to be said of the data.

    Raises
    ------
    ScoreError
        A score is beyond the bounds.
    """

    metric: str
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    values: FloatArray
    scale: Scale = Scale()
    categories: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    battles: tuple[str, ...] = ()
    coupled: bool = False
    drawn: bool = False
    independent: FloatArray | None = None
    left_out: int = 0
    asked: NDArray[np.bool_] | None = None
    run: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        beyond = (self.values < self.scale.low) | (self.values > self.scale.high)
        if not beyond.any():
            return
        prompt, repetition, model = (int(each) for each in np.argwhere(beyond)[0])
        text = _(
            "{model} scores {score:g} on prompt {prompt!r}, beyond {low:g} and {high:g}. Give the "
            "least and the greatest possible score with --bounds. Scores without such bounds "
            "cannot be used: turn them into right or wrong first."
        )
        raise ScoreError(
            text.format(
                model=self.models[model],
                score=float(self.values[prompt, repetition, model]),
                prompt=self.prompts[prompt],
                low=self.scale.low,
                high=self.scale.high,
            )
        )

    @property
    def groups(self) -> IntArray:
        """Of each prompt the number of the unit that it belongs to, counted as they come."""
        names = self.clusters or self.prompts
        # No array of names: each would take as much memory as the longest prompt.
        known = {name: at for at, name in enumerate(dict.fromkeys(names))}
        return np.array([known[name] for name in names], np.int64)

    def pair(self, candidate: int, values: FloatArray | None = None) -> Pair:
        """Return the prompts that the base and a candidate have both answered.

        Parameters
        ----------
        candidate : int
            Its place among the models.
        values : ndarray of float64, shape (n, any, k), optional
            Other scores on these prompts.

        Raises
        ------
        ScoreError
            There are fewer than two.
        """
        both = (self.values if values is None else values)[..., [0, candidate]]
        common = np.all(np.any(np.isfinite(both), axis=1), axis=1)
        if (n := int(common.sum())) < 2:
            text = ngettext(
                "{base} and {candidate} have {n} prompt in common. Two are the least.",
                "{base} and {candidate} have {n} prompts in common. Two are the least.",
                n,
            )
            base, name = self.models[0], self.models[candidate]
            raise ScoreError(text.format(base=base, candidate=name, n=n))
        places = np.flatnonzero(common)
        return Pair(places, both[places], self.scale)

    def missing(self, candidate: int) -> float:
        """Return the share of prompts that the base or a candidate has not answered."""
        there: NDArray[np.bool_] = np.any(np.isfinite(self.values), axis=1)
        answered: NDArray[np.bool_] = there[:, 0] & there[:, candidate]
        if self.asked is not None and self.asked[:, candidate].any():
            answered = answered[self.asked[:, candidate]]
        lacking = int((~answered).sum()) + self.left_out
        return lacking / (len(answered) + self.left_out)


@dataclass(frozen=True, eq=False)
class Pair:
    """Scores of the base and one candidate on the prompts that both have.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Of the prompts in `PairedScores`.
    values : ndarray of float64, shape (n, repetitions, 2)
        Of the base, and of the candidate.
    """

    places: np.ndarray
    values: FloatArray
    scale: Scale

    @property
    def means(self) -> FloatArray:
        """Mean scores over the repetitions of each prompt, shape (n, 2)."""
        return np.asarray(np.nanmean(self.values, axis=1), np.float64)

    @property
    def differences(self) -> FloatArray:
        """Shares of the scores' range by which the candidate is better on each prompt."""
        base, candidate = self.means.T
        sign = -1 if self.scale.lower_is_better else 1
        found = sign * (candidate - base) / self.scale.width
        return np.where(np.abs(found) < _EQUAL, 0.0, np.clip(found, -1, 1))

    @property
    def binary(self) -> bool:
        """Whether each model has answered each prompt once, and is right or wrong."""
        ends = np.isin(self.values, (self.scale.low, self.scale.high)) | np.isnan(self.values)
        return bool(ends.all() and (np.isfinite(self.values).sum(axis=1) == 1).all())

    @property
    def repetitions(self) -> int:
        """The most answers that a model gave to a prompt."""
        return int(np.isfinite(self.values).sum(axis=1).max())

    @property
    def repeated(self) -> int:
        """How many prompts have two answers or more of both."""
        both = np.isfinite(self.values).all(axis=2)
        return int((both.sum(axis=1) >= 2).sum())


def check_different(models: Sequence[str]) -> None:
    """Refuse a model that is there twice.

    Raises
    ------
    ScoreError
        The base is a candidate, or a candidate is named twice.
    """
    twice = [name for name, n in Counter(models).items() if n > 1]
    if twice:
        text = _("{model} is there twice: name a base, and candidates that differ from it.")
        raise ScoreError(text.format(model=twice[0]))


# Tables and logs.


def paired_from_scores(
    found: RiskScores,
    models: Sequence[str],
    scale: Scale,
    categories: Mapping[str, str] | None = None,
    clusters: Mapping[str, str] | None = None,
) -> PairedScores:
    """Return the scores of some models of a table or of logs.

    Parameters
    ----------
    found : RiskScores
        Of one metric.
    models : sequence of str
        The base first.
    categories, clusters : mapping of str to str, optional
        By the name of the prompt. By default the prompts of each task of a log are a category.
        A table without such a column has none.

    Raises
    ------
    ScoreError
        There are several metrics, a model has no scores, or a score is beyond the bounds.
    """
    metric, *others = found.metrics
    if others:
        names = ", ".join(found.metrics)
        raise ScoreError(_("Choose one metric with --metric: {names}.").format(names=names))
    check_models(models, found.models)
    chosen = [found.models.index(name) for name in models]
    prompts = tuple(sorted({prompt for at in chosen for prompt in found.prompts[at]}))
    places = {prompt: at for at, prompt in enumerate(prompts)}
    values = np.full((len(prompts), found.repetitions, len(models)), np.nan)
    for model, at in enumerate(chosen):
        rows = [places[prompt] for prompt in found.prompts[at]]
        values[rows, :, model] = found.values[at].reshape(-1, found.repetitions)
    lower = scale.lower_is_better or metric in found.lower_is_better
    scale = replace(scale, lower_is_better=lower)
    named = tuple((categories or {}).get(prompt, "") for prompt in prompts)
    return PairedScores(
        *(metric, tuple(models), prompts, values, scale),
        categories=named
        if categories
        else ()
        if categories is not None
        else _tasks(prompts, found),
        clusters=tuple((clusters or {}).get(prompt) or prompt for prompt in prompts),
        left_out=found.left_out,
        notes=(*found.notes, *lacking(values, models)),
    )


def _tasks(prompts: Sequence[str], found: RiskScores) -> tuple[str, ...]:
    """Return the tasks of a log's prompts, if they are several."""
    tasks = tuple(found.tasks.get(prompt, "") for prompt in prompts)
    return tasks if len(set(tasks)) > 1 and all(tasks) else ()


def lacking(values: FloatArray, models: Sequence[str]) -> list[str]:
    """Say which prompts a model lacks."""
    found: list[str] = []
    for at, model in enumerate(models):
        if n := int((~np.isfinite(values[..., at]).any(axis=1)).sum()):
            text = ngettext(
                "{model} lacks {n:,} prompt that another model has: it is left out.",
                "{model} lacks {n:,} prompts that another model has: they are left out.",
                n,
            )
            found.append(text.format(model=model, n=n))
    return found


def paired_from_frame(
    frame: pd.DataFrame,
    models: Sequence[str],
    metric: str | None,
    scale: Scale,
    seeds: int = 10,
    name: str = "the table",
) -> PairedScores:
    """Return the scores of some models of a table.

    The table is one of `risk_scores_from_frame`. A column ``subject`` or ``category`` tells the
    category of a prompt. One named ``group`` or ``cluster`` tells what depends on it. Or it is
    one of `subject_scores_from_frame`, with a column ``Noise``, whose prompts have `seeds` rows.

    Raises
    ------
    ScoreError
        It is no such table, or `paired_from_scores` refuses it.
    """
    frame = frame.set_axis([str(column).strip() for column in frame.columns], axis="columns")
    if _NOISE in frame.columns:
        if metric is not None:
            text = _("{table} has a column 'Noise', and no metrics: leave the metric out.")
            raise ScoreError(text.format(table=name))
        return _paired_noise(frame, models, scale, seeds, name)
    metrics = (metric,) if metric else None
    labels = {
        kind: _labels(frame, kind, name) for kind in (SUBJECTS, GROUPS) if "prompt" in frame.columns
    }
    kept = frame.drop(columns=[c for c in frame.columns if c.lower() in GROUPS and c != metric])
    if "model" in kept.columns:
        known = list(dict.fromkeys(text_of(cell) for cell in kept["model"]))
        check_models(models, known)
        kept = kept.loc[[text_of(cell) in models for cell in kept["model"]]]
    found = risk_scores_from_frame(kept, metrics, name=name)
    return paired_from_scores(found, models, scale, labels.get(SUBJECTS), labels.get(GROUPS))


def _labels(frame: pd.DataFrame, names: Sequence[str], table: str) -> dict[str, str]:
    """Return what a column says of each prompt, nothing without such a column."""
    column = next((column for column in frame.columns if column.lower() in names), None)
    if column is None:
        return {}
    found: dict[str, str] = {}
    for prompt, label in zip(frame["prompt"], frame[column], strict=True):
        said = text_of(label)
        if found.setdefault(text_of(prompt), said) != said:
            text = _("In {table} prompt {prompt!r} has two values of {column}: {one} and {other}.")
            one = found[text_of(prompt)]
            raise ScoreError(
                text.format(table=table, prompt=text_of(prompt), column=column, one=one, other=said)
            )
    return found


def _paired_noise(
    frame: pd.DataFrame, models: Sequence[str], scale: Scale, seeds: int, name: str
) -> PairedScores:
    """Return the scores of a table that has coupled and independent ones."""
    read = subject_scores_from_frame(frame, seeds, tuple(models), name)
    coupled = np.array([text_of(cell) == "Coupled" for cell in frame[_NOISE]])
    first = np.flatnonzero(coupled)[::seeds]
    whole = np.ones(len(first), np.bool_)
    if read.left_out:  # then both protocols have the same prompts, in the same order
        cells = np.array([[is_missing(cell) for cell in frame[model]] for model in models])
        empty = np.reshape(
            [cells[:, rows].any(axis=0) for rows in (coupled, ~coupled)], (2, -1, seeds)
        )
        whole = ~empty.any(axis=(0, 2))

    def said(names: Sequence[str]) -> tuple[str, ...]:
        column = next((c for c in frame.columns if c.lower() in names and c not in models), None)
        if column is None:
            return ()
        return tuple(text_of(cell) for cell in frame[column].iloc[first[whole]])

    prompts = said(PROMPTS) or tuple(str(at + 1) for at in np.flatnonzero(whole))
    groups = said(GROUPS)
    notes: list[str] = []
    if n := read.left_out:
        text = ngettext(
            "Left out, for a cell is empty: {n:,} prompt.",
            "Left out, for a cell is empty: {n:,} prompts.",
            n,
        )
        notes.append(text.format(n=n))
    return PairedScores(
        *(name.rpartition("/")[2], tuple(models), prompts, read.table.coupled, scale),
        categories=read.subjects or (),
        clusters=tuple(group or name for group, name in zip(groups, prompts, strict=True))
        if groups
        else (),
        coupled=True,
        independent=read.table.independent,
        left_out=read.left_out,
        notes=tuple(notes),
    )
