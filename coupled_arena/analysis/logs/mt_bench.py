"""Single scores of MT-Bench (FastChat's ``gpt-4_single.jsonl``): 1 to 10 for each turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coupled_arena.analysis.logs.scored import LogFormat, Scored
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import first_object, read_rows

_FIELDS = ("question_id", "model", "judge", "score", "turn")
_TURNS = (1, 2)
_UNREADABLE = -1  # the judge has not said a number


def _recognise(path: Path) -> bool:
    return set(_FIELDS) <= set(first_object(path))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a row; the two turns of a question are repetitions, as MT-Bench averages."""
    judges: dict[str, str] = {}
    seen: dict[tuple[str, str, int], int] = {}
    for row in read_rows(path, ScoreError, name=name):
        if absent := [field for field in _FIELDS if row.values.get(field) is None]:
            raise ScoreError(
                f"{row.where} has no {absent[0]}: a single score of MT-Bench has "
                f"{', '.join(_FIELDS)}."
            )
        question, model, judge, score, turn = (row.values[field] for field in _FIELDS)
        asked = str(judge[0] if isinstance(judge, list) and judge else judge)
        judges.setdefault(asked, row.where)
        if len(judges) > 1:
            raise ScoreError(
                f"{row.where}: the judge is {asked}, and above it {next(iter(judges))}. Keep the "
                "rows of one judge."
            )
        if turn not in _TURNS:
            raise ScoreError(f"{row.where}: turn {turn!r} is not 1 or 2.")
        if score != _UNREADABLE and not (isinstance(score, int | float) and 1 <= score <= 10):
            raise ScoreError(f"{row.where}: score {score!r} is not a number from 1 to 10, or -1.")
        before = seen.setdefault((str(model), str(question), turn), row.number)
        if before != row.number:
            raise ScoreError(
                f"{row.where} repeats line {before}: {model} on question {question}, turn {turn}."
            )
        yield Scored(
            row.where,
            str(model),
            str(question),
            {"score": None if score == _UNREADABLE else score},
        )


FORMAT = LogFormat("MT-Bench", "single scores of MT-Bench (JSON lines)", _recognise, _read)
