"""Scores of the replies in the store, as a table to rank models by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.analysis.risk.balance import ScoredReplies, balanced
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.analysis.risk.text_metrics import METRICS
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.judges.verdict_scores import verdict_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.comparisons import Cursor, Selection
from coupled_arena.store.queries.judged_together import judge_number
from coupled_arena.store.queries.rewordings import reworded
from coupled_arena.store.tables import scores

VERDICTS = "verdicts"
COMPUTED = (*METRICS, VERDICTS)
"""Metrics that are not stored: they follow from texts, or from a judge's verdicts."""

_MODELS = 1 << 15  # the store numbers models by smallints


def metrics_here(cursor: Cursor) -> dict[str, bool]:
    """Return the metrics that replies can have, each with whether higher is better."""
    texts = {name: metric.higher_is_better for name, metric in METRICS.items()}
    return {**scores.metrics(cursor), **texts, VERDICTS: True}


def read_stored_scores(
    store: Store,
    selection: Selection = Selection(),
    metrics: Sequence[str] | None = None,
    *,
    revealed_only: bool = False,
) -> RiskScores:
    """Return the scores of the replies that models have given to the same prompts.

    How many replies to each prompt, `coupled_arena.analysis.risk.balance.balanced` says.

    The metric "verdicts" is how far a reply is ahead by the selected judge's verdicts on its
    battle: two for each other model of the table that it beats, less two for each that beats it.
    It is there where the battle has a verdict on all pairs of the table's models.

    Parameters
    ----------
    selection : Selection
        Without models: all that have a reply with all metrics. Its voter does not matter.
    metrics : sequence of str, optional
        By default those that follow from texts, the stored ones that the most replies have
        together, and with a judge its verdicts.
    revealed_only : bool
        Leave out battles of the battle tab that nobody has been shown the names of.

    Raises
    ------
    ScoreError
        There is no such metric, a model has no score by one, or the models share no prompts.
    StoreError
        There is no such model or judge.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # all of one moment
        meanings = metrics_here(cursor)
        names = _names(cursor, selection, metrics, meanings)
        known = comparisons.model_numbers(cursor, selection)
        stored = [name for name in names if name not in COMPUTED]
        texts = any(name in METRICS for name in names)
        rows = replies.table(cursor, selection, stored, texts=texts, revealed_only=revealed_only)
        judge = selection.judge if VERDICTS in names else None
        judged = replies.judged_pairs(cursor, judge) if judge else None
        several = reworded(cursor, selection)
        cursor.execute("commit")
    if selection.models is None:
        # A model that only plays in rounds which are still blind must not be named.
        there = set(rows["model_no"].tolist())
        known = {model: number for model, number in known.items() if number in there}
    values = _values(names, stored, rows)
    if judged:
        values[:, names.index(VERDICTS)] = _judged(rows, judged)
    chosen, notes = _chosen(known, names, rows, values, free=selection.models is None)
    model = _places(chosen, rows["model_no"])
    if judged:
        values[:, names.index(VERDICTS)] = _verdicts(chosen, rows, judged)
    ours = model >= 0
    table = balanced(
        ScoredReplies(tuple(chosen), names, model[ours], rows["prompt_no"][ours], values[ours]),
        frozenset(name for name in names if not meanings[name]),
    )
    # A text's length, say, is no merit by itself: whoever wants it short or long says so.
    return replace(
        table.noted(*notes, *pooled_words(several)), unjudged=frozenset(names).intersection(METRICS)
    )


def _names(
    cursor: Cursor,
    selection: Selection,
    metrics: Sequence[str] | None,
    meanings: Mapping[str, bool],
) -> tuple[str, ...]:
    if selection.judge is not None:
        judge_number(cursor, selection.judge)
    if metrics is None:
        together = [name for name in replies.scored_together(cursor) if name not in COMPUTED]
        return (*together, *METRICS, *([VERDICTS] if selection.judge else []))
    for name in metrics:
        if name not in meanings:
            text = _("There is no metric {name!r} here; there is {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(meanings)))
    if VERDICTS in metrics and selection.judge is None:
        raise ScoreError(_("Whose {verdicts}? Choose a judge.").format(verdicts=VERDICTS))
    return tuple(dict.fromkeys(metrics))


def _values(names: Sequence[str], stored: Sequence[str], rows: Mapping[str, Any]) -> FloatArray:
    """Return scores, shape (replies, metrics), NaN where there is none; verdicts not yet."""
    values = np.full((len(rows["place"]), len(names)), np.nan)
    for at, name in enumerate(stored):
        values[:, names.index(name)] = rows[f"score{at}"]
    there = np.flatnonzero([text is not None for text in rows["text"]])
    texts = rows["text"][there].tolist()
    for name in set(names) & set(METRICS):
        values[there, names.index(name)] = METRICS[name].measure(texts)
    return values


def _judged(rows: Mapping[str, Any], judged: Mapping[str, Any]) -> FloatArray:
    """Return 0 for a reply that is in any judged pair, NaN for the others."""
    battles = np.tile(judged["battle_no"], 2)
    pairs = battles * _MODELS + np.concatenate([judged["first"], judged["second"]])
    there = np.isin(rows["battle_no"] * _MODELS + rows["model_no"], pairs)
    return np.where(there, 0.0, np.nan)


def _chosen(
    known: Mapping[str, int],
    names: Sequence[str],
    rows: Mapping[str, Any],
    values: FloatArray,
    *,
    free: bool,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the models that have a reply with all metrics, and what to say of the others."""
    whole = set(rows["model_no"][np.isfinite(values).all(axis=1)].tolist())
    chosen = {model: number for model, number in known.items() if number in whole}
    absent: list[str] = []
    never = _("never all of them")
    for model in known.keys() - chosen.keys():
        own = values[rows["model_no"] == known[model]]
        lacks = [name for at, name in enumerate(names) if not np.isfinite(own[:, at]).any()]
        absent.append(f"{model} ({', '.join(lacks) or never})")
    absence = "; ".join(sorted(absent))
    if len(known) < 2 or len(chosen) < 2 or (absent and not free):
        if not absent:
            raise ScoreError(
                _("There must be replies of two models at least: choose other models or battles.")
            )
        text = _(
            "There are models without any score by the metrics named: {models}. Choose other "
            "models, metrics or battles."
        )
        raise ScoreError(text.format(models=absence))
    text = _(
        "There are models without any score by the metrics named: {models}; they are left out."
    )
    return chosen, (text.format(models=absence),) if absent else ()


def _places(models: Mapping[str, int], numbers: IntArray) -> IntArray:
    """Return the places of some models' numbers in the table, -1 for a model not in it."""
    places = np.full(int(max(*models.values(), numbers.max(initial=0))) + 1, -1)
    places[list(models.values())] = np.arange(len(models))
    return places[numbers]


def _verdicts(
    models: Mapping[str, int], rows: Mapping[str, Any], judged: Mapping[str, Any]
) -> FloatArray:
    """Return how far each reply is ahead, NaN where not all pairs of the models are judged."""
    k = len(models)
    first, second = _places(models, judged["first"]), _places(models, judged["second"])
    among = (first >= 0) & (second >= 0) & (first != second)
    battles, pairs = np.unique(judged["battle_no"][among], return_counts=True)
    battles = battles[pairs == k * (k - 1) // 2]  # more where a model plays twice
    among &= np.isin(judged["battle_no"], battles)
    ahead = verdict_scores(
        np.searchsorted(battles, judged["battle_no"][among]),
        first[among],
        second[among],
        judged["outcome"][among].astype(np.int64),
        k,
    )
    scored = np.full(len(rows["place"]), np.nan)
    model = _places(models, rows["model_no"])
    mine = np.isin(rows["battle_no"], battles) & (model >= 0)
    at = np.searchsorted(battles, rows["battle_no"][mine])
    scored[mine] = ahead[at, model[mine]]
    return scored
