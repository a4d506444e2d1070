"""Figures of how close two models are."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from coupled_arena.analysis.closeness import Closeness, Part, going
from coupled_arena.core.language import _
from coupled_arena.stats.closeness import Mean
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.rows import (
    FigureRow,
    axis_title,
    interval_dots,
    marks,
    row_figure,
)
from coupled_arena.views.figures.theme import Theme, head_of, key, shortened, theme_for
from coupled_arena.views.tables import closeness as tables
from coupled_arena.views.words.closeness import sampling_words

_DOT = "\N{BLACK CIRCLE}"


def survival_figure(found: Closeness, *, dark: bool = False) -> go.Figure:
    """Draw the share of answers that are still the same after so many tokens."""
    curve = going(found)
    lines = [
        Line(name, curve.tokens.tolist(), values.tolist())
        for name, values in (
            (_("coupled"), curve.coupled),
            (_("independent"), curve.independent),
            (_("best possible"), curve.best),
        )
    ]
    axes = Axes(_("Tokens"), _("Answers still the same"), share_y=True, y_range=(0.0, 1.0))
    head = head_of(registry.SURVIVAL, _caption(found), tables.going_table(curve))
    return line_figure(lines, axes, head, dark=dark)


def positions_figure(found: Closeness, *, dark: bool = False) -> go.Figure:
    """Draw how often both models draw the same token, by its place in the answer."""
    labels = [_place(part) for part in found.places]
    return _agreement(registry.POSITIONS_IN_ANSWER, found, found.places, labels, dark=dark)


def kinds_figure(found: Closeness, *, dark: bool = False) -> go.Figure:
    """Draw how often both models draw the same token, by its kind."""
    labels = [_(part.kind.label) if part.kind else "" for part in found.kinds]
    return _agreement(registry.KINDS, found, found.kinds, labels, dark=dark)


def _agreement(
    figure: registry.Figure,
    found: Closeness,
    parts: Sequence[Part],
    labels: Sequence[str],
    *,
    dark: bool,
) -> go.Figure:
    theme = theme_for(dark)
    rows = [FigureRow(label, _numbers(part)) for label, part in zip(labels, parts, strict=True)]
    traces = [
        marks([p.independent.value for p in parts], range(len(parts)), theme.other),
        interval_dots([(at, *_ends(part.coupled)) for at, part in enumerate(parts)], theme),
        marks(
            [p.best.value for p in parts],
            range(len(parts)),
            theme.text,
            symbol="line-ns",
            line={"width": 2, "color": theme.text},
        ),
    ]
    numbers = tables.kinds(found) if figure is registry.KINDS else tables.places(found)
    head = head_of(figure, (*_caption(found), _legend(theme)), numbers)
    axis = {
        "range": [0, 1.01],
        "tickformat": ".0%",
        "title": axis_title(_("The same token"), theme),
    }
    return row_figure(traces, rows, theme, head, axis)


def _ends(mean: Mean) -> tuple[float, float, float]:
    return mean.value, mean.low, mean.high


def _numbers(part: Part) -> str:
    return _("{coupled:.1%} of {best:.1%}").format(coupled=part.coupled.value, best=part.best.value)


def _place(part: Part) -> str:
    if part.first is None or part.last is None or part.first == part.last:
        return _("Token {n:,}").format(n=(part.first or 0) + 1)
    return _("Tokens {first:,} to {last:,}").format(first=part.first + 1, last=part.last + 1)


def _legend(theme: Theme) -> str:
    return key(
        (_DOT, theme.accent, _("coupled")),
        (_DOT, theme.other, _("independent")),
        ("|", theme.text, _("best possible")),
    )


def _caption(found: Closeness) -> tuple[str, ...]:
    one, other = map(shortened, found.models)
    return (
        f"{one} · {other}",
        _("{n:,} answers, {sampling}").format(
            n=len(found.readings.answers), sampling=sampling_words(found.readings.sampling)
        ),
    )
