"""The figure of the study: all variants, with a panel for each task."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from coupled_arena.analysis.gate.result import CandidateGate
from coupled_arena.stats.gate.betting import Verdict

# Shapes as well as colours, for those who see few colours (the palette of Okabe and Ito).
_MARKS = {
    Verdict.AS_GOOD: ("#0072b2", "circle"),
    Verdict.BETTER: ("#009e73", "triangle-right"),
    Verdict.WORSE: ("#d55e00", "diamond"),
    Verdict.UNKNOWN: ("#777777", "circle-open"),
}
_ROW = 19  # pixels
_GREY = "#e4e4e4"


def study_figure(found: Sequence[tuple[str, str, CandidateGate]], margin: float) -> go.Figure:
    """Draw the difference of each model and task with its interval, by verdict.

    Parameters
    ----------
    found : sequence of (model, task, gate)
    margin : float
        How much a model may lose and still be as good.
    """
    tasks = list(dict.fromkeys(task for _, task, _ in found))
    models = list(dict.fromkeys(model for model, *_ in found))
    figure = make_subplots(
        1, len(tasks), shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=tasks
    )
    for panel, task in enumerate(tasks, 1):
        for x, dash in ((-margin, "dash"), (0.0, "dot")):
            line = {"dash": dash, "width": 1, "color": "#555"}
            figure.add_vline(x, line=line, col=panel, row=1, exclude_empty_subplots=False)
        for verdict, (colour, symbol) in _MARKS.items():
            some = [(m, g) for m, t, g in found if t == task and g.verdict is verdict]
            gates = [gate for _, gate in some]
            dots = go.Scatter(
                x=[gate.difference for gate in gates],
                y=[model for model, _ in some],
                error_x={
                    "array": [gate.high - gate.difference for gate in gates],
                    "arrayminus": [gate.difference - gate.low for gate in gates],
                    "thickness": 2,
                    "width": 0,
                },
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 8},
                name=verdict.value,
                legendgroup=verdict.value,
                showlegend=panel == 1 and any(g.verdict is verdict for *_, g in found),
            )
            if not some and dots.showlegend:
                dots.x, dots.y = [None], [models[0]]  # its mark stands in the other panel
            figure.add_trace(dots, 1, panel)
    figure.update_yaxes(categoryarray=models[::-1], categoryorder="array", gridcolor=_GREY)
    title = {"text": "share right, less the original's", "font": {"size": 12}}
    figure.update_xaxes(title=title, matches="x", gridcolor=_GREY, zeroline=False)
    figure.update_annotations(font={"size": 13})
    figure.update_layout(
        width=720,
        height=110 + _ROW * len(models),
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        plot_bgcolor="white",
        font={"size": 11, "color": "#222"},
        legend={"orientation": "h", "y": -70 / (_ROW * len(models)), "x": 0},
    )
    return figure
