"""The figures of the app and of reports, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coupled_arena.api.results import Result
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from coupled_arena.analysis.coupling.savings import Coupling
    from coupled_arena.analysis.leaderboard.result import Leaderboard
    from coupled_arena.analysis.risk.result import RiskReport


def plot(
    result: Result[Any],
    figure: str | None = None,
    *,
    pair: tuple[str, str] | None = None,
    metric: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Return a figure of a result, as the app shows it.

    Parameters
    ----------
    result : Result
        Of `leaderboard`, `rank`, `audit`, `coupling` or `risk`.
    figure : str, optional
        Its name; by default the result's first one. A wrong name is answered with all of them.
    pair : tuple of str, optional
        Of `coupling`: the two models, for figures of one pair; by default the first pair.
    metric : str, optional
        Of `risk`: a metric instead of the portfolio.
    dark : bool
        Colours for a dark page.

    Raises
    ------
    ArenaError
        The result has no such figure.
    """
    if not isinstance(result, Result):
        raise ArenaError(
            f"plot draws what leaderboard, rank, audit, coupling or risk returned, not "
            f"{type(result).__name__}."
        )
    drawers = _drawers(result, pair, metric)
    name = figure or next(iter(drawers), "")
    if name not in drawers:
        known = ", ".join(drawers) or "none"
        raise ArenaError(f"{result.title} has no figure {name!r}; it has: {known}.")
    return drawers[name](dark=dark)


def _drawers(
    result: Result[Any], pair: tuple[str, str] | None, metric: str | None
) -> dict[str, Callable[..., go.Figure]]:
    kind = type(result.analysis).__name__
    if pair and kind != "Coupling":
        raise ArenaError("pair is for a result of coupling: leave it out.")
    if metric and kind != "RiskReport":
        raise ArenaError("metric is for a result of risk: leave it out.")
    if kind == "Leaderboard":
        return _of_board(result.analysis)
    if kind == "Audit":
        return _of_audit(result.analysis)
    if kind == "Coupling":
        return _of_coupling(result.analysis, pair)
    if kind == "RiskReport":
        return _of_risk(result.analysis, metric)
    return {}


def _of_board(board: Leaderboard) -> dict[str, Callable[..., go.Figure]]:
    from coupled_arena.core.choices import BoardSource
    from coupled_arena.views.figures import leaderboard as figures

    if board.estimate is None:
        return {}
    drawers: dict[str, Callable[..., go.Figure]] = {
        "rank_sets": lambda dark: figures.rank_figure(board, dark=dark),
        "win_rates": lambda dark: figures.win_rate_figure(board, dark=dark),
        "head_to_head": lambda dark: figures.pair_heatmap(board, dark=dark),
    }
    if {BoardSource.HUMAN, BoardSource.PPR} <= set(board.estimates.by_source):
        drawers["rank_set_sizes"] = lambda dark: figures.size_figure(board, dark=dark)
    if board.estimates.modes:
        drawers["modes"] = lambda dark: figures.mode_figure(board, dark=dark)
        drawers["mode_pairs"] = lambda dark: figures.mode_pairs_figure(board, dark=dark)
    if (held := board.style) and held.effects:
        drawers["style"] = lambda dark: figures.style_figure(held, dark=dark)
    return drawers


def _of_audit(audit: Any) -> dict[str, Callable[..., go.Figure]]:
    from coupled_arena.views.figures import audit as figures

    return {
        "bias": lambda dark: figures.bias_figure(audit, dark=dark),
        "efficiency": lambda dark: figures.efficiency_figure(audit, dark=dark),
        "agreement": lambda dark: figures.agreement_figure(audit, dark=dark),
        "win_rates": lambda dark: figures.powered_figure(audit, dark=dark),
    }


def _of_coupling(
    found: Coupling, pair: tuple[str, str] | None
) -> dict[str, Callable[..., go.Figure]]:
    from coupled_arena.analysis.coupling.savings import curves_of
    from coupled_arena.views.figures import coupling as figures

    known = {frozenset((each.model_a, each.model_b)): each for each in found.pairs}
    if pair and frozenset(pair) not in known:
        raise ArenaError(f"There is no pair {pair!r} here; the models: {', '.join(found.models)}.")
    one = known[frozenset(pair)] if pair else found.pairs[0]
    table = found.scores.table
    two = table.of([table.models.index(name) for name in (one.model_a, one.model_b)])
    return {
        "savings": lambda dark: figures.savings_figure(found, dark=dark),
        "variance": lambda dark: figures.variance_figure(one, dark=dark),
        "covariance": lambda dark: figures.covariance_figure(one, dark=dark),
        "error": lambda dark: figures.curve_figure(curves_of(two), 0, dark=dark),
    }


def _of_risk(report: RiskReport, metric: str | None) -> dict[str, Callable[..., go.Figure]]:
    from coupled_arena.stats.risk.dominance import Order
    from coupled_arena.views.figures import risk as figures

    known = {view.name: view for view in report.views}
    if metric and metric not in known:
        raise ArenaError(f"There is no metric {metric!r} here, only {', '.join(known)}.")
    view = known[metric] if metric else report.views[0]
    return {
        "quantiles": lambda dark: figures.quantile_figure(report, view, dark=dark),
        "tails": lambda dark: figures.tail_figure(report, view, dark=dark),
        "first_order": lambda dark: figures.violation_figure(report, view, Order.FIRST, dark=dark),
        "second_order": lambda dark: figures.violation_figure(
            report, view, Order.SECOND, dark=dark
        ),
        "mean_risk": lambda dark: figures.radar_figure(report, view, dark=dark),
    }
