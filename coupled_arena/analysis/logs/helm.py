"""Runs of HELM: ``per_instance_stats.json`` of a run, and the ``run_spec.json`` beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole
from coupled_arena.core.tables import Row, read_rows

_FIELDS = ("instance_id", "train_trial_index", "stats")
_MODEL = ("model", "model_deployment")
_TEST = "test"


def _recognise(path: Path) -> bool:
    head = beginning(path)
    return head.startswith('[{"instance_id":') and '"stats":[' in head


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer an instance and trial, which has a row for each group of metrics.

    Perturbed instances are other prompts, left aside. So are splits besides the one for tests.
    """
    scenario, adapter = _run(path.with_name("run_spec.json"), name)
    model = str(adapter["model"])
    conditions = {key: value for key, value in adapter.items() if key not in _MODEL}
    deployment = str(adapter.get("model_deployment", ""))
    answers: dict[tuple[str, int], tuple[str, dict[str, Any]]] = {}
    splits: dict[str, set[tuple[str, int]]] = {}
    for row in read_rows(path, ScoreError, name=name):
        if absent := [field for field in _FIELDS if field not in row.values]:
            raise ScoreError(
                f"{row.where} has no {absent[0]}: an instance of HELM has {', '.join(_FIELDS)}."
            )
        if row.values.get("perturbation") is None:
            instance, trial = str(row.values["instance_id"]), row.values["train_trial_index"]
            where, scores = answers.setdefault((instance, trial), (row.where, {}))
            splits.setdefault(_split(row), set()).add((instance, trial))
            for metric, score in _scores(row):
                if scores.setdefault(metric, score) != score:
                    raise ScoreError(f"{row.where}: {metric} of {instance} is not that of {where}.")
    # HELM leaves out a value that is not a number.
    metrics = dict.fromkeys(metric for _, scores in answers.values() for metric in scores)
    chosen, notes = _chosen(splits, name)
    for (instance, trial), (where, scores) in answers.items():
        if (instance, trial) not in chosen:
            continue
        yield Scored(
            where,
            model,
            f"{scenario}/{instance}",
            metrics | scores,
            request=json.dumps(conditions, sort_keys=True),
            settings=deployment,
            ordered=False,
            task=scenario,
            notes=notes,
            conditions=conditions,
        )


def _chosen(
    splits: Mapping[str, set[tuple[str, int]]], name: str
) -> tuple[set[tuple[str, int]], tuple[str, ...]]:
    """Return the answers of one split, and what is to be said of the others."""
    named = {split: answers for split, answers in splits.items() if split}
    if len(named) < 2:
        return set().union(*splits.values()), ()
    if _TEST not in named:
        raise ScoreError(f"{name} has the splits {', '.join(named)}: give a run of one of them.")
    others = ", ".join(f"{split} {len(of):,}" for split, of in named.items() if split != _TEST)
    return named[_TEST], (f"{name}: the split {_TEST!r} counts. Answers of others: {others}.",)


def _split(row: Row) -> str:
    """Return which part of the data an instance is of; "" where its stats do not say."""
    names = (record(record(stat).get("name")) for stat in items(row.values["stats"]))
    return str(next((name["split"] for name in names if name.get("split")), ""))


def _run(path: Path, name: str) -> tuple[str, Mapping[str, Any]]:
    """Return what a run asked, and how."""
    try:
        spec = json.loads(whole(path))
        scenario, adapter = spec["scenario_spec"], spec["adapter_spec"]
        settings = ",".join(f"{k}={v}" for k, v in sorted(scenario.get("args", {}).items()))
        asked = scenario["class_name"].rpartition(".")[2] + (settings and f":{settings}")
        if adapter["model"]:
            return asked, adapter
    except OSError as error:
        raise ScoreError(
            f"{name} is of HELM, which tells the model in {path}: {error.strerror}."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ScoreError(f"{path} is no run_spec.json of HELM: {error!r}.") from error
    raise ScoreError(f"{path} names no model.")


def _scores(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield metrics and their means; None is no value."""
    for stat in row.values["stats"]:
        try:
            named, mean = stat["name"], stat.get("mean")
            if named.get("perturbation") is None:
                yield named["name"], mean
        except (KeyError, TypeError, AttributeError) as error:
            raise ScoreError(f"{row.where}: a stat of HELM has a name and a mean.") from error


FORMAT = LogFormat(
    "HELM", "per_instance_stats.json of HELM, beside its run_spec.json", _recognise, _read
)
