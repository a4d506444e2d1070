"""Figures and tables of papers as files: pictures, CSV, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import reason
from coupled_arena.papers.item import PUBLISHED, BesidePublished, Item, Made, Paper
from coupled_arena.views.figures.images import write_pictures
from coupled_arena.views.tables.table import Table, table_of

_LONGEST = 60  # rows of a table that people read on a terminal
_NAME = str.maketrans(dict.fromkeys(' /\\:*?"<>|\x00', "-"))


@dataclass(frozen=True)
class Written:
    """An item, made and written.

    Attributes
    ----------
    answer : dict
        What its JSON file holds.
    text : str
        The same as people read it.
    files : tuple of Path
    """

    answer: dict[str, Any]
    text: str
    files: tuple[Path, ...]


def beside(rows: Sequence[BesidePublished]) -> Table[BesidePublished]:
    """Return what a paper states beside ours, as a table."""
    return table_of(PUBLISHED, rows)


def record(paper: Paper, items: Sequence[Item], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what says which item this is and from what it is made: the head of its JSON."""
    first = items[0]
    return {
        "paper": paper.name,
        "item": first.name,
        "also": [item.name for item in items[1:]],
        "title": first.title,
        "needs": first.needs.value,
        "settings": settings,
    }


def is_there(folder: Path, head: dict[str, Any]) -> bool:
    """Return whether the folder has this item already, made from the same with these settings."""
    try:
        before = json.loads(_stem(folder, head).with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(before, dict) and all(before.get(key) == head[key] for key in head)


def write(
    folder: Path,
    head: dict[str, Any],
    made: Made,
    stated: Sequence[BesidePublished],
    seconds: float,
    formats: Sequence[str],
) -> Written:
    """Write an item into a folder; its JSON last, so that what has one is whole.

    Raises
    ------
    ArenaError
        The folder cannot be written to, or no picture be drawn.
    """
    stem = _stem(folder, head)
    answer = {
        **head,
        "tables": {name: table.records() for name, table in made.tables.items()},
        "published": beside(stated).records(),
        "notes": list(made.notes),
        "seconds": round(seconds, 3),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [
            _csv(_named(stem, name, made.tables), table) for name, table in made.tables.items()
        ]
        figures = {_named(stem, name, made.figures): each for name, each in made.figures.items()}
        for figure in figures.values():
            figure.update_layout(paper_bgcolor="white")
        files += write_pictures(figures, formats)
        answer["files"] = [path.name for path in files]
        path = stem.with_suffix(".json")
        path.write_text(json.dumps(answer, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ArenaError(f"{folder} cannot be written: {reason(error)}.") from error
    return Written(answer, _text(answer, made, stated), (*files, path))


def _text(answer: dict[str, Any], made: Made, stated: Sequence[BesidePublished]) -> str:
    parts = [f"{answer['paper']} {answer['item']}: {answer['title']} ({answer['seconds']:.1f} s)"]
    if here := [row for row in stated if row.made is not None]:
        parts.append(beside(here).text())
    else:
        parts += [
            "\n".join([*([name] if len(made.tables) > 1 else []), _read(table)])
            for name, table in made.tables.items()
        ]
    return "\n\n".join([*parts, *made.notes])


def _read(table: Table[Any]) -> str:
    if len(table) > _LONGEST or not any(column.heading for column in table.columns):
        return f"{len(table):,} rows, which its CSV file has."
    return table.text()


def _csv(stem: Path, table: Table[Any]) -> Path:
    path = stem.with_name(f"{stem.name}.csv")
    table.to_csv(path)
    return path


def _stem(folder: Path, head: dict[str, Any]) -> Path:
    return folder / f"{head['paper']}-{head['item']}"


def _named(stem: Path, name: str, among: Any) -> Path:
    """Return the stem of one of several parts; the only one needs no name of its own."""
    return stem if len(among) == 1 else stem.with_name(f"{stem.name}-{name.translate(_NAME)}")
