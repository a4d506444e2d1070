"""Figures of a judge's audit, with a line for each model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.core.choices import Truth
from coupled_arena.core.language import _, number
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.caption import audit_caption, audit_method
from coupled_arena.views.figures.rows import (
    FigureRow,
    axis_title,
    bar_lines,
    interval_dots,
    italic,
    marks,
    rate_axis,
    row_figure,
)
from coupled_arena.views.figures.theme import Theme, head_of, key, theme_for
from coupled_arena.views.levels import interval_at
from coupled_arena.views.tables.audit import audit_models
from coupled_arena.views.words.audit_texts import by_truth

_CEILING = 20  # what ten votes are worth at most where the judge is no better than the model
_DOT, _RING = "\N{BLACK CIRCLE}", "\N{WHITE CIRCLE}"
_ARROW = "\N{RIGHTWARDS ARROW}"
_BAR, _LINE = "\N{BLACK RECTANGLE}", "\N{BOX DRAWINGS LIGHT VERTICAL}"


def bias_figure(audit: Audit, *, dark: bool = False) -> go.Figure:
    """Draw how much more often the judge prefers each model than people do."""
    theme = theme_for(dark)
    known = _known(audit, lambda row: row.judge_bias)
    dots = interval_dots(
        [(at, _of(row.judge_bias), _of(row.bias_low), _of(row.bias_high)) for at, row in known],
        theme,
    )
    dots["hovertext"] = [
        f"<b>{escape(row.model)}</b><br>"
        + by_truth(audit, "scores", judge=_of(row.judge_score), truth=_of(row.b))
        for _at, row in known
    ]
    reach = max([0.05, *(abs(_of(end)) for _at, r in known for end in (r.bias_low, r.bias_high))])
    head = head_of(
        registry.BIAS,
        lines=(
            *audit_caption(audit),
            key((_DOT, theme.accent, _("bias")), (_BAR, theme.pale, interval_at(audit.alpha))),
        ),
        numbers=audit_models(audit).only(
            "model", "judge_bias", "bias_low", "bias_high", "b", "judge_score", "n"
        ),
        method=audit_method(audit),
    )
    labels = _row_labels(
        audit, lambda row: row.judge_bias, lambda row: number(100 * _of(row.judge_bias), "+.1f")
    )
    axis = {
        "range": [-1.08 * reach, 1.08 * reach],
        "tickformat": ".0%",
        "title": axis_title(by_truth(audit, "below_above"), theme),
    }
    return row_figure([_rule(0, audit, theme.faint), dots], labels, theme, head, axis)


def efficiency_figure(audit: Audit, *, dark: bool = False) -> go.Figure:
    """Draw what ten votes are worth with the judge, and the ceiling of twenty where it binds."""
    theme = theme_for(dark)
    # Of other models the line says nothing, and the axis up to it would be empty.
    limited = any(row.at_frontier for row in audit.models)
    known = _known(audit, lambda row: row.tau_max)
    dots = interval_dots([(at, *_worth_of_ten(row)) for at, row in known], theme)
    dots["hovertext"] = [
        f"<b>{escape(row.model)}</b><br>{_agrees(audit, row)}" for _at, row in known
    ]
    head = head_of(
        registry.EFFICIENCY,
        title=by_truth(audit, "worth_title"),
        lines=(
            *audit_caption(audit),
            key(
                (_RING, theme.other, _("with the verdicts there are")),
                (_DOT, theme.accent, _("at most")),
            ),
            key(
                (_BAR, theme.pale, interval_at(audit.alpha)),
                *([(_LINE, theme.text, _("limit of a judge no better than the model"))] * limited),
            ),
        ),
        numbers=audit_models(audit).only(
            *("model", "tau", "tau_max", "tau_max_low", "tau_max_high", "rho_squared"),
            "at_frontier",
        ),
        method=audit_method(audit),
    )
    labels = _row_labels(
        audit, lambda row: row.tau_max, lambda row: number(10 * _of(row.tau_max), ".1f")
    )
    ends = [_CEILING] * limited + [_worth_of_ten(row)[2] for _at, row in known]
    reach = max([1.0, *(end - 10 for end in ends)])
    axis = {
        "range": [10 - 0.04 * reach, 10 + 1.15 * reach],
        "title": axis_title(by_truth(audit, "without"), theme),
    }
    rule = [_rule(_CEILING, audit, theme.text)] * limited
    return row_figure([*rule, dots, _worth_now(known, theme)], labels, theme, head, axis)


def _worth_now(known: list[tuple[int, ModelAudit]], theme: Theme) -> dict[str, Any]:
    """Return rings at what ten votes are worth with the verdicts that exist."""
    rows = [(at, row.tau) for at, row in known if row.tau is not None]
    rings = marks(
        *([10 * tau for _at, tau in rows], [at for at, _tau in rows], "rgba(0,0,0,0)"),
        line={"width": 2.5, "color": theme.other},
    )
    rings["hovertext"] = [_("now {worth:.1f}").format(worth=10 * tau) for _at, tau in rows]
    return rings


def agreement_figure(audit: Audit, *, dark: bool = False) -> go.Figure:
    """Draw agreement beside balanced agreement, which guessing cannot raise above one half."""
    theme = theme_for(dark)
    known = _known(audit, lambda row: row.balanced_agreement)
    pairs = [(at, _of(row.balanced_agreement), _of(row.agreement)) for at, row in known]
    balanced = marks(
        [x for _at, x, _other in pairs], [at for at, _one, _other in pairs], theme.accent
    )
    agreed = marks(
        [x for _at, _one, x in pairs],
        [at for at, _one, _other in pairs],
        "rgba(0,0,0,0)",
        line={"width": 2.5, "color": theme.other},
    )
    balanced["hovertext"] = [
        _balance(row, x) for (_at, x, _other), (_row, row) in zip(pairs, known, strict=True)
    ]
    agreed["hovertext"] = [_("agreement {share:.1%}").format(share=x) for *_at, x in pairs]
    head = head_of(
        registry.AGREEMENT,
        lines=(
            *audit_caption(audit),
            key(
                (_DOT, theme.accent, _("balanced agreement")),
                (_RING, theme.other, _("agreement")),
                (_LINE, theme.faint, _("guessing")),
            ),
        ),
        numbers=audit_models(audit).only("model", "agreement", "balanced_agreement", "p", "q", "b"),
        method=audit_method(audit),
    )
    labels = _row_labels(
        audit,
        lambda row: row.balanced_agreement,
        lambda row: " | ".join(
            number(_of(share), ".0%") for share in (row.balanced_agreement, row.agreement)
        ),
    )
    traces = [
        _rule(0.5, audit, theme.faint),
        bar_lines(pairs, theme.grid, 4, round_ends=False),
        agreed,
        balanced,
    ]
    axis = {**rate_axis(theme), "title": axis_title(by_truth(audit, "same"), theme)}
    return row_figure(traces, labels, theme, head, axis)


def powered_figure(audit: Audit, *, dark: bool = False) -> go.Figure:
    """Draw win-rates by people alone, and corrected by the verdicts on other comparisons."""
    theme = theme_for(dark)
    known = _known(audit, lambda row: row.b)
    alone, powered = (
        bar_lines(
            [(at + shift, _of(low(row)), _of(high(row))) for at, row in known],
            colour,
            6,
            round_ends=False,
        )
        for shift, colour, low, high in (
            (-0.08, theme.other, lambda row: row.b_low, lambda row: row.b_high),
            (0.12, theme.accent, lambda row: row.powered_low, lambda row: row.powered_high),
        )
    )
    voted = audit.estimates.truth is Truth.VOTES
    more = _("{n:,} more comparisons with a verdict alone").format(n=audit.judge_only)
    alone_too = [more] if voted else []
    head = head_of(
        registry.JUDGE_WIN_RATES,
        title=by_truth(audit, "powered"),
        lines=(
            *audit_caption(audit),
            *alone_too,
            key(
                (_BAR, theme.other, by_truth(audit, "alone")),
                (_BAR, theme.accent, _("with the judge")),
            ),
        ),
        numbers=audit_models(audit).only(
            "model", "b", "b_low", "b_high", "powered", "powered_low", "powered_high"
        ),
        method=audit_method(audit),
    )
    labels = _row_labels(
        audit,
        lambda row: row.b,
        lambda row: f" {_ARROW} ".join(
            (number(100 * _of(row.b), ".1f"), number(min(max(_of(row.powered), 0), 1), ".1%"))
        ),
    )
    axis = {**rate_axis(theme), "title": axis_title(by_truth(audit, "rate"), theme)}
    return row_figure([alone, powered], labels, theme, head, axis)


def _balance(row: ModelAudit, share: float) -> str:
    text = _("balanced agreement {share:.1%}").format(share=share)
    return f"{text}<br>p {number(_of(row.p), '.1%')}, q {number(_of(row.q), '.1%')}"


def _agrees(audit: Audit, row: ModelAudit) -> str:
    correlation = by_truth(audit, "correlation", rho=_of(row.rho))
    return f"{correlation}<br>" + _("agrees {agreement:.1%}, balanced {balanced:.1%}").format(
        agreement=_of(row.agreement), balanced=_of(row.balanced_agreement)
    )


def _worth_of_ten(row: ModelAudit) -> tuple[float, float, float]:
    most = _of(row.tau_max)
    return 10 * most, 10 * _of(row.tau_max_low, most), 10 * _of(row.tau_max_high, most)


def _known(
    audit: Audit, value: Callable[[ModelAudit], float | None]
) -> list[tuple[int, ModelAudit]]:
    """Return the rows that have a value, with their places."""
    return [(at, row) for at, row in enumerate(audit.models) if value(row) is not None]


def _row_labels(
    audit: Audit, value: Callable[[ModelAudit], float | None], text: Callable[[ModelAudit], str]
) -> Sequence[FigureRow]:
    return [
        FigureRow(row.model, italic(_("unknown")), known=False)
        if value(row) is None
        else FigureRow(row.model, f"<b>{text(row)}</b>")
        for row in audit.models
    ]


def _rule(at: float, audit: Audit, colour: str) -> dict[str, Any]:
    """Return a vertical line over all rows."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [at, at],
        "y": [-0.75, max((at for at, _row in _known(audit, lambda row: row.b)), default=0) + 0.4],
        "line": {"width": 1.5, "color": colour, "dash": "dot"},
        "hoverinfo": "skip",
    }


def _of(value: float | None, otherwise: float = 0.0) -> float:
    return otherwise if value is None else value
