"""One answer of one model in a log, with the scores of its tool; how a tool's logs are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from coupled_arena.core.errors import ScoreError


class BrokenRunError(ScoreError):
    """A log is of a run that did not end well; in a folder its retry may lie beside it."""


@dataclass(frozen=True)
class Scored:
    """An answer as its tool has scored it.

    Attributes
    ----------
    where : str
        Where it stands, for messages.
    model, prompt : str
        Whose answer, to what.
    scores : dict
        By metric, as written; None where the tool could not tell.
    document : str
        What is the same for all models on this prompt; "" where the log does not say.
    request : str
        What is the same whenever this model answers this prompt; "" likewise.
    settings : str
        How the model was run; "" likewise.
    lower_is_better : frozenset of str
        Metrics of which the log says so.
    ordered : bool
        The first metric is the one that its tool tells first.
    task : str
        What the prompt belongs to; "" likewise.
    notes : tuple of str
        What is to be said of its log.
    conditions : dict
        What should be the same for all models besides, such as the number of shots, by name.
    filter : str
        What took the scored words from the reply; "" where that is nothing, or metrics name it.
    reply : str
        What the model said; "" likewise.
    run : str
        The name of its run, which no other run has; "" likewise.
    """

    where: str
    model: str
    prompt: str
    scores: Mapping[str, Any]
    document: str = ""
    request: str = ""
    settings: str = ""
    lower_is_better: frozenset[str] = frozenset()
    ordered: bool = True
    task: str = ""
    notes: tuple[str, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    filter: str = ""
    reply: str = ""
    run: str = ""


def record(value: Any) -> dict[str, Any]:
    """Return an object of JSON; an empty one where a log has something else there."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list of JSON; an empty one where a log has something else there."""
    return cast("list[Any]", value) if isinstance(value, list) else []


_HEAD = 1 << 12


def beginning(path: Path) -> str:
    """Return how a file begins, without white space; "" where nobody can read it.

    A log may be far too long to read as a whole.
    """
    try:
        with path.open("rb") as file:
            return "".join(file.read(_HEAD).decode("utf-8", errors="replace").split())
    except OSError:
        return ""


@dataclass(frozen=True)
class LogFormat:
    """What one tool writes.

    Attributes
    ----------
    title : str
        The tool, for messages.
    expected : str
        Its files, as they are told where something else is found.
    recognise : callable
        Says by a file's content whether it is one.
    read : callable
        Yields the answers in a file, which messages call by the name given.
    """

    title: str
    expected: str
    recognise: Callable[[Path], bool]
    read: Callable[[Path, str], Iterator[Scored]]
