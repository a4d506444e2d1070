"""Scores of models on prompts, whatever they were computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray

_LARGEST = 1e150  # whose square is a number
ScoresByReply = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""By model and prompt: the scores by metric, one for each repetition."""


@dataclass(frozen=True, eq=False)
class RiskScores:
    """Scores of k models, each on its prompts.

    Attributes
    ----------
    models, metrics : tuple of str
    prompts : tuple of k tuples of str
        Prompts of each model; where all have the same, in the same order.
    values : tuple of k ndarrays of float64, shape (n_i * repetitions, metrics)
        As they were measured; the repetitions of a prompt next to each other.
    lower_is_better : frozenset of str
        Metrics of which less is better.
    unjudged : frozenset of str
        Metrics of which nobody has said whether more or less is better, such as length: they are
        ranked as if by `lower_is_better`, and what is said of the ranking says so.
    repetitions : int
        Replies of each model to each prompt.
    notes : tuple of str
        Sentences on what was left out to make the table.

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
                    _("{model} has one prompt; two are the least.").format(model=model)
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
        """Return the same scores where somebody has said which way some metrics are better.

        Raises
        ------
        ScoreError
            There is no such metric, or both ways are said of one.
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
            "{model} has {one} on prompt {prompt!r} where {rival} has {other} on "
            "{question!r}: there must be as many replies to each prompt."
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
            text = _("There is no metric {name!r}; there is {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(known)))
