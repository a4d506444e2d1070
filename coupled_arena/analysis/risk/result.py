"""Rankings of models by risk, as plain values that command, page and report show."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.choices import Copula, Correction, Distance, PValues
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.core.process import Track
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.dominance import ROUNDING, Order
from coupled_arena.stats.risk.dominance_tests import Dominance, DominancePlan, compare_models
from coupled_arena.stats.risk.mean_risk import MeanRisk, Risk, mean_risk, quantiles, tail_values
from coupled_arena.stats.risk.portfolio import (
    checked_weights,
    mean_win_rates,
    portfolio,
    sample_win_rates,
)
from coupled_arena.stats.risk.rank_aggregation import Aggregate, aggregate

_CURVE = 200  # points of a curve
PORTFOLIO = "portfolio"


@dataclass(frozen=True)
class RiskSettings:
    """How models are ranked.

    Attributes
    ----------
    paired : bool or None
        Draw prompts for all models together; None where all have the same prompts, else an error.
    copula : Copula
        How metrics become a portfolio.
    weights : tuple of float or None
        Importance of each metric; None is equal.
    tail_p : float
        Share of the worst scores that the tail risks look at.
    threshold : float
        Violation ratio below which the absolute tests speak of dominance.
    distance : Distance
        By which the rankings of several metrics are aggregated.
    """

    paired: bool | None = None
    bootstraps: int = 10_000
    alpha: float = 0.05
    copula: Copula = Copula.INDEPENDENT
    weights: tuple[float, ...] | None = None
    tail_p: float = 0.05
    threshold: float = 0.25
    p_values: PValues = PValues.SWAP
    correction: Correction = Correction.BONFERRONI
    distance: Distance = Distance.PEARSON
    seed: int = 0

    def plan(self, scores: RiskScores, *, paired: bool) -> DominancePlan:
        """Return the settings of the tests."""
        return DominancePlan(
            paired=paired,
            repetitions=scores.repetitions,
            bootstraps=self.bootstraps,
            alpha=self.alpha,
            threshold=self.threshold,
            p_values=self.p_values,
            correction=self.correction,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class RiskView:
    """Rankings of models by one score for each reply: a metric, or the portfolio.

    Attributes
    ----------
    name : str
        The metric, or "portfolio".
    samples : tuple of k ndarrays of float64, shape (n_i * repetitions,)
        Higher is better.
    mean_risks : tuple of k MeanRisk
    mean_win_rates : ndarray of float64, shape (k,)
        Share of other models with a lower mean score.
    sample_win_rates : ndarray of float64, shape (k,), or None
        Share of replies with which the model alone is best; None without common prompts.
    """

    name: str
    models: tuple[str, ...]
    samples: tuple[FloatArray, ...]
    dominance: dict[Order, Dominance]
    mean_risks: tuple[MeanRisk, ...]
    mean_win_rates: FloatArray
    sample_win_rates: FloatArray | None

    @cached_property
    def places(self) -> FloatArray:
        """Probabilities at which curves are drawn, shape (200,)."""
        return np.arange(1, _CURVE + 1) / _CURVE

    @cached_property
    def quantile_curves(self) -> FloatArray:
        """Quantiles at `places`, shape (k, 200)."""
        return np.stack([quantiles(sample, self.places) for sample in self.samples])

    @cached_property
    def tail_curves(self) -> FloatArray:
        """Mean of the worst share p of scores at `places`, shape (k, 200)."""
        return np.stack([tail_values(sample, self.places) for sample in self.samples])

    def risk_scores(self, risk: Risk) -> FloatArray:
        """Return mean less risk of each model, shape (k,)."""
        return np.array([each.score(risk) for each in self.mean_risks])

    @cached_property
    def ranks(self) -> dict[str, IntArray]:
        """Ranks of the models, 1 the best, by every way of ranking; equals share the best.

        The keys are "order1", "order2", "absolute1", "absolute2", "mean_win_rate",
        "sample_win_rate" and the values of `Risk`.
        """
        found: dict[str, IntArray] = {}
        for order, each in self.dominance.items():
            found[f"order{order}"] = each.relative.ranks
            found[f"absolute{order}"] = each.absolute.ranks
        found["mean_win_rate"] = ranks_of(self.mean_win_rates)
        if self.sample_win_rates is not None:
            found["sample_win_rate"] = ranks_of(self.sample_win_rates)
        for risk in Risk:
            found[risk.value] = ranks_of(self.risk_scores(risk))
        return found


@dataclass(frozen=True, eq=False)
class RiskReport:
    """Models ranked by risk, with the settings this was made with.

    Attributes
    ----------
    view : RiskView or None
        The portfolio, or the metric where there is only one; None for several without portfolio.
    by_metric : dict of str to RiskView
        Empty where `view` is the only metric.
    aggregated : dict of str to Aggregate
        By the keys of `RiskView.ranks`: the ranking nearest to those of all metrics; empty with
        one metric.
    weights : tuple of float
        Of the metrics, adding up to one.
    """

    scores: RiskScores
    settings: RiskSettings
    paired: bool
    view: RiskView | None
    by_metric: dict[str, RiskView]
    aggregated: dict[str, Aggregate]
    weights: tuple[float, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self.scores.models

    @property
    def plan(self) -> DominancePlan:
        """Settings of the tests."""
        return self.settings.plan(self.scores, paired=self.paired)

    @property
    def views(self) -> tuple[RiskView, ...]:
        """All views, the one of the portfolio first."""
        return (*([self.view] if self.view else []), *self.by_metric.values())


def risk_report(
    scores: RiskScores,
    settings: RiskSettings = RiskSettings(),
    *,
    by_metric: bool = True,
    track: Track = iter,
) -> RiskReport:
    """Rank models by risk.

    Parameters
    ----------
    by_metric : bool
        Also rank by each metric alone, where there are several.
    track : callable
        Goes through the bootstrap samples of each ranking, so many at a time.

    Raises
    ------
    ScoreError
        A setting is out of range or does not fit the scores, such as pairing where models were
        asked different prompts.
    """
    paired = _pairing(scores, settings)
    samples = scores.oriented()
    try:
        plan = settings.plan(scores, paired=paired)
        weights = checked_weights(settings.weights, len(scores.metrics))
        view = None
        if settings.copula is not Copula.NONE:
            joined = portfolio(samples, settings.copula, weights.tolist())
            view = _view(PORTFOLIO, scores, joined, plan, settings.tail_p, track)
        several = len(scores.metrics) > 1 or view is not None
        views = {
            name: _view(name, scores, [x[:, at] for x in samples], plan, settings.tail_p, track)
            for at, name in enumerate(scores.metrics)
            if by_metric or view is None
        }
    except ValueError as error:
        raise ScoreError(str(error)) from error
    if not several:
        view, views = next(iter(views.values())), {}
    return RiskReport(
        scores=scores,
        settings=settings,
        paired=paired,
        view=view,
        by_metric=views,
        aggregated=_aggregated(views, settings.distance, weights),
        weights=tuple(weights.tolist()),
    )


def ranks_of(values: FloatArray) -> IntArray:
    """Return ranks, 1 for the highest value; values that are equal but for rounding share one."""
    ahead = values[None, :] > values[:, None] + ROUNDING * np.abs(values).max()
    return ahead.sum(axis=1).astype(np.int64) + 1


def _pairing(scores: RiskScores, settings: RiskSettings) -> bool:
    if settings.paired is False:
        return False
    if not scores.paired:
        model, prompt = scores.missing_prompt() or (_("a model"), "")
        text = _(
            "{model} has no score on prompt {prompt!r}, which another model has. Leave out what "
            "not all have, or compare them as independent samples (--independent)."
        )
        raise ScoreError(text.format(model=model, prompt=prompt))
    return True


def _view(
    name: str,
    scores: RiskScores,
    samples: list[FloatArray],
    plan: DominancePlan,
    tail_p: float,
    track: Track,
) -> RiskView:
    return RiskView(
        name=name,
        models=scores.models,
        samples=tuple(samples),
        dominance=compare_models(samples, plan, track),
        mean_risks=tuple(mean_risk(sample, tail_p) for sample in samples),
        mean_win_rates=mean_win_rates(samples),
        sample_win_rates=sample_win_rates(np.stack(samples)) if scores.paired else None,
    )


def _aggregated(
    views: dict[str, RiskView], distance: Distance, weights: FloatArray
) -> dict[str, Aggregate]:
    if len(views) < 2:
        return {}
    every = [view.ranks for view in views.values()]
    return {
        key: aggregate(
            np.array([ranks[key] for ranks in every], dtype=np.float64), distance, weights
        )
        for key in every[0]
    }


# Rankings by risk that many visitors open: the same scores are ranked once.


_MOST = 8


class KeptReports:
    """The rankings by one metric or portfolio that were asked for last."""

    def __init__(self) -> None:
        self._kept: dict[Any, RiskReport] = {}

    def get(self, scores: RiskScores, settings: RiskSettings, track: Track = iter) -> RiskReport:
        """Return what `risk_report` returns of equal scores with these settings.

        Raises
        ------
        ScoreError
            As there.
        """
        key = (_digest(scores), settings)
        found = self._kept.pop(key, None)
        if found is None:
            found = risk_report(scores, settings, by_metric=False, track=track)
        self._kept[key] = found
        while len(self._kept) > _MOST:
            self._kept.pop(next(iter(self._kept)))
        return found


def _digest(scores: RiskScores) -> tuple[Any, ...]:
    numbers = hashlib.sha256()
    for values in scores.values:
        numbers.update(f"{values.shape} {values.dtype}".encode())
        numbers.update(values.tobytes())
    named = scores.models, scores.metrics, scores.prompts, scores.notes, scores.repetitions
    return (*named, scores.lower_is_better, scores.unjudged, numbers.digest())
