"""Whether runs in logs may be compared: repetitions, copies, what differs besides the model.

It knows nothing about metrics, and nothing about any tool.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from coupled_arena.analysis.logs.scored import Scored
from coupled_arena.core.errors import ScoreError

_LONGEST = 200  # characters of a setting in a message
_SHOWN = 40  # characters of a value that a note can hold; of longer ones it has the name


class Copies:
    """Runs that have been read, each of which counts once."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[str, Path]] = {}
        self._files: dict[tuple[str, str, int], list[Path]] = {}
        self.notes: list[str] = []

    def holds(self, first: Scored, file: Path) -> bool:
        """Return whether a file, which begins with this answer, has been read by another name.

        Raises
        ------
        ScoreError
            It is the run of another model.
        """
        model, before = self._runs.get(first.run, (first.model, None))
        if model != first.model:
            raise ScoreError(
                f"{file} is the run {first.run!r}, and so is {before}: {model} and {first.model} "
                "are one run. Give each model a run of its own."
            )
        key = first.model, first.settings, file.stat().st_size
        alike = self._files.setdefault(key, [])
        if before is None:
            before = next((one for one in alike if filecmp.cmp(one, file, shallow=False)), None)
        if before is not None:
            self.notes.append(f"{file} is the same run as {before}: it counts once.")
            return True
        alike.append(file)
        if first.run:
            self._runs[first.run] = (first.model, file)
        return False


class Runs:
    """What models have said, and how they were asked."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[str, str]] = {}
        self._asked: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._differing: dict[str, dict[str, Any]] = {}
        self._said: dict[str, dict[str, list[int]]] = {}
        self._told: set[str] = set()  # models with replies in their logs
        self._notes: dict[str, None] = {}

    def add(self, answer: Scored, metrics: Sequence[str]) -> None:
        """Take an answer, of which these metrics count.

        Raises
        ------
        ScoreError
            Its run does not fit those before it.
        """
        self._check_same(answer)
        self._notes |= dict.fromkeys(answer.notes)
        if answer.conditions:
            model, asked = self._asked.setdefault(answer.prompt, (answer.model, answer.conditions))
            if model != answer.model and asked is not answer.conditions:
                for name in asked.keys() & answer.conditions.keys():
                    if asked[name] != answer.conditions[name]:
                        differing = self._differing.setdefault(name, {model: asked[name]})
                        differing.setdefault(answer.model, answer.conditions[name])
        if answer.reply:
            self._told.add(answer.model)
        # Replies alone may agree by chance, where a task has few.
        scored = [str(answer.scores.get(name)) for name in metrics]
        said = self._said.setdefault(answer.model, {}).setdefault(answer.prompt, [])
        said.append(hash((answer.reply, *scored)))

    def notes(self) -> tuple[str, ...]:
        """Return what is to be said of the runs, once all answers are there."""
        return (*self._notes, *self._differences(), *self._one_run())

    def _differences(self) -> list[str]:
        if not self._differing:
            return []
        told = "; ".join(_difference(name, of) for name, of in sorted(self._differing.items()))
        return [f"Besides the model, the runs differ in: {told}."]

    def _one_run(self) -> list[str]:
        found: list[str] = []
        said = [(model, of) for model, of in self._said.items() if model in self._told]
        for (one, here), (other, there) in combinations(said, 2):
            shared = here.keys() & there.keys()
            if len(shared) > 1 and all(here[prompt] == there[prompt] for prompt in shared):
                found.append(
                    f"{one} and {other} gave the same replies to all {len(shared):,} prompts. "
                    "Coupled models may; otherwise they are one run."
                )
        return found

    def _check_same(self, answer: Scored) -> None:
        """Refuse other documents under one name, and runs that do not repeat each other."""
        model, prompt = answer.model, answer.prompt
        facts = (
            ((prompt,), answer.document, f"{prompt} is another document"),
            ((prompt, "filter"), answer.filter, "replies have passed another filter"),
            (
                (model, prompt, "request"),
                answer.request,
                f"{prompt} was put to {model} in other words",
            ),
            ((model, prompt, "run"), answer.settings, f"{model} was run otherwise"),
        )
        for key, value, what in facts:
            if not value:
                continue
            before, where = self._known.setdefault(key, (value, answer.where))
            if before != value:
                told = key[-1] in ("run", "filter")
                runs = f": {_otherwise(before, value)}" if told else ""
                raise ScoreError(
                    f"{answer.where}: {what} than in {where}{runs}. Logs together must be of the "
                    "same prompts, and those of one model of the same settings; name models apart "
                    "as NAME=FOLDER."
                )


def _otherwise(before: str, value: str) -> str:
    """Return what differs of two settings, which may be objects in JSON of any size."""
    try:
        one, other = json.loads(before), json.loads(value)
    except ValueError:
        one = other = None
    if isinstance(one, dict) and isinstance(other, dict):
        names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        return ", ".join(f"{name} {_pair(one.get(name), other.get(name))}" for name in names)
    return _pair(before, value)


def _pair(before: Any, value: Any) -> str:
    there, here = (each if isinstance(each, str) else json.dumps(each) for each in (before, value))
    return f"{_short(there)} there, {_short(here)} here"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _difference(name: str, values: Mapping[str, Any]) -> str:
    shown = {model: json.dumps(value, default=str) for model, value in values.items()}
    if any(len(value) > _SHOWN for value in shown.values()):
        return name
    return f"{name} ({', '.join(f'{value} for {model}' for model, value in shown.items())})"
