"""What stands on the line of a model's mark: its name and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from coupled_arena.views.figures.theme import Theme, shortened
from coupled_arena.views.markup import straight

Lacking = Callable[[Sequence[str]], str]  # says which models are lacking something
_LINE = 50  # characters of a line above a figure


@dataclass(frozen=True)
class FigureRow:
    """A line of text: a model, and what stands beside it in plotly's markup."""

    model: str
    text: str
    known: bool = True


def italic(text: str) -> str:
    """Return a text that stands where a number is lacking."""
    return f"<i>{text}</i>"


def row_label(row: int, label: FigureRow, theme: Theme) -> list[dict[str, Any]]:
    """Return the annotations that name a row and say its numbers."""
    place: dict[str, Any] = {
        "y": row,
        "yshift": 17,
        "showarrow": False,
        "xref": "paper",
        "font": {"color": theme.text if label.known else theme.faint},
    }
    return [
        {**place, "text": shortened(label.model), "x": 0, "xanchor": "left"},
        {**place, "text": label.text, "x": 1, "xanchor": "right"},
    ]


def split_idle(rows: Sequence[FigureRow]) -> tuple[Sequence[FigureRow], Sequence[FigureRow]]:
    """Return the rows up to the last one that is known, and those after it."""
    last = max((at for at, row in enumerate(rows) if row.known), default=-1)
    return rows[: last + 1], rows[last + 1 :]


def idle_lines(rows: Sequence[FigureRow], lacking: Lacking) -> list[str]:
    """Return what stands above a figure in the place of rows of which nothing is known."""
    if not rows:
        return []
    said = lacking([row.model for row in rows])
    return [escape(line, quote=False) for line in wrap(straight(said), _LINE)]
