"""Outputs of JudgeBench: judges on pairs of answers of which one is right, in both orders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import LogFormat, Scored, items, record
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import Row, first_object, read_rows

_FIELDS = ("pair_id", "label", "judge_name", "judgments")
_TURNED = {"A>B": "B>A", "B>A": "A>B"}


def _recognise(path: Path) -> bool:
    return set(_FIELDS) <= set(first_object(path))


def _read(path: Path, name: str) -> Iterator[Scored]:
    """Yield an answer a pair; `correct` is what JudgeBench counts as right."""
    for row in read_rows(path, ScoreError, name=name):
        if absent := [field for field in _FIELDS if field not in row.values]:
            raise ScoreError(
                f"{row.where} has no {absent[0]}: a pair of JudgeBench has {', '.join(_FIELDS)}."
            )
        judgments = [record(each) for each in items(row.values["judgments"])]
        yield Scored(
            row.where,
            _judge(row, judgments),
            str(row.values["pair_id"]),
            {"correct": _correct(row, judgments)},
            document=f"{row.values.get('response_A')}\n{row.values.get('response_B')}",
        )


def _judge(row: Row, judgments: list[dict[str, Any]]) -> str:
    models = [record(each.get("judgment")).get("judge_model") for each in judgments]
    named = [str(row.values["judge_name"]), *[str(model) for model in models if model][:1]]
    return "/".join(named)


def _correct(row: Row, judgments: list[dict[str, Any]]) -> float | None:
    """Return 1 where more of its verdicts are right than wrong; the second has the sides turned."""
    label = str(row.values["label"])
    decisions = [str(each.get("decision")) for each in judgments]
    decisions = [_TURNED.get(said, said) if n else said for n, said in enumerate(decisions)]
    if not judgments:
        return None
    ahead = sum((said == label) - (said == _TURNED.get(label)) for said in decisions)
    return float(ahead > 0)


FORMAT = LogFormat("JudgeBench", "outputs of JudgeBench (JSON lines)", _recognise, _read)
