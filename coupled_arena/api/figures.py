"""The figures of the app and of reports, by name; and the report of a store, as a page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc

from coupled_arena.api import options
from coupled_arena.api.checks import check_store
from coupled_arena.api.declared import analysis
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import Battles
from coupled_arena.core.errors import ArenaError
from coupled_arena.views.figures.registry import FIGURES, figures_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from coupled_arena.views.figures.drawing import Drawings
    from coupled_arena.views.report.collect import Report


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
        Of `coupling` and `gate`: the two models, for figures of one pair. By default the pair that
        coupling saves most for, and the first candidate.
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
    if pair and kind not in ("Coupling", "GateReport"):
        raise ArenaError("pair is for a result of coupling or gate: leave it out.")
    if metric and kind != "RiskReport":
        raise ArenaError("metric is for a result of risk: leave it out.")
    if kind == "Coupling":
        return drawing.coupling_drawings(found, _pair(found, pair))
    if kind == "GateReport":
        return drawing.gate_drawings(found, _candidate(found, pair))
    if kind == "RiskReport":
        return drawing.risk_drawings(found, _view(found, metric))
    of_kind = {
        "Leaderboard": drawing.board_drawings,
        "Audit": drawing.audit_drawings,
        "Closeness": drawing.closeness_drawings,
        "Resampling": drawing.resampling_drawings,
    }
    return of_kind[kind](found) if kind in of_kind else {}


def _pair(found: Any, pair: tuple[str, str] | None) -> Any:
    known = {frozenset((each.model_a, each.model_b)): each for each in found.pairs}
    if pair and frozenset(pair) not in known:
        raise ArenaError(f"There is no pair {pair!r} here; the models: {', '.join(found.models)}.")
    return known[frozenset(pair)] if pair else found.by_saving[0]


def _candidate(found: Any, pair: tuple[str, str] | None) -> Any:
    named = {frozenset((found.base, each.model)): each for each in found.candidates}
    if pair and frozenset(pair) not in named:
        known = ", ".join(each.model for each in found.candidates)
        raise ArenaError(f"There is no pair {pair!r} here, only {found.base} and one of: {known}.")
    return named[frozenset(pair)] if pair else found.candidates[0]


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


@analysis
def report(
    store: ArenaStore,
    *,
    out: Annotated[Path, Doc("Folder for report.html; created if missing.")],
    judge: Annotated[str | None, Doc("Only this judge.")] = None,
    alpha: options.Alpha = 0.05,
    metric: Annotated[str | None, Doc("Only these scores.")] = None,
    models: options.Models = None,
    mode: Annotated[options.Mode, Doc("Battles with votes and verdicts that count.")] = "all",
    tell_seeds: Annotated[
        bool, Doc("Show seeds of experiments even while people vote on them.")
    ] = False,
) -> Result[Report]:
    """Write one self-contained HTML page on a store: boards, gates, coupling, audits, settings.

    Parameters
    ----------
    store : ArenaStore

    Returns
    -------
    Result
        Its `analysis` is the content of the page; it has no tables.

    Raises
    ------
    ArenaError
        The store does not know a name, or the folder cannot be written.
    """
    folder = Path(out)
    if folder.suffix.lower() in {".html", ".htm"}:
        raise ArenaError("`out` is a folder: report.html is written into it.")
    from coupled_arena.views.report.collect import ReportSettings, collect
    from coupled_arena.views.report.page import folder_for, page, write

    wanted = ReportSettings(
        judge=judge,
        metric=metric,
        models=tuple(models) if models is not None else None,
        mode=Battles(mode).mode,
        alpha=alpha,
        hidden="rounds" if tell_seeds else None,
    )
    with check_store(store).reading() as opened:
        folder = folder_for(folder)  # before the work, which may take a while
        found = collect(opened, store.path.name, wanted, datetime.now(UTC))
    path = write(page(found), folder)
    size = path.stat().st_size
    answer = {
        "report": str(path),
        "bytes": size,
        "fingerprint": found.fingerprint,
        "boards": [board.source.value for board in found.boards],
        "compares_modes": found.modes is not None,
        "gates": [
            {
                "base": each.gate.base,
                "candidate": each.gate.candidate,
                "benchmark": each.gate.metric,
                "verdict": each.candidate.verdict.value,
            }
            for each in found.gates
            if each.candidate
        ],
        "metrics": [each.metric for each in found.metrics],
        "audits": [each.judge for each in found.audits],
        "gradings": [
            {"judge": each.judge, "benchmark": each.estimates.benchmark} for each in found.gradings
        ],
    }
    return Result("Report", found, {}, {}, answer, lambda: f"{path} holds {size / 1e6:.1f} MB.")
