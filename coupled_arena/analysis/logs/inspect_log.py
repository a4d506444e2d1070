"""Logs of Inspect (``.eval`` or ``.json``), read by Inspect itself."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import BrokenRunError, LogFormat, Scored, beginning
from coupled_arena.core.bounds import IN_MEMORY
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.extras import require

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_LAW = ("temperature", "top_p", "top_k", "max_tokens", "seed", "system_message")
_NOISE = ("seed", "coupling")  # of the provider `coupled`
_PARTS = ("_journal/start.json", "header.json")


def _recognise(path: Path) -> bool:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return any(part in archive.namelist() for part in _PARTS)
    head = beginning(path)
    if path.suffix == ".eval":
        return head.startswith("PK")  # an archive that is cut off
    as_written = head.startswith('{"version":') and '"status":' in head and '"eval":{' in head
    return as_written or (head.startswith('{"eval":{') and '"dataset":{' in head)  # keys sorted


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a sample and epoch; a scorer that gives several values is several metrics.

    Epochs that the log makes one score of, otherwise than by their mean, are one answer.
    """
    log = _loaded(path, name)
    if log.status != "success":
        raise BrokenRunError(
            f"{name} is of a run that has ended with {log.status!r}, not 'success'."
        )
    if not log.samples:
        raise ScoreError(f"{name} has no samples.")
    run = log.eval
    each = (run.model_generate_config, log.plan.config)  # of the model, and of task and command
    generated = {k: v for config in each for k, v in config.model_dump(exclude_none=True).items()}
    settings = {"model_args": run.model_args, "generate": generated, "task_args": run.task_args}
    reducer, reduced = _reduced(log)
    conditions = {"task version": run.task_version, "task arguments": run.task_args}
    conditions |= {"epochs": run.config.epochs or 1, "reducer": reducer}
    conditions |= {name: generated.get(name) for name in _LAW}
    conditions |= {f"{name} of coupled models": run.model_args.get(name) for name in _NOISE}
    for scorer in run.scorers or ():
        conditions[f"options of {scorer.name}"] = scorer.options
    notes = tuple(_notes(log, name, reducer, known=bool(reduced)))
    for samples, scores in _answers(log, name, reduced):
        sample = samples[0]
        yield Scored(
            _where(name, sample),
            run.model,
            f"{run.task}/{sample.id}",
            scores,
            document=json.dumps([_text(sample.input), sample.target]),
            settings=json.dumps(settings, sort_keys=True, default=str),
            task=run.task,
            notes=notes,
            conditions=conditions | {"system message": _system(sample)},
            reply="\n".join(each.output.completion for each in samples),
            # Inspect makes the ids of old logs from what two models may share.
            run=f"{run.eval_id} of {run.model}",
        )


def _system(sample: Any) -> str:
    """Return what a solver has put before the input, too."""
    said = (message for message in sample.messages or () if message.role == "system")
    return "\n".join(message.text for message in said)


def _where(name: str, sample: Any) -> str:
    return f"{name}, sample {sample.id!r}, epoch {sample.epoch}"


_Reduced = dict[tuple[str, str], Any]
"""By scorer and sample: the one value of all epochs."""


def _answers(log: Any, name: str, reduced: _Reduced) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield samples, or all epochs of one, and their scores."""
    metrics = _metrics(log, name)
    epochs: dict[str, list[tuple[Any, dict[str, Any]]]] = {}
    for sample in log.samples:
        if sample.scores is None and sample.error is None:
            raise ScoreError(f"{_where(name, sample)} has no scores: score the log first.")
        scores = _scores(sample, metrics)
        if not reduced:
            yield [sample], scores
        epochs.setdefault(str(sample.id), []).append((sample, scores))
    for number, answers in epochs.items() if reduced else ():
        found: dict[str, Any] = {}
        for scorer in metrics:
            found |= _values(scorer, reduced.get((scorer, number)))
        lacking = {
            metric for _, scores in answers for metric, score in scores.items() if score is None
        }
        yield [sample for sample, _ in answers], found | dict.fromkeys(lacking)


def _reduced(log: Any) -> tuple[str, _Reduced]:
    """Return by what the log makes one score of a sample's epochs, and what came of it."""
    reducer = next(iter(log.eval.config.epochs_reducer or ()), "mean")
    if reducer == "mean" or (log.eval.config.epochs or 1) < 2:
        return "mean", {}
    return reducer, {
        (each.scorer, str(sample.sample_id)): sample.value
        for each in log.reductions or ()
        if each.reducer == reducer
        for sample in each.samples
    }


def _notes(log: Any, name: str, reducer: str, *, known: bool) -> Iterator[str]:
    if number := sum(sample.invalidation is not None for sample in log.samples):
        what = "sample: it lacks" if number == 1 else "samples: they lack"
        yield f"{name} has {number:,} invalidated {what} a score."
    elif log.invalidated:
        yield f"{name} is marked as invalidated, but none of its samples: all of them count."
    if known:
        yield f"The score of a sample is the {reducer!r} of its epochs, as in the log."
    elif reducer != "mean":
        yield f"{name} has no values of its reducer {reducer!r}: the mean of epochs counts."


def _loaded(path: Path, name: str) -> Any:
    """Return an ``EvalLog``; the package is optional."""
    require("inspect", f"{name} is a log of Inspect, which", ScoreError)
    try:
        IN_MEMORY.check(0, _unpacked(path))
        return import_module("inspect_ai.log").read_eval_log(str(path))
    except _damages() as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise ScoreError(f"{name} cannot be read as a log of Inspect: {first}.") from error


def _unpacked(path: Path) -> int:
    """Return the bytes of a log as its archive tells them, of which no more are unpacked."""
    if not zipfile.is_zipfile(path):
        if path.suffix == ".eval":
            raise zipfile.BadZipFile("it is cut off")
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(part.file_size for part in archive.infolist())


def _damages() -> tuple[type[Exception], ...]:
    """Return what Inspect raises on a damaged file; archives have been compressed in two ways."""
    known = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)
    return (*known, import_module("zstandard").ZstdError) if find_spec("zstandard") else known


def _text(given: str | list[Any]) -> str:
    """Return a sample's input; messages have ids that differ from run to run."""
    if isinstance(given, str):
        return given
    return json.dumps([[message.role, message.text] for message in given])


def _metrics(log: Any, name: str) -> dict[str, dict[str, None]]:
    """Return the metrics of each scorer, in the order of the scorers."""
    found: dict[str, dict[str, None]] = {}
    for sample in log.samples:
        for scorer, score in (sample.scores or {}).items():
            found.setdefault(scorer, {}).update(dict.fromkeys(_values(scorer, score.value)))
    if not found:
        raise ScoreError(f"{_where(name, log.samples[0])} has no scores: score the log first.")
    order = [scorer.name for scorer in log.eval.scorers or ()]
    first = [scorer for scorer in order if scorer in found]
    return {scorer: found[scorer] for scorer in dict.fromkeys([*first, *found])}


def _scores(sample: Any, metrics: Mapping[str, Mapping[str, None]]) -> dict[str, Any]:
    """Return the scores by metric; None where a scorer gave none, or the sample is invalidated.

    A scorer may also leave out one of several values. A sample that has ended with an error counts
    if it is scored, as it does in Inspect.
    """
    given = {} if sample.invalidation is not None else sample.scores or {}
    found: dict[str, Any] = {}
    for scorer, named in metrics.items():
        values = _values(scorer, given[scorer].value) if scorer in given else {}
        if scorer not in values:  # of several values some may be left out
            found |= {metric: None for metric in named if not values or metric != scorer}
        found |= values
    return found


def _values(scorer: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {f"{scorer}/{key}": _number(each) for key, each in value.items()}
    return {scorer: _number(value)}


def _number(value: Any) -> Any:
    """Return a value as Inspect's own metrics take it."""
    if not isinstance(value, str):
        return value
    return _GRADES.get(value, _WORDS.get(value.lower(), value))


FORMAT = LogFormat("Inspect", "logs of Inspect (.eval or .json)", _recognise, _read)
