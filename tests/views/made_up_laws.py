"""How close two models are that exist nowhere: laws drawn at random, for words and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.analysis.closeness import (
    KINDS,
    AnswerRead,
    Closeness,
    LeftOut,
    Observed,
    Readings,
    closeness,
)
from coupled_arena.core.records import Sampling
from coupled_arena.stats.closeness import compare_laws, divergences
from coupled_arena.views.words.closeness import closeness_verdict, closeness_warnings
from coupled_arena.views.words.closeness import closeness_words as words

_LENGTHS = (3, 6, 40)


def readings(**changed) -> Readings:
    """Return the laws of two models along three answers to three prompts."""
    rng = np.random.default_rng(0)
    n = sum(_LENGTHS)
    whole = rng.normal(0, 2, (n, 20))
    other = whole + rng.normal(0, 0.4, whole.shape)
    kept = (np.where(x < np.sort(x, axis=1)[:, [12]], -np.inf, x) for x in (whole, other))
    drawn = whole.argmax(1)
    kl = divergences(whole, other)
    ends = np.cumsum(_LENGTHS)
    made = Readings(
        models=("u", "v"),
        sampling=Sampling(temperature=0.7, top_k=8, top_p=0.9),
        laws=compare_laws(*kept, drawn),
        whole_kl=kl[0],
        whole_kl_reverse=kl[1],
        kind=rng.permutation(np.arange(n) % len(KINDS)),
        place=np.concatenate([np.arange(length) for length in _LENGTHS]),
        ends=np.isin(np.arange(n), ends - 1),
        untold=np.zeros(n),
        answers=tuple(
            AnswerRead(f"b{at}", 0, at % 2, at % 2, at, slice(end - length, end), drawn_so=True)
            for at, (length, end) in enumerate(zip(_LENGTHS, ends.tolist(), strict=True))
        ),
        observed=(Observed(0, 3, identical=True), Observed(2, 5, identical=False)),
    )
    return replace(made, **changed)


def made_up(**changed) -> Closeness:
    """Return what follows from them."""
    return closeness(readings(**changed))


def _first(whole: Readings, n: int) -> dict[str, Any]:
    """Return what belongs to the first positions."""
    names = "kind", "place", "ends", "whole_kl", "whole_kl_reverse", "untold"
    laws = {name: values[:n] for name, values in vars(whole.laws).items()}
    return {name: getattr(whole, name)[:n] for name in names} | {"laws": type(whole.laws)(**laws)}


def said() -> Iterator[str]:
    """Yield every sentence that there is."""
    whole = readings()
    yield from words(made_up())
    yield closeness_verdict(made_up(observed=whole.observed[:1]))
    yield from words(made_up(observed=whole.observed[:1], sampling=Sampling(temperature=0.0)))
    yield from words(made_up(models=("u", "u")))
    alike = replace(whole.laws, kl=whole.whole_kl, kl_reverse=whole.whole_kl_reverse)
    yield from words(made_up(laws=alike))
    later = tuple(replace(each, turn=1) for each in whole.answers)
    yield from words(made_up(answers=later))
    for models in (whole.models, ("u", "u")):
        short = tuple(replace(each, positions=slice(0, 1)) for each in whole.answers[:1])
        yield from words(made_up(answers=short, models=models, **_first(whole, 1)))
    one, cut = whole.answers[:1], _first(whole, _LENGTHS[0])
    yield from words(made_up(answers=one, **cut))
    yield from closeness_warnings(made_up(answers=one, **cut))
    for n in (1, 2):
        left_out = {LeftOut.OTHER_TEXT: n, LeftOut.UNREADABLE: n}
        otherwise = tuple(replace(each, drawn_so=at >= n) for at, each in enumerate(whole.answers))
        yield from closeness_warnings(
            made_up(left_out=left_out, answers=otherwise, untold=whole.untold + 0.01)
        )
