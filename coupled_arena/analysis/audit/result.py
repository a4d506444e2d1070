"""An audit at one error level, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.verdicts import AuditEstimates, read_audit_estimates
from coupled_arena.analysis.style.judge import JudgeStyle, judge_style
from coupled_arena.core.choices import Ties, TieScore, Truth, Voters
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.judges.judge_probabilities import ProbabilityMean, probability_means
from coupled_arena.stats.judges.planner import explained_within_pairs
from coupled_arena.stats.judges.powered_means import Difference, difference
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection


@dataclass(frozen=True)
class ModelAudit:
    """The judge on one model; None is what the comparisons leave unknown.

    Attributes
    ----------
    n : int
        Comparisons in the 2x2 table: `both` + `human_alone` + `judge_alone` + `neither`, by who
        prefers the model.
    votes, judge_only : int
        Comparisons with a vote and a verdict, ties that are dropped included; and with a verdict
        alone.
    b, b_low, b_high : float or None
        How often people prefer the model.
    p, q : float or None
        How often the judge agrees where people prefer the model, and where they do not.
    judge_bias, bias_low, bias_high : float or None
        Judge's score less people's.
    bias_possible : float or None
        Largest bias, either way, of a judge that agrees as often.
    rho_squared_least, rho_squared_most : float or None
        Bounds by Theorem 9 of the paper.
    power_tuning, power_tuning_limit : float
        λ with the verdicts there are, and with verdicts without end.
    tau, tau_max : float or None
        What one vote is worth with the verdicts there are, and with verdicts without end.
    at_frontier : bool
        ½ ≤ agreement ≤ b, so that `tau_max` cannot exceed two.
    powered, powered_low, powered_high : float or None
        How often people prefer the model, corrected by the verdicts alone.
    """

    model: str
    n: int
    both: int
    human_alone: int
    judge_alone: int
    neither: int
    votes: int
    judge_only: int
    b: float | None
    b_low: float | None
    b_high: float | None
    p: float | None
    q: float | None
    judge_score: float | None
    agreement: float | None
    balanced_agreement: float | None
    judge_bias: float | None
    bias_low: float | None
    bias_high: float | None
    bias_possible: float | None
    rho: float | None
    rho_squared: float | None
    rho_squared_least: float | None
    rho_squared_most: float | None
    power_tuning: float
    power_tuning_limit: float | None
    tau: float | None
    tau_max: float | None
    tau_max_low: float | None
    tau_max_high: float | None
    at_frontier: bool
    powered: float | None
    powered_low: float | None
    powered_high: float | None


@dataclass(frozen=True)
class Audit:
    """A judge's audit, with the settings it was made with.

    Attributes
    ----------
    models : tuple of ModelAudit
        The model that people prefer most often first.
    differences : tuple of Difference
        Of all pairs of models with votes, in the same order.
    tau_max_range : mapping of Ties to (float, float)
        Smallest and largest τ_max, both ways of taking ties; without one there is none.
    largest_bias, smallest_gap : float or None
        Largest judge's bias of any model without its sign, and the smallest difference of any
        two models by people.
    row_agreement, row_agreement_strict : float or None
        Share of comparisons where people and the judge say the same: with "both bad" as a tie,
        and apart from it.
    first_by_people : float or None
        Share of these comparisons that the answer shown first wins.
    by_probability : tuple of ProbabilityMean
        The models in the same order with the judge's probabilities in place of its grades; nothing
        where it told none.
    style : JudgeStyle or None
        The judge beside people with style held fixed, where that was asked for.
    board_explained : float or None
        Share of the variance of the leaderboard's win rates, by people's votes, that verdicts
        without end would remove; a board keeps ties. None without votes, as of a benchmark.
    """

    estimates: AuditEstimates
    alpha: float
    models: tuple[ModelAudit, ...]
    differences: tuple[Difference, ...]
    tau_max_range: Mapping[Ties, tuple[float, float]]
    largest_bias: float | None
    smallest_gap: float | None
    row_agreement: float | None
    row_agreement_strict: float | None
    first_by_people: float | None
    board_explained: float | None
    by_probability: tuple[ProbabilityMean, ...] = ()
    style: JudgeStyle | None = None

    @property
    def board_tau_max(self) -> float | None:
        """What one vote is worth on the leaderboard at most, with verdicts without end."""
        share = self.board_explained
        return None if share is None or share >= 1 else 1 / (1 - share)

    @property
    def judge(self) -> str:
        """The judge's name."""
        return self.estimates.selection.judge or ""

    @property
    def comparisons(self) -> int:
        """Comparisons with a vote and a verdict, or answers graded."""
        return int(self.estimates.outcomes.sum())

    @property
    def judge_only(self) -> int:
        """Comparisons with a verdict alone."""
        return self.estimates.alone

    @property
    def order_is_safe(self) -> bool | None:
        """Whether every bias is under half the smallest gap, so that no two models change places.

        By the estimates; None where nothing can be compared.
        """
        if self.largest_bias is None or self.smallest_gap is None:
            return None
        return self.largest_bias < self.smallest_gap / 2


def read_audit(
    store: Store,
    selection: Selection,
    ties: Ties = Ties.LOSS,
    alpha: float = 0.05,
    own: Sequence[str] | None = None,
    voters: Voters = Voters.LIKE,
) -> Audit:
    """Audit a judge on the votes as they are now; see `audit` and `read_audit_estimates`."""
    return audit(read_audit_estimates(store, selection, ties, own, voters), alpha)


def audit(estimates: AuditEstimates, alpha: float = 0.05) -> Audit:
    """Return what the estimates say at one error level.

    Raises
    ------
    ValueError
        `alpha` is not between 0 and 1.
    """
    rows = _models(estimates, alpha)
    models = tuple(sorted(rows, key=lambda row: (-(row.b if row.b is not None else -1), row.model)))
    known = [row.b for row in models if row.b is not None]
    gaps = [high - low for high, low in pairwise(known)]
    places = {model: place for place, model in enumerate(estimates.models)}
    placed = [places[row.model] for row in models if row.b is not None]
    biases = [abs(row.judge_bias) for row in models if row.judge_bias is not None]
    return Audit(
        estimates=estimates,
        alpha=alpha,
        models=models,
        differences=tuple(
            difference(estimates.means, one, other, alpha) for one, other in combinations(placed, 2)
        ),
        tau_max_range=_ranges(estimates),
        largest_bias=max(biases, default=None),
        smallest_gap=min(gaps, default=None),
        **_shares(estimates),
        board_explained=_on_board(estimates),
        by_probability=_by_probability(estimates, models, alpha),
        style=judge_style(estimates.style, alpha) if estimates.style else None,
    )


def _by_probability(
    estimates: AuditEstimates, models: tuple[ModelAudit, ...], alpha: float
) -> tuple[ProbabilityMean, ...]:
    answers = estimates.answers
    if answers is None or answers.probability is None:
        return ()
    found = {mean.model: mean for mean in probability_means(answers, alpha)}
    return tuple(found[row.model] for row in models)


def _models(estimates: AuditEstimates, alpha: float) -> list[ModelAudit]:
    table, means = estimates.table, estimates.means
    b_low, b_high = means.human_interval(alpha)
    powered_low, powered_high = means.powered_interval(alpha)
    known = means.degrees if estimates.bias_degrees is None else estimates.bias_degrees
    critical = critical_value(alpha, known)
    bias_low, bias_high = table.bias_interval(critical, estimates.bias_variance)
    tau_low, tau_high = table.tau_max_interval(
        alpha, estimates.rho_variance, means.clusters, estimates.rho_degrees
    )
    least, most = table.rho_squared_bounds
    columns = {
        **{name: getattr(table, name) for name in _OF_TABLE},
        **{name: getattr(means, name) for name in _OF_MEANS},
        "b": means.human,  # of all votes, also where the judge abstains
        "b_low": b_low,
        "b_high": b_high,
        "bias_low": bias_low,
        "bias_high": bias_high,
        "rho_squared_least": least,
        "rho_squared_most": most,
        "tau_max_low": tau_low,
        "tau_max_high": tau_high,
        "powered_low": powered_low,
        "powered_high": powered_high,
    }
    return [
        ModelAudit(model, **{name: _plain(column[i]) for name, column in columns.items()})
        for i, model in enumerate(estimates.models)
    ]


_OF_TABLE = (
    *("n", "both", "human_alone", "judge_alone", "neither", "p", "q", "judge_score"),
    *("agreement", "balanced_agreement", "judge_bias", "bias_possible", "rho", "rho_squared"),
    *("power_tuning_limit", "tau_max", "at_frontier"),
)
_OF_MEANS = ("votes", "judge_only", "power_tuning", "tau", "powered")


def _plain(value: np.generic) -> Any:
    """Return a Python value; None for NaN and infinity."""
    plain = value.item()
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def _on_board(estimates: AuditEstimates) -> float | None:
    """Return what the judge explains of all the leaderboard's win rates together."""
    if estimates.judged is None or not estimates.outcomes.any():
        return None
    judged = estimates.judged.with_both
    share = explained_within_pairs(judged, np.eye(len(judged.models)), ties=TieScore.HALF)
    return share if math.isfinite(share) else None


def _ranges(estimates: AuditEstimates) -> dict[Ties, tuple[float, float]]:
    found: dict[Ties, tuple[float, float]] = {}
    for ties, table in estimates.tables.items():
        tau_max = table.tau_max[np.isfinite(table.tau_max)]
        if len(tau_max):
            found[ties] = float(tau_max.min()), float(tau_max.max())
    return found


def _shares(estimates: AuditEstimates) -> dict[str, float | None]:
    """Return shares of comparisons by what people and the judge say."""
    labelled = estimates.outcomes
    n = int(labelled.sum())
    if not n:
        return dict.fromkeys(("row_agreement", "row_agreement_strict", "first_by_people"))
    same, voted = int(np.trace(labelled)), estimates.truth is Truth.VOTES
    return {
        "row_agreement": (same + int(labelled[_TIE, _BOTH_BAD] + labelled[_BOTH_BAD, _TIE])) / n,
        "row_agreement_strict": same / n,
        "first_by_people": int(labelled[_FIRST].sum()) / n if voted else None,
    }


_FIRST, _, _TIE, _BOTH_BAD = range(len(OUTCOMES))
