"""What draws each figure of a result, and which figures a result has data for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import plotly.graph_objects as go

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.analysis.closeness import Closeness
from coupled_arena.analysis.coupling.savings import Coupling, curves_of
from coupled_arena.analysis.gate.result import CandidateGate, GateReport
from coupled_arena.analysis.leaderboard.memory import against_memory
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.analysis.risk.result import RiskReport, RiskView
from coupled_arena.core.choices import BoardSource, Measure
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures import (
    audit,
    closeness,
    coupling,
    gate,
    gate_costs,
    leaderboard,
    memory,
    registry,
    resampling,
    risk,
    trade_offs,
)
from coupled_arena.views.figures.images import PAGE, write_pictures
from coupled_arena.views.figures.registry import Figure
from coupled_arena.views.figures.theme import on_paper
from coupled_arena.views.tables.experiments import rank_sets, rankings


class Draw(Protocol):
    """Draws a figure for a light or a dark page."""

    def __call__(self, *, dark: bool = False) -> go.Figure:
        """Return the figure."""
        ...


Drawings = Mapping[Figure, Draw]
"""The figures that a result has data for, in the order of the registry."""


def board_drawings(board: Leaderboard) -> Drawings:
    """Return the figures of a leaderboard; none where nothing can be estimated."""
    if board.estimate is None:
        return {}
    drawings: dict[Figure, Draw] = {
        registry.RANK_SETS: partial(leaderboard.rank_figure, board),
        registry.WIN_RATES: partial(leaderboard.win_rate_figure, board),
        registry.PAIRS: partial(leaderboard.pair_heatmap, board),
    }
    if found := against_memory(board):
        drawings[registry.BOARD_MEMORY] = partial(memory.memory_figure, board, found)
    if {BoardSource.HUMAN, BoardSource.PPR} <= set(board.estimates.by_source):
        drawings[registry.RANK_SET_SIZES] = partial(leaderboard.size_figure, board)
    if board.estimates.modes:
        drawings[registry.MODES] = partial(leaderboard.mode_figure, board)
        drawings[registry.MODE_PAIRS] = partial(leaderboard.mode_pairs_figure, board)
    if board.style and board.style.effects:
        drawings[registry.STYLE_EFFECTS] = partial(leaderboard.style_figure, board.style)
    return drawings


def audit_drawings(found: Audit) -> Drawings:
    """Return the figures of an audit."""
    return {
        registry.BIAS: partial(audit.bias_figure, found),
        registry.EFFICIENCY: partial(audit.efficiency_figure, found),
        registry.AGREEMENT: partial(audit.agreement_figure, found),
        registry.JUDGE_WIN_RATES: partial(audit.powered_figure, found),
    }


def coupling_drawings(found: Coupling, pair: PairSavings) -> Drawings:
    """Return the figures of what coupling saves; all but the first are of one pair."""

    def curves(*, dark: bool = False) -> go.Figure:
        table = found.scores.table
        places = [table.models.index(name) for name in (pair.model_a, pair.model_b)]
        return coupling.curve_figure(curves_of(table.of(places)), 0, dark=dark)

    return {
        registry.SAVINGS: partial(coupling.savings_figure, found),
        registry.VARIANCE: partial(coupling.variance_figure, pair),
        registry.COVARIANCE: partial(coupling.covariance_figure, pair),
        registry.CURVES: curves,
    }


def closeness_drawings(found: Closeness) -> Drawings:
    """Return the figures of how close two models are."""
    return {
        registry.SURVIVAL: partial(closeness.survival_figure, found),
        registry.POSITIONS_IN_ANSWER: partial(closeness.positions_figure, found),
        registry.KINDS: partial(closeness.kinds_figure, found),
    }


def risk_drawings(report: RiskReport, view: RiskView) -> Drawings:
    """Return the figures of a ranking by risk, by one metric or the portfolio."""
    return {
        registry.QUANTILES: partial(risk.quantile_figure, report, view),
        registry.TAILS: partial(risk.tail_figure, report, view),
        registry.FIRST_ORDER: partial(risk.violation_figure, report, view, Order.FIRST),
        registry.SECOND_ORDER: partial(risk.violation_figure, report, view, Order.SECOND),
        registry.MEAN_RISK: partial(risk.radar_figure, report, view),
    }


def gate_drawings(found: GateReport, candidate: CandidateGate) -> Drawings:
    """Return the figures of a gate; of the interval and of flips those of one candidate."""
    drawings: dict[Figure, Draw] = {}
    if (way := candidate.closing) is not None:
        drawings[registry.GATE_CLOSING] = partial(gate.closing_figure, found, candidate, way)
    drawings[registry.GATE_CANDIDATES] = partial(gate.candidates_figure, found)
    if found.measure is not Measure.VOTES:
        drawings[registry.GATE_FLIPS] = partial(gate.flips_figure, found, candidate)
    if gate_costs.can_be_drawn(found):
        drawings[registry.GATE_COSTS] = partial(gate_costs.costs_figure, found)
    return drawings


def resampling_drawings(result: Resampling) -> Drawings:
    """Return the figures of a resampling experiment, at its first number of votes."""
    votes = result.plan.human[0]
    coverage = trade_offs.Agreement.COVERAGE
    drawings: dict[Figure, Draw] = {
        registry.SIZE_AGAINST_INTERSECTION: partial(trade_offs.trade_off_figure, result, votes),
        registry.SIZE_AGAINST_COVERAGE: partial(
            trade_offs.trade_off_figure, result, votes, coverage
        ),
        registry.BY_NUMBER_OF_VOTES: partial(trade_offs.votes_figure, result),
        registry.POSITIONS: partial(resampling.position_figure, result, votes),
        registry.DRAWN_RANK_SETS: partial(resampling.rank_set_figure, result, votes),
    }
    if len(result.plan.human) == 1:
        del drawings[registry.BY_NUMBER_OF_VOTES]
    return {
        figure: partial(_with_numbers, result, figure, draw) for figure, draw in drawings.items()
    }


def _with_numbers(
    result: Resampling, figure: Figure, draw: Draw, *, dark: bool = False
) -> go.Figure:
    """Draw a figure with what a page saves of it."""
    drawn: Any = draw(dark=dark)
    ranks = figure in (registry.POSITIONS, registry.DRAWN_RANK_SETS)
    numbers: Any = rank_sets(result) if ranks else rankings(result)
    saved = {"paper": on_paper(dark), "file": figure.file, "csv": numbers.csv()}
    return drawn.update_layout(meta={**drawn.layout.meta, **saved})


def write_figures(result: Resampling | GateReport, folder: Path) -> list[Path]:
    """Write all figures that a result has data for, and return their files.

    Each becomes a page that needs nothing else; and an SVG if a browser is there to draw it.

    Raises
    ------
    ArenaError
        The browser failed.
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = _of_gate(result) if isinstance(result, GateReport) else _of_resampling(result)
    drawn = {folder / name: draw() for name, draw in named.items()}
    for figure in drawn.values():
        figure.update_layout(paper_bgcolor="white")
    return write_pictures(drawn, (PAGE, "svg"))


def _of_resampling(result: Resampling) -> dict[str, Draw]:
    return {figure.file: draw for figure, draw in resampling_drawings(result).items()}


def _of_gate(found: GateReport) -> dict[str, Draw]:
    """Return figures by their files; those of a further candidate are numbered."""
    drawings: dict[str, Draw] = {}
    for at, candidate in enumerate(found.candidates, 1):
        for figure, draw in gate_drawings(found, candidate).items():
            own = figure in (registry.GATE_CLOSING, registry.GATE_FLIPS)
            if at == 1:
                drawings[figure.file] = draw
            elif own:
                drawings[f"{figure.file}-{at}"] = draw
    return drawings
