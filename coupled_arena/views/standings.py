"""How a pair stands, in words that its votes can bear."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.pairs import PairStanding
from coupled_arena.store.queries.battle_filter import BattleFilter, Word
from coupled_arena.views.addresses import list_address


def standing_view(standing: PairStanding) -> dict[str, Any]:
    """Return a pair's standing as the page shows it: the link to its battles, and a sentence."""
    votes = standing.votes
    behind = BattleFilter(model=votes.first, other=votes.second, word=Word.PEOPLE)
    return {
        "pair": f"{votes.first} against {votes.second}",
        "href": list_address(behind),
        "votes": "1 vote so far" if votes.votes == 1 else f"{votes.votes:,} votes so far",
        "words": "and that is yours."
        if votes.votes == 1
        else f"{_counted(standing)} {_conclusion(standing)}",
    }


def _counted(standing: PairStanding) -> str:
    votes = standing.votes
    said = [f"{votes.wins:,} for {votes.first}", f"{votes.losses:,} for {votes.second}"]
    return f"{', '.join(said)}, {votes.neither:,} for neither."


def _conclusion(standing: PairStanding) -> str:
    votes, level = standing.votes, f"{1 - standing.alpha:.0%}"
    if standing.low <= 0 <= standing.high:
        if standing.high - standing.low > 1:
            return "Far too few to say which of them people prefer."
        return (
            f"Too few to say which of them people prefer: {votes.first} may be from "
            f"{abs(standing.low):.0%} behind to {standing.high:.0%} ahead ({level} interval)."
        )
    better = votes.first if standing.low > 0 else votes.second
    least, most = sorted((abs(standing.low), abs(standing.high)))
    return f"People prefer {better}: it is {least:.0%} to {most:.0%} ahead ({level} interval)."
