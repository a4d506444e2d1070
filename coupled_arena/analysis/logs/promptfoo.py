"""Results of promptfoo (``promptfoo eval --output results.json``): providers on tests.

With ``results.jsonl`` each result has a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole
from coupled_arena.core.tables import first_object, read_rows

_ERROR = 2  # why a result failed: the provider has not answered
_LABEL = 80  # characters of a prompt that name a model
_OWN = "_conversation"
_LINE = {"promptIdx", "testIdx", "provider", "score"}
_TEST = ("assert", "assertScoringFunction", "options", "threshold")


def _recognise(path: Path) -> bool:
    head = beginning(path)
    summary = '{"version":' in head and '"timestamp":' in head
    whole_file = head.startswith('{"evalId":') or (
        summary and ('"prompts":[' in head or '"results":[' in head) and '"eval":{' not in head
    )
    return whole_file or _has_lines(path)


def _has_lines(path: Path) -> bool:
    return set(first_object(path)) >= _LINE


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a result; each column of the table of results is a model.

    Results of one column on equal tests are repetitions, as ``--repeat`` makes them.
    """
    rows = [record(row) for row in _results(path, name)]
    if not rows:
        raise ScoreError(f"{name} has no results.")
    for number, row in enumerate(rows, start=1):
        if "score" not in row:
            raise ScoreError(f"{name}, result {number} has no score.")
        if not _provider(row):
            raise ScoreError(f"{name}, result {number} names no provider.")
    metrics = dict.fromkeys(metric for row in rows for metric in _scores(row))
    models, tests = _models(rows), _tests(rows)
    for number, row in enumerate(rows, start=1):
        yield Scored(
            f"{name}, result {number}",
            models[_column(row)],
            tests[_test(row)],
            metrics | _scores(row),
            document=_asked(row),
            reply=_reply(row),
        )


def _results(path: Path, name: str) -> Sequence[Any]:
    if _has_lines(path):
        return [row.values for row in read_rows(path, ScoreError, name=name)]
    try:
        read = json.loads(whole(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{name} cannot be read: {error}.") from error
    summary = record(read).get("results", read)
    return items(summary) or items(record(summary).get("results"))


_Column = tuple[str, str, Any]


def _column(row: Mapping[str, Any]) -> _Column:
    return _provider(row), _prompt(row), row.get("promptIdx")


def _models(rows: Sequence[Mapping[str, Any]]) -> dict[_Column, str]:
    """Return what each column is called: by what tells it from others."""
    columns = dict.fromkeys(map(_column, rows))
    several = len({prompt for _, prompt, _ in columns}) > 1
    short = {
        column: f"{column[0]} {column[1][:_LABEL]}" if several else column[0] for column in columns
    }
    times = Counter(short.values())
    return {
        column: f"{name} #{column[2]}" if times[name] > 1 else name
        for column, name in short.items()
    }


def _reply(row: Mapping[str, Any]) -> str:
    output = record(row.get("response")).get("output")
    return json.dumps(output) if output else ""


def _asked(row: Mapping[str, Any]) -> str:
    """Return the variables of the test, for those of a result also hold what a model has said."""
    given = record(row.get("testCase")).get("vars", row.get("vars"))
    asked = {key: value for key, value in record(given).items() if key != _OWN}
    return json.dumps(asked, sort_keys=True)


def _test(row: Mapping[str, Any]) -> str:
    """Return what tells a test from others: repetitions have numbers of their own."""
    test = {key: value for key, value in record(row.get("testCase")).items() if key in _TEST}
    return _asked(row) + json.dumps(test, sort_keys=True)


def _tests(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what each test is called: its number, counted without repetitions."""
    if any(not isinstance(row.get("testIdx"), int) for row in rows):
        return {_test(row): _asked(row) for row in rows}
    first: dict[str, int] = {}
    for row in rows:
        first[_test(row)] = min(row["testIdx"], first.get(_test(row), row["testIdx"]))
    if len({row["testIdx"] for row in rows}) == len(first):
        return {test: str(number) for test, number in first.items()}
    return {test: str(n) for n, test in enumerate(sorted(first, key=lambda test: first[test]))}


def _provider(row: Mapping[str, Any]) -> str:
    given = row.get("provider")
    if isinstance(given, Mapping):
        return str(given.get("label") or given.get("id") or "")
    return str(given or "")


def _prompt(row: Mapping[str, Any]) -> str:
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, Mapping) else prompt
    return str(label or row.get("promptIdx", ""))


def _scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the score, whether it passed, named scores, and which answer a judge chose as best."""
    failed = row.get("failureReason") == _ERROR
    if "failureReason" not in row:  # before November 2024 a failed assertion is an error, too
        failed = bool(row.get("error")) and not row.get("gradingResult")
    found = {"score": row["score"], "success": row.get("success")}
    found |= record(row.get("namedScores"))
    for part in map(record, items(record(row.get("gradingResult")).get("componentResults"))):
        if record(part.get("assertion")).get("type") == "select-best":
            found["select-best"] = part.get("pass")
    return dict.fromkeys(found) if failed else found


FORMAT = LogFormat("promptfoo", "results of promptfoo (JSON or JSON lines)", _recognise, _read)
