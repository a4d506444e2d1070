"""The results of a report, section by section, with their figures."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go
from markupsafe import Markup

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.analysis.gate.stored import GateStanding
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.formulas import csv_writer
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.coupling import curve_figure
from coupled_arena.views.figures.drawing import (
    Draw,
    Drawings,
    audit_drawings,
    board_drawings,
    coupling_drawings,
    gate_drawings,
    risk_drawings,
)
from coupled_arena.views.figures.registry import Figure
from coupled_arena.views.markup import heading, joined, listed, paragraph, table
from coupled_arena.views.report.collect import MetricReport, Report
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.tables.board_page import board_table
from coupled_arena.views.tables.coupling import coupling_pairs
from coupled_arena.views.tables.gate import candidate_table
from coupled_arena.views.tables.gate_costs import known_costs
from coupled_arena.views.tables.risk import risk_models
from coupled_arena.views.words.audit import audit_findings
from coupled_arena.views.words.coupling import coupling_warnings
from coupled_arena.views.words.gate import gate_warnings, gate_words
from coupled_arena.views.words.gate_costs import churn_words
from coupled_arena.views.words.leaderboard import judge_words, mode_words
from coupled_arena.views.words.risk import risk_findings
from coupled_arena.views.words.verdict import board_verdict

_CURVES = 3  # pairs of a metric that have curves; the table has all


def leaderboards(report: Report) -> Markup:
    """Return who is better, by people and with each judge."""
    if not report.boards:
        return _needs(
            "votes or verdicts on the battles selected: vote in the app, or on stored battles with "
            "<code>serve --annotate</code>, or <code>import</code> votes."
        )
    return joined(part for board in report.boards for part in _board(board))


def modes(report: Report) -> Markup:
    """Return how coupling changes win rates."""
    board = report.modes
    if board is None:
        return _needs(
            "votes, or verdicts, on coupled and on independent battles of the same models, and a "
            "report on all modes."
        )
    return joined(
        [
            mode_words(board),
            figures(board_drawings(board), registry.MODES, registry.MODE_PAIRS),
        ]
    )


def gates(report: Report) -> Markup:
    """Return whether candidates are as good as their bases, by gates that let models answer."""
    if not report.gates:
        return _needs(
            "a gate: run <code>gate BASE CANDIDATE --task quiz</code>, or start one in the tab “As "
            "good as?” of the app."
        )
    return joined(part for each in report.gates for part in _gate(each))


def savings(report: Report) -> Markup:
    """Return accuracies, and the samples that coupling saves."""
    if not report.metrics:
        return _needs(
            "scores: run <code>benchmark</code>, which scores the answers of all models under both "
            "protocols."
        )
    return joined(part for each in report.metrics for part in _metric(each))


def audits(report: Report) -> Markup:
    """Return what each judge's verdicts are worth beside people's votes."""
    if not report.audits:
        return _needs(
            "a judge's verdicts: run <code>judge</code>, or take verdicts in with "
            "<code>import FILE --judge NAME</code>."
        )
    return joined(part for each in report.audits for part in _audit(each, each.judge))


def gradings(report: Report) -> Markup:
    """Return what each judge's grades are worth beside a benchmark's key."""
    if not report.gradings:
        return _needs(
            "a judge's grades of answers that a benchmark has scored: run <code>benchmark</code>, "
            "then <code>judge --grade</code>."
        )
    return joined(
        part
        for each in report.gradings
        for part in _audit(each, f"{each.judge} on {each.estimates.benchmark}")
    )


def risk(report: Report) -> Markup:
    """Return which model fails least badly, by each metric."""
    if not report.metrics:
        return _needs("scores: run <code>benchmark</code>, or <code>import-scores</code>.")
    return joined(part for each in report.metrics for part in _risk(each))


SECTIONS: dict[str, tuple[str, Callable[[Report], Markup]]] = {
    "leaderboard": ("Leaderboard", leaderboards),
    "modes": ("Coupled against independent", modes),
    "gate": ("Is it really as good?", gates),
    "coupling": ("What coupling saves on benchmarks", savings),
    "audit": ("Judges against people", audits),
    "grades": ("Judges against benchmarks", gradings),
    "risk": ("Which model fails least badly", risk),
}


def _needs(what: str) -> Markup:
    """Say what a section without results would need; markup of our own."""
    return paragraph(Markup(f"This needs {what}"))


def _board(board: Leaderboard) -> Iterator[Markup]:
    judge = board.estimates.selection.judge or ""
    yield heading(
        {
            BoardSource.HUMAN: "People's votes",
            BoardSource.PPR: f"Votes with verdicts of {judge} (prediction-powered)",
            BoardSource.JUDGE: f"Verdicts of {judge} alone",
        }[board.source],
        3,
    )
    yield paragraph(board_verdict(board), "headline")
    yield board_table(board)
    first = registry.RANK_SETS, registry.WIN_RATES, registry.BOARD_MEMORY
    last = registry.PAIRS
    if board.source is BoardSource.PPR:
        yield judge_words(board)
        last = registry.RANK_SET_SIZES
    yield figures(board_drawings(board), *first, last)


def _gate(standing: GateStanding) -> Iterator[Markup]:
    gate, found, candidate = standing.gate, standing.report, standing.candidate
    assert found  # else it is not in a report
    assert candidate
    # The same question may have been asked with --mode independent, to compare.
    noise = "" if found.coupled else ", each with noise of its own"
    yield heading(f"{gate.candidate} against {gate.base} on {gate.metric}{noise}", 3)
    # The last one, and the settings of the figures, tell the seed. With it anybody could compute
    # which model wrote which answer of its battles, which people may vote on.
    verdict, *words, _order = gate_words(found)
    yield paragraph(verdict, "headline")
    yield listed(words)
    yield candidate_table(found).html()
    yield listed(gate_warnings(found), "hint")
    yield listed(churn_words(found))
    yield known_costs(found).html()
    drawings = {
        name: partial(_without_settings, draw)
        for name, draw in gate_drawings(found, candidate).items()
    }
    yield figures(drawings, registry.GATE_CLOSING, registry.GATE_FLIPS, registry.GATE_COSTS)


def _metric(found: MetricReport) -> Iterator[Markup]:
    yield heading(f"Scores by {found.metric}", 3)
    yield table(
        ("Model", "Mode", "Answers", "Mean score", "Without an answer"),
        [
            (each.model, each.mode, each.answers, f"{each.mean:.4f}", each.unread)
            for each in found.accuracies
        ],
    )
    saved, curves = found.savings, found.curves
    if saved is None or curves is None:
        yield paragraph(found.why_not, "hint")
        return
    prompts, seeds, _ = saved.scores.table.coupled.shape
    yield paragraph(
        f"{_prompts(prompts)}, {seeds} answers of each model under each protocol. Intervals are "
        f"clustered by prompt (alpha {saved.alpha:g}). The last column is zero but for chance. "
        f"Curves are those of the pairs that save most, {_CURVES} at most."
    )
    yield coupling_pairs(saved).html()
    yield listed(coupling_warnings(saved), "hint")
    yield figures(coupling_drawings(saved, saved.by_saving[0]), registry.SAVINGS)
    known = [pair for pair in saved.by_saving if math.isfinite(pair.savings)]
    for pair in known[:_CURVES]:
        yield heading(f"{pair.model_a} against {pair.model_b}", 4)
        # One sub-sampling for all pairs of the report.
        drawings = {
            **coupling_drawings(saved, pair),
            registry.CURVES: partial(curve_figure, curves, saved.pairs.index(pair)),
        }
        yield figures(drawings, registry.CURVES, registry.VARIANCE, registry.COVARIANCE)


def _risk(found: MetricReport) -> Iterator[Markup]:
    yield heading(f"Ranks by {found.metric}", 3)
    if found.risk is None or found.risk.view is None:
        yield paragraph(found.unranked, "hint")
        return
    report, view = found.risk, found.risk.view
    yield risk_findings(report, view)
    yield risk_models(report, view).html()
    order = (registry.TAILS, registry.QUANTILES, registry.SECOND_ORDER, registry.FIRST_ORDER)
    yield figures(risk_drawings(report, view), *order, registry.MEAN_RISK)


def _prompts(n: int) -> str:
    return f"{n:,} prompt{'s' * (n != 1)}"


def _audit(audit: Audit, title: str) -> Iterator[Markup]:
    yield heading(title, 3)
    yield audit_findings(audit)
    if not audit.comparisons:
        return
    order = (registry.EFFICIENCY, registry.BIAS, registry.AGREEMENT, registry.JUDGE_WIN_RATES)
    yield figures(audit_drawings(audit), *order)
    yield audit_models(audit).html()
    yield heading("Differences between neighbours", 4)
    yield audit_differences(audit, neighbours=True).html()


_FRACTION = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")
_NOISE = 1e-14  # what is left of numbers near one that cancel out


def figure(draw: Draw, reading: str) -> Markup:
    """Return a figure for light and dark pages, with how to read it and its numbers.

    A script of the page draws it; numbers are there without one.

    Parameters
    ----------
    draw : callable
        Its figures carry their numbers as the figures of `coupled_arena.views.figures` do.
    reading : str
        How to read it.
    """
    both = {"light": _plain(draw(dark=False)), "dark": _plain(draw(dark=True))}
    layout = both["light"]["layout"]
    # The page has the numbers once, as a link.
    meta, _ = (each["layout"].pop("meta") for each in both.values())
    return Markup(
        '<figure><div class="plot" role="img" aria-label="{name}" style="height:{height:.0f}px">'
        '</div><script type="application/json">{data}</script>'
        '<figcaption>{reading} <a download="{file}.csv" '
        'href="data:text/csv;charset=utf-8,{numbers}">Its numbers as CSV</a></figcaption></figure>'
    ).format(
        file=meta["file"],
        name=meta["name"],
        height=layout["height"],
        data=Markup(_in_script(both)),
        reading=" ".join([reading, *_settings(meta)]),
        numbers=quote(_steady_table(meta["csv"])),
    )


def _settings(meta: dict[str, Any]) -> list[str]:
    method = " \N{MIDDLE DOT} ".join(meta.get("method", ()))
    return [f"Settings: {method}."] if method else []


def figures(drawings: Drawings, *order: Figure) -> Markup:
    """Return some of a result's figures, side by side where there is room."""
    drawn = (figure(drawings[each], each.reading) for each in order if each in drawings)
    return Markup('<div class="figures">{}</div>').format(Markup("").join(drawn))


def _without_settings(draw: Draw, *, dark: bool = False) -> go.Figure:
    drawn: Any = draw(dark=dark)
    return drawn.update_layout(meta={**drawn.layout.meta, "method": []})


def _plain(drawn: go.Figure) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(drawn.to_json() or "{}", parse_float=_steady)
    return {name: content[name] for name in ("data", "layout")}


def _steady(number: str) -> float:
    """Leave out the digits that change with the order of a sum, which a copy of a store may."""
    value = float(f"{float(number):.10g}")
    return value if abs(value) > _NOISE else 0.0


def _steady_table(text: str) -> str:
    steady = io.StringIO()
    csv_writer(steady).writerows(
        [repr(_steady(cell)) if _FRACTION.fullmatch(cell) else cell for cell in row]
        for row in csv.reader(io.StringIO(text, newline=""))
    )
    return steady.getvalue()


def _in_script(value: object) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
