"""The figures of a resampling experiment as pages of their own, which need no network."""

from __future__ import annotations

from pathlib import Path

from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.images import PAGE, write_pictures
from coupled_arena.views.figures.resampling import position_figure, rank_set_figure
from coupled_arena.views.figures.trade_offs import Agreement, trade_off_figure, votes_figure


def write_figures(result: Resampling, folder: Path) -> list[Path]:
    """Write all figures that the experiment has data for, and return their files.

    Each becomes a page that needs nothing else; and an SVG where a browser is there to draw it.

    Raises
    ------
    ArenaError
        The browser failed.
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    votes = result.plan.human[0]
    figures = {
        "size-against-intersection": trade_off_figure(result, votes),
        "size-against-coverage": trade_off_figure(result, votes, Agreement.COVERAGE),
        "positions": position_figure(result, votes),
        "rank-sets": rank_set_figure(result, votes),
    }
    if len(result.plan.human) > 1:
        figures["by-number-of-votes"] = votes_figure(result)
    for figure in figures.values():
        figure.update_layout(paper_bgcolor="white")
    return write_pictures(
        {folder / name: figure for name, figure in figures.items()}, (PAGE, "svg")
    )
