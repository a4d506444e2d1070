"""Whether the rows of a table of scores change from prompt to prompt where they are said to."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.coupling.score_tables import ScoreTable

_FEWEST = 20  # steps behind a mean
_FAR = 5.0  # standard errors: a false alarm in three million tables by a normal law
_MOST = 10  # times too few repetitions


def other_blocks(table: ScoreTable) -> bool:
    """Return whether rows betray that prompts begin elsewhere than every so many rows.

    Scores change more from one prompt to the next than among the repetitions of one. Where too
    many repetitions are given, or none that fit, one step among them is larger than the others;
    where too few, only every second, third, … step between prompts is large.
    """
    inside: list[FloatArray] = []
    between: list[FloatArray] = []
    for scores in (table.coupled, table.independent):
        inside.append((np.diff(scores, axis=1) ** 2).sum(axis=2))
        between.append(((scores[1:, 0] - scores[:-1, -1]) ** 2).sum(axis=1))
    steps = np.concatenate(inside)
    found = [
        _larger(steps[:, at], np.delete(steps, at, axis=1).ravel()) for at in range(steps.shape[1])
    ]
    for times in range(2, _MOST + 1):
        last = np.arange(1, len(between[0]) + 1) % times == 0
        found.append(
            _larger(
                np.concatenate([step[last] for step in between]),
                np.concatenate([step[~last] for step in between]),
            )
        )
    return any(found)


def _larger(some: FloatArray, others: FloatArray) -> bool:
    if min(len(some), len(others)) < _FEWEST:
        return False
    error = (some.var(ddof=1) / len(some) + others.var(ddof=1) / len(others)) ** 0.5
    return bool(some.mean() - others.mean() > _FAR * error)
