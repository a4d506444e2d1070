"""Scores of models on prompts, from any source.

Tables of scores may be long (model, prompt, metric, score) or wide (a column for each metric).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupled_arena.analysis.score_columns import (
    check_repeated,
    check_settings,
    is_missing,
    is_score,
    place_of,
    score_of,
    text_of,
)
from coupled_arena.core.bounds import IN_MEMORY, Bound
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.tables import called, read_frame
from coupled_arena.stats.counts import FloatArray

if TYPE_CHECKING:
    import pandas as pd


_LARGEST = 1e150  # its square is still a finite number
ScoresByReply = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""By model and prompt: the scores by metric, one for each repetition."""


@dataclass(frozen=True, eq=False)
class RiskScores:
    """Scores of k models, each on its prompts.

    Attributes
    ----------
    prompts : tuple of k tuples of str
        Prompts of each model; where all have the same, in the same order.
    values : tuple of k ndarrays of float64, shape (n_i * repetitions, metrics)
        As they were measured; the repetitions of a prompt next to each other.
    lower_is_better : frozenset of str
        Metrics of which less is better.
    unjudged : frozenset of str
        Metrics without a known direction, such as length: they are ranked as if by
        `lower_is_better`, and a sentence beside the ranking says so.
    repetitions : int
        Replies of each model to each prompt.
    notes : tuple of str
        Sentences on what was left out to make the table.
    left_out : int
        Prompts that are not here, for a score of some model is missing.
    tasks : mapping of str to str
        By prompt: the task of a log that it belongs to, "" where it belongs to none.

    Raises
    ------
    ScoreError
        There are fewer than two models or scores of a model, no metric, a name is repeated, or a
        score is not a finite number.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    values: tuple[FloatArray, ...]
    lower_is_better: frozenset[str] = frozenset()
    repetitions: int = 1
    notes: tuple[str, ...] = ()
    unjudged: frozenset[str] = frozenset()
    left_out: int = 0
    tasks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for names in (self.models, self.metrics):
            if len(set(names)) < len(names):
                raise ScoreError(_("A model and a metric must be named once."))
        if not self.metrics:
            raise ScoreError(_("There are no scores."))
        if len(self.models) < 2:
            raise ScoreError(_("There must be scores of two models at least."))
        _check_metrics(self.lower_is_better, self.metrics)
        for model, prompts, values in zip(self.models, self.prompts, self.values, strict=True):
            if values.shape != (len(prompts) * self.repetitions, len(self.metrics)):
                text = _("{model} does not have a score for each reply and metric.")
                raise ScoreError(text.format(model=model))
            if len(prompts) < 2:
                raise ScoreError(
                    _("{model} has one prompt. Two are the least.").format(model=model)
                )
            if not (np.abs(values) <= _LARGEST).all():
                text = _("A score of {model} is not a number, or beyond {largest:g}.")
                raise ScoreError(text.format(model=model, largest=_LARGEST))

    @property
    def paired(self) -> bool:
        """Whether all models have the same prompts."""
        return len(set(self.prompts)) == 1

    @property
    def size(self) -> int:
        """Prompts of the model with the fewest."""
        return min(len(prompts) for prompts in self.prompts)

    def oriented(self) -> tuple[FloatArray, ...]:
        """Return the scores with the sign that makes higher better."""
        signs = np.array([-1.0 if name in self.lower_is_better else 1.0 for name in self.metrics])
        return tuple(values * signs for values in self.values)

    def with_metrics(self, metrics: Iterable[str]) -> RiskScores:
        """Return the scores of some metrics, in the order given.

        Raises
        ------
        ScoreError
            There is no such metric.
        """
        chosen = tuple(metrics)
        _check_metrics(chosen, self.metrics)
        columns = [self.metrics.index(name) for name in chosen]
        return replace(
            self,
            metrics=chosen,
            values=tuple(values[:, columns] for values in self.values),
            lower_is_better=self.lower_is_better & set(chosen),
            unjudged=self.unjudged & set(chosen),
        )

    def turned(self, lower: Collection[str], higher: Collection[str]) -> RiskScores:
        """Return the same scores with a direction for some metrics.

        Raises
        ------
        ScoreError
            There is no such metric, or one has both directions.
        """
        _check_metrics([*lower, *higher], self.metrics)
        if both := set(lower) & set(higher):
            text = _("Neither less nor more of {name} can be better: choose one.")
            raise ScoreError(text.format(name=min(both)))
        return replace(
            self,
            lower_is_better=(self.lower_is_better | set(lower)) - set(higher),
            unjudged=self.unjudged - set(lower) - set(higher),
        )

    def drawn(self, size: int, rng: np.random.Generator) -> RiskScores:
        """Return the scores on some prompts, drawn without replacement.

        They are the same for all models where all have the same.

        Parameters
        ----------
        size : int
            Prompts of each model, at most those it has.
        """
        places = [rng.choice(self.size, size, replace=False)] * len(self.models)
        if not self.paired:
            places = [rng.choice(len(own), size, replace=False) for own in self.prompts]
        shape = (-1, self.repetitions, len(self.metrics))
        return replace(
            self,
            prompts=tuple(
                tuple(own[at] for at in some)
                for own, some in zip(self.prompts, places, strict=True)
            ),
            values=tuple(
                values.reshape(shape)[some].reshape(-1, len(self.metrics))
                for values, some in zip(self.values, places, strict=True)
            ),
        )

    def noted(self, *notes: str) -> RiskScores:
        """Return the same scores with more notes, before those there are."""
        return replace(self, notes=(*notes, *self.notes))

    def missing_prompt(self) -> tuple[str, str] | None:
        """Return a model and a prompt that another model has and it has not."""
        for one, other in combinations(range(len(self.models)), 2):
            for here, there in ((one, other), (other, one)):
                absent = set(self.prompts[there]) - set(self.prompts[here])
                if absent:
                    return self.models[here], min(absent)
        return None


def check_models(models: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a model that has no scores.

    Raises
    ------
    ScoreError
        It is not among those known.
    """
    if absent := [name for name in models if name not in known]:
        there = ", ".join(known) or _("none")
        text = _("There are no scores of {models}. Models with scores: {known}.")
        raise ScoreError(text.format(models=", ".join(absent), known=there))


def scores_from_cells(
    cells: ScoresByReply, metrics: Sequence[str] = (), lower_is_better: Collection[str] = ()
) -> RiskScores:
    """Return a table from scores by model, prompt and metric.

    Models keep the order in which they come, prompts are sorted.

    Parameters
    ----------
    cells : see `ScoresByReply`
    metrics : sequence of str
        Those that each reply must have; by default all that come, in their order.

    Raises
    ------
    ScoreError
        A score is missing, a prompt has another number of replies than the others, or
        `RiskScores` refuses the table.
    """
    models = tuple(dict.fromkeys(model for model, _ in cells))
    there = tuple(dict.fromkeys(name for scores in cells.values() for name in scores))
    metrics = tuple(metrics) or there
    for (model, prompt), scores in cells.items():
        for name in metrics:
            if name not in scores:
                _check_metrics([name], there)
                text = _(
                    "{model} has no {name} on prompt {prompt!r}: each reply needs all "
                    "metrics, or choose some with --metrics."
                )
                raise ScoreError(text.format(model=model, name=name, prompt=prompt))
    prompts = tuple(
        tuple(sorted(prompt for owner, prompt in cells if owner == model)) for model in models
    )
    repetitions = _repetitions(cells, metrics)
    values = tuple(
        np.array([[cells[model, prompt][name] for name in metrics] for prompt in own], dtype=float)
        .swapaxes(1, 2)
        .reshape(-1, len(metrics))
        for model, own in zip(models, prompts, strict=True)
    )
    return RiskScores(models, metrics, prompts, values, frozenset(lower_is_better), repetitions)


def _repetitions(cells: ScoresByReply, metrics: tuple[str, ...]) -> int:
    """Return how many scores each model has on each prompt by each metric."""
    seen: dict[int, tuple[str, str]] = {}
    for reply, scores in cells.items():
        for name in metrics:
            seen.setdefault(len(scores[name]), reply)
    if len(seen) > 1:
        (one, (model, prompt)), (other, (rival, question)), *__ = seen.items()
        text = _(
            "{model} has {one} on prompt {prompt!r}, but {rival} has {other} on {question!r}. "
            "There must be as many replies to each prompt."
        )
        raise ScoreError(
            text.format(
                model=model, one=one, prompt=prompt, rival=rival, other=other, question=question
            )
        )
    return next(iter(seen), 1)


def _check_metrics(names: Iterable[str], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            text = _("There is no metric {name!r}, only {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(known)))


# The tables.


_MODEL, _PROMPT, _METRIC, _SCORE = "model", "prompt", "metric", "score"


def read_risk_scores(
    path: Path | Sequence[Path],
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    *,
    name: str | None = None,
    bound: Bound = IN_MEMORY,
) -> RiskScores:
    """Read a file of scores, or several, in any form of `coupled_arena.core.tables`.

    Parameters
    ----------
    metrics, lower_is_better
        See `risk_scores_from_frame`.
    name : str, optional
        What errors call the file; its path by default.
    bound : Bound
        What the file may hold.

    Raises
    ------
    ScoreError
        The file cannot be read, or it is not such a table.
    """
    frame = read_frame(path, ScoreError, name=name, bound=bound)
    return risk_scores_from_frame(frame, metrics, lower_is_better, name or called(path))


def risk_scores_from_frame(
    frame: pd.DataFrame,
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    name: str = "the table",
) -> RiskScores:
    """Return the scores of a table of models on prompts.

    A long table has the columns model, prompt, metric and score, and may have others. A wide one
    has model, prompt and a column for each metric. A column named subject or category is no metric.
    Nor is one that says how an answer was drawn (temperature, top_p, …; one setting for all). Nor
    is one that says which repetition it is (seed, run, …). A score is a number, True or False.
    Several scores of one model on one prompt are repetitions. A prompt on which a cell is empty is
    left out, and noted.

    Parameters
    ----------
    frame : DataFrame, shape (rows, columns)
        The name of its index is what errors call a row.
    metrics : sequence of str, optional
        Metrics to read; all by default. What other columns hold does not matter then.
    lower_is_better : collection of str
        Metrics of which less is better.
    name : str
        What errors call the table.

    Raises
    ------
    ScoreError
        It is not such a table.
    """
    header = [str(column).strip() for column in frame.columns]
    _check_header(header, name)
    frame = frame.set_axis(header, axis="columns")
    check_settings(frame, metrics, name)
    keys = [column for column in (_MODEL, _PROMPT, _METRIC) if column in header]
    check_repeated(frame, keys, metrics, name)
    chosen = _chosen(header, metrics)
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    empty: set[str] = set()
    columns = (frame.iloc[:, place].tolist() for place in range(len(header)))
    for number, row in enumerate(zip(*columns, strict=True)):
        named = dict(zip(header, row, strict=True))
        where = place_of(frame, number, name)
        reply = cells.setdefault(_reply(named, where), {})
        for metric, score in _scores(named, chosen, where):
            if metrics is not None and metric not in metrics:
                continue
            if is_missing(score):
                empty.add(text_of(named[_PROMPT]))
            else:
                column = metric if metric in chosen else _SCORE
                reply.setdefault(metric, []).append(score_of(score, where, column, "--metrics"))
    whole = {reply: scores for reply, scores in cells.items() if reply[1] not in empty}
    for model in dict.fromkeys(owner for owner, __ in cells):
        if all(owner != model for owner, _ in whole):
            text = _(
                "{name} has an empty cell on every prompt of {model}. Leave out the model or the "
                "column: --metrics names the columns to read."
            )
            raise ScoreError(text.format(name=name, model=model))
    try:
        found = scores_from_cells(whole, metrics or chosen, lower_is_better)
    except ScoreError as error:
        raise ScoreError(f"{error} {_left_out(len(empty))}" if empty else str(error)) from error
    if not empty:
        return found
    return replace(found.noted(_left_out(len(empty))), left_out=len(empty))


def _left_out(prompts: int) -> str:
    return ngettext(
        "Left out, for a score is missing: {n:,} prompt.",
        "Left out, for a score is missing: {n:,} prompts.",
        prompts,
    ).format(n=prompts)


def _check_header(header: list[str], name: str) -> None:
    if len(set(header)) < len(header) or not all(header):
        raise ScoreError(
            _("The first line of {name} must name each column, each differently.").format(name=name)
        )
    missing = [column for column in (_MODEL, _PROMPT) if column not in header]
    if missing and {"model_a", "model_b", "winner"} <= set(header):
        text = _("{name} is a table of votes, not of scores: bring it in with `import`.")
        raise ScoreError(text.format(name=name))
    if missing or len(header) < 3 or ((_METRIC in header) and _SCORE not in header):
        text = _(
            "The first line of {name} must name the columns model, prompt, metric and score. Or "
            "it names model, prompt and one column for each metric."
        )
        raise ScoreError(text.format(name=name))


def _chosen(header: list[str], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns with scores of a wide table; none for a long one."""
    if _METRIC in header:
        return ()
    there = tuple(name for name in header if name not in (_MODEL, _PROMPT))
    if metrics is None:
        scored = tuple(name for name in there if is_score(name))
        if not scored:
            raise ScoreError(_("There is no metric, only {known}.").format(known=", ".join(there)))
        return scored
    for name in metrics:
        if name not in there:
            text = _("There is no metric {name!r}, only {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(there)))
    return tuple(metrics)


def _reply(row: Mapping[str, Any], where: str) -> tuple[str, str]:
    model, prompt = text_of(row[_MODEL]), text_of(row[_PROMPT])
    if not (model and prompt):
        raise ScoreError(_("{where} has no model or no prompt.").format(where=where))
    return model, prompt


def _scores(
    row: Mapping[str, Any], columns: tuple[str, ...], where: str
) -> Iterator[tuple[str, Any]]:
    if not columns:
        if is_missing(row[_METRIC]):
            raise ScoreError(_("{where} has no metric.").format(where=where))
        yield text_of(row[_METRIC]), row[_SCORE]
    for name in columns:
        yield name, row[name]
