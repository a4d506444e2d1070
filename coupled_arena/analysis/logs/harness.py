"""Sample logs of lm-evaluation-harness, from 0.3 to today: a file a task and run.

Since 0.4.3 they are JSON lines named by task and time. Versions 0.4.0 to 0.4.2 write an indented
array named by the model's arguments and the task. Version 0.3 writes its prompts and scores
(``--write_out``) as texts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole
from coupled_arena.core.tables import Row, first_object, read_rows

_FIELDS = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps")
_OTHERS = ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash")
# Before June 2024 the same lines were in files named .json.
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)\.jsonl?")
_WRITTEN = "_write_out_info.json"
_RUN = ("model", "model_args", "gen_kwargs")
_OF_TASK = {"task version": "versions", "n-shot": "n-shot"}
_OF_RUN = {"system instruction": "system_instruction", "chat template": "chat_template_sha"}
# The results call this perplexity, of which less is better; a sample has its log-likelihood.
_LIKELIHOOD = "perplexity"
_LIKELIHOOD_WRITTEN = "ppl"
_NONE = "bypass"  # what --predict_only writes in place of metrics
_NO_METRIC = re.compile(r"doc_id|prompt_\d+|logit_\d+|truth|pred|gold")
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model|path|engine)=([^,]+)")


@dataclass(frozen=True)
class _Run:
    """What a file's name and the results beside it tell of its run."""

    task: str
    results: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Mapping[str, Any]:
        """How the model was run."""
        return record(self.results.get("config"))

    @property
    def _of_task(self) -> Mapping[str, Any]:
        return record(record(self.results.get("configs")).get(self.task))

    def model(self, path: Path) -> str:
        """Return the model: by its results, by its arguments, else by the folder."""
        if name := self.results.get("model_name"):
            return str(name)
        given = self.config.get("model_args") or ""
        if isinstance(given, Mapping):
            given = ",".join(f"{name}={value}" for name, value in given.items())
        named = _MODEL.search(str(given))
        return named[1] if named else path.resolve().parent.name

    @property
    def filters(self) -> list[str]:
        """What the filters of the task are called."""
        return [str(record(each).get("name")) for each in items(self._of_task.get("filter_list"))]

    @property
    def conditions(self) -> dict[str, Any]:
        """How the task was set, where the results say."""
        named = {name: record(self.results.get(key)) for name, key in _OF_TASK.items()}
        drawn = {"gen_kwargs": self.config["gen_kwargs"]} if "gen_kwargs" in self.config else {}
        return (
            {name: of[self.task] for name, of in named.items() if self.task in of}
            | {name: self.results[key] for name, key in _OF_RUN.items() if key in self.results}
            | (drawn | self._noise if self.config else {})
        )

    @property
    def _noise(self) -> dict[str, Any]:
        """What the model ``coupled`` was told of its noise."""
        if self.config.get("model") != "coupled":
            return {}
        given = self.config.get("model_args") or ""
        if isinstance(given, str):
            pairs = (part.partition("=") for part in given.split(","))
            given = {name: value for name, _, value in pairs}
        told: Mapping[str, Any] = record(given)
        return {f"{name} of coupled models": str(told.get(name)) for name in ("seed", "coupling")}

    def is_likelihood(self, metric: str) -> bool:
        """Return whether samples have the log-likelihood under the name of a metric."""
        return metric == _LIKELIHOOD and self._of_task.get("output_type") == "loglikelihood"

    def lower(self, metric: str) -> bool:
        """Return whether less of a sample's metric is better, as far as the results say."""
        told = record(record(self.results.get("higher_is_better")).get(self.task))
        listed = map(record, items(self._of_task.get("metric_list")))
        return not self.is_likelihood(metric) and (
            told.get(metric) is False
            or any(
                each.get("metric") == metric and each.get("higher_is_better") is False
                for each in listed
                if not told
            )
        )


def _recognise(path: Path) -> bool:
    return set(_FIELDS) <= set(first_object(path))


def _recognise_array(path: Path) -> bool:
    head = beginning(path)
    return head.startswith('[{"doc_id":') and '"doc":' in head


def _recognise_written(path: Path) -> bool:
    head = beginning(path)
    return bool(re.match(r'(\[|\{"\d+":)\{"doc_id":\d+,"(prompt_0|logit_0)":', head))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a document; scores after each filter are metrics of their own."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise ScoreError(
            f"{name} should be called samples_TASK_TIME.jsonl, as lm-evaluation-harness calls it: "
            "nothing in it tells the task."
        )
    results = _results(path, f"*_{named['time']}.json")
    yield from _answers(path, name, _Run(named["task"], results))


def _read_array(path: Path, name: str) -> Iterator[Scored]:
    """Yield the same of an array, which is named by the model's arguments and the task."""
    results = _results(path, "*.json")
    tasks = sorted({**record(results.get("results")), **record(results.get("configs"))}, key=len)
    task = next((task for task in tasks[::-1] if path.stem.endswith(f"_{task}")), None)
    if task is None:
        raise ScoreError(
            f"{name} should have the results.json of its run beside it: nothing else tells the "
            "task."
        )
    run = _Run(task, results)
    given = run.config.get("model_args")
    if isinstance(given, str) and _plain(path.stem) != _plain(f"{given}_{task}"):
        raise ScoreError(
            f"{name} is not of the run in results.json beside it, whose model_args are {given!r}: "
            "a later run into this folder has overwritten its own. Leave the file out."
        )
    yield from _answers(path, name, run)


def _plain(text: str) -> str:
    """Return a text without what the versions have replaced in names of files, each its own."""
    return re.sub(r"[\W_]+", "_", text).strip("_")


def _read_written(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a document of 0.3, whose scores are texts; the folder names the model."""
    try:
        documents = json.loads(whole(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{name} cannot be read: {error}.") from error
    rows = documents.values() if isinstance(documents, dict) else documents
    task = path.name.removesuffix(_WRITTEN).removesuffix(".json")
    for number, row in enumerate(rows, start=1):
        where = f"{name}, row {number}"
        if not isinstance(row, Mapping) or "doc_id" not in row:
            raise ScoreError(f"{where} has no doc_id.")
        names = [key for key in row if not _NO_METRIC.fullmatch(key)]
        scores = {key: row[key] for key in sorted(names, key=_LIKELIHOOD_WRITTEN.__eq__)}
        yield Scored(
            where,
            path.resolve().parent.name,
            f"{task}/{row['doc_id']}",
            {key: _as_number(value) for key, value in scores.items()},
            request=_hash(row.get("prompt_0")),
            task=task,
            notes=(_of_likelihoods(_LIKELIHOOD_WRITTEN),) * (_LIKELIHOOD_WRITTEN in scores),
        )


def _as_number(text: Any) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def _answers(path: Path, name: str, run: _Run) -> Iterator[Scored]:
    rows = [_whole(row) for row in read_rows(path, ScoreError, name=name)]
    called = _filters(rows, run)
    known = run.filters if set(called) <= set(run.filters) else called
    several = len(set(known)) > 1
    documents: dict[int, list[tuple[Row, str]]] = {}
    for row, filtered in zip(rows, called, strict=True):
        documents.setdefault(row.values["doc_id"], []).append((row, filtered))
    model = run.model(path)
    settings = {key: run.config.get(key) for key in _RUN} if run.config else None
    conditions = run.conditions
    for number, answers in documents.items():
        scores: dict[str, Any] = {}
        lower: set[str] = set()
        notes: set[str] = set()
        for row, filtered in answers:
            for metric, value in _metrics(row.values, run).items():
                named = f"{metric}:{filtered}" if several else metric
                if named in scores:
                    raise ScoreError(f"{row.where} has {named} of doc_id {number} once more.")
                scores[named] = value
                lower |= {named} if run.lower(metric) else set()
                notes |= {_of_likelihoods(named)} if run.is_likelihood(metric) else set()
        row = answers[0][0]
        if not scores:
            raise ScoreError(
                f"{row.where} has no metric: a run with --predict_only scores nothing."
            )
        prompt = row.values.get("prompt_hash")
        yield Scored(
            row.where,
            model,
            f"{run.task}/{number}",
            scores,
            _hash(row.values["doc"]),
            prompt or _hash(row.values["arguments"]),
            json.dumps(settings, sort_keys=True) if settings else "",
            frozenset(lower),
            task=run.task,
            notes=tuple(notes),
            conditions=conditions | ({"words of the prompts": prompt} if prompt else {}),
            filter="" if several else answers[0][1],
            reply=_hash(row.values["resps"]),
        )


def _filters(rows: Sequence[Row], run: _Run) -> list[str]:
    """Return the filter of each row; before 2025 rows do not name it, but stand filter by filter.

    A document that is there more often than others is a fault, not one more filter.
    """
    if any("filter" in row.values for row in rows):
        return [str(row.values.get("filter")) for row in rows]
    seen: Counter[int] = Counter()
    places = []
    for row in rows:
        places.append(seen[row.values["doc_id"]])
        seen[row.values["doc_id"]] += 1
    number = min(seen.values(), default=1)
    names = run.filters
    if len(names) != number:
        names = [str(n + 1) for n in range(number)] if number > 1 else [""]
    return [names[min(place, len(names) - 1)] for place in places]


def _hash(value: Any) -> str:
    said = json.dumps(value, sort_keys=True, default=str)
    return hashlib.md5(said.encode(), usedforsecurity=False).hexdigest()


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


def _metrics(values: Mapping[str, Any], run: _Run) -> dict[str, Any]:
    """Return the metrics, with bounds first, for the first is the default.

    Logs before 2025 do not list them, but have nothing else besides.
    """
    names = values.get("metrics")
    if names is None:
        names = [key for key in values if key not in (*_FIELDS, *_OTHERS)]
    names = [name for name in names if name != _NONE]
    return {name: values.get(name) for name in sorted(names, key=run.is_likelihood)}


def _of_likelihoods(metric: str) -> str:
    return f"{metric} of a prompt is the log-likelihood of its answer: more is better."


def _results(path: Path, pattern: str) -> dict[str, Any]:
    """Return what the same run has written of itself, nothing where that is not there."""
    for beside in sorted(path.parent.glob(pattern)):
        try:
            results = json.loads(whole(beside))
        except (OSError, ValueError, RecursionError) as error:
            raise ScoreError(f"{beside} cannot be read: {error}.") from error
        if isinstance(results, dict) and ("model_name" in results or "configs" in results):
            return results
    return {}


FORMATS = (
    LogFormat(
        "lm-evaluation-harness",
        "samples_TASK_TIME.jsonl of lm-evaluation-harness",
        _recognise,
        _read,
    ),
    LogFormat(
        "lm-evaluation-harness 0.4.0",
        "ARGUMENTS_TASK.jsonl of lm-evaluation-harness 0.4.0 to 0.4.2, beside its results.json",
        _recognise_array,
        _read_array,
    ),
    LogFormat(
        "lm-evaluation-harness 0.3",
        "TASK_write_out_info.json of lm-evaluation-harness 0.3",
        _recognise_written,
        _read_written,
    ),
)
