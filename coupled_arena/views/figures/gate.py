"""Figures of a gate: the interval closing over prompts, all candidates, flips by category."""

from __future__ import annotations

from html import escape
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.gate.result import CandidateGate, CategoryGap, Closing, GateReport
from coupled_arena.core.choices import Look, Measure
from coupled_arena.core.language import _, filled, ngettext, number
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.rows import (
    FigureRow,
    axis_title,
    bar_lines,
    interval_dots,
    marks,
    plain_axis,
    row_figure,
)
from coupled_arena.views.figures.theme import (
    Theme,
    finish,
    head_of,
    key,
    shortened,
    theme_for,
)
from coupled_arena.views.tables.gate import (
    candidate_table,
    category_table,
    closing_table,
    in_points,
)
from coupled_arena.views.tables.table import span
from coupled_arena.views.words.gate import verdict_name

_HEIGHT = 330  # pixels
_MOST = 16  # categories that are drawn
_BAR, _SQUARE = "\N{BLACK RECTANGLE}", "\N{BLACK SQUARE}"
_DASH = "\N{BOX DRAWINGS HEAVY DOUBLE DASH HORIZONTAL}"


def closing_figure(
    found: GateReport, candidate: CandidateGate, way: Closing, *, dark: bool = False
) -> go.Figure:
    """Draw the interval closing over the prompts, with the margin and the verdict."""
    theme, ends = theme_for(dark), tuple(found.width * each for each in _range(way, found))
    head = head_of(
        registry.GATE_CLOSING,
        lines=(
            *_against(found, candidate),
            _said(candidate),
            key(
                (_BAR, theme.accent, _("difference, and where it may lie")),
                (_DASH, theme.other, _("margin")),
            ),
        ),
        numbers=closing_table(found),
        method=_method(found),
    )
    common = plain_axis(theme)
    several = candidate.units < candidate.prompts
    axis = _("Groups of prompts so far") if several else _("Prompts so far")
    layout = {
        "xaxis": {**common, "title": axis_title(axis, theme)},
        "yaxis": {
            **common,
            "title": axis_title(_("Difference (candidate \N{MINUS SIGN} base)"), theme),
            "range": list(ends),
        },
    }
    traces = _closing_lines(found, candidate, way, (ends[0], ends[1]), theme)
    return finish(traces, theme, head, height=_HEIGHT, layout=layout)


def _closing_lines(
    found: GateReport,
    candidate: CandidateGate,
    way: Closing,
    ends: tuple[float, float],
    theme: Theme,
) -> list[dict[str, Any]]:
    """Return the band and its middle, the margin, zero, and when it was known."""
    prompts, margin = way.prompts.tolist(), -found.settings.margin * found.width
    shares = way.low, way.high, way.difference
    low, high, middle = ((found.width * each).tolist() for each in shares)
    whole = [prompts[0], prompts[-1]]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": [*prompts, *prompts[::-1]],
        "y": [*high, *low[::-1]],
        "fill": "toself",
        "fillcolor": theme.pale,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    known = candidate.known_after
    return [
        band,
        _line(prompts, middle, theme.accent, "solid", _hover(prompts, middle, low, high)),
        _line(whole, [margin] * 2, theme.other, "dash"),
        _line(whole, [0, 0], theme.faint, "dot"),
        *([_line([known] * 2, list(ends), theme.text, "dot")] if known else []),
    ]


def _hover(
    prompts: list[int], middle: list[float], low: list[float], high: list[float]
) -> list[str]:
    text = _("{n:,} prompts: {difference:+.4f} ({low:+.4f} to {high:+.4f})")
    return [
        filled(text, n=n, difference=each, low=least, high=most)
        for n, each, least, most in zip(prompts, middle, low, high, strict=True)
    ]


def _line(
    x: list[Any], y: list[Any], colour: str, dash: str, hover: list[str] | None = None
) -> dict[str, Any]:
    shown = {"hovertext": hover, "hoverinfo": "text"} if hover else {"hoverinfo": "skip"}
    line = {"color": colour, "width": 2.2 if dash == "solid" else 1.5, "dash": dash}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **shown}


def _range(way: Closing, found: GateReport) -> tuple[float, float]:
    """Return what is drawn: the interval from about a tenth of the prompts on, and the margin."""
    margin = found.settings.margin
    early = len(way.low) // 10
    low, high = float(way.low[early]), float(way.high[early])
    ends = min(low, -1.5 * margin), max(high, 1.5 * margin)
    beyond = 0.05 * (ends[1] - ends[0])
    return max(ends[0] - beyond, -1.0), min(ends[1] + beyond, 1.0)


def candidates_figure(found: GateReport, *, dark: bool = False) -> go.Figure:
    """Draw the difference of each candidate with its interval, and the margin."""
    theme, margin = theme_for(dark), -found.settings.margin * found.width
    candidates = [in_points(found, each) for each in found.candidates]
    rows = [
        FigureRow(each.model, f"{number(each.difference, '+.3f')}, {verdict_name(each.verdict)}")
        for each in candidates
    ]
    points = [
        (float(at), each.difference, each.low, each.high) for at, each in enumerate(candidates)
    ]
    ends = min(margin, *(low for *_, low, _high in points)), max(0.0, *(p[3] for p in points))
    beyond = 0.08 * (ends[1] - ends[0])
    lines = [
        _beside_marks(x, len(rows), colour, dash)
        for x, colour, dash in ((margin, theme.other, "dash"), (0.0, theme.faint, "dot"))
    ]
    dots = interval_dots(points, theme)
    dots["hovertext"] = [
        f"{escape(each.model)}: {number(each.difference, '+.4f')} "
        f"({span(each.low, each.high, '+.4f')})"
        for each in candidates
    ]
    head = head_of(
        registry.GATE_CANDIDATES,
        lines=(
            filled(
                _("{metric}, against {base}"),
                metric=escape(found.metric),
                base=shortened(found.base),
            ),
            key((_DASH, theme.other, _("margin"))),
        ),
        numbers=candidate_table(found).only("model", "verdict", "difference", "low", "high"),
        method=_method(found),
    )
    axis = {
        "range": [ends[0] - beyond, ends[1] + beyond],
        "title": axis_title(_("Difference (candidate \N{MINUS SIGN} base)"), theme),
    }
    return row_figure([*lines, dots], rows, theme, head, axis)


def _beside_marks(x: float, rows: int, colour: str, dash: str) -> dict[str, Any]:
    """Return a line across the marks of all rows, with gaps where their names stand."""
    ends: list[float | None] = []
    for row in range(rows):
        ends += [row - 0.12, row + 0.4, None]
    return _line([x] * len(ends), ends, colour, dash)


def flips_figure(found: GateReport, candidate: CandidateGate, *, dark: bool = False) -> go.Figure:
    """Draw on how many prompts of each category the candidate is worse, and better."""
    theme = theme_for(dark)
    gaps = [in_points(found, gap) for gap in (_everything(candidate), *_largest(candidate))]
    rows = [
        FigureRow(
            gap.category,
            f"{number(gap.difference, '+.3f')} ({span(gap.low, gap.high, '+.2f')})",
        )
        for gap in gaps
    ]
    shares = [(gap.lost / gap.prompts, gap.gained / gap.prompts) for gap in gaps]
    most = max(0.02, *(side for both in shares for side in both)) * 1.08
    left = len(candidate.categories) - (len(gaps) - 1)
    text = ngettext(
        "{n} category with a smaller difference is in the table",
        "{n} categories with smaller differences are in the table",
        left,
    )
    head = head_of(
        registry.GATE_FLIPS,
        lines=(
            *_against(found, candidate),
            key(
                (_SQUARE, theme.behind, _("worse than the base")),
                (_SQUARE, theme.ahead, _("better")),
            ),
            *([filled(text, n=left)] if left else []),
        ),
        numbers=category_table(found),
        method=_method(found),
    )
    axis = {
        "range": [-most, most],
        "tickformat": ".0%",
        "title": axis_title(_("Share of prompts"), theme),
    }
    return row_figure(_flip_bars(gaps, shares, theme), rows, theme, head, axis)


def _flip_bars(
    gaps: list[CategoryGap], shares: list[tuple[float, float]], theme: Theme
) -> list[dict[str, Any]]:
    """Return a bar to the left for prompts that are lost, and one to the right for those gained."""
    worse = [(at, -lost, 0.0) for at, (lost, _gained) in enumerate(shares)]
    better = [(at, 0.0, gained) for at, (_lost, gained) in enumerate(shares)]
    bars = ((worse, theme.behind), (better, theme.ahead))
    hover = marks([0.0] * len(gaps), list(range(len(gaps))), "rgba(0,0,0,0)")
    hover["hovertext"] = [
        filled(
            _("{category}: worse on {lost:,} of {n:,} prompts, better on {gained:,}"),
            category=escape(gap.category),
            lost=gap.lost,
            n=gap.prompts,
            gained=gap.gained,
        )
        for gap in gaps
    ]
    drawn = [bar_lines(sides, colour, 9, round_ends=False) for sides, colour in bars]
    return [*drawn, hover]


def _everything(candidate: CandidateGate) -> CategoryGap:
    return CategoryGap(
        candidate.model,
        _("All prompts"),
        candidate.prompts,
        candidate.difference,
        candidate.low,
        candidate.high,
        candidate.lost,
        candidate.gained,
    )


def _largest(candidate: CandidateGate) -> list[CategoryGap]:
    """Return the categories that are drawn: those with the largest differences."""
    far = sorted(candidate.categories, key=lambda gap: -abs(gap.difference))[:_MOST]
    return sorted(far, key=lambda gap: gap.difference)


def _against(found: GateReport, candidate: CandidateGate) -> tuple[str, str]:
    return (
        filled(_("{model} against"), model=shortened(candidate.model)),
        filled(_("{base}, by {metric}"), base=shortened(found.base), metric=escape(found.metric)),
    )


def _said(candidate: CandidateGate) -> str:
    name = verdict_name(candidate.verdict)
    if candidate.verdict is Verdict.UNKNOWN or not candidate.known_after:
        return f"<b>{name}</b>"
    text = _("{verdict}, known after {n:,} of {all:,}")
    return filled(text, verdict=f"<b>{name}</b>", n=candidate.known_after, all=candidate.units)


def _method(found: GateReport) -> tuple[str, ...]:
    settings, margin = found.settings, found.settings.margin * found.width
    lines = [filled(_("margin {margin:g}, alpha {alpha:g}"), margin=margin, alpha=settings.alpha)]
    if settings.look is Look.ALWAYS:
        lines.append(_("valid at any time"))
    else:
        lines.append(_("one look"))
    if found.measure is not Measure.VOTES and settings.look is Look.ALWAYS:
        lines.append(filled(_("prompts in the order of seed {seed}"), seed=settings.seed))
    return tuple(lines)
