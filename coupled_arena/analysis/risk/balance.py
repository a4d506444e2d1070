"""From replies of any number to a table in which each model has as many to each prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.stats.counts import FloatArray, IntArray

_LISTED = 5  # names in a message; of more it says how many there are


@dataclass(frozen=True, eq=False)
class ScoredReplies:
    """Replies of k models, in the order in which they are to be taken.

    Attributes
    ----------
    models, metrics : tuple of str
    model, prompt : ndarray of int64, shape (n,)
        Place of each reply's model in `models`, and a number of its prompt.
    values : ndarray of float64, shape (n, metrics)
        NaN where a reply has no score.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    model: IntArray
    prompt: IntArray
    values: FloatArray

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which replies have all metrics, shape (n,)."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


def balanced(replies: ScoredReplies, lower_is_better: frozenset[str] = frozenset()) -> RiskScores:
    r"""Return the table of the first R replies of each model to each prompt.

    R makes :math:`P R / (R + 1)` largest, P being the prompts to which all models have R replies
    with all metrics: a mean over P prompts with R replies each varies least then, if replies to one
    prompt vary as much as prompts do. The notes count what is left out.

    Raises
    ------
    ScoreError
        No prompt has a reply of each model with all metrics, or only one has.
    """
    whole = replies.whole
    model, values = replies.model[whole], replies.values[whole]
    prompts, prompt = np.unique(replies.prompt[whole], return_inverse=True)
    counts = np.zeros((len(replies.models), len(prompts)), dtype=np.int64)
    np.add.at(counts, (model, prompt), 1)
    repetitions = _repetitions(counts.min(axis=0))
    if not repetitions:
        text = _(
            "No prompt has a reply of each of {models} with all of {metrics}: choose fewer models "
            "or metrics."
        )
        models = _named(replies.models, _("the {n} models"))
        metrics = _named(replies.metrics, _("the {n} metrics"))
        raise ScoreError(text.format(models=models, metrics=metrics))
    kept = counts.min(axis=0) >= repetitions
    order = np.lexsort((prompt, model))  # stable, so replies to a prompt stay in their order
    group = model[order] * len(prompts) + prompt[order]
    nth = np.arange(len(group)) - np.searchsorted(group, group)
    taken = order[kept[prompt[order]] & (nth < repetitions)]
    own = tuple(str(number) for number in prompts[kept])
    return RiskScores(
        models=replies.models,
        metrics=replies.metrics,
        prompts=(own,) * len(replies.models),
        values=tuple(values[taken[model[taken] == at]] for at in range(len(replies.models))),
        lower_is_better=lower_is_better,
        repetitions=repetitions,
        notes=(*_incomplete(replies), *_uneven(counts, kept, repetitions)),
    )


def _repetitions(least: IntArray) -> int:
    """Return R, from the fewest replies that any model has to each prompt; 0 if there is none.

    The largest share of prompts wins where two are as good.
    """
    choices = np.unique(least[least > 0])
    prompts = np.array([(least >= choice).sum() for choice in choices])
    return int(choices[(prompts * choices / (choices + 1)).argmax()]) if len(choices) else 0


def _incomplete(replies: ScoredReplies) -> Iterator[str]:
    missing = int((~replies.whole).sum())
    if missing:
        lacking = np.flatnonzero(np.isnan(replies.values).any(axis=0))
        names = [replies.metrics[at] for at in lacking]
        yield _("{n:,} of {all:,} replies are left out, which have no {metrics}.").format(
            n=missing, all=len(replies.model), metrics=_either(names)
        )


def _uneven(counts: IntArray, kept: NDArray[np.bool_], repetitions: int) -> Iterator[str]:
    if not kept.all():
        yield ngettext(
            "{left_out:,} of {all:,} prompts are left out, to which not all models have a reply.",
            "{left_out:,} of {all:,} prompts are left out, to which not all models have {n} "
            "replies.",
            repetitions,
        ).format(left_out=int((~kept).sum()), all=len(kept), n=repetitions)
    beyond = int((counts[:, kept] - repetitions).sum())
    if beyond:
        yield ngettext(
            "Each model counts with its first reply to a prompt; {beyond:,} further ones are left "
            "out.",
            "Each model counts with its first {n} replies to a prompt; {beyond:,} further ones are "
            "left out.",
            repetitions,
        ).format(beyond=beyond, n=repetitions)


def _either(names: Sequence[str]) -> str:
    *others, last = names
    return _("{one} or {other}").format(one=", ".join(others), other=last) if others else last


def _named(names: Sequence[str], many: str) -> str:
    return ", ".join(names) if len(names) <= _LISTED else many.format(n=len(names))
