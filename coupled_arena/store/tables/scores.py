"""Numbers on replies: a benchmark's, or any that are brought in from elsewhere.

All functions work on a cursor that somebody else opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Sampling, Score

Cursor = duckdb.DuckDBPyConnection
Source = Literal["benchmark", "import"]


def declare(cursor: Cursor, metric: str, *, source: Source, higher_is_better: bool = True) -> None:
    """Make a metric known; once known it keeps its meaning.

    Raises
    ------
    ScoreError
        It is known with another meaning.
    """
    known = cursor.execute(
        "select higher_is_better, source from metrics where metric = ?", [metric]
    ).fetchone()
    if known is None:
        cursor.execute("insert into metrics values (?, ?, ?)", [metric, higher_is_better, source])
    elif known != (higher_is_better, source):
        better = "higher" if known[0] else "lower"
        raise ScoreError(
            f"The metric {metric!r} is known already, from {_FROM[known[1]]}, {better} is better. "
            "Say the same of it, or give this one another name."
        )


_FROM = {"benchmark": "a benchmark", "import": "an import"}


_OF_A_SCORE = ("turn", "place", "metric", "score", "answer")


def add(cursor: Cursor, battle: str, marks: Sequence[Score]) -> None:
    """Write the scores of a battle's replies that are not there yet."""
    if marks:
        cursor.execute(
            "insert into scores (battle, turn, place, metric, score, answer) "
            "select ?, unnest(?), unnest(?), unnest(?), unnest(?::double[]), unnest(?::text[]) "
            "on conflict do nothing",
            [battle, *([getattr(m, column) for m in marks] for column in _OF_A_SCORE)],
        )


def metrics(cursor: Cursor) -> dict[str, bool]:
    """Return the metrics that have scores, each with whether higher is better."""
    rows = cursor.execute(
        "select metric, higher_is_better from metrics "
        "where metric in (select metric from scores) order by metric"
    )
    return dict(rows.fetchall())


def benchmarks(cursor: Cursor) -> list[str]:
    """Return the metrics that are scores of benchmarks."""
    rows = cursor.execute(
        "select metric from metrics where source = 'benchmark' "
        "and metric in (select metric from scores) order by metric"
    ).fetchall()
    return [metric for (metric,) in rows]


def one_metric(known: Sequence[str], wanted: str | None) -> str:
    """Return the metric that is wanted; the only one that is known needs no name.

    Raises
    ------
    ScoreError
        There is none, or another one is wanted, or one must be chosen.
    """
    if not known:
        raise ScoreError("There are no scores here: run the benchmark command first.")
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted is None or wanted not in known:
        raise ScoreError(f"Choose scores with --metric: {', '.join(known)}.")
    return wanted


@dataclass(frozen=True)
class Accuracy:
    """The mean score of one model by one metric in one mode.

    Attributes
    ----------
    unread : int
        Replies in which no answer was found.
    """

    model: str
    mode: Mode
    answers: int
    mean: float
    unread: int


def accuracies(
    cursor: Cursor, metric: str, sampling: Sampling | None = None
) -> tuple[Accuracy, ...]:
    """Return the mean scores of all models by a metric, of one sampling or all, by model, mode."""
    rows = cursor.execute(
        """
        select models[place + 1] as model, mode, count(*), avg(score), count(*) - count(answer)
        from scores
        join battles using (battle)
        where metric = $metric
            and ($sampling is null or $sampling = {
                'temperature': temperature, 'top_k': top_k, 'top_p': top_p,
                'max_new_tokens': max_new_tokens, 'coupling': coupling
            })
        group by all
        order by all
        """,
        {"metric": metric, "sampling": sampling and asdict(sampling)},
    ).fetchall()
    return tuple(Accuracy(model, Mode(mode), *rest) for model, mode, *rest in rows)


def unscored(cursor: Cursor, metric: str, experiment: str) -> set[str]:
    """Return the battles of a batch run that have no score by a metric."""
    rows = cursor.execute(
        "select battle from battles where experiment = ? "
        "and battle not in (select battle from scores where metric = ?)",
        [experiment, metric],
    ).fetchall()
    return {battle for (battle,) in rows}


_SAMPLING = """
concat_ws(', ', 'temperature ' || temperature, 'top-k ' || top_k, 'top-p ' || top_p,
    max_new_tokens || ' tokens')
"""
_CELLS = f"""
with chosen as (
    select
        battle, models, prompt_no, mode, {_SAMPLING} as sampling,
        row_number() over (
            partition by prompt_no, mode order by experiment, repetition, battle_no
        ) - 1 as repetition
    from battles
    join prompt_keys using (battle)
    join prompts using (prompt_key)
    where mode in ('coupled', 'independent')
        and battle in (select battle from scores where metric = $metric)
        and list_has_all(models, $models)
        and len(list_distinct(models)) = len(models)
        and ($category is null or category = $category)
        and ($temperature is null or temperature = $temperature)
)
select
    prompt_no, mode = 'coupled' as coupled, repetition,
    list_position($models, models[place + 1]) - 1 as model,
    score, sampling
from chosen
join scores using (battle)
where metric = $metric and turn = 0 and list_contains($models, models[place + 1])
"""


def scored_models(cursor: Cursor, metric: str) -> list[str]:
    """Return the models with scores by a metric, in both modes, sorted."""
    rows = cursor.execute(
        """
        select models[place + 1] as model
        from scores
        join battles using (battle)
        where metric = ? and mode in ('coupled', 'independent')
        group by model
        having count(distinct mode) = 2
        order by model
        """,
        [metric],
    ).fetchall()
    return [model for (model,) in rows]


def categories(cursor: Cursor, metric: str) -> list[str]:
    """Return the categories of the prompts with scores by a metric."""
    rows = cursor.execute(
        """
        select distinct category
        from turns
        where turn = 0 and category is not null
            and battle in (select battle from scores where metric = ?)
        order by category
        """,
        [metric],
    ).fetchall()
    return [category for (category,) in rows]


def temperatures(cursor: Cursor, metric: str) -> list[float]:
    """Return the temperatures of the answers with scores by a metric, sorted."""
    rows = cursor.execute(
        """
        select distinct temperature
        from battles
        where battle in (select battle from scores where metric = ?)
        order by temperature
        """,
        [metric],
    ).fetchall()
    return [temperature for (temperature,) in rows]


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Scores of battles under both protocols, one a row; all arrays have the shape (n,).

    Attributes
    ----------
    prompt : ndarray of int64
        Number of the prompt.
    coupled : ndarray of int64
        1 under coupling, else 0.
    repetition : ndarray of int64
        Counted from 0 for each prompt and protocol.
    model : ndarray of int64
        Place among the models asked for.
    score : ndarray of float64
    samplings : tuple of str
        All that these battles were drawn with, in words.
    """

    prompt: NDArray[np.int64]
    coupled: NDArray[np.int64]
    repetition: NDArray[np.int64]
    model: NDArray[np.int64]
    score: NDArray[np.float64]
    samplings: tuple[str, ...]


def cells(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    category: str | None = None,
    temperature: float | None = None,
) -> ScoreCells:
    """Return the scores of battles that all these models are in, under both protocols."""
    values = {
        "metric": metric,
        "models": list(models),
        "category": category,
        "temperature": temperature,
    }
    rows = cursor.execute(_CELLS, values).fetchnumpy()

    def whole(name: str) -> NDArray[np.int64]:
        return np.asarray(rows[name]).astype(np.int64)

    return ScoreCells(
        prompt=whole("prompt_no"),
        coupled=whole("coupled"),
        repetition=whole("repetition"),
        model=whole("model"),
        score=np.asarray(rows["score"]).astype(np.float64),
        samplings=tuple(sorted(set(np.asarray(rows["sampling"]).astype(str).tolist()))),
    )
