"""What all figures share: colours, title, the numbers behind them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from coupled_arena.core.language import _, separators
from coupled_arena.views.figures.registry import Figure
from coupled_arena.views.markup import straight, typeset
from coupled_arena.views.tables.table import Table

LINE = 16  # pixels of a line of text
_TITLE = 44  # pixels of the title with its distance to the edge and to what follows
_LONGEST_NAME = 26  # characters of a name that a phone has room for beside the numbers
_NAME_LINE = 14  # characters of a name on one line beside a matrix
_FONT = "sans-serif"


@dataclass(frozen=True)
class Theme:
    """Colours that suit a background."""

    ground: str  # the background itself, for what must hide a line behind it
    text: str
    faint: str
    grid: str
    accent: str
    pale: str  # the accent, as a surface
    other: str
    # From vermilion to blue, which look different to every kind of colour blindness.
    behind: str
    even: str
    ahead: str
    written: str  # on these three, where Plotly's own choice is too pale


LIGHT = Theme(
    ground="#ffffff",
    text="#27272a",
    faint="#71717a",
    grid="rgba(113,113,122,.2)",
    accent="#0072b2",
    pale="rgba(0,114,178,.25)",
    other="#d55e00",
    behind="#e06a1b",
    even="#f1f1f3",
    ahead="#2b8cc4",
    written="#18181b",
)
DARK = Theme(
    ground="#1f2937",
    text="#e4e4e7",
    faint="#a1a1aa",
    grid="rgba(161,161,170,.25)",
    accent="#56b4e9",
    pale="rgba(86,180,233,.3)",
    other="#f0883e",
    behind="#bf5200",
    even="#3f3f46",
    ahead="#0a75b5",
    written="#ffffff",
)


def theme_for(dark: bool) -> Theme:
    """Return the colours for a page."""
    return DARK if dark else LIGHT


def on_paper(dark: bool) -> list[tuple[str, str]]:
    """Return each colour with the one of a saved picture, which is for paper on every page."""
    return list(zip(astuple(theme_for(dark)), astuple(LIGHT), strict=True))


@dataclass(frozen=True)
class Head:
    """What stands above a figure, and what is saved of it.

    Attributes
    ----------
    file : str
        Name of saved files, without ending.
    lines : tuple of str
        What was counted, and what the colours mean; may contain plotly's markup.
    numbers : Table
        Those behind the figure.
    method : tuple of str
        Settings in the terms of the field: beside the figure, and in pictures of it.
    """

    file: str
    title: str
    lines: tuple[str, ...]
    numbers: Table[Any]
    method: tuple[str, ...] = ()


def head_of(
    figure: Figure,
    lines: tuple[str, ...],
    numbers: Table[Any],
    method: tuple[str, ...] = (),
    title: str = "",
) -> Head:
    """Return what stands above a figure of a result; its usual title unless another is given."""
    return Head(figure.file, title or _(figure.title), lines, numbers, method)


def finish(
    traces: list[dict[str, Any]],
    theme: Theme,
    head: Head,
    *,
    height: int,
    layout: Mapping[str, Any],
) -> go.Figure:
    """Return the figure, `height` pixels without its head."""
    top = _TITLE + LINE * len(head.lines) + 14
    layout = dict(layout)
    margin = {"l": 20, "r": 26, "t": top, "b": 14, **layout.pop("margin", {})}
    common = {
        **look(head.title, head.lines, theme),
        "margin": margin,
        "height": height + top,
        "meta": {
            "file": head.file,
            "name": spoken(head.title, *head.lines),
            "csv": head.numbers.csv(),
            "method": list(head.method),
            "paper": on_paper(theme is DARK),
        },
    }
    return go.Figure(_typeset({"data": traces, "layout": {**common, **layout}}))


def _typeset(part: Any, *, text: bool = False) -> Any:
    """Return part of a figure with minus signs before the negative numbers that it prints."""
    if isinstance(part, dict):
        return {
            name: _typeset(value, text=name in ("text", "hovertext"))
            for name, value in part.items()
        }
    if isinstance(part, (list, tuple)) and (text or (part and isinstance(part[0], dict))):
        return [_typeset(each, text=text) for each in part]
    return typeset(part) if text and isinstance(part, str) else part


def spoken(*lines: str) -> str:
    """Return lines of plotly's markup as a screen reader is to say them."""
    return ". ".join(Markup(line).striptags() for line in lines if line)


def look(title: str, lines: Sequence[str], theme: Theme) -> dict[str, Any]:
    """Return the part of a layout that is the same for all figures."""
    return {
        "title": {
            "text": f"<b>{title}</b>",
            "subtitle": {"text": "<br>".join(lines), "font": {"size": 12, "color": theme.faint}},
            "font": {"size": 16},
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "top",
            "pad": {"l": 18, "t": 14},
        },
        "font": {"color": theme.text, "size": 13, "family": _FONT},
        "hoverlabel": {"align": "left", "font": {"size": 13, "family": _FONT}},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,  # a finger on a phone scrolls the page
        "showlegend": False,
        "separators": separators(),
        "template": "none",
    }


def key(*entries: tuple[str, str, str]) -> str:
    """Return a line that says what marks mean: (mark, its colour, its meaning)."""
    return "   ".join(f'<span style="color:{c}">{mark}</span> {what}' for mark, c, what in entries)


def cut(name: str, most: int = _LONGEST_NAME) -> str:
    """Cut the middle: models of one family differ at the end of their names."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def shortened(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name in plotly's markup, its middle cut."""
    return escape(straight(cut(name, most)), quote=False)  # plotly shows &quot; as it stands


def wrapped(name: str, most: int = _NAME_LINE) -> str:
    """Break a name into lines of so many characters at most, within a word only where one must."""
    lines = [""]
    for word in re.findall(r"[^\s/_-]*[\s/_-]*", straight(name)):
        for start in range(0, len(word), most):
            piece = word[start : start + most]
            if len((lines[-1] + piece).rstrip()) > most:
                lines.append("")
            lines[-1] += piece
    return "<br>".join(escape(line.strip(), quote=False) for line in lines)
