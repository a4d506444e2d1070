"""What the leaderboard says in words and numbers, as HTML."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from markupsafe import Markup

from coupled_arena.analysis.leaderboard.read import BoardEstimates, BoardSource
from coupled_arena.analysis.leaderboard.result import Leaderboard, MissingVotes
from coupled_arena.core.records import Mode
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.rank_sets import Scope
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR
from coupled_arena.stats.tie_scores import TieScore
from coupled_arena.views.markup import bold, joined, listed, paragraph

_MOST_FLIPS = 5  # that are named; the others are only counted
_WISHES = 5  # pairs that are named as short of votes, likewise


def board_warnings(board: Leaderboard) -> tuple[str, ...]:
    """Return sentences on what this board cannot say yet, and what would help."""
    own = board.estimate.warnings if board.estimate else ()
    judge = board.estimates.selection.judge
    if board.source is not BoardSource.HUMAN and board.estimate is None:
        own = (f"{judge} has no verdict here that this board could use.",)
    label = "verdicts" if board.source is BoardSource.JUDGE else "votes"
    return (
        *_meaning(board),
        *_mixture(board.estimates.mixed),
        *_left_out(board.estimates.left_out),
        *own,
        *_wishes(board.missing),
        *([f"No {label} yet: {_some(board.idle)}."] if board.idle else []),
    )


def judge_words(board: Leaderboard) -> Markup:
    """Say what the judge adds to people's votes."""
    human, powered = (board.sizes(source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    if not human or not powered:
        return Markup("")
    tuning = board.estimates.by_source[BoardSource.PPR].power_tuning
    before, after = (fmean(of.values()) for of in (human, powered))
    return Markup(
        f"<p>With this judge a model keeps <b>{after:.1f}</b> possible ranks on average, instead "
        f"of <b>{before:.1f}</b> by people alone. Its verdicts weigh "
        f"<b>\N{GREEK SMALL LETTER LAMDA} = {tuning:.2f}</b>: 0 ignores the judge, 1 takes it as "
        f"seriously as people. {_saved(board.estimates)}</p>"
    )


def mode_words(board: Leaderboard) -> Markup:
    """Say what coupling changes besides win rates."""
    modes = board.estimates.modes
    if modes is None:
        return Markup("")
    flips = _ordered_flips(modes)
    lines: list[str] = [
        Markup(f"{bold(a)} is above {bold(b)} in coupled battles and below it in independent ones")
        for a, b in flips[:_MOST_FLIPS]
    ]
    if len(flips) > _MOST_FLIPS:
        lines.append(f"{len(flips) - _MOST_FLIPS} more pairs change their order")
    compared = int(np.isfinite(modes.averages.difference).sum())
    if flips:
        order = "By the estimates alone, which chance may turn around, rankings flip:"
    elif compared < 2:
        order = f"Rankings need pairs with {MINIMUM_PER_PAIR} votes in both."
    else:
        order = "By the estimates alone, both rank the models in the same order."
    return joined(
        [paragraph(Markup(f"{_ties(modes, board.alpha)} {order}")), listed(lines, "hint")]
    )


def nothing_counted(board: Leaderboard) -> str:
    """Say why a board has nothing to draw."""
    selection = board.estimates.selection
    if board.source is BoardSource.PPR and board.estimates.judged.verdicts.comparisons.any():
        return "This board needs battles that have both a vote and a verdict."
    if selection.voter:
        return "You have not voted on anything that this board shows."
    if selection.category or selection.language or selection.mode:
        return "Nothing fits this selection yet."
    if board.source is not BoardSource.HUMAN:
        return "No verdicts that this board could use."
    return "No votes yet. Cast the first one in the Battle tab."


def _saved(estimates: BoardEstimates) -> str:
    saved = estimates.votes_saved
    if saved is None:
        return ""
    if saved < 0.5:
        return "It saves no votes here."
    human = estimates.by_source[BoardSource.HUMAN].human
    return (
        f"To be as certain without it, <b>{saved:,.0f} more votes</b> would have to be added to "
        f"the {human:,} there are."
    )


def _ties(modes: ModeComparison, alpha: float) -> str:
    if np.isnan(modes.tie_change):
        return "Neither protocol has ties."
    if np.isinf(modes.tie_change):
        return "Only coupled battles ended in ties: too few to say how frequent they are."
    if modes.tie_change == -1:
        return (
            "Only independent battles ended in ties so far: too few to say how frequent they are."
        )
    low, high = modes.tie_interval(alpha)
    most = f"{high:+.0%}" if np.isfinite(high) else "any"
    bounds = f"({low:+.0%} to {most}, {100 * (1 - alpha):.4g}% interval)"
    if low <= 0 <= high:
        return (
            "Too early to say whether ties are more or less frequent in coupled battles: "
            f"{modes.tie_change:+.0%} {bounds}."
        )
    how = "more" if modes.tie_change > 0 else "less"
    frequent = f"<b>{abs(modes.tie_change):.0%} {how} frequent</b>"
    return f"Ties are {frequent} in coupled battles {bounds}."


def _ordered_flips(modes: ModeComparison) -> list[tuple[str, str]]:
    """Return the flips, the one that is above in coupled battles first."""
    rate = dict(zip(modes.models, modes.averages.coupled, strict=True))
    return [(a, b) if rate[a] > rate[b] else (b, a) for a, b in modes.flips]


def _meaning(board: Leaderboard) -> tuple[str, ...]:
    """Say in what win rates and rank-sets are others than those of most boards."""
    half = (
        "A tie counts as half a win for both: these win rates are another quantity than those of "
        "a board where it is a win for neither."
    )
    marginal = (
        f"Each rank-set holds at {100 * (1 - board.alpha):.4g}% for its model alone, if that was "
        "chosen before looking; all together they hold less often."
    )
    return (
        *([half] if board.estimates.method.ties is TieScore.HALF else []),
        *([marginal] if board.scope is Scope.MARGINAL else []),
    )


def _mixture(modes: tuple[Mode, ...]) -> tuple[str, ...]:
    if len(modes) < 2:
        return ()
    return (f"This board mixes battles of different modes: {', '.join(modes)}.",)


def _left_out(comparisons: int) -> tuple[str, ...]:
    if not comparisons:
        return ()
    are = "comparison is" if comparisons == 1 else "comparisons are"
    why = "a vote that prefers one of two equal answers says nothing"
    return (f"{comparisons:,} {are} left out: {why}.",)


def _wishes(missing: tuple[MissingVotes, ...]) -> tuple[str, ...]:
    others = len(missing) - _WISHES
    return (
        *(_wish(pair) for pair in missing[:_WISHES]),
        *([f"{others} more {_plural('pair', others)} without enough votes"] if others > 0 else []),
    )


def _wish(pair: MissingVotes) -> str:
    votes = f"{pair.votes} more {_plural('vote', pair.votes)}"
    return f"{votes} in {pair.first}\N{EN DASH}{pair.second}"


def _some(names: tuple[str, ...]) -> str:
    others = len(names) - _WISHES
    return ", ".join(names[:_WISHES]) + (f" and {others} more" if others > 0 else "")


def _plural(noun: str, n: int) -> str:
    return noun if n == 1 else f"{noun}s"
