"""Scores of benchmarks: under both protocols, beside a judge's grades, and questions reworded.

A question that was put in several ways should rarely be pooled. All functions work on a given
cursor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coupled_arena.core.records import ANYHOW, Drawn, Mode
from coupled_arena.core.sql import Cursor, column_of, value_of
from coupled_arena.store.queries.battle_conditions import DRAWN, SAMPLER, drawn_values
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores

QUESTION = "coalesce(prompt_id, prompt)"
"""Which question a turn puts: a benchmark has an id for each, whatever the words."""
SEVERAL_WORDS = "count(distinct (prompt, coalesce(system, ''), coalesce(prefix, ''))) > 1"
"""Of the turns that put one question."""

_COUNT_REWORDED = f"""
select count(*)
from (
    select metric, {QUESTION} as question
    from (select distinct battle, metric from scores where list_contains($metrics, metric))
    join battles using (battle)
    join turns using (battle)
    where turn = 0
        and ($mode is null or mode = $mode)
        and ($models is null or list_has_any(models, $models))
        and ($category is null or category = $category)
        and ($language is null or language = $language)
        and (not $compared or battle_no in (
            select battle_no
            from comparisons
            left join judges using (judge_no)
            where human is not null or list_contains($judges, judge)
        ))
    group by all
    having {SEVERAL_WORDS}
)
"""


def reworded(
    cursor: Cursor,
    selection: Selection,
    metric: str | None = None,
    *,
    compared: bool = False,
) -> int:
    """Return how many questions of benchmarks were put in several ways to any selected model.

    Parameters
    ----------
    selection : Selection
        Its voter does not matter.
    metric : str, optional
        Only of this benchmark.
    compared : bool
        Only of battles with a vote, or a verdict of a selected judge.
    """
    known = scores.benchmarks(cursor)
    metrics = [name for name in known if metric in (None, name)]
    chosen = {"metrics": metrics, "judges": list(selection.judges), "compared": compared}
    # Boards of a million votes are counted while somebody looks, and most have no benchmark.
    return value_of(cursor, _COUNT_REWORDED, selection.values | chosen) if known else 0


_SAMPLING = """
concat_ws(', ', 'temperature ' || temperature, 'top-k ' || top_k, 'top-p ' || top_p,
    max_new_tokens || ' tokens', if(coupling = 'token', null, coupling || ' sampler'))
"""
_CHOSEN_BATTLES = f"""
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
        and {DRAWN}
)
"""
_CELLS = f"""
{_CHOSEN_BATTLES}
select
    prompt_no, mode = 'coupled' as coupled, repetition,
    list_position($models, models[place + 1]) - 1 as model,
    score, sampling
from chosen
join scores using (battle)
where metric = $metric and turn = 0 and list_contains($models, models[place + 1])
"""
_REWORDED_CELLS = f"""
{_CHOSEN_BATTLES}
select {QUESTION} as question
from chosen
join turns using (battle)
where turn = 0
group by question
having {SEVERAL_WORDS}
"""


def scored_models(cursor: Cursor, metric: str) -> list[str]:
    """Return the models with scores by a metric, in both modes, sorted."""
    return column_of(
        cursor,
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
    )


def scored_categories(cursor: Cursor, metric: str) -> list[str]:
    """Return the categories of the prompts with scores by a metric."""
    return column_of(
        cursor,
        """
        select distinct category
        from turns
        where turn = 0 and category is not null
            and battle in (select battle from scores where metric = ?)
        order by category
        """,
        [metric],
    )


def drawings(cursor: Cursor, metric: str, wanted: Drawn = ANYHOW) -> list[Drawn]:
    """Return how the answers with scores by a metric were drawn, sorted; of all, or of some."""
    rows = cursor.execute(
        f"""
        select distinct temperature, top_p, {SAMPLER} as sampler
        from battles
        where battle in (select battle from scores where metric = $metric) and {DRAWN}
        order by all
        """,
        {"metric": metric, **drawn_values(wanted)},
    ).fetchall()
    return [Drawn(*row) for row in rows]


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
    reworded : int
        Questions that were put in several ways: their own words, the system prompt, the beginning
        of the answer.
    """

    prompt: NDArray[np.int64]
    coupled: NDArray[np.int64]
    repetition: NDArray[np.int64]
    model: NDArray[np.int64]
    score: NDArray[np.float64]
    samplings: tuple[str, ...]
    reworded: int = 0


def score_cells(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    category: str | None = None,
    drawn: Drawn = ANYHOW,
) -> ScoreCells:
    """Return the scores of battles that all these models are in, under both protocols."""
    chosen = {
        "metric": metric,
        "models": list(models),
        "category": category,
        **drawn_values(drawn),
    }
    reworded = len(cursor.execute(_REWORDED_CELLS, chosen).fetchall())
    rows = cursor.execute(_CELLS, chosen).fetchnumpy()

    def whole(name: str) -> NDArray[np.int64]:
        return np.asarray(rows[name]).astype(np.int64)

    return ScoreCells(
        prompt=whole("prompt_no"),
        coupled=whole("coupled"),
        repetition=whole("repetition"),
        model=whole("model"),
        score=np.asarray(rows["score"]).astype(np.float64),
        samplings=tuple(sorted(set(np.asarray(rows["sampling"]).astype(str).tolist()))),
        reworded=reworded,
    )


@dataclass(frozen=True)
class PairedAnswer:
    """One score of one model, or a judge's grade of its answer.

    Attributes
    ----------
    key, question : str
        What equal questions in equal words share; and in any words, where they have an id.
    name, text : str
        The question's id, "" without one, and its words.
    sampling : str
        How the answer was drawn, in words.
    experiment : str or None
        Seed of the run that asked, 16 hexadecimal digits.
    together : tuple of str
        All models of the battle.
    """

    model: str
    battle: str
    mode: Mode
    experiment: str | None
    together: tuple[str, ...]
    key: str
    question: str
    name: str
    text: str
    category: str | None
    sampling: str
    score: float


_PAIRED = f"""
with newest as (
    select answer_key, arg_max(correct, seq) filter (correct is not null) as correct
    from grades
    where judge = $judge
    group by all
)
select
    battles.models[scores.place + 1], battle, mode, experiment, battles.models,
    md5(concat_ws(chr(0), prompt_key, system, prefix)),
    coalesce(prompt_id, prompt_key), coalesce(prompt_id, ''), coalesce(turns.prompt, ''),
    prompt_keys.category, {_SAMPLING},
    if($judge is null, scores.score, newest.correct::double) as said
from scores
join battles using (battle)
join prompt_keys using (battle)
left join turns using (battle, turn)
left join benchmark_answers as answers
    on $judge is not null and answers.battle = scores.battle and answers.place = scores.place
        and answers.metric = scores.metric and scores.turn = 0
left join newest using (answer_key)
where scores.metric = $metric and scores.turn = 0 and said is not null
    and list_contains($names, battles.models[scores.place + 1])
    and ($mode is null or mode = $mode)
    and ($category is null or prompt_keys.category = $category)
    and ($language is null or prompt_keys.language = $language)
    and ($battles is null or list_contains($battles, battle))
order by battle_no, scores.place
"""


def paired_answers(
    cursor: Cursor,
    metric: str,
    models: Sequence[str],
    selection: Selection,
    battles: Collection[str] | None = None,
) -> tuple[PairedAnswer, ...]:
    """Return all scores of some models by a metric, oldest battles first.

    Parameters
    ----------
    selection : Selection
        Mode, category and language; with a judge its newest readable grades are returned.
    battles : collection of str, optional
        Only these.
    """
    values = {name: value for name, value in selection.values.items() if name != "models"}
    values |= {"metric": metric, "names": list(models), "judge": selection.judge}
    values["battles"] = None if battles is None else list(battles)
    rows = cursor.execute(_PAIRED, values).fetchall()
    return tuple(
        PairedAnswer(model, battle, Mode(mode), experiment, tuple(together), *rest)
        for model, battle, mode, experiment, together, *rest in rows
    )


def graders(cursor: Cursor) -> list[str]:
    """Return the judges that have graded single answers."""
    return column_of(cursor, "select distinct judge from grades order by judge")


_CHOSEN_ANSWERS = """
join battles using (battle)
join prompt_keys using (battle)
join prompts using (prompt_key)
where metric = $metric
    and ($mode is null or mode = $mode)
    and ($models is null or list_contains($models, model))
    and ($category is null or category = $category)
    and ($language is null or language = $language)
order by battle_no, place
"""


_ANSWERS = """
with newest as (
    select answer_key, arg_max(
        {'correct': correct, 'probability': probability}, seq
    ) filter (correct is not null) as grade
    from grades
    where judge = $judge
    group by all
)
select
    model, battle_no, prompt_no,
    (score = 1)::integer as right,
    grade.correct::integer as called_right,
    if(grade.correct, grade.probability, 1 - grade.probability) as probability
from benchmark_answers
left join newest using (answer_key)
"""


def graded_answers(cursor: Cursor, selection: Selection, metric: str) -> Mapping[str, Any]:
    """Return the answers that a benchmark has scored, and the selected judge's grades of them.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``model``, ``battle_no``, ``prompt_no``, and ``right``: 1 for a full score, else 0.
        ``called_right`` is masked where the judge gave no readable grade. ``probability`` is what
        the judge gives to a right answer, masked where the server gives none.
    """
    values = selection.values | {"judge": selection.judge, "metric": metric}
    return cursor.execute(_ANSWERS + _CHOSEN_ANSWERS, values).fetchnumpy()


_READ = """
select
    model, battle_no, prompt_no,
    (scores.score = 1)::integer as right,
    scores.answer as read
from benchmark_answers
join scores using (battle, place, metric)
"""


def read_answers(cursor: Cursor, selection: Selection, metric: str) -> Mapping[str, Any]:
    """Return the answers that a benchmark has scored, as it has read them.

    Returns
    -------
    mapping of str to ndarray, shape (n,)
        ``model``, ``battle_no``, ``prompt_no``, ``right`` (1 for a full score, else 0), and
        ``read``, masked where no answer was found in the reply. Oldest battles first.
    """
    return cursor.execute(
        _READ + _CHOSEN_ANSWERS, selection.values | {"metric": metric}
    ).fetchnumpy()


def unreadable_grades(cursor: Cursor, judge: str) -> int:
    """Return the number of answers that a judge was asked about and never graded readably."""
    query = """
    select count(*)
    from (select answer_key from grades where judge = ? group by all having count(correct) = 0)
    """
    return value_of(cursor, query, [judge])
