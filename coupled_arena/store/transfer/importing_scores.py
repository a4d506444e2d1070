"""Bringing numbers on replies in from elsewhere, such as the toxicity that another program found.

As with votes, all of it is set operations of DuckDB in one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.sql import Cursor, column_of
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer.export_tables import recognise
from coupled_arena.store.transfer.file_rows import (
    Rejected,
    count,
    load,
    prepare_faults,
    rejected_lines,
)

_REPLY = ("battle", "model", "place", "turn")
_LONG = ("metric", "score")
# What exports of scores and of replies tell besides, and what a prompt is about.
_BESIDES = ("answer", "higher_is_better", "source", "text", "tokens", "finish")
_SUBJECTS = ("subject", "category")


_STAGED = """
create or replace temp table staged (
    file integer, line bigint, battle text, model text, place double, turn double,
    metric text, score text, answer text, higher boolean, value double, wide boolean
);
"""
_READ = """
insert into staged
with fields as (
    select line, try_cast(row::json as map(varchar, varchar)) as f
    from file_rows
    where reason is null
),
named as (
    select *, unnest($metrics) as name from fields where $metrics is not null
    union all
    select *, f['metric'] as name from fields where $metrics is null
)
select
    $file, line,
    nullif(trim(f['battle']), ''),
    nullif(trim(f['model']), ''),
    if(nullif(trim(f['place']), '') is null, null, coalesce(try_cast(f['place'] as double), -1)),
    if(nullif(trim(f['turn']), '') is null, 0, coalesce(try_cast(f['turn'] as double), -1)),
    nullif(trim(name), '') as metric,
    nullif(trim(if($metrics is null, f['score'], f[name])), ''),
    if($metrics is null, f['answer'], null),
    if($metrics is null, try_cast(f['higher_is_better'] as boolean), null),
    case
        when $metrics is null then number(f['score'])
        else number(f[name])
    end,
    $metrics is not null
from named
where $wanted is null or metric is null or list_contains($wanted, metric)
"""
_NUMBER = """
create or replace temp macro number(word) as
    case lower(trim(word))
        when 'true' then 1
        when 'false' then 0
        else try_cast(trim(word) as double)
    end
"""


def prepare(cursor: Cursor) -> None:
    """Make the empty temporary table ``staged``, and what fills it."""
    cursor.execute(_STAGED)
    cursor.execute(_NUMBER)


def read(cursor: Cursor, path: Path, file: int, wanted: Sequence[str]) -> int:
    """Add a file's scores to ``staged``, what cannot be read to ``faults``; return its rows.

    Raises
    ------
    ScoreError
        It does not name replies, or has no scores.
    StoreError
        It cannot be read.
    """
    load(cursor, path, exact=recognise)
    metrics = _metric_columns(cursor, path, wanted)
    values = {"file": file, "metrics": metrics, "wanted": list(wanted) or None}
    cursor.execute(_READ, values)
    cursor.execute(
        "insert into faults select ?, line, reason from file_rows where reason <> ''", [file]
    )
    return count(cursor)


def _metric_columns(cursor: Cursor, path: Path, wanted: Sequence[str]) -> list[str] | None:
    """Return the columns with scores of a wide table; None for a long one."""
    columns = column_of(
        cursor,
        "select distinct unnest(json_keys(row)) from file_rows where reason is null order by all",
    )
    if not columns:
        _tell_why(cursor, path)
    if "battle" not in columns or not {"model", "place"} & set(columns):
        raise ScoreError(f"{path} must have the columns battle and model, or battle and place.")
    if set(_LONG) <= set(columns):
        return None
    known = (*_REPLY, *_LONG, *_BESIDES)
    metrics = [
        name
        for name in columns
        if name not in known and (name.lower() not in _SUBJECTS or name in wanted)
    ]
    if not metrics:
        raise ScoreError(f"{path} has no scores: give it a column for each metric.")
    return metrics


def _tell_why(cursor: Cursor, path: Path) -> None:
    """Refuse a file of which no line can be read; one without lines is left to others."""
    faults = cursor.execute("select line, reason from file_rows order by line limit 1").fetchall()
    for line, reason in faults:
        raise ScoreError(f"{path}, line {line}: {reason}. Correct the file.")


# A battle that a model plays twice has two replies by one name.
_FAULTS = """
insert into faults
select
    file, line,
    case
        when staged.battle is null then 'battle is missing'
        when models is null then 'there is no battle ' || staged.battle
        when model is null and place is null then 'model and place are missing'
        when place is null and not list_contains(models, model)
            then model || ' is not in battle ' || staged.battle
        when place is null and len(list_filter(models, lambda name: name = model)) > 1
            then model || ' is twice in battle ' || staged.battle || ': give the place'
        when not list_contains(range(len(models)), place)
            then 'there is no such place in battle ' || staged.battle
        when model <> models[place::integer + 1]
            then 'place ' || place::integer || ' of battle ' || staged.battle || ' is not ' || model
        when turns.turn is null then 'there is no such turn in battle ' || staged.battle
        when metric is null then 'metric is missing'
        when score is not null and not coalesce(isfinite(value), false)
            then '''' || score || ''' in column ''' || if(wide, metric, 'score')
                || ''' is not a score. Write a number, True or False, or leave the column out: '
                || '--metrics names the columns to read'
    end as reason
from staged
left join (select battle, models from battles) as known on known.battle = staged.battle
left join turns on turns.battle = staged.battle and turns.turn = staged.turn
where reason is not null
"""
_EMPTY = """
insert into faults
select file, line, 'it has no score' from staged group by file, line having count(score) = 0
"""
_LEAVE = """
delete from staged where score is null or (file, line) in (select (file, line) from faults)
"""
_PLACES = """
update staged set place = list_position(models, model) - 1
from battles
where battles.battle = staged.battle and place is null
"""
# One value a reply and metric: that of the store, else the first one that comes.
_OTHERS = """
insert into faults
select
    file, line,
    'there is another ' || metric || ' of this reply' || if(there is null, ' before', ' already')
from (
    select
        staged.*, known.score as there,
        first_value(value) over (
            partition by staged.battle, staged.turn, staged.place, staged.metric order by file, line
        ) as earliest
    from staged
    left join scores as known
        on known.battle = staged.battle and known.turn = staged.turn
        and known.place = staged.place and known.metric = staged.metric
)
where value <> coalesce(there, earliest)
"""


def sort_out(cursor: Cursor) -> None:
    """Leave in ``staged`` the lines of which everything can be stored."""
    for statement in (_FAULTS, _EMPTY, _LEAVE, _PLACES, _OTHERS, _LEAVE):
        cursor.execute(statement)


@dataclass(frozen=True)
class ImportedScores:
    """What an import of scores did.

    Attributes
    ----------
    rows : int
        Rows in the files, blank lines aside.
    scores : int
        How many were not in the store before.
    metrics : tuple of str
        Metrics that the files have scores by, new or not.
    """

    rows: int
    scores: int
    metrics: tuple[str, ...]
    rejected: tuple[Rejected, ...]

    @property
    def all_rejected(self) -> bool:
        """Whether there were rows, and none of them could be taken."""
        return bool(self.rejected) and len({(row.file, row.line) for row in self.rejected}) >= (
            self.rows
        )


def import_scores(
    store: Store,
    paths: Sequence[Path],
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    *,
    reserved: Collection[str] = (),
) -> ImportedScores:
    """Write the scores in some files, all of them or, on an error, nothing.

    A row names a ``battle``, and in it a ``model`` or a ``place`` (from 0 on). It names a ``turn``
    if that is not the first (0). A wide table has a column for each metric. In a long one a row is
    a ``metric`` and its ``score``, as in an export of scores. A score is a number, True or False.
    Importing a file again adds nothing.

    Parameters
    ----------
    paths : sequence of Path
        CSV, JSON lines, a JSON array or Parquet.
    metrics : sequence of str, optional
        Metrics to take; by default all, in a wide table every column that neither names the reply
        nor is in an export of replies.
    lower_is_better : collection of str
        Metrics of which less is better, where the file does not tell (``higher_is_better``).
    reserved : collection of str
        Names that no metric may have.

    Raises
    ------
    ScoreError
        A file is no such table, a metric is missing, reserved, or known with another meaning.
    StoreError
        A file cannot be read, or the database cannot be written.
    """
    return store.write(
        lambda cursor: _import(cursor, paths, metrics or (), lower_is_better, reserved)
    )


def _import(
    cursor: Cursor,
    paths: Sequence[Path],
    metrics: Sequence[str],
    lower_is_better: Collection[str],
    reserved: Collection[str],
) -> ImportedScores:
    prepare_faults(cursor)
    prepare(cursor)
    rows = sum(read(cursor, path, file, metrics) for file, path in enumerate(paths))
    found = _metrics(cursor)
    _check_names(found, metrics, lower_is_better, reserved)
    sort_out(cursor)
    for metric, higher in _meanings(cursor, lower_is_better).items():
        scores.declare(cursor, metric, source="import", higher_is_better=higher)
    (added,) = cursor.execute(_ADD).fetchall()[0]
    return ImportedScores(rows, added, found, rejected_lines(cursor, paths))


def _metrics(cursor: Cursor) -> tuple[str, ...]:
    return tuple(
        column_of(
            cursor, "select distinct metric from staged where metric is not null order by metric"
        )
    )


def _check_names(
    found: tuple[str, ...],
    wanted: Collection[str],
    lower_is_better: Collection[str],
    reserved: Collection[str],
) -> None:
    for name in (*wanted, *lower_is_better):
        if name not in found:
            raise ScoreError(f"There is no metric {name!r}; there is {', '.join(found) or 'none'}.")
    if taken := [name for name in found if name in reserved]:
        raise ScoreError(
            f"{taken[0]} is computed from the replies or verdicts here: give it another name."
        )


_ADD = """
insert into scores (battle, turn, place, metric, score, answer)
select battle, turn::integer, place::integer, metric, value, answer
from staged
order by battle, turn, place, metric
on conflict do nothing
"""


def _meanings(cursor: Cursor, lower_is_better: Collection[str]) -> dict[str, bool]:
    """Return, by metric, whether higher is better."""
    rows: list[tuple[str, bool | None, bool | None]] = cursor.execute(
        "select metric, min(higher), max(higher) from staged group by metric order by metric"
    ).fetchall()
    meanings: dict[str, bool] = {}
    for metric, low, high in rows:
        known = {low, high} - {None}
        if len(known) > 1 or (True in known and metric in lower_is_better):
            raise ScoreError(f"Higher {metric} cannot be both better and worse: choose one.")
        meanings[metric] = metric not in lower_is_better and False not in known
    return meanings
