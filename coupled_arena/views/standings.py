"""How a pair stands, in words that its votes can bear."""

from __future__ import annotations

from typing import Any

from coupled_arena.analysis.pairs import PairStanding
from coupled_arena.core.language import _, ngettext
from coupled_arena.store.queries.battle_filter import BattleFilter, Word
from coupled_arena.views.addresses import list_address


def standing_view(standing: PairStanding) -> dict[str, Any]:
    """Return a pair's standing as the page shows it: the link to its battles, and a sentence."""
    votes = standing.votes
    behind = BattleFilter(model=votes.first, other=votes.second, word=Word.PEOPLE)
    return {
        "pair": _("{one} against {other}").format(one=votes.first, other=votes.second),
        "href": list_address(behind),
        "votes": ngettext("{n:,} vote so far", "{n:,} votes so far", votes.votes).format(
            n=votes.votes
        ),
        "words": _("and that is yours.")
        if votes.votes == 1
        else f"{_counted(standing)} {_conclusion(standing)}",
    }


def _counted(standing: PairStanding) -> str:
    votes = standing.votes
    text = _("{wins:,} for {first}, {losses:,} for {second}, {neither:,} for neither.")
    return text.format(
        wins=votes.wins,
        first=votes.first,
        losses=votes.losses,
        second=votes.second,
        neither=votes.neither,
    )


def _conclusion(standing: PairStanding) -> str:
    votes, level = standing.votes, 1 - standing.alpha
    if standing.low <= 0 <= standing.high:
        if standing.high - standing.low > 1:
            return _("Far too few to say which of them people prefer.")
        text = _(
            "Too few to say which of them people prefer: {model} may be from {behind:.0%} behind "
            "to {ahead:.0%} ahead ({level:.0%} interval)."
        )
        behind, ahead = abs(standing.low), standing.high
        return text.format(model=votes.first, behind=behind, ahead=ahead, level=level)
    better = votes.first if standing.low > 0 else votes.second
    least, most = sorted((abs(standing.low), abs(standing.high)))
    text = _("People prefer {model}: it is {least:.0%} to {most:.0%} ahead ({level:.0%} interval).")
    return text.format(model=better, least=least, most=most, level=level)
