"""What the figures and tables of the paper on risk say in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coupled_arena.papers.risk.power import Consistency, SizePower
from coupled_arena.papers.risk.ways import WAYS
from coupled_arena.stats.counts import IntArray
from coupled_arena.views.tables.table import Column, Table, table_of

_Row = dict[str, Any]

RANKINGS: tuple[Column[_Row], ...] = (
    Column("scenario", str, "Prompts that count: a category, or all", heading="prompts"),
    Column("metric", str, "Metric by which models are ranked", heading="metric"),
    Column("size", int, "Prompts of each model", heading="prompts\nof each"),
    Column("model", str, "Name of the model", heading="model"),
    *(
        Column(f"rank_{way.key}", int, way.meaning, heading=way.name.replace(" @", "\n@"))
        for way in WAYS
    ),
    Column(
        "rank_standard_deviation",
        int,
        "Rank by mean less standard deviation",
        heading="mu - sigma",
    ),
    Column("rank_gini_tail", int, "Rank by mean less the Gini tail", heading="mu - Gini"),
    Column(
        "rank_negative_tail_value_at_risk",
        int,
        "Rank by mean less negative tail value at risk",
        heading="mu - nTVaR",
    ),
    Column("rank_order2", int, "Rank by second order dominance over all others", heading="R-SSD"),
)


def rankings(rows: Iterable[_Row]) -> Table[_Row]:
    """Return models with their ranks by several ways, and the columns that the rows have."""
    every = tuple(rows)
    known = {name for row in every for name in row}
    return table_of((column for column in RANKINGS if column.name in known), every)


def ranking_rows(models: Iterable[str], found: Mapping[str, IntArray], **more: Any) -> list[_Row]:
    """Return a row of `RANKINGS` for each model, of ranks by the key of their way."""
    return [
        {**more, "model": model, **{f"rank_{key}": ranks[at] for key, ranks in found.items()}}
        for at, model in enumerate(models)
    ]


AGREEMENTS: tuple[Column[_Row], ...] = (
    Column("scenario", str, "Prompts that count: a category, or all", heading="prompts"),
    Column("metric", str, "Metric by which models are ranked", heading="metric"),
    Column("size", int, "Prompts of each model", heading="prompts\nof each"),
    Column("ranking", str, "A way to rank models", heading="ranking"),
    Column("other", str, "Another one", heading="other"),
    Column(
        "kendall_tau",
        float,
        "Kendall's tau-b of the two: 1 the same, -1 the opposite; unknown where one ties all",
        heading="Kendall's tau",
        text=".3f",
    ),
)


def agreements(rows: Iterable[_Row]) -> Table[_Row]:
    """Return how far rankings agree, and the columns that the rows have."""
    every = tuple(rows)
    known = {name for row in every for name in row}
    return table_of((column for column in AGREEMENTS if column.name in known), every)


POWER: tuple[Column[SizePower], ...] = (
    Column("size", int, "Scores of each law", heading="scores"),
    Column("order", int, "Order of dominance, 1 or 2", heading="order"),
    Column(
        "relative",
        bool,
        "Whether the relative test, else the absolute one with its threshold",
        heading="test",
        text=lambda row: "relative" if row.relative else "absolute",
    ),
    *(
        Column(name, float, meaning, heading=heading, text=".3f")
        for name, meaning, heading in (
            ("statistic", "Mean of the test's statistic over the repeats", "statistic"),
            ("deviation", "Its standard deviation over the repeats", "deviation"),
            ("bootstrap", "The same as the bootstrap says, root mean square", "bootstrap"),
            ("limit", "The same as theory says, root mean square", "theory"),
            (
                "percentile",
                "Share of repeats that find dominance by percentiles of the bootstrap",
                "power",
            ),
            ("normal", "The same by the law in the limit", "power,\ntheory"),
            ("published", "The same as the paper prints it", "power,\nas printed"),
        )
    ),
)


CONSISTENCY: tuple[Column[Consistency], ...] = (
    Column("risk", str, "How risk is measured", heading="risk"),
    Column("pairs", int, "Pairs of samples of which one dominates", heading="pairs"),
    Column(
        "contradictions",
        int,
        "Those in which the dominated one is ahead by mean less risk",
        heading="contradictions",
    ),
    Column("worst", float, "Its largest lead", heading="largest", text=".3g"),
)


RATIOS: tuple[Column[_Row], ...] = (
    Column("order", int, "Order of dominance, 1 or 2", heading="order"),
    Column("model", str, "The model that may dominate", heading="model"),
    Column("opponent", str, "The other one", heading="over"),
    *(
        Column(name, float, meaning, heading=heading, text=".3f")
        for name, meaning, heading in (
            ("violation", "Violation ratio by quantiles: 0 where the model dominates", "violation"),
            ("deviation", "Its standard deviation by the bootstrap", "by\nbootstrap"),
            ("deviation_limit", "Its standard deviation by theory", "by\ntheory"),
            ("gap", "Its mean ratio against all others less the opponent's", "gap"),
            ("gap_deviation", "Standard deviation of that by the bootstrap", "by\nbootstrap"),
            ("gap_deviation_limit", "Standard deviation of that by theory", "by\ntheory"),
            (
                "violation_cdf",
                "Violation ratio by squares between distribution functions",
                "by CDF",
            ),
            ("violation_area", "Violation ratio by areas between them", "by area"),
        )
    ),
)


DENSITIES: tuple[Column[_Row], ...] = (
    Column("metric", str, "Metric whose distribution it is"),
    Column("model", str, "Name of the model"),
    Column("score", float, "A score, higher is better"),
    Column("density", float, "Density of the model's scores there"),
)
