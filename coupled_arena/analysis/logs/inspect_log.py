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

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning
from coupled_arena.core.bounds import IN_MEMORY
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.extras import require

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_PARTS = ("_journal/start.json", "header.json")


def _recognise(path: Path) -> bool:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return any(part in archive.namelist() for part in _PARTS)
    head = beginning(path)
    return head.startswith('{"version":') and '"status":' in head and '"eval":{' in head


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a sample and epoch; a scorer that gives several values is several metrics."""
    log = _loaded(path, name)
    if log.status != "success":
        raise ScoreError(f"{name} is of a run that has ended with {log.status!r}, not 'success'.")
    if not log.samples:
        raise ScoreError(f"{name} has no samples.")
    run = log.eval
    generated = run.model_generate_config.model_dump(exclude_none=True)
    settings = {"model_args": run.model_args, "generate": generated, "task_args": run.task_args}
    for sample in log.samples:
        where = f"{name}, sample {sample.id!r}, epoch {sample.epoch}"
        if sample.scores is None and sample.error is None:
            raise ScoreError(f"{where} has no scores: score the log first.")
        yield Scored(
            where,
            run.model,
            f"{run.task}/{sample.id}",
            _scores(sample, [scorer.name for scorer in run.scorers or ()], where),
            document=json.dumps([_text(sample.input), sample.target]),
            settings=json.dumps(settings, sort_keys=True, default=str),
            task=run.task,
        )


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


def _scores(sample: Any, scorers: list[str], where: str) -> dict[str, Any]:
    """Return the scores by metric: a sample that has ended with an error has none by any scorer."""
    if sample.error is not None:
        return dict.fromkeys(scorers)
    found: dict[str, Any] = {}
    for scorer, score in (sample.scores or {}).items():
        if isinstance(score.value, Mapping):
            parts = {f"{scorer}/{key}": value for key, value in score.value.items()}
        else:
            parts = {scorer: score.value}
        for metric, value in parts.items():
            found[metric] = _GRADES.get(value, value) if isinstance(value, str) else value
    if not found:
        raise ScoreError(f"{where} has no scores: score the log first.")
    return found


FORMAT = LogFormat("Inspect", "logs of Inspect (.eval or .json)", _recognise, _read)
