"""The figures of the app and of reports, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coupled_arena.api.results import Result
from coupled_arena.core.errors import ArenaError
from coupled_arena.views.figures.registry import FIGURES, figures_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from coupled_arena.views.figures.drawing import Drawings


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
        Of {results}.
    figure : str, optional
        Its name; by default the result's first one:
        {names}.
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
            f"plot draws what {_results(word='or')} returned, not {type(result).__name__}."
        )
    drawings = drawings_of(result, pair, metric)
    named = {each.name: each for each in drawings}
    former = {each.former: each for each in drawings if each.former}
    found = (former | named).get(figure) if figure else next(iter(drawings), None)
    if found is None:
        known = ", ".join(named) or "none"
        raise ArenaError(f"{result.title} has no figure {figure or ''!r}; it has: {known}.")
    return drawings[found](dark=dark)


def drawings_of(
    result: Result[Any], pair: tuple[str, str] | None = None, metric: str | None = None
) -> Drawings:
    """Return the figures that a result has data for; see `plot`."""
    from coupled_arena.views.figures import drawing

    found, kind = result.analysis, type(result.analysis).__name__
    if pair and kind != "Coupling":
        raise ArenaError("pair is for a result of coupling: leave it out.")
    if metric and kind != "RiskReport":
        raise ArenaError("metric is for a result of risk: leave it out.")
    if kind == "Coupling":
        return drawing.coupling_drawings(found, _pair(found, pair))
    if kind == "RiskReport":
        return drawing.risk_drawings(found, _view(found, metric))
    of_kind = {
        "Leaderboard": drawing.board_drawings,
        "Audit": drawing.audit_drawings,
        "Resampling": drawing.resampling_drawings,
    }
    return of_kind[kind](found) if kind in of_kind else {}


def _pair(found: Any, pair: tuple[str, str] | None) -> Any:
    known = {frozenset((each.model_a, each.model_b)): each for each in found.pairs}
    if pair and frozenset(pair) not in known:
        raise ArenaError(f"There is no pair {pair!r} here; the models: {', '.join(found.models)}.")
    return known[frozenset(pair)] if pair else found.pairs[0]


def _view(report: Any, metric: str | None) -> Any:
    known = {view.name: view for view in report.views}
    if metric and metric not in known:
        raise ArenaError(f"There is no metric {metric!r} here, only {', '.join(known)}.")
    return known[metric] if metric else report.views[0]


def _results(word: str, quote: str = "") -> str:
    """Return the functions whose results have figures."""
    kinds = [f"{quote}{kind}{quote}" for kind in dict.fromkeys(each.result for each in FIGURES)]
    kinds.insert(1, f"{quote}rank{quote}")
    return f"{', '.join(kinds[:-1])} {word} {kinds[-1]}"


def _names() -> str:
    """Return the names of all figures, a line for each kind of result."""
    return ";\n        ".join(
        f"of `{kind}` " + ", ".join(f"`{each.name}`" for each in figures_of(kind))
        for kind in dict.fromkeys(each.result for each in FIGURES)
    )


if plot.__doc__:  # there is none under python -OO
    plot.__doc__ = plot.__doc__.format(results=_results("or", "`"), names=_names())
