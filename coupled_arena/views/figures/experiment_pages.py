"""The figures of a resampling experiment as pages of their own, which need no network."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path

import plotly.graph_objects as go

from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.resampling import (
    position_figure,
    rank_set_figure,
    trade_off_figure,
    votes_figure,
)

_log = logging.getLogger(__name__)


def write_figures(result: Resampling, folder: Path) -> list[Path]:
    """Write all figures that the experiment has data for, and return their files.

    Each becomes a page that needs nothing else; and an SVG where plotly has a renderer.

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    votes = result.plan.human[0]
    figures = {
        "size-against-intersection": trade_off_figure(result, votes),
        "positions": position_figure(result, votes),
        "rank-sets": rank_set_figure(result, votes),
    }
    if len(result.plan.human) > 1:
        figures["by-number-of-votes"] = votes_figure(result)
    written: list[Path] = []
    for name, figure in figures.items():
        figure.update_layout(paper_bgcolor="white")
        page = folder / f"{name}.html"
        figure.write_html(page, include_plotlyjs=True, config={"displaylogo": False})
        written.append(page)
        if find_spec("kaleido"):
            written += _write_svg(figure, folder / f"{name}.svg")
    return written


def _write_svg(figure: go.Figure, path: Path) -> list[Path]:
    try:
        figure.write_image(path, width=900)
    except (RuntimeError, ValueError) as error:
        # The renderer is there, but the browser that it drives is not.
        _log.warning("No SVG: %s", str(error).splitlines()[0])
        return []
    return [path]
