"""Is a candidate as good as the base by votes? As the board has them: voters, prompts, ties.

The margin is on the candidate's win rate against the base, which is one half of equal models. The
bounds are those of the board: two-way clusters of voters and prompts, at one look or at any time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, stdtrit

from coupled_arena.analysis.gate.result import BOARD, CandidateGate, GateReport, GateSettings
from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import default_source
from coupled_arena.core.choices import BoardSource, Look, Measure, Voters
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.ranking.any_time import boundary, information
from coupled_arena.stats.ranking.estimates import Estimate
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection

_SURE = 1 - 1e-15  # what the normal law still tells from 1


def gate_votes(
    store: Store,
    models: tuple[str, ...],
    selection: Selection,
    settings: GateSettings,
    voters: Voters = Voters.LIKE,
) -> GateReport:
    """Judge the candidates by votes on their battles with the base.

    Parameters
    ----------
    models : tuple of str
        The base first.
    selection : Selection
        Mode, category, language; with a judge its verdicts count where they help.

    Raises
    ------
    StoreError
        The store does not know a name.
    ScoreError
        Nobody voted on a candidate and the base, or the margin is not below one half.
    """
    settings.check()
    if settings.margin >= 0.5:
        text = _("The margin on a win rate is below 0.5, not {margin:g}.")
        raise ScoreError(text.format(margin=settings.margin))
    base, *candidates = models
    method = Method(voters=voters)
    found: list[CandidateGate] = []
    sources: dict[str, BoardSource] = {}
    for model in candidates:
        chosen = replace(selection, models=(base, model))
        estimates = read_estimates(store, chosen, method)
        source = default_source(estimates)
        if source not in estimates.by_source:
            source = BoardSource.JUDGE
        estimate = estimates.by_source.get(source)
        if estimate is None or set(estimate.models) != {base, model}:
            text = _("Nobody has compared {base} and {candidate} here.")
            raise ScoreError(text.format(base=base, candidate=model))
        sources[model] = source
        verdicts = source is BoardSource.JUDGE
        counts = estimates.judged.verdicts if verdicts else estimates.votes
        found.append(_judged(estimate, counts, (base, model), settings, len(candidates)))
    metric, notes = _whose(sources, selection.judge)
    return GateReport(
        *(base, tuple(found), settings, Measure.VOTES, metric, (0.0, 1.0)),
        coupled=selection.mode is Mode.COUPLED,
        notes=notes,
    )


def _whose(sources: Mapping[str, BoardSource], judge: str | None) -> tuple[str, tuple[str, ...]]:
    """Return whose votes count; where they differ by candidate, also those of each."""
    names = {
        BoardSource.HUMAN: _("votes"),
        BoardSource.JUDGE: _("verdicts of {judge}").format(judge=judge),
        BoardSource.PPR: _("votes with verdicts of {judge}").format(judge=judge),
    }
    kinds = dict.fromkeys(sources.values())
    metric = ", ".join(names[kind] for kind in kinds)
    if len(kinds) < 2:
        return metric, ()
    text = _("Judged by {source}: {models}.")
    return metric, tuple(
        text.format(
            source=names[kind],
            models=", ".join(model for model, each in sources.items() if each is kind),
        )
        for kind in kinds
    )


def _judged(
    estimate: Estimate,
    counts: PairCounts,
    pair: tuple[str, str],
    settings: GateSettings,
    candidates: int,
) -> CandidateGate:
    model, at = pair[1], estimate.models.index(pair[1])
    rate = float(estimate.theta[at])
    one, other = (counts.models.index(name) for name in pair)
    votes = int(counts.comparisons[one, other])
    critical = _critical(estimate, at, settings, candidates)
    variance = np.diag(estimate.covariance) + estimate.floor
    low, high = (
        float(bound[at]) - 0.5
        for bound in wilson(estimate.theta, variance, estimate.certain_size, np.array(critical))
    )
    margin = settings.margin
    verdict = Verdict.UNKNOWN
    if high < -margin:
        verdict = Verdict.WORSE
    elif low > -margin:
        verdict = Verdict.BETTER if low > 0 else Verdict.AS_GOOD
    known = verdict is not Verdict.UNKNOWN
    away = rate - 0.5 + margin
    needed = votes * float(variance[at]) * (critical / away) ** 2 if away else math.inf
    further = max(math.ceil(needed - votes), 1) if needed < 1e7 else None
    return CandidateGate(
        model=model,
        verdict=verdict,
        method=BOARD,
        base_score=float(estimate.theta[1 - at]),
        score=rate,
        difference=rate - 0.5,
        low=low,
        high=high,
        prompts=votes,
        units=estimate.clusters or votes,
        answers=1,
        known_after=None,
        further=0 if known else further,
        lost=int(counts.wins[one, other]),
        gained=int(counts.wins[other, one]),
    )


def _critical(estimate: Estimate, at: int, settings: GateSettings, candidates: int) -> float:
    """Return the standard deviations of a bound."""
    alpha = 2 * settings.alpha / candidates  # of both bounds together
    degrees = float(estimate.degrees[at, at])
    if degrees < 1:
        return math.inf
    if settings.look is Look.ONCE:
        return float(critical_value(alpha, np.array(degrees)))
    far = boundary(information(estimate), 2, alpha)
    if not math.isfinite(degrees):
        return far
    return float(stdtrit(degrees, min(float(ndtr(far)), _SURE)))
