"""Which model fails least badly: Nitsure et al., "Risk aware benchmarking"."""

from __future__ import annotations

from coupled_arena.papers.item import Item, Needs, Paper
from coupled_arena.papers.risk import (
    curves,
    published,
    ranking,
    without_data,
)


def _distribution(name: str, which: str) -> Item:
    title = f"Distribution of a metric by model: {which}"
    return Item(name, title, Needs.SCORES, curves.metric_densities)


def _agreeing_risks(name: str) -> Item:
    title = "Which risks agree with second order dominance"
    return Item(name, title, Needs.NOTHING, without_data.consistent_risks, published.TABLE_3)


RISK = Paper(
    "risk",
    "Risk aware benchmarking of large language models",
    (
        Item(
            "figure-1",
            "Quantiles and tail values of the portfolio, and rankings beside a judge's",
            Needs.SCORES,
            curves.quantiles_and_tails,
            curves.published_taus(),
        ),
        Item(
            "figure-2",
            "Stability of each ranking by the number of prompts, and its agreement with a judge's",
            Needs.SCORES,
            ranking.stability,
            ranking.PUBLISHED,
        ),
        Item(
            "figure-3",
            "Density of a judge's scores by model (--judge)",
            Needs.SCORES,
            curves.judge_densities,
        ),
        Item(
            "figure-4",
            "Areas in which dominance of both orders is violated",
            Needs.NOTHING,
            without_data.violation_areas,
        ),
        Item(
            "figure-5",
            "Power of the tests by the number of scores, normal laws",
            Needs.NOTHING,
            without_data.power_of_normal,
            published.FIGURE_5,
        ),
        Item(
            "figure-6",
            "Power of the tests by the number of scores, lognormal laws",
            Needs.NOTHING,
            without_data.power_of_lognormal,
        ),
        Item("figure-7", "Mean less each risk of the portfolio", Needs.SCORES, curves.radar),
        Item(
            "figure-8",
            "Distribution functions and tail values of the portfolio",
            Needs.SCORES,
            curves.distribution_and_tails,
        ),
        Item(
            "figure-9",
            "Rankings by the portfolios of both copulas, 40,000 samples",
            Needs.SCORES,
            ranking.copula_rankings,
            published.FIGURE_9,
        ),
        Item(
            "figure-10",
            "Rankings by the portfolios of both copulas, 20,000 samples",
            Needs.SCORES,
            ranking.copula_rankings,
            published.FIGURE_10,
        ),
        _distribution("figure-11", "identity attack, toxic prompts"),
        _distribution("figure-12", "threat, other prompts"),
        _distribution("figure-13", "identity attack, answers to other prompts"),
        _agreeing_risks("table-1"),
        Item(
            "table-2",
            "Rankings by portfolio and by all metrics, all prompts together",
            Needs.SCORES,
            ranking.scenario_rankings,
            published.TABLE_2,
        ),
        _agreeing_risks("table-3"),
        Item(
            "table-4",
            "Rankings by every test",
            Needs.SCORES,
            ranking.all_rankings,
            published.TABLE_4,
        ),
        Item(
            "table-5",
            "Rankings by every test, and by several thresholds",
            Needs.SCORES,
            ranking.all_rankings,
            published.TABLE_5,
        ),
        Item(
            "table-6",
            "Rankings by portfolio and by all metrics, by kind of prompt",
            Needs.SCORES,
            ranking.scenario_rankings,
            published.TABLE_6,
        ),
        Item(
            "table-7",
            "Rankings by each metric: mean less deviation against second order dominance",
            Needs.SCORES,
            ranking.metric_rankings,
            published.TABLE_7,
        ),
    ),
)
