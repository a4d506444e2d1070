"""What the leaderboard says in words and numbers, as HTML: all names are escaped."""

from __future__ import annotations

from html import escape
from statistics import fmean

import numpy as np

from coupled_arena.evidence import BoardSource, Evidence
from coupled_arena.leaderboard import Leaderboard, Standing
from coupled_arena.stats.coupling import ModeComparison
from coupled_arena.stats.estimates import MINIMUM_PER_PAIR
from coupled_arena.ui.figures.rows import ranks, sizes

_MOST_FLIPS = 5  # that are named; the others are only counted


def is_empty(board: Leaderboard) -> bool:
    """Return whether there is nothing to draw."""
    return board.estimate is None


def board_table(board: Leaderboard) -> str:
    """Return the standings as a table, and what the board cannot say yet."""
    notes = _list([escape(message) for message in board.messages])
    if is_empty(board):
        return f'<p class="hint">{_nothing(board)}</p>{notes if board.standings else ""}'
    judged = board.evidence.selection.judge is not None
    level = f"{100 * (1 - board.alpha):.4g}%"
    names = ["Model", "Rank", "Win rate", f"{level} interval", *(["Verdicts"] if judged else [])]
    names += ["Votes", "Wins", "Ties", "Both bad", "Identical"]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(f"<tr>{_row(standing, judged)}</tr>" for standing in board.standings)
    return (
        f'<div class="scroll"><table class="board"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{notes}"
    )


def judge_words(board: Leaderboard) -> str:
    """Say what the judge adds to people's votes."""
    human, powered = (sizes(board, source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    if not human or not powered:
        return ""
    tuning = board.evidence.estimates[BoardSource.PPR].power_tuning
    before, after = (fmean(of.values()) for of in (human, powered))
    return (
        f"<p>With this judge a model keeps <b>{after:.1f}</b> possible ranks on average, instead "
        f"of <b>{before:.1f}</b> by people alone. Its verdicts weigh "
        f"<b>\N{GREEK SMALL LETTER LAMDA} = {tuning:.2f}</b>: 0 ignores the judge, 1 takes it as "
        f"seriously as people. {_saved(board.evidence)}</p>"
    )


def mode_words(board: Leaderboard) -> str:
    """Say what coupling changes besides win rates."""
    modes = board.evidence.modes
    if modes is None:
        return ""
    flips = [(escape(a), escape(b)) for a, b in _ordered_flips(modes)]
    said = [
        f"<b>{a}</b> is above <b>{b}</b> in coupled battles and below it in independent ones"
        for a, b in flips[:_MOST_FLIPS]
    ]
    if len(flips) > _MOST_FLIPS:
        said.append(f"{len(flips) - _MOST_FLIPS} more pairs change their order")
    compared = int(np.isfinite(modes.averages.difference).sum())
    if flips:
        order = "By the estimates, rankings flip:"
    elif compared < 2:
        order = f"Rankings need pairs with {MINIMUM_PER_PAIR} votes in both."
    else:
        order = "Both rank the models in the same order."
    return f"<p>{_ties(modes)} {order}</p>{_list(said)}"


def _nothing(board: Leaderboard) -> str:
    selection = board.evidence.selection
    if board.source is BoardSource.PPR and board.evidence.judged.verdicts.comparisons.any():
        return "This board needs battles that have both a vote and a verdict."
    if selection.voter:
        return "You have not voted on anything that this board shows."
    if selection.category or selection.language or selection.mode:
        return "Nothing fits this selection yet."
    if board.source is not BoardSource.HUMAN:
        return "No verdicts that this board could use."
    return "No votes yet. Cast the first one in the Battle tab."


def _row(standing: Standing, judged: bool) -> str:
    if (place := standing.place) is None:
        rate = '<td class="few" colspan="3">nothing counted yet</td>'
    else:
        rate = (
            f"<td>{ranks(place)}</td><td><b>{min(max(place.win_rate, 0), 1):.1%}</b></td>"
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
    return f'<th scope="row">{escape(standing.model)}</th>{rate}{cells}'


def _saved(evidence: Evidence) -> str:
    saved = evidence.votes_saved
    if saved is None:
        return ""
    if saved < 0.5:
        return "It saves no votes here."
    human = evidence.estimates[BoardSource.HUMAN].human
    return (
        f"To be as certain without it, <b>{saved:,.0f} more votes</b> would have to be added to "
        f"the {human:,} there are."
    )


def _ties(modes: ModeComparison) -> str:
    if np.isnan(modes.tie_change):
        return "Neither protocol has ties."
    if np.isinf(modes.tie_change):
        return "Only coupled battles ended in ties."
    if modes.tie_change == -1:
        return "Only independent battles ended in ties."
    if abs(modes.tie_change) < 0.005:
        return "Ties are as frequent in coupled battles as in independent ones."
    how = "more" if modes.tie_change > 0 else "less"
    return f"Ties are <b>{abs(modes.tie_change):.0%} {how} frequent</b> in coupled battles."


def _ordered_flips(modes: ModeComparison) -> list[tuple[str, str]]:
    """Return the flips, the one that is above in coupled battles first."""
    rate = dict(zip(modes.models, modes.averages.coupled, strict=True))
    return [(a, b) if rate[a] > rate[b] else (b, a) for a, b in modes.flips]


def _list(items: list[str]) -> str:
    return f'<ul class="hint">{"".join(f"<li>{item}</li>" for item in items)}</ul>' if items else ""
