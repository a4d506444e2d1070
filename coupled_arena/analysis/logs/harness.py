"""Sample logs of lm-evaluation-harness (``lm_eval --log_samples``): a file a task and run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole
from coupled_arena.core.tables import Row, first_object, read_rows

_FIELDS = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
_OTHERS = ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash")
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)\.jsonl")
_RUN = ("model", "model_args", "gen_kwargs")


def _recognise(path: Path) -> bool:
    return set(_FIELDS) <= set(first_object(path))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a document; scores after each filter are metrics of their own."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise ScoreError(
            f"{name} should be called samples_TASK_TIME.jsonl, as lm-evaluation-harness calls it: "
            "nothing in it tells the task."
        )
    task = named["task"]
    results = _results(path, named["time"])
    rows = [_whole(row) for row in read_rows(path, ScoreError, name=name)]
    filters = tuple(dict.fromkeys(row.values.get("filter") for row in rows))
    documents: dict[int, list[Row]] = {}
    for row in rows:
        documents.setdefault(row.values["doc_id"], []).append(row)
    config = results.get("config", {})
    better = results.get("higher_is_better", {}).get(task, {})
    for number, answers in documents.items():
        scores: dict[str, Any] = {}
        lower: set[str] = set()
        for row in answers:
            for metric, value in _metrics(row.values).items():
                called = f"{metric}:{row.values['filter']}" if len(filters) > 1 else metric
                if called in scores:
                    raise ScoreError(f"{row.where} has {called} of doc_id {number} once more.")
                scores[called] = value
                lower |= {called} if better.get(metric) is False else set()
        first = answers[0].values
        yield Scored(
            answers[0].where,
            str(results.get("model_name") or path.resolve().parent.name),
            f"{task}/{number}",
            scores,
            first.get("doc_hash", ""),
            first.get("prompt_hash", ""),
            json.dumps({key: config.get(key) for key in _RUN}, sort_keys=True) if config else "",
            frozenset(lower),
        )


def _whole(row: Row) -> Row:
    """Return the row, unless it lacks what a sample has."""
    if absent := [field for field in _FIELDS if field not in row.values]:
        raise ScoreError(
            f"{row.where} has no {absent[0]}: a sample of lm-evaluation-harness has "
            f"{', '.join(_FIELDS)}, and its metrics."
        )
    if type(row.values["doc_id"]) is not int:
        raise ScoreError(f"{row.where}: doc_id {row.values['doc_id']!r} is not a whole number.")
    return row


def _metrics(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics; logs before 2025 do not list them, but have nothing else besides."""
    names = values.get("metrics")
    if names is None:
        names = [key for key in values if key not in (*_FIELDS, *_OTHERS)]
    return {name: values.get(name) for name in names}


def _results(path: Path, time: str) -> dict[str, Any]:
    """Return what the same run has written of itself, nothing where that is not there."""
    for beside in sorted(path.parent.glob(f"*_{time}.json")):
        try:
            results = json.loads(whole(beside))
        except (OSError, ValueError, RecursionError) as error:
            raise ScoreError(f"{beside} cannot be read: {error}.") from error
        if isinstance(results, dict) and "model_name" in results:
            return results
    return {}


FORMAT = LogFormat(
    "lm-evaluation-harness", "samples_TASK_TIME.jsonl of lm-evaluation-harness", _recognise, _read
)
