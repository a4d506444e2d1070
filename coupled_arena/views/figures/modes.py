"""Coupled against independent generation, model by model."""

from __future__ import annotations

import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.language import _
from coupled_arena.stats.coupling.modes import stars
from coupled_arena.views.figures.caption import mode_caption, mode_method
from coupled_arena.views.figures.row_labels import FigureRow, italic
from coupled_arena.views.figures.rows import bar_lines, marks, rate_axis, row_figure
from coupled_arena.views.figures.theme import Head, key, theme_for
from coupled_arena.views.tables.leaderboard import mode_models
from coupled_arena.views.words.names import without_both


def mode_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's win rate under both protocols; for a board that compares the modes."""
    theme = theme_for(dark)
    modes = board.estimates.modes
    assert modes is not None, "the board does not compare the modes"
    of_model = {row["model"]: row for row in mode_models(modes).records()}
    models = [standing.model for standing in board.standings]
    rates = [(of_model[model]["coupled"], of_model[model]["independent"]) for model in models]
    found = [
        (row, coupled, independent)
        for row, (coupled, independent) in enumerate(rates)
        if coupled is not None and independent is not None
    ]
    rows = [row for row, _, _ in found]
    traces = [
        bar_lines([(row, i, c) for row, c, i in found], theme.grid, 4, round_ends=False),
        marks(
            [i for _, _, i in found],
            rows,
            "rgba(0,0,0,0)",
            line={"width": 2.5, "color": theme.other},
        ),
        marks([c for _, c, _ in found], rows, theme.accent),
    ]
    said = (_("independent {rate:.1%}"), _("coupled {rate:.1%}"))
    for trace, text, values in zip(traces[1:], said, (2, 1), strict=True):
        trace["hovertext"] = [text.format(rate=each[values]) for each in found]
    labels = [FigureRow(model, italic(_("too few in both")), known=False) for model in models]
    for row, c, i in found:
        p = of_model[models[row]]["p_value"]
        starred = f"  {stars(p)}" if p is not None and stars(p) else ""
        labels[row] = FigureRow(models[row], f"<b>{c:.0%}</b> | {i:.0%}{starred}")
    head = Head(
        file="modes-models",
        title=_("Win rates by mode"),
        lines=(
            *mode_caption(board),
            key(
                ("\N{BLACK CIRCLE}", theme.accent, _("coupled")),
                ("\N{WHITE CIRCLE}", theme.other, _("independent")),
            ),
        ),
        numbers=mode_models(modes),
        method=mode_method(board),
    )
    return row_figure(traces, labels, theme, head, rate_axis(theme), without_both)
