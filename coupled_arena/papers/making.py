"""Items of papers made one after the other: what is there is kept, what cannot be is named."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers import written as files
from coupled_arena.papers.item import Item, Paper, beside_published
from coupled_arena.papers.source import PaperSource
from coupled_arena.papers.written import Written
from coupled_arena.stats.progress import Track


@dataclass(frozen=True)
class Place:
    """Where items are written, and what says from which data they are made.

    Attributes
    ----------
    folder : Path
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


def make_item(paper: Paper, items: Sequence[Item], source: PaperSource, place: Place) -> Written:
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
    return files.write(place.folder, head, made, stated, seconds, place.formats)


def _head(paper: Paper, items: Sequence[Item], source: PaperSource, place: Place) -> dict[str, Any]:
    return files.record(paper, items, {**source.settings.to_json(), "data": place.data})


def make_paper(
    paper: Paper,
    source: PaperSource,
    place: Place,
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
        if not place.again and files.is_there(place.folder, _head(paper, items, source, place)):
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
