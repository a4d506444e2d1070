"""Pictures of a resampling experiment, after figures 1 to 4 of the ranking paper.

Written as pages of their own, which need no network, in the look of `coupled_arena.views.figures`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from html import escape
from importlib.util import find_spec
from pathlib import Path

import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality
from coupled_arena.stats.simulation.resampling import Resampling

_log = logging.getLogger(__name__)

_TEXT, _FAINT, _GRID = "#27272a", "#71717a", "rgba(113,113,122,.2)"
_LARGEST_DOT = 22  # pixels, of probability 1
_MOST_SETS = 6  # rank-sets of one model that are shown
_COLUMNS = 3
_NAMES = {
    Ranking.BASELINE: "all votes (baseline)",
    Ranking.JUDGE: "judge only",
    Ranking.HUMAN: "few votes only",
    Ranking.PPR: "few votes and judge",
}
# Different to every kind of colour blindness.
_COLOURS = {
    Ranking.BASELINE: "#52525b",
    Ranking.JUDGE: "#d55e00",
    Ranking.HUMAN: "#e69f00",
    Ranking.PPR: "#0072b2",
}


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
        page = folder / f"{name}.html"
        figure.write_html(page, include_plotlyjs=True, config={"displaylogo": False})
        written.append(page)
        if find_spec("kaleido"):
            written += _write_svg(figure, folder / f"{name}.svg")
    return written


def trade_off_figure(result: Resampling, votes: int) -> go.Figure:
    """Draw size against baseline intersection, a line over alpha for each ranking (figure 1)."""
    figure = go.Figure(
        [
            _line(result, ranking, votes, _NAMES[ranking], _COLOURS[ranking])
            for ranking in (Ranking.JUDGE, Ranking.HUMAN, Ranking.PPR)
        ]
    )
    return _trade_off(figure, f"{votes} of {result.plan.total} votes; {_dots(result)}")


def votes_figure(result: Resampling) -> go.Figure:
    """Draw the same for prediction-powered ranking, a line for each number of votes (figure 2)."""
    numbers = sorted(set(result.plan.human))
    shades = sample_colorscale("Viridis", [0.9 * i / len(numbers) for i in range(len(numbers))])
    figure = go.Figure(
        [
            _line(result, Ranking.PPR, n, f"{n} votes", str(shade))
            for n, shade in zip(numbers, shades, strict=True)
        ]
    )
    return _trade_off(figure, f"Few votes and the judge; {_dots(result)}")


def position_figure(result: Resampling, votes: int) -> go.Figure:
    """Draw how often each position is in a model's rank-set, as a dot's size (figure 3)."""
    index, alpha = _usual_alpha(result)
    shown = (Ranking.BASELINE, Ranking.JUDGE, Ranking.HUMAN, Ranking.PPR)
    figure = make_subplots(
        1,
        len(shown),
        shared_yaxes=True,
        subplot_titles=[_NAMES[ranking] for ranking in shown],
        horizontal_spacing=0.02,
    )
    order = _best_first(result, index)
    for column, ranking in enumerate(shown, start=1):
        share = result.run(ranking, votes if ranking in _FEW else None).positions[index][order]
        row, place = (share > 0).nonzero()
        figure.add_scatter(
            x=place + 1,
            y=row,
            mode="markers",
            marker={"size": _LARGEST_DOT * share[row, place] ** 0.5, "color": _COLOURS[ranking]},
            hovertext=[
                f"{escape(result.models[order[r]])}: position {p + 1} in {share[r, p]:.0%}"
                for r, p in zip(row, place, strict=True)
            ],
            hoverinfo="text",
            row=1,
            col=column,
        )
    names = [escape(result.models[i]) for i in order]
    figure.update_xaxes(dtick=1, gridcolor=_GRID, zeroline=False, range=[0.4, len(names) + 0.6])
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.4, -0.6],
        gridcolor=_GRID,
        zeroline=False,
        automargin=True,
    )
    return _finish(
        figure,
        "Which positions are in the rank-sets",
        f"The larger a dot, the more often; {_settings(result, votes, alpha)}",
        height=34 * len(names) + 170,
    )


def rank_set_figure(result: Resampling, votes: int) -> go.Figure:
    """Draw how often each model got each rank-set (figure 4)."""
    index, alpha = _usual_alpha(result)
    order = _best_first(result, index)
    rows = -(-len(order) // _COLUMNS)
    figure = make_subplots(
        rows,
        _COLUMNS,
        subplot_titles=[escape(result.models[i]) for i in order],
        shared_yaxes=True,
        vertical_spacing=0.32 / rows,
        horizontal_spacing=0.03,
    )
    for panel, model in enumerate(order):
        shares = {
            ranking: result.run(ranking, votes if ranking in _FEW else None).sets(index, model)
            for ranking in (Ranking.BASELINE, Ranking.JUDGE, Ranking.PPR)
        }
        for ranking, share in shares.items():
            sets = _most_frequent(shares.values())
            figure.add_bar(
                x=[f"{low} to {high}" if high > low else f"{low}" for low, high in sets],
                y=[share.get(one, 0.0) for one in sets],
                name=_NAMES[ranking],
                legendgroup=ranking,
                showlegend=panel == 0,
                marker={"color": _COLOURS[ranking]},
                hovertemplate="%{x}: %{y:.0%}",
                row=panel // _COLUMNS + 1,
                col=panel % _COLUMNS + 1,
            )
    figure.update_xaxes(type="category")
    figure.update_yaxes(
        range=[0, 1], tickformat=".0%", gridcolor=_GRID, zeroline=False, automargin=True
    )
    return _finish(
        figure,
        "How often each model got which rank-set",
        _settings(result, votes, alpha),
        height=190 * rows + 150,
        legend=True,
    )


_FEW = (Ranking.HUMAN, Ranking.PPR)  # rankings that depend on the number of votes


def _line(result: Resampling, ranking: Ranking, votes: int, name: str, colour: str) -> go.Scatter:
    points = sorted(
        (one for one in result.qualities if one.ranking is ranking and one.human in (None, votes)),
        key=lambda one: one.alpha,
    )
    return go.Scatter(
        x=[one.intersection for one in points],
        y=[one.size for one in points],
        error_x=_bars([one.intersection_error for one in points]),
        error_y=_bars([one.size_error for one in points]),
        mode="lines+markers",
        name=name,
        line={"color": colour},
        marker={"size": 9, "color": colour},
        cliponaxis=False,
        hovertext=[_describe(one, name) for one in points],
        hoverinfo="text",
    )


def _bars(errors: list[float]) -> dict[str, object]:
    return {"type": "data", "array": [1.96 * error for error in errors], "thickness": 1, "width": 0}


def _describe(one: RankSetQuality, name: str) -> str:
    return (
        f"<b>{name}</b>, alpha {one.alpha:g}<br>size {one.size:.2f}, "
        f"meets the baseline in {one.intersection:.1%}, contains it in {one.coverage:.1%}"
    )


def _trade_off(figure: go.Figure, subtitle: str) -> go.Figure:
    axis = {"gridcolor": _GRID, "zeroline": False, "automargin": True}
    figure.update_xaxes(
        title={"text": "Repeats where all rank-sets meet the baseline's"},
        tickformat=".0%",
        rangemode="tozero",
        **axis,
    )
    figure.update_yaxes(title={"text": "Mean size of a rank-set"}, **axis)
    title = "Narrow rank-sets that agree with many votes: to the lower right"
    return _finish(figure, title, subtitle, height=520, legend=True)


def _dots(result: Resampling) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in sorted(result.plan.alphas))
    return f"a dot for each alpha: {levels}; {result.repeats} repeats, bars 95%"


def _settings(result: Resampling, votes: int, alpha: float) -> str:
    return (
        f"{votes} of {result.plan.total} votes, alpha {alpha:g}, {result.repeats} repeats, "
        f"{result.plan.cutoff}, {result.plan.covariance} covariance"
    )


def _usual_alpha(result: Resampling) -> tuple[int, float]:
    """Return index and value of the error level nearest to .05."""
    alphas = result.plan.alphas
    index = min(range(len(alphas)), key=lambda i: abs(alphas[i] - 0.05))
    return index, alphas[index]


def _best_first(result: Resampling, index: int) -> list[int]:
    baseline = result.run(Ranking.BASELINE)
    middle = (baseline.low[index] + baseline.high[index]).mean(axis=0)
    return middle.argsort(kind="stable").tolist()


def _most_frequent(shares: Iterable[Mapping[tuple[int, int], float]]) -> list[tuple[int, int]]:
    """Return the rank-sets that are frequent in any ranking, in order of position."""
    best: dict[tuple[int, int], float] = {}
    for share in shares:
        for one, value in share.items():
            best[one] = max(best.get(one, 0.0), value)
    return sorted(sorted(best, key=lambda one: -best[one])[:_MOST_SETS])


def _finish(
    figure: go.Figure, title: str, subtitle: str, *, height: int, legend: bool = False
) -> go.Figure:
    return figure.update_layout(
        title={
            "text": title,
            "subtitle": {"text": subtitle, "font": {"size": 12, "color": _FAINT}},
            "font": {"size": 16},
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "top",
            "pad": {"l": 18, "t": 14},
        },
        font={"color": _TEXT, "size": 13},
        template="none",
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 18, "r": 24, "t": 110, "b": 100 if legend else 40},
        height=height,
        showlegend=legend,
        legend={"orientation": "h", "yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0},
    )


def _write_svg(figure: go.Figure, path: Path) -> list[Path]:
    try:
        figure.write_image(path, width=900)
    except (RuntimeError, ValueError) as error:
        # The renderer is there, but the browser that it drives is not.
        _log.warning("No SVG: %s", str(error).splitlines()[0])
        return []
    return [path]
