"""Every way in which the paper on risk ranks models, how far they agree, and both as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from coupled_arena.analysis.risk.result import RiskSettings, RiskView, ranks_of, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.choices import Copula, Correction, PValues
from coupled_arena.core.process import Track
from coupled_arena.papers.risk.power import Consistency, SizePower
from coupled_arena.papers.risk.scores import JudgedScores
from coupled_arena.papers.risk.violation_ratios import cdf_ratios
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import Order, one_against_all, violation_ratios
from coupled_arena.stats.risk.dominance_tests import smallest_factor
from coupled_arena.stats.risk.mean_risk import Risk, mean_risk
from coupled_arena.stats.risk.portfolio import mean_win_rates, portfolio
from coupled_arena.stats.risk.rank_aggregation import aggregate
from coupled_arena.views.tables.table import Column, Table, table_of

Ranks = Mapping[str, IntArray]
"""By the keys of `coupled_arena.analysis.risk.result.RiskView.ranks`."""

THRESHOLDS = (0.08, 0.25, 0.4)
"""Violation ratios below which the paper speaks of dominance."""

_ALPHA = 0.05
_BOOTSTRAPS = 1000  # of the paper
_TIMES = 4  # the fewest bootstrap samples with which any pair of models can win
_METRICS, _IC, _EC, _JUDGE = "metrics", "portfolio", "copula", "judge"
_PLACES = {_METRICS: "@M", _IC: "@P(IC)", _EC: "@P(EC)", _JUDGE: "@judge"}
_RISKS = "risks"  # the key of the ranking nearest to those by each mean-risk model


@dataclass(frozen=True)
class Way:
    """A way to rank models.

    Attributes
    ----------
    key : str
        In JSON and CSV.
    name : str
        As the paper writes it.
    """

    key: str
    name: str
    meaning: str


def _absolute(order: int, threshold: float) -> str:
    """Return the key of a ranking by the absolute test, with the threshold in percent."""
    return f"absolute{order}_{100 * threshold:02.0f}"


_SAID = {
    "mean_win_rate": ("MWR", "by the share of models with a lower mean"),
    "order1": ("R-FSD", "by first order dominance over all others"),
    "order2": ("R-SSD", "by second order dominance over all others"),
    _RISKS: ("RA(mu - r)", "nearest to those by mean less each risk"),
    Risk.GINI.value: ("mu - Gini", "by mean less the Gini tail"),
    "cdf1": ("R-FSD, CDF", "by first order violation ratios of distribution functions"),
    "cdf2": ("R-SSD, CDF", "by second order violation ratios of distribution functions"),
    **{
        _absolute(order, threshold): (
            f"{name} {threshold:g}",
            f"by {words} order dominance with a violation ratio below {threshold:g}",
        )
        for order, name, words in ((1, "eps-FSD", "first"), (2, "eps-SSD", "second"))
        for threshold in THRESHOLDS
    },
}
_OF = {
    _METRICS: "Rank nearest to those of each metric",
    _IC: "Rank of the portfolio by the independent copula",
    _EC: "Rank of the portfolio by the empirical copula",
    _JUDGE: "Rank of the judge's scores",
}


def _ways() -> tuple[Way, ...]:
    found: list[Way] = []
    for key, (name, words) in _SAID.items():
        for place, sign in _PLACES.items():
            if not _has(key, place):
                continue
            shown = f"RA({name} {sign})" if place == _METRICS else f"{name} {sign}"
            found.append(Way(f"{key}_{place}", shown, f"{_OF[place]}, {words}"))
    return tuple(found)


def _has(key: str, place: str) -> bool:
    """Return whether models are ranked so there: thresholds by one portfolio, as in the paper."""
    if key.startswith(("absolute", "cdf")):
        return place == _IC
    return (key, place) != (_RISKS, _METRICS)


WAYS: tuple[Way, ...] = _ways()


def named(found: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """Return rankings by their names in place of their keys."""
    return {way.name: found[way.key] for way in WAYS if way.key in found}


def rankings_by_estimates(
    metrics: Sequence[FloatArray], judge: Sequence[FloatArray] | None
) -> dict[str, IntArray]:
    """Return the models' ranks by each way, of estimates alone: nothing is tested.

    Parameters
    ----------
    metrics : sequence of k ndarrays of float64, shape (n_i, metrics)
        Higher is better.
    judge : sequence of k ndarrays of float64, shape (n_i,), optional
        A judge's scores.

    Returns
    -------
    dict of str to ndarray of int64, shape (k,)
        By `Way.key`; 1 is the best, equals share the best.
    """
    every = [_estimated([x[:, at] for x in metrics]) for at in range(metrics[0].shape[1])]
    joined = portfolio(metrics, Copula.INDEPENDENT)
    found = _by_way(
        every,
        _estimated(joined),
        _estimated(portfolio(metrics, Copula.EMPIRICAL)),
        None if judge is None else _estimated(judge),
    )
    return {**found, **_by_cdf(joined)}


def _estimated(samples: Sequence[FloatArray]) -> Ranks:
    first, second = one_against_all(violation_ratios(samples))
    means = [mean_risk(sample) for sample in samples]
    return {
        "order1": ranks_of(-first),
        "order2": ranks_of(-second),
        "mean_win_rate": ranks_of(mean_win_rates(samples)),
        **{risk.value: ranks_of(np.array([each.score(risk) for each in means])) for risk in Risk},
    }


def _by_cdf(samples: Sequence[FloatArray]) -> dict[str, IntArray]:
    means = one_against_all(cdf_ratios(samples))
    return {f"cdf{order}_{_IC}": ranks_of(-means[order - 1]) for order in Order}


def _by_way(
    every: Sequence[Ranks], joined: Ranks, dependent: Ranks, judge: Ranks | None
) -> dict[str, IntArray]:
    """Return the ranks by each way: of several rankings the one that is nearest to them."""
    places: dict[str, Callable[[str], IntArray]] = {
        _METRICS: lambda key: _nearest([_of(ranks, key) for ranks in every]),
        _IC: lambda key: _of(joined, key),
        _EC: lambda key: _of(dependent, key),
    }
    if judge is not None:
        places[_JUDGE] = lambda key: _of(judge, key)
    keys = ("mean_win_rate", "order1", "order2", _RISKS, Risk.GINI.value)
    return {
        f"{key}_{place}": of(key)
        for key in keys
        for place, of in places.items()
        if _has(key, place)
    }


def _of(ranks: Ranks, key: str) -> IntArray:
    return _nearest([ranks[risk.value] for risk in Risk]) if key == _RISKS else ranks[key]


def _nearest(rankings: Sequence[IntArray]) -> IntArray:
    return aggregate(np.array(rankings, dtype=np.float64)).ranks


def risk_settings(scores: RiskScores, alpha: float | None = None, seed: int = 0) -> RiskSettings:
    """Return how models are tested.

    As the paper does, but by percentiles of the bootstrap. There are so many samples that a pair of
    models can win at all: none of 12 could with the paper's thousand.
    """
    level = _ALPHA if alpha is None else alpha
    fewest = int(np.ceil(smallest_factor(len(scores.models), Correction.BONFERRONI) / level)) - 1
    return RiskSettings(
        paired=None if scores.paired else False,
        bootstraps=max(_BOOTSTRAPS, _TIMES * fewest),
        alpha=level,
        p_values=PValues.PERCENTILE,
        seed=seed,
    )


def settings_of(source: PaperSource, scores: RiskScores) -> RiskSettings:
    """Return how models are tested, at the first of the chosen error levels."""
    chosen = source.settings
    return risk_settings(scores, chosen.alpha[0] if chosen.alpha else None, chosen.seed)


def rankings_by_tests(
    given: JudgedScores,
    settings: RiskSettings,
    thresholds: Sequence[float] = THRESHOLDS,
    track: Track = iter,
) -> dict[str, IntArray]:
    """Return the models' ranks by each way, by wins in tests of all pairs.

    Parameters
    ----------
    thresholds : sequence of float
        Violation ratios of the absolute tests, some of `THRESHOLDS`.

    Returns
    -------
    dict of str to ndarray of int64, shape (k,)
        As `rankings_by_estimates`, with those by each threshold; equal wins share a rank.

    Raises
    ------
    ScoreError
        As `coupled_arena.analysis.risk.result.risk_report`.
    """
    report = risk_report(given.scores, settings, track=track)
    dependent = replace(settings, copula=Copula.EMPIRICAL)
    joined = report.views[0]
    found = _by_way(
        [view.ranks for view in report.by_metric.values()],
        joined.ranks,
        _first_view(given.scores, dependent, track).ranks,
        None
        if given.judge is None
        else _first_view(given.judge, replace(settings, copula=Copula.NONE), track).ranks,
    )
    for threshold in thresholds:
        same = threshold == settings.threshold
        other = replace(settings, threshold=threshold)
        ranks = (joined if same else _first_view(given.scores, other, track)).ranks
        for order in Order:
            found[f"{_absolute(order, threshold)}_{_IC}"] = ranks[f"absolute{order}"]
    return {**found, **_by_cdf(joined.samples)}


def _first_view(scores: RiskScores, settings: RiskSettings, track: Track) -> RiskView:
    return risk_report(scores, settings, by_metric=False, track=track).views[0]


def kendall(one: IntArray, other: IntArray) -> float:
    """Return Kendall's tau of two rankings (tau-b); NaN where one of them ties all models."""
    return float(kendalltau(one, other).statistic)


# The tables.


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
    Column("metric", str, "Metric of the distribution"),
    Column("model", str, "Name of the model"),
    Column("score", float, "A score, higher is better"),
    Column("density", float, "Density of the model's scores there"),
)
