"""Logs of OpenAI evals (``oaieval``): JSON lines, first the run, then what happened to a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import first_object, read_rows

_SCORED = ("match", "metrics")
_SAID = ("sampling", "raw_sample", "error", *_SCORED)


def _recognise(path: Path) -> bool:
    return "eval_name" in record(first_object(path).get("spec"))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a sample; one that nothing scored has no score by any metric."""
    spec: Mapping[str, Any] = {}
    samples: dict[str, tuple[str, dict[str, Any]]] = {}
    for row in read_rows(path, ScoreError, name=name):
        values = row.values
        if told := record(values.get("spec")):
            spec = told
        elif values.get("type") in _SAID and values.get("sample_id") is not None:
            _, scores = samples.setdefault(str(values["sample_id"]), (row.where, {}))
            if values["type"] in _SCORED:
                scores |= _scores(values.get("data"))
    model = _model(spec, name)
    metrics = dict.fromkeys(metric for _, scores in samples.values() for metric in scores)
    if not metrics:
        raise ScoreError(f"{name} has no scores: no event is a match or has metrics.")
    settings = {key: spec.get(key) for key in ("completion_fns", "model_specs", "run_config")}
    for sample, (where, scores) in samples.items():
        yield Scored(
            where,
            model,
            f"{spec.get('eval_name')}/{sample.rpartition('.')[2] if '.' in sample else sample}",
            metrics | scores,
            settings=json.dumps(settings, sort_keys=True, default=str),
            task=str(spec.get("eval_name")),
        )


def _model(spec: Mapping[str, Any], name: str) -> str:
    specs = record(spec.get("model_specs"))  # as before 2023
    given = items(spec.get("completion_fns")) or [specs.get("completion_")]
    first = record(given[0]).get("model", given[0])
    if not first:
        raise ScoreError(f"{name} names no model: its spec has no completion_fns.")
    return str(first)


def _scores(data: Any) -> dict[str, Any]:
    """Return what is a number in the data of an event."""
    return {
        key: value for key, value in record(data).items() if isinstance(value, bool | int | float)
    }


FORMAT = LogFormat("OpenAI evals", "logs of OpenAI evals (JSON lines)", _recognise, _read)
