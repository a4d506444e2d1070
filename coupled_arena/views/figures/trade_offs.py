"""Pictures of how narrow and how right rank-sets are: figures 1, 2, 6 to 8 of the ranking paper."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations

import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from coupled_arena.core.language import N_, _, number
from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.rankings import (
    Ranked,
    Results,
    any_of,
    by_judge,
    finished,
    key_of,
    ranked,
    share_bars,
)
from coupled_arena.views.figures.registry import SIZE_AGAINST_INTERSECTION
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Theme, key, shortened, theme_for

_SIGN = "\N{BLACK CIRCLE}"
_HEIGHT, _ASIDE = 480, 8  # pixels
_NAME = 0.3, 0.06  # of what is drawn, for a name: width and height


class Agreement(StrEnum):
    """What of the baseline's rank-sets a ranking's are held against, for all models at once."""

    INTERSECTION = "intersection"  # they meet
    COVERAGE = "coverage"  # they contain them


_SHARES = {
    Agreement.INTERSECTION: N_("Repeats that agree with all votes"),
    Agreement.COVERAGE: N_("Repeats that contain the ranks of all votes"),
}


def trade_off_figure(
    results: Results,
    votes: int,
    agreement: Agreement = Agreement.INTERSECTION,
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw size against agreement, a line over alpha for each ranking (figures 1, 6, 7)."""
    lines = ranked(results, votes, (Ranking.JUDGE, Ranking.HUMAN, Ranking.PPR))
    turn = _turn(lines, agreement) if len(by_judge(results)) == 1 else None
    figure = go.Figure([_line(one, agreement, turn) for one in lines])
    result = any_of(results)
    some = _("{votes} of {total} votes").format(votes=votes, total=result.plan.total)
    marks = key_of(_SIGN, lines) if turn is None else ()
    return _trade_off(figure, f"{some}; {_dots(result)}", agreement, theme_for(dark), marks)


def votes_figure(
    results: Results, agreement: Agreement = Agreement.INTERSECTION, *, dark: bool = False
) -> go.Figure:
    """Draw the same for prediction-powered ranking: a line for each number of votes (2, 8)."""
    judges, result, theme = by_judge(results), any_of(results), theme_for(dark)
    numbers = sorted(set(result.plan.human))
    shades = sample_colorscale("Viridis", [0.9 * i / len(numbers) for i in range(len(numbers))])
    several = len(judges) > 1
    names = [_("{n} votes").format(n=n) for n in numbers]
    figure = make_subplots(
        1,
        len(judges),
        shared_yaxes=True,
        horizontal_spacing=0.03,
        subplot_titles=[shortened(judge) for judge in judges] if several else None,
    )
    panels = [
        [
            Ranked(name, str(shade), result=one, ranking=Ranking.PPR, votes=n)
            for n, name, shade in zip(numbers, names, shades, strict=True)
        ]
        for one in judges.values()
    ]
    turn = None if several else _turn(panels[0], agreement)
    for place, lines in enumerate(panels):
        for line in lines:
            figure.add_trace(_line(line, agreement, turn), row=1, col=place + 1)
    marks = [
        key(*((_SIGN, str(shade), name) for shade, name in some))
        for some in _by_five(list(zip(shades, names, strict=True)))
    ]
    subtitle = "; ".join([_("Few votes and the judge"), _dots(result)])
    return _trade_off(figure, subtitle, agreement, theme, marks if turn is None else ())


def _by_five(entries: list[tuple[object, str]]) -> list[list[tuple[object, str]]]:
    return [entries[i : i + 5] for i in range(0, len(entries), 5)]


def _turn(lines: Sequence[Ranked], agreement: Agreement) -> float | None:
    """Return up to where names stand right of first points; None if they lie on each other."""
    points = [(getattr(each, agreement), each.size) for one in lines for each in one.qualities]
    width, height = (max(values) - min(values) for values in zip(*points, strict=True))
    turn = min(x for x, _size in points) + width / 2
    first = [(getattr(one.qualities[0], agreement), one.qualities[0].size) for one in lines]
    names = [(x if x <= turn else x - _NAME[0] * width, y) for x, y in first]
    apart = all(
        abs(x - other_x) > _NAME[0] * width or abs(y - other_y) > _NAME[1] * height
        for (x, y), (other_x, other_y) in combinations(names, 2)
    )
    return turn if apart else None


def _line(one: Ranked, agreement: Agreement, turn: float | None) -> go.Scatter:
    points = one.qualities
    shares = [getattr(each, agreement) for each in points]
    return go.Scatter(
        x=shares,
        y=[each.size for each in points],
        error_x=share_bars(shares, one.result.repeats),
        error_y=_bars([each.size_error for each in points]),
        mode="lines+markers" if turn is None else "lines+markers+text",
        name=one.name,
        # The most cautious one is the highest.
        text=None if turn is None else [one.name, *([""] * (len(points) - 1))],
        textposition="top right" if turn is not None and shares[0] <= turn else "top left",
        textfont={"color": one.colour, "size": 13},
        line={"color": one.colour, "dash": one.dash},
        marker={"size": 9, "color": one.colour, "opacity": one.opacity},
        cliponaxis=False,
        hovertext=[_describe(each, one.name) for each in points],
        hoverinfo="text",
    )


def _bars(errors: list[float]) -> dict[str, object]:
    return {"type": "data", "array": [1.96 * error for error in errors], "thickness": 1, "width": 0}


def _describe(one: RankSetQuality, name: str) -> str:
    return _(
        "<b>{name}</b>, alpha {alpha:g}<br>size {size:.2f}, "
        "meets the baseline in {met:.1%}, contains it in {contained:.1%}"
    ).format(
        name=name, alpha=one.alpha, size=one.size, met=one.intersection, contained=one.coverage
    )


def _trade_off(
    figure: go.Figure, subtitle: str, agreement: Agreement, theme: Theme, marks: Sequence[str]
) -> go.Figure:
    axis = {"gridcolor": theme.grid, "zeroline": False, "automargin": True}
    figure.update_xaxes(
        title=axis_title(_(_SHARES[agreement]), theme), tickformat=".0%", rangemode="tozero", **axis
    )
    # Dots at 0% would otherwise lie on the numbers.
    figure.update_yaxes(ticks="outside", ticklen=_ASIDE, tickcolor="rgba(0,0,0,0)", **axis)
    figure.update_layout(yaxis={"title": axis_title(_("Ranks left possible, mean"), theme)})
    title = _(SIZE_AGAINST_INTERSECTION.title)
    return finished(figure, title, subtitle, theme, height=_HEIGHT, marks=marks)


def _dots(result: Resampling) -> str:
    levels = ", ".join(number(alpha, "g") for alpha in sorted(result.plan.alphas))
    return _("a dot for each alpha: {levels}; {repeats} repeats, bars 95%").format(
        levels=levels, repeats=result.repeats
    )
