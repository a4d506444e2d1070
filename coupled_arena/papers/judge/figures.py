"""What judges are worth and how they rank models: as tables, and as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from operator import attrgetter, itemgetter
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.papers.judge.answers import JudgeRanking, Ranked
from coupled_arena.stats.judges.judge_probabilities import ProbabilityMean
from coupled_arena.views.figures.theme import LINE, Head, finish, key, shortened, theme_for, wrapped
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of

Worth = tuple[str, str, ModelAudit | ProbabilityMean]
"""A judge, what is taken from it, and what it is worth on one model."""
_OF = itemgetter(2)


def _of(name: str) -> Column[Worth]:
    meaning, heading, text = _MEANINGS[name]
    return Column(name, float, meaning, lambda row: getattr(_OF(row), name), heading, text)


_MEANINGS = {
    "b": ("True score of the model: how often it is right, or people prefer it", "b", ".1%"),
    "judge_score": ("The same by the judge", "by the judge", ".1%"),
    "rho_squared": (
        "Share of the variance of the truth that the judge explains",
        "\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}",
        ".3f",
    ),
    "tau_max": ("What one label is worth with the judge at most", "at most", ".2f"),
    "tau_max_high": ("Upper bound of tau_max", "", ""),
}
WORTHS: tuple[Column[Worth], ...] = (
    Column("judge", str, "Name of the judge", itemgetter(0), "judge"),
    Column("proxy", str, "`verdict`, or the `probability` of one", itemgetter(1)),
    Column("model", str, "Name of the model", lambda row: _OF(row).model, "model"),
    Column("n", int, "Labels with a verdict", lambda row: _OF(row).n, "both"),
    _of("b"),
    _of("judge_score"),
    Column(
        "agreement",
        float,
        "How often judge and truth are the same; none of probabilities",
        lambda row: getattr(_OF(row), "agreement", None),
        "agrees",
        ".1%",
    ),
    _of("rho_squared"),
    _of("tau_max"),
    Column(
        "tau_max_low",
        float,
        "Lower bound of tau_max",
        lambda row: _OF(row).tau_max_low,
        LEVEL,
        lambda row: span(_OF(row).tau_max_low, _OF(row).tau_max_high, ".2f"),
    ),
    _of("tau_max_high"),
    Column(
        "at_frontier",
        bool,
        "One half <= agreement <= b, so that tau_max cannot exceed two",
        lambda row: getattr(_OF(row), "at_frontier", None),
    ),
)


def judge_worths(audits: Iterable[Audit], *, soft: bool = False) -> Table[Worth]:
    """Return a row for each judge and model that it has said anything of.

    Parameters
    ----------
    soft : bool
        Whether to have another row for the judge's probabilities, where it told them.
    """
    audits = tuple(audits)
    rows = (row for audit in audits for row in _worths(audit, soft=soft))
    return table_of(WORTHS, rows, alpha=audits[0].alpha)


def _worths(audit: Audit, *, soft: bool) -> Iterator[Worth]:
    for row in audit.models:
        if row.n:
            yield audit.judge, "verdict", row
    for mean in audit.by_probability if soft else ():
        if mean.n:
            yield audit.judge, "probability", mean


RANKED: tuple[Column[Ranked], ...] = (
    Column("judge", str, "Name of the judge", heading="judge"),
    Column("model", str, "Name of the model", heading="model"),
    Column("b", float, "How often the model is right", heading="right", text=".1%"),
    Column("judge_score", float, "How often the judge says so", heading="by the judge", text=".1%"),
    Column("true_rank", int, "Its rank by that, 1 for the best", attrgetter("true_rank"), "rank"),
    Column("judge_rank", int, "Its rank by the judge", heading="rank by the judge"),
)


def judge_ranks(rankings: Iterable[JudgeRanking]) -> Table[Ranked]:
    """Return a row for each judge and model, the truly best first."""
    return table_of(RANKED, (row for ranking in rankings for row in ranking.models))


_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
"""Okabe and Ito's, which look different to every kind of colour blindness, and a brown."""
_MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
_SIGNS = "●■◆▲✚✖★⬟"
_SPREAD = 0.6  # of a tick's room, for the judges that share it
_CEILING = 2.0
_RANK = 30  # pixels
_LINE = 36  # characters of a name beside a rank, on one line
_LETTER = 7  # pixels
_NUMBERS = 80  # of what stands beside a name
_GAP = 6  # between names of two lines
_PLOT = 260


def worth_figure(table: Table[Worth], title: str, level: str, what: str) -> go.Figure:
    """Draw what one vote or checked answer is worth with each judge at most, model by model.

    Parameters
    ----------
    table : Table
        As `judge_worths` makes it; models whose worth is unknown are left out.
    level : str
        Of the intervals, such as 90%.
    what : str
        That of which one is worth so many: a vote, or a checked answer.
    """
    theme = theme_for(dark=False)
    known = [row for row in table.rows if _number(row[2].tau_max) is not None]
    series = list(dict.fromkeys((judge, proxy) for judge, proxy, _ in known))
    models = _by_truth(known)
    traces: list[dict[str, Any]] = []
    for place, (judge, proxy) in enumerate(series):
        shift = _SPREAD * ((place + 0.5) / len(series) - 0.5)
        rows = [row[2] for row in known if row[:2] == (judge, proxy)]
        traces.append(_dots(rows, models, shift, place))
    signs = [
        (_SIGNS[place % len(_SIGNS)], _colour(place), _called(judge, proxy, series))
        for place, (judge, proxy) in enumerate(series)
    ]
    lines = [key(*signs[start : start + 3]) for start in range(0, len(signs), 3)]
    head = Head(
        file="judges-worth",
        title=title,
        lines=(*lines, f"Bars: {level} intervals. Line: what a judge that is no better can reach."),
        numbers=table,
    )
    layout = {
        "width": max(720, 70 * len(models) + 120),
        "xaxis": {
            "tickvals": list(range(len(models))),
            "ticktext": [shortened(model) for model in models],
            "range": [-0.6, len(models) - 0.4],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        "yaxis": {
            "title": {"text": f"worth of one {what}", "standoff": 12},
            "gridcolor": theme.grid,
            "automargin": True,
            "range": [0.95, 1.05 * max([_CEILING, *(_top(row[2]) for row in known)])],
        },
        "shapes": [_ceiling(theme.faint)],
    }
    return finish(traces, theme, head, height=380, layout=layout)


def _ceiling(colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        **{"x0": 0, "x1": 1, "y0": _CEILING, "y1": _CEILING},
        "line": {"color": colour, "width": 1.5, "dash": "dash"},
    }


def _top(row: Any) -> float:
    return _number(row.tau_max_high) or row.tau_max


def _by_truth(rows: Sequence[Worth]) -> list[str]:
    """Return the models, the truly best first."""
    scores = {row.model: _number(row.b) or 0.0 for _, _, row in rows}
    return sorted(scores, key=lambda model: (-scores[model], model))


def _dots(rows: Sequence[Any], models: Sequence[str], shift: float, place: int) -> dict[str, Any]:
    above = [_top(row) - row.tau_max for row in rows]
    below = [row.tau_max - (_number(row.tau_max_low) or row.tau_max) for row in rows]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [models.index(row.model) + shift for row in rows],
        "y": [row.tau_max for row in rows],
        "marker": {"size": 8, "color": _colour(place), "symbol": _MARKS[place % len(_MARKS)]},
        "error_y": {
            "type": "data",
            "array": above,
            "arrayminus": below,
            "thickness": 1.5,
            "width": 3,
            "color": _colour(place),
        },
        "hovertext": [f"{escape(row.model)}: {row.tau_max:.2f}" for row in rows],
        "hoverinfo": "text",
    }


def _called(judge: str, proxy: str, series: Sequence[tuple[str, str]]) -> str:
    proxies = {each for _, each in series}
    return f"{shortened(judge)}, {proxy}" if len(proxies) > 1 else shortened(judge)


def _colour(place: int) -> str:
    return _PALETTE[place % len(_PALETTE)]


def _number(value: float | None) -> float | None:
    """Return a number, None for NaN."""
    return None if value is None or value != value else value


def ranking_figure(ranking: JudgeRanking, title: str) -> go.Figure:
    """Draw the true ranks on the left and those by a judge on the right, a line for each model."""
    theme = theme_for(dark=False)
    best, worst = theme.accent, theme.other
    last = len(ranking.models)
    traces: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    seats = _seats(ranking)
    for (left, right), row in zip(seats, ranking.models, strict=True):
        colour = best if row.true_rank < row.judge_rank else worst
        colour = theme.faint if row.true_rank == row.judge_rank else colour
        traces.append(_line(left, right, colour))
        name = wrapped(row.model, _LINE)
        names += [
            _name(0, left, f"{name} {row.b:.1%}  <b>{row.true_rank}</b>"),
            _name(1, right, f"<b>{row.judge_rank}</b>  {row.judge_score:.1%} {name}"),
        ]
    parts = [wrapped(row.model, _LINE).split("<br>") for row in ranking.models]
    margin = _NUMBERS + _LETTER * max(len(line) for lines in parts for line in lines)
    width = _PLOT + 2 * margin
    head = Head(
        file="judge-ranks",
        title=title,
        lines=(
            *wrapped(f"Left: by the truth. Right: by {ranking.judge}.", width // _LETTER).split(
                "<br>"
            ),
            key(
                ("\N{BOX DRAWINGS LIGHT HORIZONTAL}", best, "ranked too low"),
                ("\N{BOX DRAWINGS LIGHT HORIZONTAL}", worst, "too high"),
                ("\N{BOX DRAWINGS LIGHT HORIZONTAL}", theme.faint, "as it is"),
            ),
        ),
        numbers=judge_ranks([ranking]),
    )
    layout = {
        "width": width,
        "xaxis": {"visible": False, "range": [-0.04, 1.04]},
        "yaxis": {"visible": False, "range": [last + 0.5, 0.5]},
        "margin": {"l": margin, "r": margin},
        "annotations": names,
    }
    rank = max(_RANK, LINE * max(map(len, parts)) + _GAP)
    return finish(traces, theme, head, height=rank * last + LINE, layout=layout)


def _line(left: int, right: int, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [0, 1],
        "y": [left, right],
        "line": {"color": colour, "width": 2},
        "marker": {"size": 9, "color": colour},
        "hoverinfo": "skip",
    }


def _seats(ranking: JudgeRanking) -> list[tuple[int, int]]:
    """Return where each model's line begins and ends: models that share a rank are apart."""
    by_judge = sorted(range(len(ranking.models)), key=lambda at: ranking.models[at].judge_rank)
    right = {at: place + 1 for place, at in enumerate(by_judge)}
    return [(at + 1, right[at]) for at in range(len(ranking.models))]


def _name(x: int, y: int, text: str) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": text,
        "xanchor": "left" if x else "right",
        "align": "left" if x else "right",
        "xshift": 8 if x else -8,
        "showarrow": False,
        "font": {"size": 12},
    }
