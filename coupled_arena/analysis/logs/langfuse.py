"""Items of Langfuse's experiments with their scores, as its API returns them.

Langfuse has no verdict on two answers. Its experiments on one dataset share the items. Each item of
each experiment has scores of its own, so experiments are compared item by item.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, beginning, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import whole
from coupled_arena.store.transfer.foreign_rows import LANGFUSE_ITEMS

_TEXTS = ("TEXT", "CORRECTION")  # types of scores that are not comparable

_Found = dict[str, dict[str, list[Any]]]


def _recognise(path: Path) -> bool:
    return '"experimentItemId":' in beginning(path)


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer an item of an experiment; one that nothing scored has no score."""
    rows = list(_items(path, name))
    found = [_scores(row) for row in rows]
    sources: dict[str, set[str]] = defaultdict(set)
    for scores in found:
        for metric, by_source in scores.items():
            sources[metric] |= by_source.keys()
    metrics = sorted(
        _named(metric, one, among) for metric, among in sources.items() for one in among
    )
    if not metrics:
        raise ScoreError(f"{name} has no scores: ask for them, as in {LANGFUSE_ITEMS}.")
    for number, (row, scores) in enumerate(zip(rows, found, strict=True), start=1):
        where = f"{name}, item {number}"
        model = row.get("experimentName") or row.get("experimentId")
        if not model or not row.get("experimentItemId"):
            raise ScoreError(f"{where} names no experiment, or no item of the dataset.")
        own = {
            _named(metric, source, sources[metric]): _mean(values)
            for metric, by_source in scores.items()
            for source, values in by_source.items()
        }
        asked = json.dumps(row["input"], sort_keys=True) if "input" in row else ""
        yield Scored(
            where,
            str(model),
            str(row["experimentItemId"]),
            dict.fromkeys(metrics) | own,
            document=asked,
        )


def _items(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the items of a file: of a page or a list of these, in one text or one a line."""
    try:
        text = whole(path).decode("utf-8-sig")
        try:
            read = [json.loads(text)]
        except ValueError:
            read = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{name} cannot be read: {error}.") from error
    for page in read:
        for row in items(page) or [page]:
            yield from map(record, items(record(row).get("data")) or [row])


def _scores(row: Mapping[str, Any]) -> _Found:
    """Return the values by metric and by source, which is a person, a judge or a program."""
    found: _Found = defaultdict(lambda: defaultdict(list))
    for score in map(record, items(row.get("scores"))):
        value = score.get("value")
        if score.get("dataType") not in _TEXTS and value is not None and score.get("name"):
            found[str(score["name"])][str(score.get("source") or "").lower()].append(value)
    return found


def _named(metric: str, source: str, among: set[str]) -> str:
    """Return a name that keeps scores of people and of judges apart, where both gave some."""
    return f"{metric} ({source})" if len(among) > 1 else metric


def _mean(values: list[Any]) -> Any:
    """Return the mean of several scores of one kind, as Langfuse shows; a word where they agree."""
    if all(isinstance(value, int | float) for value in values):
        return fmean(values)
    return values[0] if len({str(value) for value in values}) == 1 else None


FORMAT = LogFormat("Langfuse", "items of Langfuse's experiments (JSON)", _recognise, _read)
