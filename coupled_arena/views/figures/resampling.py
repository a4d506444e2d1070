"""Pictures of a resampling experiment, after figures 1 to 4 of the ranking paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from textwrap import wrap

import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from coupled_arena.core.language import N_, _
from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.methods import COVARIANCES, CUTOFF_NAMES
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import LINE, Theme, key, look, shortened, spoken, theme_for

_BAR = "\N{BLACK RECTANGLE}"
_ROW, _CROWDED = 30, 12  # pixels of a model, and models above which not all positions are named
_LARGEST_DOT = 22  # pixels, of probability 1
_MOST_SETS = 6  # rank-sets of one model that are shown
_COLUMNS = 2  # a phone has room for no more
_SUBTITLE = 44  # characters of a line
_NAMES = {
    Ranking.BASELINE: N_("all votes"),
    Ranking.JUDGE: N_("judge only"),
    Ranking.HUMAN: N_("few votes only"),
    Ranking.PPR: N_("few votes and judge"),
}
# Different to every kind of colour blindness, and readable on light and dark paper.
_COLOURS = {
    Ranking.BASELINE: "#7d8590",
    Ranking.JUDGE: "#d55e00",
    Ranking.HUMAN: "#c98a00",
    Ranking.PPR: "#0a84c6",
}


def trade_off_figure(result: Resampling, votes: int, *, dark: bool = False) -> go.Figure:
    """Draw size against baseline intersection, a line over alpha for each ranking (figure 1)."""
    figure = go.Figure(
        [
            _line(result, ranking, votes, _(_NAMES[ranking]), _COLOURS[ranking])
            for ranking in (Ranking.JUDGE, Ranking.HUMAN, Ranking.PPR)
        ]
    )
    some = _("{votes} of {total} votes").format(votes=votes, total=result.plan.total)
    return _trade_off(figure, f"{some}; {_dots(result)}", dark)


def votes_figure(result: Resampling, *, dark: bool = False) -> go.Figure:
    """Draw the same for prediction-powered ranking, a line for each number of votes (figure 2)."""
    numbers = sorted(set(result.plan.human))
    shades = sample_colorscale("Viridis", [0.9 * i / len(numbers) for i in range(len(numbers))])
    figure = go.Figure(
        [
            _line(result, Ranking.PPR, n, _("{n} votes").format(n=n), str(shade))
            for n, shade in zip(numbers, shades, strict=True)
        ]
    )
    return _trade_off(figure, "; ".join([_("Few votes and the judge"), _dots(result)]), dark)


def position_figure(result: Resampling, votes: int, *, dark: bool = False) -> go.Figure:
    """Draw how often each position is in a model's rank-set, as a dot's size (figure 3)."""
    index, alpha = _usual_alpha(result)
    theme = theme_for(dark)
    shown = (Ranking.BASELINE, Ranking.JUDGE, Ranking.HUMAN, Ranking.PPR)
    k = len(result.models)
    figure = make_subplots(
        len(shown) // _COLUMNS,
        _COLUMNS,
        shared_yaxes=True,
        subplot_titles=[_(_NAMES[ranking]) for ranking in shown],
        horizontal_spacing=0.04,
        vertical_spacing=70 / (_ROW * 2 * k + 170),
    )
    order = _best_first(result, index)
    for panel, ranking in enumerate(shown):
        share = result.run(ranking, votes if ranking in _FEW else None).positions[index][order]
        dots = _places(share, [result.models[i] for i in order], _COLOURS[ranking])
        figure.add_trace(dots, row=panel // _COLUMNS + 1, col=panel % _COLUMNS + 1)
    names = [shortened(result.models[i], 16) for i in order]
    figure.update_xaxes(
        dtick=1 if k <= _CROWDED else 5,
        tick0=1 if k <= _CROWDED else 0,
        gridcolor=theme.grid,
        zeroline=False,
        range=[0.4, k + 0.6],
    )
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[k - 0.4, -0.6],
        gridcolor=theme.grid,
        zeroline=False,
        automargin=True,
    )
    return _finish(
        figure,
        _("Which positions are in the rank-sets"),
        "; ".join([_("The larger a dot, the more often"), _settings(result, votes, alpha)]),
        theme,
        height=_ROW * 2 * k + 170,
    )


def _places(share: FloatArray, names: list[str], colour: str) -> go.Scatter:
    """Return a dot for each position that a model's rank-set has in some repeats."""
    row, place = (share > 0).nonzero()
    return go.Scatter(
        x=place + 1,
        y=row,
        mode="markers",
        marker={"size": _LARGEST_DOT * share[row, place] ** 0.5, "color": colour},
        hovertext=[
            _("{model}: position {position} in {share:.0%}").format(
                model=escape(names[r]), position=p + 1, share=share[r, p]
            )
            for r, p in zip(row, place, strict=True)
        ],
        hoverinfo="text",
    )


def rank_set_figure(result: Resampling, votes: int, *, dark: bool = False) -> go.Figure:
    """Draw how often each model got each rank-set (figure 4)."""
    index, alpha = _usual_alpha(result)
    theme = theme_for(dark)
    order = _best_first(result, index)
    rows = -(-len(order) // _COLUMNS)
    figure = make_subplots(
        rows,
        _COLUMNS,
        subplot_titles=[shortened(result.models[i]) for i in order],
        shared_yaxes=True,
        vertical_spacing=0.32 / rows,
        horizontal_spacing=0.06,
    )
    for panel, model in enumerate(order):
        shares = {
            ranking: result.run(ranking, votes if ranking in _FEW else None).sets(index, model)
            for ranking in _SETS_OF
        }
        for ranking, share in shares.items():
            sets = _most_frequent(shares.values())
            figure.add_bar(
                x=[
                    _("{low} to {high}").format(low=low, high=high) if high > low else f"{low}"
                    for low, high in sets
                ],
                y=[share.get(one, 0.0) for one in sets],
                name=_(_NAMES[ranking]),
                marker={"color": _COLOURS[ranking]},
                hovertemplate="%{x}: %{y:.0%}",
                row=panel // _COLUMNS + 1,
                col=panel % _COLUMNS + 1,
            )
    figure.update_xaxes(type="category")
    figure.update_yaxes(
        range=[0, 1], tickformat=".0%", gridcolor=theme.grid, zeroline=False, automargin=True
    )
    return _finish(
        figure,
        _("How often each model got which ranks"),
        _settings(result, votes, alpha),
        theme,
        height=190 * rows + 150,
        marks=key(*((_BAR, _COLOURS[ranking], _(_NAMES[ranking])) for ranking in _SETS_OF)),
    )


_SETS_OF = (Ranking.BASELINE, Ranking.JUDGE, Ranking.PPR)  # whose rank-sets stand side by side
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
        mode="lines+markers+text",
        name=name,
        text=[name, *([""] * (len(points) - 1))],  # the most cautious one is the highest
        textposition="middle left",
        textfont={"color": colour, "size": 13},
        line={"color": colour},
        marker={"size": 9, "color": colour},
        cliponaxis=False,
        hovertext=[_describe(one, name) for one in points],
        hoverinfo="text",
    )


def _bars(errors: list[float]) -> dict[str, object]:
    return {"type": "data", "array": [1.96 * error for error in errors], "thickness": 1, "width": 0}


def _describe(one: RankSetQuality, name: str) -> str:
    return _(
        "<b>{name}</b>, alpha {alpha:g}<br>size {size:.2f}, "
        "meets the baseline in {met:.1%}, contains it in {contained:.1%}"
    ).format(
        name=name,
        alpha=one.alpha,
        size=one.size,
        met=one.intersection,
        contained=one.coverage,
    )


def _trade_off(figure: go.Figure, subtitle: str, dark: bool) -> go.Figure:
    theme = theme_for(dark)
    axis = {"gridcolor": theme.grid, "zeroline": False, "automargin": True}
    figure.update_xaxes(
        title=axis_title(_("Repeats that agree with all votes"), theme),
        tickformat=".0%",
        rangemode="tozero",
        **axis,
    )
    figure.update_yaxes(title=axis_title(_("Ranks left possible, mean"), theme), **axis)
    return _finish(figure, _("Narrow and right: lower right"), subtitle, theme, height=480)


def _dots(result: Resampling) -> str:
    levels = ", ".join(f"{alpha:g}" for alpha in sorted(result.plan.alphas))
    return _("a dot for each alpha: {levels}; {repeats} repeats, bars 95%").format(
        levels=levels, repeats=result.repeats
    )


def _settings(result: Resampling, votes: int, alpha: float) -> str:
    return _(
        "{votes} of {total} votes, alpha {alpha:g}, {repeats} repeats, {cutoff}, {covariance}"
    ).format(
        votes=votes,
        total=result.plan.total,
        alpha=alpha,
        repeats=result.repeats,
        cutoff=_(CUTOFF_NAMES[result.plan.cutoff]),
        covariance=_(COVARIANCES[result.plan.covariance]),
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
    figure: go.Figure, title: str, subtitle: str, theme: Theme, *, height: int, marks: str = ""
) -> go.Figure:
    """Give a figure the look of all others; `marks` says what colours mean."""
    lines = [*wrap(subtitle, _SUBTITLE), *([marks] if marks else [])]
    top = 66 + LINE * len(lines)
    figure.update_annotations(font={"size": 13, "color": theme.text})
    return figure.update_layout(
        **look(title, lines, theme),
        margin={"l": 18, "r": 24, "t": top + 24, "b": 40},
        height=height + LINE * len(lines),
        meta={"name": spoken(title, subtitle, marks)},
    )
