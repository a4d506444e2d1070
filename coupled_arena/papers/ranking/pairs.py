"""Which models were compared, and how often: figure 5 and table 1."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking.published import is_papers_own
from coupled_arena.papers.ranking.tables import compared_models, pair_sizes
from coupled_arena.papers.shared import judges_of, pooled_notes, prompts_of, read_shared
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import PairCounts
from coupled_arena.views.figures.rankings import finished
from coupled_arena.views.figures.theme import shortened, theme_for

_CELL, _BESIDE, _LEAST = 44, 190, 480  # pixels


def pair_size_figure(votes: PairCounts, *, dark: bool = False) -> go.Figure:
    """Draw the number of comparisons of each pair of models as a matrix."""
    theme = theme_for(dark)
    names = [shortened(model, 20) for model in votes.models]
    met = votes.comparisons
    shown = np.where(np.eye(len(names), dtype=np.bool_), np.nan, met)
    size = _CELL * len(names)
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            text=[["" if a == b else f"{n:,}" for b, n in enumerate(r)] for a, r in enumerate(met)],
            texttemplate="%{text}",
            colorscale=[[0, theme.even], [1, theme.ahead]],
            zmin=0,
            showscale=False,
            hoverinfo="skip",
            xgap=1,
            ygap=1,
        )
    )
    places = list(range(len(names)))
    axis = {"tickvals": places, "ticktext": names, "showgrid": False, "zeroline": False}
    figure.update_xaxes(**axis, tickangle=-45, automargin=True)
    figure.update_yaxes(**axis, autorange="reversed", automargin=True)
    total = int(met.sum()) // 2
    subtitle = f"{total:,} comparisons of {len(names)} models"
    title = "How often models were compared"
    figure = finished(figure, title, subtitle, theme, height=size + _BESIDE)
    return figure.update_layout(width=max(size + _BESIDE, _LEAST))


def compared(source: PaperSource) -> Made:
    """Return how often each pair of models has a vote, and a verdict of every judge there is."""
    shared = read_shared(source)
    votes = shared.votes
    models, pairs = compared_models(votes), pair_sizes(votes)
    sizes = [row["comparisons"] for row in pairs.rows]
    judges = ", ".join(judges_of(source))
    told = f"Comparisons with a vote and a verdict of each of: {judges}." if judges else ""
    values = {
        "models": len(models),
        "comparisons": float(sum(sizes)),
        "comparisons of the least pair": float(min(sizes)),
        "prompts": float(prompts_of(source)),
    }
    return Made(
        tables={"models": models, "pairs": pairs},
        figures={"pairs": pair_size_figure(votes)},
        values=values if is_papers_own(shared) else {},
        notes=(told or "Comparisons with a vote.", *pooled_notes(source)),
    )
