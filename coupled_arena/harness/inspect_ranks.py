"""Comparisons in Inspect's logs: who wins, and the rank-sets of all models as a metric.

Each sample compares the answers of two models, named in its metadata. `verdict` reads who won from
what a judge wrote. `rank_sets` concludes, from these scores or from others with such values.
Inspect finds both by the entry point of this module.
"""

from __future__ import annotations

import re
from typing import Any

from inspect_ai.scorer import (  # pyright: ignore[reportMissingImports]
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState  # pyright: ignore[reportMissingImports]

from coupled_arena.core.errors import VoteError

_VERDICT = r"\[\[\s*(A|B|C|tie)\s*\]\]"
"""MT-Bench's: ``[[A]]``, ``[[B]]``, ``[[C]]``."""
_OUTCOMES = {"a": "model_a", "b": "model_b", "c": "tie", "tie": "tie"}
UNREADABLE = "unreadable"
_FIGURES = ("win_rate", "rank_low", "rank_high")


@metric(scores="unreduced")
def rank_sets(
    alpha: float = 0.05, model_a: str = "model_a", model_b: str = "model_b", prompt: str = "prompt"
) -> Metric:
    """Return the win rate and the rank-set of each model.

    A score's value is "model_a", "model_b", "tie", "both_bad" or the winner's name. Scores that are
    unreadable are left out, and counted. The rank-sets are right for all models at once with
    probability 1 - alpha; see `coupled_arena.rank`.

    Parameters
    ----------
    alpha : float
        The error level.
    model_a, model_b : str
        Metadata, of the score or the sample, that name the model shown first, and the other.
    prompt : str
        Metadata that say which prompt it is, where samples share one, as in both orders of two
        answers. By default each sample is on a prompt of its own.
    """

    def measured(scores: list[SampleScore]) -> dict[str, float]:
        rows = [_row(each, model_a, model_b, prompt) for each in scores]
        read = [row for row in rows if row["verdict"] != UNREADABLE]
        return _ranked(read, alpha) | {UNREADABLE: len(rows) - len(read)}

    return measured


def _row(sample: SampleScore, model_a: str, model_b: str, prompt: str) -> dict[str, Any]:
    """Return a score as a row of `coupled_arena.rank`: a judge's verdict, and nobody's vote.

    Raises
    ------
    VoteError
        Nothing names the models.
    """
    told = {**(sample.sample_metadata or {}), **(sample.score.metadata or {})}
    if missing := [name for name in (model_a, model_b) if not told.get(name)]:
        raise VoteError(
            f"Sample {sample.sample_id} has no {' and no '.join(missing)} in its metadata: "
            "rank_sets needs the names of both models."
        )
    return {
        "model_a": told[model_a],
        "model_b": told[model_b],
        "winner": None,
        "verdict": str(sample.score.value),
        "prompt_id": str(told.get(prompt, sample.sample_id)),
    }


def _ranked(rows: list[dict[str, Any]], alpha: float) -> dict[str, float]:
    import pandas as pd

    from coupled_arena.api.rankings import rank

    if not rows:
        return {}
    found: dict[str, float] = {}
    for row in rank(pd.DataFrame(rows), alpha=alpha).to_dict()["models"]:
        found |= {f"{row['model']} {name}": row[name] for name in _FIGURES}
    return found


@scorer(metrics=[rank_sets()])
def verdict(pattern: str = _VERDICT, model_a: str = "model_a", model_b: str = "model_b") -> Scorer:
    """Return who wins, by what a judge wrote.

    Parameters
    ----------
    pattern : str
        Its first group is A, B, C or tie. The last place that fits counts.
    model_a, model_b : str
        Metadata of the sample that name the model shown as A, and as B.
    """
    looked_for = re.compile(pattern, re.IGNORECASE)

    async def score(state: TaskState, target: Target) -> Score:
        del target  # nobody knows the right verdict
        said = looked_for.findall(state.output.completion)
        outcome = _OUTCOMES.get(said[-1].lower(), UNREADABLE) if said else UNREADABLE
        names = {name: state.metadata.get(name) for name in (model_a, model_b)}
        return Score(value=outcome, explanation=state.output.completion, metadata=names)

    return score


__all__ = ["UNREADABLE", "rank_sets", "verdict"]
