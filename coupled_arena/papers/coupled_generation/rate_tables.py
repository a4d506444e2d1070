"""Win-rates, ties and ranks under both protocols as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from coupled_arena.analysis.leaderboard.result import Place
from coupled_arena.core.records import Mode
from coupled_arena.papers.coupled_generation.rates import (
    PROTOCOLS,
    PairRate,
    PairTies,
    ProtocolPlace,
    ProtocolRates,
)
from coupled_arena.stats.coupling.modes import stars
from coupled_arena.views.tables.table import BETWEEN, LEVEL, Column, Table, span, table_of

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


def _of(place: Place | None, name: str) -> Any:
    return None if place is None else getattr(place, name)


def published_half(place: Place) -> float:
    """Return half the interval that the paper prints."""
    return _NORMAL * place.standard_error


def _read(place: Place | None) -> str:
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
