"""Numbers on replies: a benchmark's, or any that are brought in from elsewhere.

All functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Sampling, Score
from coupled_arena.core.sql import Cursor, column_of, value_of

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


def count(cursor: Cursor) -> int:
    """Return how many there are."""
    return value_of(cursor, "select count(*) from scores")


def benchmarks(cursor: Cursor) -> list[str]:
    """Return the metrics that are scores of benchmarks."""
    return column_of(
        cursor,
        "select metric from metrics where source = 'benchmark' "
        "and metric in (select metric from scores) order by metric",
    )


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
    cursor: Cursor,
    metric: str,
    sampling: Sampling | None = None,
    words: Collection[tuple[str, str, str]] | None = None,
) -> tuple[Accuracy, ...]:
    """Return the mean scores of all models by a metric, by model and mode.

    Of one sampling or all, and only of questions that were put in some words: system prompt,
    question, and beginning of the answer.
    """
    rows = cursor.execute(
        """
        select models[place + 1] as model, mode, count(*), avg(score), count(*) - count(answer)
        from scores
        join battles using (battle)
        left join turns using (battle, turn)
        where metric = $metric
            and ($words is null or list_contains(
                $words, [coalesce(system, ''), prompt, coalesce(prefix, '')]
            ))
            and ($sampling is null or $sampling = {
                'temperature': temperature, 'top_k': top_k, 'top_p': top_p,
                'max_new_tokens': max_new_tokens, 'coupling': coupling
            })
        group by all
        order by all
        """,
        {
            "metric": metric,
            "sampling": sampling and asdict(sampling),
            "words": None if words is None else sorted(map(list, words)),
        },
    ).fetchall()
    return tuple(Accuracy(model, Mode(mode), *rest) for model, mode, *rest in rows)


def unscored(cursor: Cursor, metric: str, experiment: str) -> set[str]:
    """Return the battles of a batch run that have no score by a metric."""
    return set(
        column_of(
            cursor,
            "select battle from battles where experiment = ? "
            "and battle not in (select battle from scores where metric = ?)",
            [experiment, metric],
        )
    )


def of_experiment(cursor: Cursor, metric: str, experiment: str) -> dict[str, dict[str, float]]:
    """Return the scores of a batch run by battle and model, by a metric."""
    found: dict[str, dict[str, float]] = {}
    rows = cursor.execute(
        "select battle, models[place + 1], score from scores join battles using (battle) "
        "where metric = ? and experiment = ? and turn = 0",
        [metric, experiment],
    )
    for battle, model, score in rows.fetchall():
        found.setdefault(battle, {})[model] = score
    return found
