"""The result of a gate as a picture to share: verdict, difference within the margin, counts, link.

It is drawn and saved like other figures, but stands nowhere on a page. It is for paper, whatever
the page looks like, and of a fixed size, so that it reads the same wherever it is shown.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any
from unicodedata import east_asian_width

import plotly.graph_objects as go

from coupled_arena.analysis.gate.result import CandidateGate, GateReport
from coupled_arena.analysis.gate.stored import GateStanding
from coupled_arena.core.language import _, filled, number
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.views.figures.theme import LIGHT, Theme, cut, look, spoken
from coupled_arena.views.levels import interval_at
from coupled_arena.views.markup import straight
from coupled_arena.views.tables.table import span
from coupled_arena.views.words.gate import gate_words, verdict_name

LINK = "{link}"
"""Stands in the figure where the page puts the address of the result: only it knows the host."""
_WIDTH = 720  # pixels
_EDGE = 28
_STRIP, _BELOW = 96, 150  # pixels of the interval, and of what stands below it
_NAME = 36  # characters of a name
_INWARD = -2  # pixels: plotly sets a text off from its place
_TITLE, _TEXT, _LINE = 26, 14, 20  # pixels of letters, and of a line


def card_figure(standing: GateStanding) -> go.Figure | None:
    """Draw the result of a gate; nothing before the second prompt."""
    report, found = standing.report, standing.candidate
    if report is None or found is None:
        return None
    theme, lines = LIGHT, _sentences(report, found)
    top = 64 + _LINE * len(lines)
    low, high = _ends(report, found)
    colour = {Verdict.WORSE: theme.other, Verdict.UNKNOWN: theme.text}.get(
        found.verdict, theme.accent
    )
    title = f'<span style="color:{colour}">{escape(verdict_name(found.verdict))}</span>'
    common = look(title, [escape(line, quote=False) for line in lines], theme)
    common["title"] |= {
        "font": {"size": _TITLE},
        "subtitle": {"text": common["title"]["subtitle"]["text"], "font": {"size": _TEXT}},
        "pad": {"l": _EDGE, "t": 20},
    }
    layout = {
        **common,
        "width": _WIDTH,
        "height": top + _STRIP + _BELOW,
        "margin": {"l": _EDGE, "r": _EDGE, "t": top, "b": _BELOW},
        "xaxis": {
            "range": [low, high],
            "zeroline": False,
            "gridcolor": theme.grid,
            "nticks": 9,
            "tickfont": {"size": 12, "color": theme.faint},
        },
        "yaxis": {"range": [0, 1], "visible": False},
        "shapes": _shapes(report, theme),
        "annotations": [
            *_on_the_axis(report, found, (low, high), theme),
            *_counts(found, theme),
            *_foot(standing, theme),
        ],
        "meta": {
            "file": "gate-card",
            "name": spoken(title, *lines),
        },
        "paper_bgcolor": "#fff",
    }
    return go.Figure({"data": _interval(report, found, theme), "layout": layout})


def _sentences(report: GateReport, found: CandidateGate) -> list[str]:
    """Return the verdict, and when it was known or what it takes, in lines; the axis has the rest.

    The last sentence of a gate has its seed, which tells who wrote what in blind battles.
    """
    short = replace(found, model=cut(found.model, _NAME))
    words = gate_words(replace(report, base=cut(report.base, _NAME), candidates=(short,)))
    verdict, _difference, *others = words[:-1]
    return [line for text in (verdict, *others) for line in _lines(straight(text))]


# Shares of the size of letters, in a usual font without serifs. No browser is asked, so that a
# picture is the same everywhere.
_NARROW, _WIDE = frozenset("fijlrtI.,:;'!|()[]/- "), frozenset("MWmw@%\N{HORIZONTAL ELLIPSIS}")
_SHARES = 0.36, 0.6, 0.72, 0.96  # narrow, usual, capital, and wide letters


def _width(text: str) -> float:
    """Return how wide a text is, in sizes of its letters, or a little less."""
    narrow, usual, capital, wide = _SHARES
    return sum(
        narrow
        if each in _NARROW
        else wide
        if each in _WIDE or east_asian_width(each) in "FW"
        else capital
        if each.isupper()
        else usual
        for each in text
    )


def _lines(text: str) -> list[str]:
    """Break a text into lines that fit the picture; no name is wider than one."""
    lines, most = [""], (_WIDTH - 2 * _EDGE) / _TEXT
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _ends(report: GateReport, found: CandidateGate) -> tuple[float, float]:
    width, margin = report.width, report.settings.margin
    low = min(found.low, -1.6 * margin) * width
    high = max(found.high, 0.8 * margin) * width
    beyond = 0.06 * (high - low)
    return low - beyond, high + beyond


def _shapes(report: GateReport, theme: Theme) -> list[dict[str, Any]]:
    """Return the band that is still as good, the margin, and no difference."""
    margin = -report.settings.margin * report.width
    band = {"type": "rect", "x0": margin, "x1": 0, "fillcolor": theme.pale, "opacity": 0.55}
    lines = [
        {"type": "line", "x0": x, "x1": x, "line": {"color": colour, "width": 1.5, "dash": dash}}
        for x, colour, dash in ((margin, theme.other, "dash"), (0, theme.faint, "dot"))
    ]
    band |= {"line": {"width": 0}}
    return [{**each, "y0": 0, "y1": 1, "layer": "below"} for each in (band, *lines)]


def _interval(report: GateReport, found: CandidateGate, theme: Theme) -> list[dict[str, Any]]:
    low, middle, high = (report.width * each for each in (found.low, found.difference, found.high))
    line = {"type": "scatter", "y": [0.4, 0.4], "hoverinfo": "skip", "cliponaxis": False}
    return [
        {**line, "mode": "lines", "x": [low, high], "line": {"color": theme.accent, "width": 5}},
        {
            **line,
            "mode": "markers",
            "x": [middle],
            "y": [0.4],
            "marker": {"size": 15, "color": theme.accent},
        },
    ]


def _on_the_axis(
    report: GateReport, found: CandidateGate, ends: tuple[float, float], theme: Theme
) -> list[dict[str, Any]]:
    """Return the numbers above the interval, and the name of the margin beside its line."""
    low, middle, high = (report.width * each for each in (found.low, found.difference, found.high))
    text = filled(
        _("<b>{difference}</b> ({interval}, {level})"),
        difference=number(middle, "+.3f"),
        interval=span(low, high, "+.3f"),
        level=interval_at(2 * report.settings.alpha / report.judged),
    )
    # Within the picture, however near to an end the dot is.
    share = (middle - ends[0]) / (ends[1] - ends[0])
    anchor = "left" if share < 0.35 else "right" if share > 0.65 else "center"
    return [
        {
            **{"x": middle, "y": 0.62, "text": text, "showarrow": False, "xanchor": anchor},
            **{"font": {"size": _TEXT}, "bgcolor": "rgba(255,255,255,.75)"},
        },
        {
            **{"x": -report.settings.margin * report.width, "y": 1, "text": _("margin")},
            **{"xanchor": "right", "yanchor": "top", "xshift": -4, "showarrow": False},
            "font": {"size": 12, "color": theme.other},
        },
    ]


def _counts(found: CandidateGate, theme: Theme) -> list[dict[str, Any]]:
    """Return the counts below the axis, each under what it counts."""
    counts = (
        (_("Prompts"), number(found.prompts, ",")),
        (_("Base"), number(found.base_score, ".1%")),
        (_("Candidate"), number(found.score, ".1%")),
        (_("Right to wrong"), number(found.lost, ",")),
        (_("Wrong to right"), number(found.gained, ",")),
    )
    place = {"xref": "paper", "yref": "paper", "y": 0, "showarrow": False, "xanchor": "left"}
    place |= {"yanchor": "top", "xshift": _INWARD}
    rows = ((38, 12, theme.faint), (54, 22, theme.text))
    return [
        {
            **place,
            "x": at / len(counts),
            "yshift": -down,
            "text": text,
            "font": {"size": size, "color": colour},
        }
        for at, both in enumerate(counts)
        for text, (down, size, colour) in zip(both, rows, strict=True)
    ]


def _foot(standing: GateStanding, theme: Theme) -> list[dict[str, Any]]:
    """Return what was asked and when, and where the result is."""
    gate = standing.gate
    asked = filled(
        _("{metric}, margin {margin:g}, alpha {alpha:g}, valid at any time, begun {date}"),
        metric=escape(cut(straight(gate.metric), _NAME), quote=False),
        margin=gate.margin,
        alpha=gate.alpha,
        date=f"{gate.begun_at:%Y-%m-%d}",
    )
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "showarrow": False}
    place |= {
        "xanchor": "left",
        "yanchor": "top",
        "xshift": _INWARD,
        "font": {"size": 12, "color": theme.faint},
    }
    return [{**place, "text": text, "yshift": -down} for text, down in ((asked, 96), (LINK, 114))]
