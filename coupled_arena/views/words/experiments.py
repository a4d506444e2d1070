"""What an experiment on stored votes says in one sentence."""

from __future__ import annotations

import math

from coupled_arena.core.language import _
from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.levels import level

_ALPHA = 0.05
_FEWEST = 10  # repeats from which a spread can be told


def resampling_verdict(result: Resampling, judge: str) -> str:
    """Return whether a judge sharpens a ranking by few votes, as far as the repeats allow."""
    votes = result.plan.human[0]
    few, both = (_quality(result, ranking, votes) for ranking in (Ranking.HUMAN, Ranking.PPR))
    gain, error = few.size - both.size, math.hypot(few.size_error, both.size_error)
    half = float(critical_value(_ALPHA)) * error
    unknown = result.repeats < _FEWEST or not math.isfinite(half) or abs(gain) <= half
    return _sentence(gain, unknown=unknown).format(
        judge=judge,
        votes=votes,
        total=result.plan.total,
        without=few.size,
        left=both.size,
        low=abs(gain) - half,
        high=abs(gain) + half,
        level=level(_ALPHA),
        share=both.intersection,
        repeats=result.repeats,
    )


def _sentence(gain: float, *, unknown: bool) -> str:
    if unknown:
        return _(
            "Too early to say whether the verdicts of {judge} sharpen a ranking by {votes} of "
            "{total} votes. A model keeps {without:.2f} ranks without them and {left:.2f} with "
            "them."
        )
    if gain > 0:
        return _(
            "The verdicts of {judge} narrow a ranking by {votes} of {total} votes. A model keeps "
            "{without:.2f} ranks without them and {left:.2f} with them ({low:.2f} to {high:.2f} "
            "fewer, {level} interval). In {share:.0%} of {repeats} repeats the rank-sets agree "
            "with those of all votes."
        )
    return _(
        "The verdicts of {judge} widen a ranking by {votes} of {total} votes. A model keeps "
        "{without:.2f} ranks without them and {left:.2f} with them ({low:.2f} to {high:.2f} more, "
        "{level} interval). In {share:.0%} of {repeats} repeats the rank-sets agree with those of "
        "all votes."
    )


def _quality(result: Resampling, ranking: Ranking, votes: int) -> RankSetQuality:
    """Return how a ranking fared at the error level nearest to the usual one."""
    return min(
        (one for one in result.qualities if one.ranking is ranking and one.human == votes),
        key=lambda one: abs(one.alpha - _ALPHA),
    )
