"""Results of promptfoo (``promptfoo eval --output results.json``): providers on tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole

_ERROR = 2  # why a result failed: the provider has not answered


def _recognise(path: Path) -> bool:
    head = beginning(path)
    summary = '{"version":' in head and '"timestamp":' in head
    return head.startswith('{"evalId":') or (
        summary and ('"prompts":[' in head or '"results":[' in head) and '"eval":{' not in head
    )


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a result; of several prompts each is a model of its own."""
    try:
        read = json.loads(whole(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{name} cannot be read: {error}.") from error
    summary = record(read).get("results", read)
    results = items(summary) or items(record(summary).get("results"))
    if not results:
        raise ScoreError(f"{name} has no results.")
    known = [row for row in map(record, results) if "score" in row]
    prompts = {_prompt(row) for row in known}
    metrics = dict.fromkeys(metric for row in known for metric in _scores(row))
    for number, row in enumerate(map(record, results), start=1):
        where = f"{name}, result {number}"
        if "score" not in row:
            raise ScoreError(f"{where} has no score.")
        model = _provider(row)
        if not model:
            raise ScoreError(f"{where} names no provider.")
        asked = json.dumps(row.get("vars"), sort_keys=True)
        yield Scored(
            where,
            f"{model} {_prompt(row)}" if len(prompts) > 1 else model,
            str(row.get("testIdx", asked)),
            metrics | _scores(row),
            document=asked,
        )


def _provider(row: Mapping[str, Any]) -> str:
    given = row.get("provider")
    if isinstance(given, Mapping):
        return str(given.get("label") or given.get("id") or "")
    return str(given or "")


def _prompt(row: Mapping[str, Any]) -> str:
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, Mapping) else prompt
    return str(label or row.get("promptIdx", ""))[:80]


def _scores(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the score, whether it passed, named scores, and which answer a judge chose as best."""
    failed = row.get("failureReason") == _ERROR
    found = {"score": row["score"], "success": row.get("success")}
    found |= record(row.get("namedScores"))
    for part in map(record, items(record(row.get("gradingResult")).get("componentResults"))):
        if record(part.get("assertion")).get("type") == "select-best":
            found["select-best"] = part.get("pass")
    return dict.fromkeys(found) if failed else found


FORMAT = LogFormat("promptfoo", "results of promptfoo (JSON)", _recognise, _read)
