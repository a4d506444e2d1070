"""What a figure or table of a paper is here: what it needs, how it is made, what it is held to.

Published numbers are held only beside models that are the paper's own, by all their spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import plotly.graph_objects as go

from coupled_arena.papers.source import PaperSource
from coupled_arena.views.tables.table import Column, Table, table_of

# Which models are a paper's own, whatever they are called.
#
# The same model has other names in the tables of a paper, in its authors' files, on the Hugging
# Face hub, and in `--preset papers`. A number that a paper states stands beside one of ours only
# where all its models are there, and no others.

_SIGNS = re.compile(r"[^a-z0-9]+")


def folded(name: str) -> str:
    """Return a name without its owner on the hub, without signs, in small letters."""
    return _SIGNS.sub("", name.rpartition("/")[2].lower())


def same(name: str | None, *spellings: str) -> bool:
    """Tell whether a name is one of these, up to signs and capitals."""
    return name is not None and folded(name) in {folded(each) for each in spellings}


@dataclass(frozen=True)
class KnownNames:
    """Names that a paper has for its models, scenarios or judges.

    Attributes
    ----------
    spellings : mapping of str to tuple of str
        The paper's names, and what each is called elsewhere; signs, capitals and owners on the hub
        do not matter.
    """

    spellings: Mapping[str, tuple[str, ...]]

    @cached_property
    def _by_spelling(self) -> dict[str, str]:
        return {
            folded(each): name
            for name, others in self.spellings.items()
            for each in (name, *others)
        }

    def name_of(self, name: str) -> str | None:
        """Return the paper's name of a model, None if it is none of its."""
        return self._by_spelling.get(folded(name))

    def all_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the paper's name of each, empty unless these are all that it has and no others."""
        found = {name: self.name_of(name) for name in names}
        known = {name: other for name, other in found.items() if other is not None}
        complete = len(known) == len(found) and sorted(known.values()) == sorted(self.spellings)
        return known if complete else {}


def one_of(several: Sequence[KnownNames], names: Sequence[str]) -> dict[str, str]:
    """Return the paper's name of each model by the first whose models these are; else nothing."""
    return next((found for each in several if (found := each.all_of(names))), {})


class Needs(StrEnum):
    """What data an item is made from."""

    PROTOCOL_SCORES = (
        "scores of the same prompts under both protocols: a store that `benchmark --mode both` "
        "filled, or --scores"
    )
    SAMPLINGS = (
        "scores under both protocols at several temperatures or top-ps: a store that "
        "`benchmark --temperature 0.3,0.7,1` filled"
    )
    VOTES = "votes: a store, or --votes"
    PROTOCOL_VOTES = "votes or verdicts on coupled and on independent battles: a store"
    VERDICTS = "votes, and verdicts of a judge: a store, or --votes and --verdicts"
    SCORES = "scores of the same prompts by one metric or several: --scores, or a store"
    GRADES = "answers of a benchmark that a judge has graded: a store, or --scores"
    GRADES_IF_ANY = "answers of a benchmark, as above; without any it is simulated"
    NOTHING = "nothing: it is simulated"

    @property
    def simulated_without(self) -> bool:
        """Whether it is made without any data, too."""
        return self in (Needs.NOTHING, Needs.GRADES_IF_ANY)


@dataclass(frozen=True)
class Made:
    """What an item has become.

    Attributes
    ----------
    tables : mapping of str to Table
        What it shows in numbers; by a name of its own each, where there are several.
    figures : mapping of str to plotly Figure
        Nothing where the paper has a table.
    values : mapping of str to float
        Numbers that papers state, by what they are: held against those that were published.
    notes : tuple of str
        What a reader should know: where it differs from the paper's figure, and why.
    """

    tables: Mapping[str, Table[Any]]
    figures: Mapping[str, go.Figure] = field(default_factory=dict[str, go.Figure])
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    notes: tuple[str, ...] = ()


Make = Callable[[PaperSource], Made]


@dataclass(frozen=True)
class Item:
    """A figure or table of a paper.

    Attributes
    ----------
    name : str
        As the paper numbers it: figure-1, table-2.
    title : str
        What it shows, in our words.
    make : callable or None
        Makes it; several items may be made alike, from other data. None where it is not made.
    published : mapping of str to float
        Numbers that the paper states for it, by the names that `Made.values` gives them.
    reason : str
        Why it is not made.
    """

    name: str
    title: str
    needs: Needs
    make: Make | None = None
    published: Mapping[str, float] = field(default_factory=dict[str, float])
    reason: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper, by the name that the command line has for it."""

    name: str
    title: str
    items: tuple[Item, ...]

    def alike(self, item: Item) -> tuple[Item, ...]:
        """Return an item, followed by the others that are made as it is."""
        if item.make is None:
            return (item,)
        others = (each for each in self.items if each is not item and each.make is item.make)
        return (item, *others)

    def groups(self) -> list[tuple[Item, ...]]:
        """Return all items in order, those together that are made alike."""
        found: dict[object, tuple[Item, ...]] = {}
        for item in self.items:
            found.setdefault(item.make or item.name, self.alike(item))
        return list(found.values())


@dataclass(frozen=True)
class BesidePublished:
    """A number that a paper states, and ours.

    Attributes
    ----------
    made : float or None
        None where these data do not have it.
    """

    what: str
    published: float
    made: float | None

    @property
    def difference(self) -> float | None:
        """Ours less the published one."""
        return None if self.made is None else self.made - self.published


def beside_published(items: tuple[Item, ...], made: Made) -> tuple[BesidePublished, ...]:
    """Return what the papers state for some items, beside what these data say."""
    stated = {what: value for item in items for what, value in item.published.items()}
    return tuple(
        BesidePublished(what, value, made.values.get(what)) for what, value in stated.items()
    )


PUBLISHED: tuple[Column[BesidePublished], ...] = (
    Column("what", str, "What the paper states a number of", heading="number"),
    Column("published", float, "As the paper states it", heading="published", text=".4g"),
    Column(
        "made",
        float,
        "As these data have it; unknown where they do not",
        heading="here",
        text=".4g",
    ),
    Column(
        "difference",
        float,
        "The latter less the former",
        heading="difference",
        text="+.2g",
    ),
)


def listing(papers: Sequence[Paper]) -> Table[tuple[Paper, Item]]:
    """Return all items of some papers as a table."""
    return table_of(LISTED, ((paper, item) for paper in papers for item in paper.items))


def listing_answer(papers: Sequence[Paper]) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {"items": listing(papers).records()}


LISTED: tuple[Column[tuple[Paper, Item]], ...] = (
    Column("paper", str, "Name of the paper", lambda row: row[0].name, heading="paper"),
    Column("item", str, "Figure or table of it", lambda row: row[1].name, heading="item"),
    Column("title", str, "What it shows", lambda row: row[1].title, heading="what it shows"),
    Column(
        "needs",
        str,
        "What it is made from; unknown where it is not made",
        lambda row: row[1].needs.value if row[1].make else None,
    ),
    Column("made", bool, "Whether it is made here", lambda row: row[1].make is not None),
    Column(
        "reason",
        str,
        "Why it is not made",
        lambda row: row[1].reason or None,
        heading="needs",
        text=lambda row: row[1].needs.value if row[1].make else f"not made: {row[1].reason}",
    ),
)
