"""Figures inside a page that asks nobody for anything."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any, Protocol
from urllib.parse import quote

import plotly.graph_objects as go
from markupsafe import Markup

from coupled_arena.core.formulas import csv_writer

_FRACTION = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")
_NOISE = 1e-14  # what is left of numbers near one that cancel out


class Draw(Protocol):
    """Draws a figure for a light or a dark page."""

    def __call__(self, *, dark: bool) -> go.Figure:
        """Return the figure."""
        ...


def figure(draw: Draw, reading: str) -> Markup:
    """Return a figure for light and dark pages, with how to read it and its numbers.

    A script of the page draws it; numbers are there without one.

    Parameters
    ----------
    draw : callable
        Its figures carry their numbers as the figures of `coupled_arena.views.figures` do.
    reading : str
        How to read it.
    """
    both = {"light": _plain(draw(dark=False)), "dark": _plain(draw(dark=True))}
    layout = both["light"]["layout"]
    # The page has the numbers once, as a link.
    meta, _ = (each["layout"].pop("meta") for each in both.values())
    return Markup(
        '<figure><div class="plot" role="img" aria-label="{name}" style="height:{height:.0f}px">'
        '</div><script type="application/json">{data}</script>'
        '<figcaption>{reading} <a download="{file}.csv" '
        'href="data:text/csv;charset=utf-8,{numbers}">Its numbers as CSV</a></figcaption></figure>'
    ).format(
        file=meta["file"],
        name=meta["name"],
        height=layout["height"],
        data=Markup(_in_script(both)),
        reading=" ".join([reading, *_settings(meta)]),
        numbers=quote(_steady_table(meta["csv"])),
    )


def _settings(meta: dict[str, Any]) -> list[str]:
    method = " \N{MIDDLE DOT} ".join(meta.get("method", ()))
    return [f"Settings: {method}."] if method else []


def figures(*drawn: Markup) -> Markup:
    """Return figures side by side where there is room."""
    return Markup('<div class="figures">{}</div>').format(Markup("").join(drawn))


def _plain(drawn: go.Figure) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(drawn.to_json() or "{}", parse_float=_steady)
    return {name: content[name] for name in ("data", "layout")}


def _steady(number: str) -> float:
    """Leave out the digits that change with the order of a sum, which a copy of a store may."""
    value = float(f"{float(number):.10g}")
    return value if abs(value) > _NOISE else 0.0


def _steady_table(text: str) -> str:
    steady = io.StringIO()
    csv_writer(steady).writerows(
        [repr(_steady(cell)) if _FRACTION.fullmatch(cell) else cell for cell in row]
        for row in csv.reader(io.StringIO(text, newline=""))
    )
    return steady.getvalue()


def _in_script(value: object) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
