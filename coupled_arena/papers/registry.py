"""All figures and tables of the papers, by paper and name."""

from __future__ import annotations

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.coupled_generation import COUPLED_GENERATION
from coupled_arena.papers.item import Item, Paper
from coupled_arena.papers.judge import JUDGE
from coupled_arena.papers.ranking import RANKING
from coupled_arena.papers.risk import RISK

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
