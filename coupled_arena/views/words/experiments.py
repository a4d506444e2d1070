"""What an experiment on stored votes says in one sentence."""

from __future__ import annotations

import math

from coupled_arena.stats.intervals import critical_value
from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality
from coupled_arena.stats.simulation.resampling import Resampling

_ALPHA = 0.05
_FEWEST = 10  # repeats from which a spread can be told


def resampling_verdict(result: Resampling, judge: str) -> str:
    """Return whether a judge sharpens a ranking by few votes, as far as the repeats allow."""
    votes, total = result.plan.human[0], result.plan.total
    few, both = (_quality(result, ranking, votes) for ranking in (Ranking.HUMAN, Ranking.PPR))
    gain, error = few.size - both.size, math.hypot(few.size_error, both.size_error)
    half = float(critical_value(_ALPHA)) * error
    left = f"{few.size:.2f} ranks left to a model without them, {both.size:.2f} with them"
    if result.repeats < _FEWEST or not math.isfinite(half) or abs(gain) <= half:
        return (
            f"Too early to say whether the verdicts of {judge} sharpen a ranking by {votes} of "
            f"{total} votes: {left}."
        )
    how = "narrow" if gain > 0 else "widen"
    agree = f"agree with those of all votes in {both.intersection:.0%} of {result.repeats} repeats"
    return (
        f"The verdicts of {judge} {how} a ranking by {votes} of {total} votes: {left} "
        f"({abs(gain) - half:.2f} to {abs(gain) + half:.2f} {'fewer' if gain > 0 else 'more'}, "
        f"{100 * (1 - _ALPHA):.4g}% interval), which {agree}."
    )


def _quality(result: Resampling, ranking: Ranking, votes: int) -> RankSetQuality:
    """Return how a ranking fared at the error level nearest to the usual one."""
    return min(
        (one for one in result.qualities if one.ranking is ranking and one.human == votes),
        key=lambda one: abs(one.alpha - _ALPHA),
    )
