"""Win-rates, ties and ranks under both protocols, by votes or a judge's verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import Standing, leaderboard
from coupled_arena.core.choices import (
    BoardSource,
    Covariance,
    Cutoff,
    TieScore,
    Voters,
    Weighting,
)
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.coupling.modes import ModeComparison, stars
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, intervals
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import (
    Head,
    Theme,
    finish,
    key,
    shortened,
    theme_for,
    wrapped,
)
from coupled_arena.views.levels import level
from coupled_arena.views.tables.table import BETWEEN, LEVEL, Column, Table, span, table_of

PROTOCOLS = (Mode.COUPLED, Mode.INDEPENDENT)
_PUBLISHED = Method(Weighting.COUNT, Covariance.PUBLISHED)
# The paper's question is about its own annotators, and its win rate is of ties that are losses.
_CORRECTED = Method(ties=TieScore.LOSS, voters=Voters.THESE)
_ALPHA = 0.05


@dataclass(frozen=True)
class Rate:
    """How often a model beat another one under one protocol.

    Attributes
    ----------
    rate, low, high : float
        Ties are no wins; NaN where the two were compared too seldom.
    """

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class PairRate:
    """A model against another one under both protocols.

    Attributes
    ----------
    p_value, published_p_value : float
        Two-sided, that both rates are the same: clustered by prompt, and the paper's pooled z.
    """

    model: str
    opponent: str
    rates: Mapping[Mode, Rate]
    p_value: float
    published_p_value: float


@dataclass(frozen=True)
class PairTies:
    """The shares of ties between two models, both bad and equal replies included.

    Attributes
    ----------
    change, low, high : float
        Relative change under coupling, and its interval.
    """

    model_a: str
    model_b: str
    coupled: float
    independent: float
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class ProtocolPlace:
    """Where a model stands under both protocols; None where it was compared too seldom.

    Attributes
    ----------
    ours, published : mapping of Mode to Standing or None
        By default, and as the paper computes it.
    """

    model: str
    ours: Mapping[Mode, Standing | None]
    published: Mapping[Mode, Standing | None]


@dataclass(frozen=True)
class ProtocolRates:
    """What coupled and independent comparisons say of the same models.

    Attributes
    ----------
    judge : str or None
        Whose verdicts these are; None: people's votes.
    alpha : float
        Error level of the intervals and rank-sets.
    pairs : tuple of PairRate
        Of every ordered pair.
    places : tuple of ProtocolPlace
        In the order of the coupled win-rates, best first.
    """

    judge: str | None
    alpha: float
    pairs: tuple[PairRate, ...]
    ties: tuple[PairTies, ...]
    places: tuple[ProtocolPlace, ...]


def protocol_rates(source: PaperSource) -> ProtocolRates:
    """Compare the protocols by the votes of a store, or by the verdicts of its judge.

    Raises
    ------
    ArenaError
        There are none under both protocols, or several judges and none is named.
    """
    chosen = source.settings
    judge = _judge(source)
    selection = Selection(judge=judge, models=chosen.models, category=chosen.category)
    alpha = chosen.alpha[0] if chosen.alpha else _ALPHA
    places = _places(source, selection, alpha)
    names = [place.model for place in places]
    tests = _modes(source, selection)
    if tests is None:
        raise ArenaError("No models were compared under both protocols.")
    at = tests.models.index
    pairs: list[PairRate] = []
    ties: list[PairTies] = []
    met = list(combinations(names, 2))
    for number in source.track(range(len(met))):
        two = met[number]
        rates = _rates(source, replace(selection, models=two), alpha)
        ties.append(_ties(source, replace(selection, models=two), two, alpha))
        for model, opponent in (two, two[::-1]):
            cell = at(model), at(opponent)
            p, published = tests.pairs.p_value[cell], tests.published_p_value[cell]
            pairs.append(PairRate(model, opponent, rates[model], float(p), float(published)))
    return ProtocolRates(judge, alpha, tuple(pairs), tuple(ties), places)


def _judge(source: PaperSource) -> str | None:
    """Return whose verdicts count: the one named, or the only one where nobody voted."""
    chosen = source.settings
    if len(chosen.judges) > 1:
        raise ArenaError("This is made of one judge's verdicts: name one with --judge.")
    if chosen.judges:
        return chosen.judges[0]
    with source.store.cursor() as cursor:
        counts = comparisons.count(
            cursor, Selection(models=chosen.models, category=chosen.category)
        )
        known = comparisons.judges(cursor)
    asked = counts.votes[:, 0]  # not the ties of equal replies, which nobody was asked about
    if asked.any() or not known:
        return None
    if len(known) > 1:
        raise ArenaError(f"Name one judge with --judge: {', '.join(known)}.")
    return known[0]


def _board(selection: Selection) -> BoardSource:
    return BoardSource.HUMAN if selection.judge is None else BoardSource.JUDGE


def _places(source: PaperSource, selection: Selection, alpha: float) -> tuple[ProtocolPlace, ...]:
    found: dict[tuple[Mode, bool], dict[str, Standing | None]] = {}
    for mode in PROTOCOLS:
        for method, cutoff in ((_CORRECTED, Cutoff.MAX_T), (_PUBLISHED, Cutoff.CHI2)):
            estimates = read_estimates(
                source.store, replace(selection, mode=mode), method, LIVE_DRAWS
            )
            if _board(selection) not in estimates.by_source:
                raise ArenaError(
                    f"There is no vote on {mode} battles."
                    if selection.judge is None
                    else f"{selection.judge} has no verdict on {mode} battles."
                )
            board = leaderboard(estimates, source=_board(selection), alpha=alpha, cutoff=cutoff)
            standings = {each.model: each.place for each in board.standings}
            found[mode, method is _PUBLISHED] = standings
    coupled = found[Mode.COUPLED, False]
    return tuple(
        ProtocolPlace(
            model,
            {mode: found[mode, False].get(model) for mode in PROTOCOLS},
            {mode: found[mode, True].get(model) for mode in PROTOCOLS},
        )
        for model in coupled
    )


def _modes(source: PaperSource, selection: Selection) -> ModeComparison | None:
    by_judge = selection.judge is not None
    return read_estimates(source.store, selection, draws=LIVE_DRAWS, modes_by_judge=by_judge).modes


def _rates(source: PaperSource, selection: Selection, alpha: float) -> dict[str, dict[Mode, Rate]]:
    """Return the rates of two models against each other, by model and protocol."""
    unknown = Rate(np.nan, np.nan, np.nan)
    found: dict[str, dict[Mode, Rate]] = {
        model: dict.fromkeys(PROTOCOLS, unknown) for model in selection.models or ()
    }
    for mode in PROTOCOLS:
        estimates = read_estimates(
            source.store, replace(selection, mode=mode), Method(ties=TieScore.LOSS), LIVE_DRAWS
        )
        estimate = estimates.by_source.get(_board(selection))
        if estimate is None:
            continue
        low, high = intervals(estimate, alpha)
        for i, model in enumerate(estimate.models):
            rate = float(estimate.theta[i]), float(low[i]), float(high[i])
            found[model][mode] = Rate(*rate)
    return found


def _ties(
    source: PaperSource, selection: Selection, two: tuple[str, str], alpha: float
) -> PairTies:
    modes = _modes(source, selection)
    if modes is None:  # the two met under one protocol alone
        return PairTies(*two, *[np.nan] * 5)
    low, high = modes.tie_interval(alpha)
    cell = modes.models.index(two[0]), modes.models.index(two[1])
    return PairTies(
        *two,
        coupled=float(modes.coupled_ties[cell]),
        independent=float(modes.independent_ties[cell]),
        change=modes.tie_change,
        low=low,
        high=high,
    )


_NORMAL = 1.96  # of the paper's 95% intervals


def _rate(mode: Mode, end: str) -> Callable[[PairRate], float]:
    return lambda row: getattr(row.rates[mode], end)


def _rates_of(mode: Mode) -> Iterator[Column[PairRate]]:
    yield Column(
        f"{mode}",
        float,
        f"Win rate against the opponent in {mode} battles; ties are no wins",
        _rate(mode, "rate"),
        f"{mode}",
        ".1%",
    )
    yield Column(
        f"{mode}_low",
        float,
        "Lower bound of its interval",
        _rate(mode, "low"),
        LEVEL,
        lambda row: span(row.rates[mode].low, row.rates[mode].high, ".1%"),
    )
    yield Column(f"{mode}_high", float, "Upper bound of its interval", _rate(mode, "high"))


PROTOCOL_PAIRS: tuple[Column[PairRate], ...] = (
    Column("model", str, "Name of the model", heading="model"),
    Column("opponent", str, "Name of the other model", heading="opponent"),
    *(column for mode in PROTOCOLS for column in _rates_of(mode)),
    Column(
        "p_value",
        float,
        "Two-sided, that both rates are the same; clustered by prompt",
        heading="p",
        text=lambda row: f"{row.p_value:.2g} {stars(row.p_value)}".strip(),
    ),
    Column(
        "published_p_value",
        float,
        "By the paper's pooled z test, which ignores clusters",
        heading="as published",
        text=lambda row: f"{row.published_p_value:.2g} {stars(row.published_p_value)}".strip(),
    ),
)


def rates_table(found: ProtocolRates) -> Table[PairRate]:
    """Return each model's win-rate against each other one under both protocols."""
    return table_of(PROTOCOL_PAIRS, found.pairs, alpha=found.alpha)


PROTOCOL_TIES: tuple[Column[PairTies], ...] = (
    Column(
        "model_a",
        str,
        "Name of model a",
        heading="pair",
        text=lambda row: f"{row.model_a}{BETWEEN}{row.model_b}",
    ),
    Column("model_b", str, "Name of model b"),
    Column(
        "coupled",
        float,
        "Share of ties in coupled battles, both bad and equal replies included",
        heading="ties, coupled",
        text=".1%",
    ),
    Column(
        "independent",
        float,
        "Share of ties in independent battles, likewise",
        heading="independent",
        text=".1%",
    ),
    Column(
        "change",
        float,
        "Relative change of the share under coupling",
        heading="change",
        text="+.1%",
    ),
    Column(
        "low",
        float,
        "Lower bound of the change",
        heading=LEVEL,
        text=lambda row: span(row.low, row.high, "+.1%"),
    ),
    Column("high", float, "Upper bound of the change; missing where nothing bounds it"),
)


def ties_table(found: ProtocolRates) -> Table[PairTies]:
    """Return the shares of ties of each pair under both protocols."""
    return table_of(PROTOCOL_TIES, found.ties, alpha=found.alpha)


def _of(place: Standing | None, name: str) -> Any:
    return None if place is None else getattr(place, name)


def published_half(place: Standing) -> float:
    """Return half the interval that the paper prints."""
    return _NORMAL * place.standard_error


def _read(place: Standing | None) -> str:
    if place is None:
        return "\N{EN DASH}"
    return f"{place.win_rate:.4f} ± {published_half(place):.4f}"


def _ours_of(mode: Mode) -> Iterator[Column[ProtocolPlace]]:
    def of(name: str) -> Callable[[ProtocolPlace], Any]:
        return lambda row: _of(row.ours[mode], name)

    yield Column(
        f"{mode}_rank",
        int,
        f"Best rank that {mode} battles leave possible",
        of("rank_low"),
        f"rank, {mode}",
    )
    yield Column(
        f"{mode}_rate",
        float,
        f"Mean win rate over opponents in {mode} battles",
        of("win_rate"),
        "win rate",
        ".4f",
    )
    yield Column(
        f"{mode}_low",
        float,
        "Lower bound of its interval",
        of("low"),
        LEVEL,
        lambda row: span(_of(row.ours[mode], "low"), _of(row.ours[mode], "high"), ".4f"),
    )
    yield Column(f"{mode}_high", float, "Upper bound of its interval", of("high"))


def _published_of(mode: Mode) -> Iterator[Column[ProtocolPlace]]:
    yield Column(
        f"{mode}_published_rank",
        int,
        "The rank as the paper computes it",
        lambda row: _of(row.published[mode], "rank_low"),
        "as published",
    )
    yield Column(
        f"{mode}_published_rate",
        float,
        "The win rate as the paper computes it: each comparison weighs the same",
        lambda row: _of(row.published[mode], "win_rate"),
        "as published",
        lambda row: _read(row.published[mode]),
    )
    yield Column(
        f"{mode}_published_half",
        float,
        "Half the paper's 95% interval: with k models about 2/k of what it should be",
        lambda row: None if (place := row.published[mode]) is None else published_half(place),
    )


PROTOCOL_PLACES: tuple[Column[ProtocolPlace], ...] = (
    Column("model", str, "Name of the model", heading="model"),
    *(
        column
        for mode in PROTOCOLS
        for columns in (_ours_of(mode), _published_of(mode))
        for column in columns
    ),
)


def places_table(found: ProtocolRates) -> Table[ProtocolPlace]:
    """Return ranks and mean win-rates under both protocols side by side."""
    return table_of(PROTOCOL_PLACES, found.places, alpha=found.alpha)


# Win-rates of every model against each other one, under both protocols.


_WIDTH, _PANEL, _GAP = 1080, 250, 50  # pixels: a figure, a panel, and between two beside names
_ACROSS = 2
_LABEL = 30  # pixels of a panel's name
_LINES = 2  # of an opponent's name, which is never cut: more would lie on the next one's
_LETTER, _LINE_OF_NAME = 6, 14  # pixels
_ANGLE = -40  # degrees: a name ends under its bar, and none leaves the figure on the right
_BAR = "\N{BLACK RECTANGLE}"


def rates_figure(found: ProtocolRates, *, dark: bool = False) -> go.Figure:
    """Draw a panel a model: how often it beats each other one, with intervals and stars."""
    theme = theme_for(dark)
    models = [place.model for place in found.places]
    gap = _GAP + _depth(models)
    height = math.ceil(len(models) / _ACROSS) * (_PANEL + gap)
    highest = max((_top(pair) for pair in found.pairs), default=1.0)
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"width": _WIDTH, "barmode": "group", "bargap": 0.35}
    for number, model in enumerate(models):
        row, column = divmod(number, _ACROSS)
        top = 1 - (row * (_PANEL + gap) + _LABEL) / height
        left, right = column / _ACROSS + 0.09, (column + 1) / _ACROSS - 0.01
        pairs = [pair for pair in found.pairs if pair.model == model]
        axes = {"xaxis": f"x{number + 1}", "yaxis": f"y{number + 1}"}
        for mode, colour in zip(PROTOCOLS, (theme.accent, theme.other), strict=True):
            traces.append({**_bars(pairs, mode, colour, theme.text), **axes})
        notes += [_name(model, left, top), *_stars(pairs, axes)]
        layout[f"xaxis{number + 1}"] = {
            "domain": [left, right],
            "anchor": axes["yaxis"],
            "tickvals": list(range(len(pairs))),
            "tickmode": "array",
            "ticktext": [_name_under(pair.opponent) for pair in pairs],
            "tickangle": _ANGLE,
            "tickfont": {"size": 11},
        }
        layout[f"yaxis{number + 1}"] = {
            "domain": [top - (_PANEL - _LABEL) / height, top],
            "anchor": axes["xaxis"],
            "range": [0, 1.12 * highest],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": False,
            "title": axis_title("Win rate", theme),
        }
    layout |= {"annotations": notes, "margin": {"l": 20, "r": 20, "b": 20}}
    return finish(traces, theme, _head(found, theme), height=height, layout=layout)


def _name_under(model: str) -> str:
    """Return a name on as few characters a line as so many lines allow."""
    widths = range(math.ceil(len(model) / _LINES), len(model) + 1)
    tries = (wrapped(model, width) for width in widths)
    return next((text for text in tries if text.count("<br>") < _LINES), wrapped(model))


def _depth(models: Sequence[str]) -> int:
    """Return how many pixels the names under a panel reach down."""
    slope = math.radians(-_ANGLE)
    names = [_name_under(model).split("<br>") for model in models]
    depths = (
        _LETTER * max(map(len, lines)) * math.sin(slope)
        + _LINE_OF_NAME * len(lines) * math.cos(slope)
        for lines in names
    )
    return int(max(depths, default=0))


def _head(found: ProtocolRates, theme: Theme) -> Head:
    who = f"verdicts of {shortened(found.judge)}" if found.judge else "people's votes"
    return Head(
        file="win-rates-by-protocol",
        title="Win rates of each model against each other one",
        lines=(
            f"{who}; bars: {level(found.alpha)} intervals, clustered by prompt",
            "stars: coupled and independent differ at .05, .01, .001, .0001",
            key((_BAR, theme.accent, "coupled"), (_BAR, theme.other, "independent")),
        ),
        numbers=rates_table(found),
    )


def _name(model: str, left: float, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{shortened(model, 44)}</b>",
        "x": left,
        "xref": "paper",
        "xanchor": "left",
        "y": top,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
    }


def _stars(pairs: list[PairRate], axes: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "text": f"<b>{stars(pair.p_value)}</b>",
            "x": at,
            "xref": axes["xaxis"],
            "y": _top(pair),
            "yref": axes["yaxis"],
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 14},
        }
        for at, pair in enumerate(pairs)
        if stars(pair.p_value)
    ]


def _bars(pairs: list[PairRate], mode: Mode, colour: str, ink: str) -> dict[str, Any]:
    rates = [pair.rates[mode] for pair in pairs]
    return {
        "type": "bar",
        "x": list(range(len(pairs))),
        "y": [_known(rate.rate) for rate in rates],
        "marker": {"color": colour},
        "error_y": {
            "type": "data",
            "array": [_known(rate.high - rate.rate) for rate in rates],
            "arrayminus": [_known(rate.rate - rate.low) for rate in rates],
            "thickness": 1.2,
            "width": 3,
            "color": ink,
        },
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _top(pair: PairRate) -> float:
    """Return where the higher one of a pair's intervals ends."""
    return max((r.high for r in pair.rates.values() if math.isfinite(r.high)), default=0.0)
