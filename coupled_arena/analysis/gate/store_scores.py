"""Scores of a base and its candidates in a store, or a judge's grades of their answers.

They come prompt by prompt and battle by battle: those of a benchmark, or what was imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.gate.paired import PairedScores, Scale, lacking
from coupled_arena.analysis.risk.scores import check_models
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode, seed_to_hex
from coupled_arena.stats.counts import FloatArray
from coupled_arena.store.database import Store
from coupled_arena.store.queries import benchmark_scores
from coupled_arena.store.queries.benchmark_scores import PairedAnswer
from coupled_arena.store.queries.comparisons import Selection, model_numbers
from coupled_arena.store.tables import scores as score_rows

_LONGEST = 60  # characters of a prompt that has no name


def read_paired(
    store: Store,
    models: Sequence[str],
    metric: str | None,
    selection: Selection,
    bounds: Sequence[float] = (0.0, 1.0),
    battles: Collection[str] | None = None,
    seed: int | None = None,
) -> PairedScores:
    """Read the scores of some models, or a judge's grades of their answers.

    Parameters
    ----------
    models : sequence of str
        The base first.
    metric : str, optional
        Needed where the store holds several.
    selection : Selection
        Mode, category, language; with a judge its grades count in the place of scores. Without a
        mode coupled battles count, and independent ones are held beside them; where these models
        have no coupled ones, all others.
    bounds : sequence of float
        Of the scores.
    battles : collection of str, optional
        Only these: those of a run.
    seed : int, optional
        Of several runs that of this seed.

    Raises
    ------
    ScoreError
        There are no such scores, or some that no comparison may mix, or no run has the seed.
    StoreError
        There is no such model.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")
        known = score_rows.metrics(cursor)
        metric = score_rows.one_metric(list(known), metric)
        model_numbers(cursor, replace(selection, models=tuple(models)))  # raises if there is none
        rows = benchmark_scores.paired_answers(cursor, metric, models, selection, battles)
        categories = benchmark_scores.scored_categories(cursor, metric)
        cursor.execute("commit")
    scale = Scale.of(bounds, lower_is_better=not known[metric] and selection.judge is None)
    _check_category(rows, selection, categories)
    rows = _of_run(rows, seed)
    check_models(models, list(dict.fromkeys(row.model for row in rows)))
    _check_alike(rows, metric)
    counted, coupled = _counted(rows, models, selection.mode)
    prompts = tuple(dict.fromkeys(row.key for row in counted))
    first = {row.key: row for row in reversed(counted)}
    values = _grid(counted, prompts, models)
    beside = [row for row in rows if row.mode is Mode.INDEPENDENT and row.key in first]
    named = tuple(first[key].category or "" for key in prompts)
    judged = f"{metric}, {selection.judge}" if selection.judge else metric
    return PairedScores(
        *(judged, tuple(models), tuple(_name(first[key]) for key in prompts), values, scale),
        categories=named if any(named) else (),
        clusters=tuple(first[key].question for key in prompts),
        battles=tuple(first[key].battle for key in prompts),
        coupled=coupled,
        independent=_grid(beside, prompts, models) if coupled and beside else None,
        asked=_asked(counted, prompts, models),
        run=_only_run(counted),
        notes=(*_runs(counted), *lacking(values, models)),
    )


def _check_category(
    rows: Sequence[PairedAnswer], selection: Selection, known: Sequence[str]
) -> None:
    """Refuse a category that no prompt has."""
    if rows or selection.category is None or selection.category in known:
        return
    text = _("No prompt has the category {category!r}. Categories: {known}.")
    there = ", ".join(known) or _("none")
    raise ScoreError(text.format(category=selection.category, known=there))


def _seeds(rows: Sequence[PairedAnswer]) -> list[str]:
    """Return the seeds of the runs that answers are of, in the order of the numbers."""
    return sorted({row.experiment for row in rows if row.experiment is not None})


def _of_run(rows: Sequence[PairedAnswer], seed: int | None) -> Sequence[PairedAnswer]:
    """Return the answers of one of several runs; all of a single run, or without a seed."""
    seeds = _seeds(rows)
    if seed is None or len(seeds) < 2:
        return rows
    wanted = seed_to_hex(seed)
    if wanted not in seeds:
        text = _("No run has the seed {seed}. The seeds of the runs: {seeds}.")
        raise ScoreError(text.format(seed=seed, seeds=_listed(seeds)))
    return [row for row in rows if row.experiment == wanted]


def _only_run(rows: Sequence[PairedAnswer]) -> str | None:
    """Return the run that made all answers, if one did."""
    runs = {row.experiment for row in rows}
    return runs.pop() if len(runs) == 1 else None


def _runs(rows: Sequence[PairedAnswer]) -> list[str]:
    """Say that the answers are of several runs."""
    seeds = _seeds(rows)
    if len(seeds) < 2:
        return []
    text = _("These are the answers of {n} runs together, of seeds {seeds}. --seed chooses one.")
    *others, last = _listed(seeds).rsplit(", ", 1)
    named = _("{one} and {other}").format(one=others[0], other=last)
    return [text.format(n=len(seeds), seeds=named)]


def _listed(seeds: Sequence[str]) -> str:
    return ", ".join(str(int(seed, 16)) for seed in seeds)


def _asked(
    rows: Sequence[PairedAnswer], prompts: Sequence[str], models: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which prompts were put to the base and each candidate in one battle."""
    places = {prompt: at for at, prompt in enumerate(prompts)}
    found = np.zeros((len(prompts), len(models)), np.bool_)
    for row in rows:
        if models[0] in row.together:
            found[places[row.key]] |= [name in row.together for name in models]
    return found


def _counted(
    rows: Sequence[PairedAnswer], models: Sequence[str], mode: Mode | None
) -> tuple[Sequence[PairedAnswer], bool]:
    """Return the answers that count, and whether they are coupled."""
    coupled = [row for row in rows if row.mode is Mode.COUPLED]
    if mode is None and {row.model for row in coupled} >= set(models):
        return coupled, True
    if mode is None:
        others = [row for row in rows if row.mode is not Mode.COUPLED]
        return (others if {row.model for row in others} >= set(models) else rows), False
    return rows, mode is Mode.COUPLED


def _check_alike(rows: Sequence[PairedAnswer], metric: str) -> None:
    """Refuse answers of one model that were drawn in different ways."""
    ways: dict[str, set[str]] = {}
    for row in rows:
        ways.setdefault(row.model, set()).add(row.sampling)
    for model, found in ways.items():
        if len(found) > 1:
            text = _(
                "The {metric} answers of {model} were drawn in different ways ({ways}), and a "
                "comparison cannot mix them. Keep the runs in separate databases."
            )
            raise ScoreError(text.format(metric=metric, model=model, ways="; ".join(sorted(found))))


def _grid(
    rows: Sequence[PairedAnswer], prompts: Sequence[str], models: Sequence[str]
) -> FloatArray:
    """Return scores by prompt, repetition and model; answers of a battle are one repetition."""
    places = {prompt: at for at, prompt in enumerate(prompts)}
    repetitions: dict[str, dict[tuple[str, int], int]] = {}
    taken: Counter[tuple[str, str]] = Counter()
    cells: list[tuple[int, int, int, float]] = []
    for row in rows:
        again = taken[row.battle, row.model]  # a model may be in a battle more than once
        taken[row.battle, row.model] += 1
        own = repetitions.setdefault(row.key, {})
        at = own.setdefault((row.battle, again), len(own))
        cells.append((places[row.key], at, models.index(row.model), row.score))
    most = max((len(each) for each in repetitions.values()), default=1)
    values = np.full((len(prompts), most, len(models)), np.nan)
    for prompt, repetition, model, score in cells:
        values[prompt, repetition, model] = score
    return values


def _name(row: PairedAnswer) -> str:
    if row.name:
        return row.name
    words = " ".join(row.text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
