"""What the leaderboard says in words and numbers, as HTML."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from coupled_arena.analysis.leaderboard.read import BoardEstimates, BoardSource
from coupled_arena.analysis.leaderboard.result import Leaderboard, Standing
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR
from coupled_arena.views.figures.rows import ranks, sizes
from coupled_arena.views.markup import Html, bold, framed, html, joined, listed, paragraph

_MOST_FLIPS = 5  # that are named; the others are only counted


def is_empty(board: Leaderboard) -> bool:
    """Return whether there is nothing to draw."""
    return board.estimate is None


def board_table(board: Leaderboard) -> Html:
    """Return the standings as a table, and what the board cannot say yet."""
    notes = listed(board.messages, "hint")
    if is_empty(board):
        nothing = paragraph(_nothing(board), "hint")
        return joined([nothing, notes]) if board.standings else nothing
    judged = board.estimates.selection.judge is not None
    level = f"{100 * (1 - board.alpha):.4g}%"
    names = ["Model", "Rank", "Win rate", f"{level} interval", *(["Verdicts"] if judged else [])]
    names += ["Votes", "Wins", "Ties", "Both bad", "Identical"]
    body = joined(_row(standing, judged) for standing in board.standings)
    return joined([framed(names, body), notes])


def judge_words(board: Leaderboard) -> Html:
    """Say what the judge adds to people's votes."""
    human, powered = (sizes(board, source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    if not human or not powered:
        return Html("")
    tuning = board.estimates.by_source[BoardSource.PPR].power_tuning
    before, after = (fmean(of.values()) for of in (human, powered))
    return Html(
        f"<p>With this judge a model keeps <b>{after:.1f}</b> possible ranks on average, instead "
        f"of <b>{before:.1f}</b> by people alone. Its verdicts weigh "
        f"<b>\N{GREEK SMALL LETTER LAMDA} = {tuning:.2f}</b>: 0 ignores the judge, 1 takes it as "
        f"seriously as people. {_saved(board.estimates)}</p>"
    )


def mode_words(board: Leaderboard) -> Html:
    """Say what coupling changes besides win rates."""
    modes = board.estimates.modes
    if modes is None:
        return Html("")
    flips = _ordered_flips(modes)
    said: list[str] = [
        Html(f"{bold(a)} is above {bold(b)} in coupled battles and below it in independent ones")
        for a, b in flips[:_MOST_FLIPS]
    ]
    if len(flips) > _MOST_FLIPS:
        said.append(f"{len(flips) - _MOST_FLIPS} more pairs change their order")
    compared = int(np.isfinite(modes.averages.difference).sum())
    if flips:
        order = "By the estimates alone, which chance may turn around, rankings flip:"
    elif compared < 2:
        order = f"Rankings need pairs with {MINIMUM_PER_PAIR} votes in both."
    else:
        order = "By the estimates alone, both rank the models in the same order."
    return joined([paragraph(Html(f"{_ties(modes, board.alpha)} {order}")), listed(said, "hint")])


def _nothing(board: Leaderboard) -> str:
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


def _row(standing: Standing, judged: bool) -> Html:
    if (place := standing.place) is None:
        rate = '<td class="few" colspan="3">nothing counted yet</td>'
    else:
        rate = (
            f"<td>{ranks(place)}</td><td><b>{place.likely_rate:.1%}</b></td>"
            f"<td>{place.low:.1%} to {place.high:.1%}</td>"
        )
    counts = (
        *([standing.judge_verdicts] if judged else []),
        standing.human_votes,
        standing.wins,
        standing.ties,
        standing.both_bad,
        standing.identical,
    )
    cells = "".join(f"<td>{n:,}</td>" for n in counts)
    return Html(f'<tr><th scope="row">{html(standing.model)}</th>{rate}{cells}</tr>')


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
