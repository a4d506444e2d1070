"""Logs of OpenAI evals (``oaieval``): JSON lines, first the run, then what happened to a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from coupled_arena.analysis.logs.scored import BrokenRunError, LogFormat, Scored, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import first_object, read_rows

_SCORED = ("match", "metrics")
_EXPECTED = ("expected", "ideal")
_SAID = ("sampling", "raw_sample", "error", *_SCORED)


def _recognise(path: Path) -> bool:
    return "eval_name" in record(first_object(path).get("spec"))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a sample; one that nothing scored has no score by any metric."""
    spec: Mapping[str, Any] = {}
    samples: dict[str, _Sample] = {}
    ended = False
    for row in read_rows(path, ScoreError, name=name):
        values = row.values
        if told := record(values.get("spec")):
            spec = told
        elif values.get("type") in _SAID and values.get("sample_id") is not None:
            sample = samples.setdefault(str(values["sample_id"]), _Sample(row.where))
            sample.add(str(values["type"]), record(values.get("data")))
        ended = ended or "final_report" in values
    if not ended:
        raise BrokenRunError(f"{name} is of a run that has not ended: it has no final_report.")
    model = _model(spec, name)
    metrics = dict.fromkeys(metric for sample in samples.values() for metric in sample.scores)
    if not metrics:
        raise ScoreError(f"{name} has no scores: no event is a match or has metrics.")
    settings = {key: spec.get(key) for key in ("completion_fns", "model_specs")}
    # The command names the file of the log.
    run = {key: value for key, value in record(spec.get("run_config")).items() if key != "command"}
    for number, sample in samples.items():
        yield Scored(
            sample.where,
            model,
            f"{spec.get('eval_name')}/{number.rpartition('.')[2] if '.' in number else number}",
            metrics | sample.scores,
            settings=json.dumps(settings | {"run_config": run}, sort_keys=True, default=str),
            task=str(spec.get("eval_name")),
            conditions=sample.conditions,
            reply=json.dumps(sample.replies) if sample.replies else "",
            run=str(spec.get("run_id") or ""),
        )


@dataclass
class _Sample:
    """What the events of a sample tell of it; a metric of several events is their mean."""

    where: str
    values: dict[str, list[float]] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    replies: list[Any] = field(default_factory=list)

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind in _SCORED:
            for metric, value in _scores(data).items():
                self.values.setdefault(metric, []).append(value)
            self.conditions |= {key: data[key] for key in _EXPECTED if key in data}
        if "sampled" in data:
            self.replies.append(data["sampled"])

    @property
    def scores(self) -> dict[str, float]:
        return {metric: fmean(values) for metric, values in self.values.items()}


def _model(spec: Mapping[str, Any], name: str) -> str:
    specs = record(spec.get("model_specs"))  # as before 2023
    given = items(spec.get("completion_fns")) or [specs.get("completion_")]
    first = record(given[0]).get("model", given[0])
    if not first:
        raise ScoreError(f"{name} names no model: its spec has no completion_fns.")
    return str(first)


def _scores(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is a number in the data of an event."""
    return {key: value for key, value in data.items() if isinstance(value, bool | int | float)}


FORMAT = LogFormat("OpenAI evals", "logs of OpenAI evals (JSON lines)", _recognise, _read)
