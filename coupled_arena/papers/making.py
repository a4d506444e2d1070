"""All items of the papers, made one after the other and written: pictures, CSV, JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import reason
from coupled_arena.core.process import Track
from coupled_arena.papers.coupled_generation import COUPLED_GENERATION
from coupled_arena.papers.item import (
    PUBLISHED,
    BesidePublished,
    Item,
    Made,
    Paper,
    beside_published,
)
from coupled_arena.papers.judge import JUDGE
from coupled_arena.papers.ranking import RANKING
from coupled_arena.papers.risk import RISK
from coupled_arena.papers.source import PaperSource
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
    """

    answer: dict[str, Any]
    text: str
    files: tuple[Path, ...]


def published_table(rows: Sequence[BesidePublished]) -> Table[BesidePublished]:
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
        "published": published_table(stated).records(),
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
        parts.append(published_table(here).text())
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


@dataclass(frozen=True)
class OutputFolder:
    """Where items are written, and what says from which data they are made.

    Attributes
    ----------
    formats : tuple of str
        Kinds of pictures.
    data : str
        Differs once the data were changed.
    again : bool
        Whether what the folder has already is made anew.
    """

    folder: Path
    formats: tuple[str, ...]
    data: str
    again: bool = False


def make_item(
    paper: Paper, items: Sequence[Item], source: PaperSource, place: OutputFolder
) -> Written:
    """Make and write one of the items that are made alike.

    Parameters
    ----------
    items : sequence of Item
        The first gives it its name; what the paper states of any stands beside it.

    Raises
    ------
    ArenaError
        It is not made here, these data are not enough, or nothing can be written.
    """
    first = items[0]
    if first.make is None:
        raise ArenaError(f"{paper.name} {first.name} is not made here: {first.reason}")
    begun = time.perf_counter()
    made = first.make(source)
    seconds = time.perf_counter() - begun
    head = _head(paper, items, source, place)
    stated = beside_published(tuple(items), made)
    return write(place.folder, head, made, stated, seconds, place.formats)


def _head(
    paper: Paper, items: Sequence[Item], source: PaperSource, place: OutputFolder
) -> dict[str, Any]:
    return record(paper, items, {**source.settings.to_json(), "data": place.data})


def make_paper(
    paper: Paper,
    source: PaperSource,
    place: OutputFolder,
    say: Callable[[str], None],
    track: Callable[[str], Track],
) -> dict[str, Any]:
    """Make what can be made of a paper from these data, and return what became of each item.

    What is simulated comes last: it may take minutes, and what the data lack is told at once.

    Parameters
    ----------
    say : callable
        Told of each item as soon as it is made, kept, or left out.
    track : callable
        Returns what shows how far a loop of the named item is.

    Raises
    ------
    ArenaError
        Nothing of it can be made; the last reason.
    """
    groups = sorted(paper.groups(), key=_is_simulated)
    answers: list[dict[str, Any]] = []
    kept: list[str] = []
    left_out: list[dict[str, str]] = []
    for number, items in enumerate(groups, start=1):
        name = items[0].name
        if items[0].make is None:
            left_out.append({"item": name, "reason": items[0].reason})
            continue
        if not place.again and is_there(place.folder, _head(paper, items, source, place)):
            kept.append(name)
            say(f"{paper.name} {name} is there, made from the same with the same settings.")
            continue
        try:
            _check_any(items[0], source)
            bar = track(f"{name} ({number} of {len(groups)})")
            written = make_item(paper, items, replace(source, track=bar), place)
        except ArenaError as error:
            left_out.append({"item": name, "reason": str(error)})
            say(f"{paper.name} {name} is left out: {error}")
        else:
            answers.append(written.answer)
            say(written.text)
    if not (answers or kept):
        raise ArenaError(f"Nothing of {paper.name} can be made from this: {left_out[-1]['reason']}")
    return {"paper": paper.name, "items": answers, "kept": kept, "left_out": left_out}


def _is_simulated(items: Sequence[Item]) -> bool:
    return items[0].make is not None and items[0].needs.simulated_without


def _check_any(item: Item, source: PaperSource) -> None:
    """Say what an item needs where there are no data at all."""
    if source.scores or source.has_store or item.needs.simulated_without:
        return
    try:
        source.open_store()
    except ArenaError as error:
        raise ArenaError(f"it is made from {item.needs}. {error}") from error


# All figures and tables of the papers, by paper and name.

PAPERS: tuple[Paper, ...] = (COUPLED_GENERATION, RANKING, RISK, JUDGE)


def paper_of(name: str) -> Paper:
    """Return the paper of a name.

    Raises
    ------
    ArenaError
        There is none.
    """
    for paper in PAPERS:
        if paper.name == name:
            return paper
    known = ", ".join(paper.name for paper in PAPERS)
    raise ArenaError(f"There is no paper {name!r}; there are: {known}.")


def item_of(paper: Paper, name: str) -> Item:
    """Return the figure or table of a name: ``figure-2``, or ``Figure 2``.

    Raises
    ------
    ArenaError
        There is none.
    """
    asked = "-".join(name.lower().split())
    for item in paper.items:
        if item.name == asked:
            return item
    known = ", ".join(item.name for item in paper.items)
    raise ArenaError(f"{paper.name} has no {name!r}; it has: {known}.")
