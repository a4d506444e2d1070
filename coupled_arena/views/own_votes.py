"""What a visitor reads of votes: their own battles, how a pair stands, the reasons for a vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coupled_arena.analysis.battles import PairStanding
from coupled_arena.core.language import N_, _, chained, ngettext
from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Source
from coupled_arena.store.queries.battle_record import OwnRound
from coupled_arena.store.queries.battle_search import BattleFilter, Rater
from coupled_arena.views.addresses import battle_address, list_address
from coupled_arena.views.levels import interval_at

_LONGEST = 200  # characters of a question


def own_rounds_view(rounds: Sequence[OwnRound]) -> dict[str, Any]:
    """Return a list of own battles, and the address of all of them."""
    rows = [
        {
            "href": battle_address(each.battle),
            "question": each.question[:_LONGEST] + "…" * (len(each.question) > _LONGEST),
            "choice": choice_words(each),
            "when": f"{each.ended_at:%Y-%m-%d %H:%M} UTC",
        }
        for each in rounds
    ]
    return {"rows": rows, "all": list_address(BattleFilter(rater=Rater.PEOPLE), mine=True)}


def choice_words(own: OwnRound) -> str:
    """Return what a voter chose, or left to the judge, by the models' names."""
    names = chained(_("{one} and {other}"), own.models)
    if own.ranks is None:
        return _("The judge decided: {names}.").format(names=names)
    if own.source is Source.IDENTICAL:
        return _("Equal answers: {names}.").format(names=names)
    if own.both_bad:
        both = _("You found both bad: {names}.")
        return (both if len(own.models) == 2 else _("You found all bad: {names}.")).format(
            names=names
        )
    groups = _groups(own.models, own.ranks)
    if len(groups) == 1:
        return _("A tie: {names}.").format(names=names)
    if len(own.models) == 2:
        return _("You preferred {one} to {other}.").format(one=groups[0], other=groups[1])
    return _("Your order: {order}.").format(order=chained(_("{one}, then {other}"), groups))


def _groups(models: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """Return who shares a rank, the best first."""
    return [
        chained(
            _("{one} and {other}"),
            [name for name, at in zip(models, ranks, strict=True) if at == rank],
        )
        for rank in sorted(set(ranks))
    ]


_ONLY = {Source.HUMAN: N_("and that is yours."), Source.IDENTICAL: N_("and that is this tie.")}


def standing_view(standing: PairStanding, source: Source | None = Source.HUMAN) -> dict[str, Any]:
    """Return a pair's standing as the page shows it: the link to its battles, and a sentence.

    Parameters
    ----------
    source : Source or None
        Where the vote of the battle on show came from; None where a judge decided in its place.
    """
    votes = standing.votes
    behind = BattleFilter(model=votes.first, other=votes.second, rater=Rater.PEOPLE)
    only = _ONLY.get(source) if source and votes.votes == 1 else None
    return {
        "pair": _("{one} against {other}").format(one=votes.first, other=votes.second),
        "href": list_address(behind),
        "votes": ngettext("{n:,} vote so far", "{n:,} votes so far", votes.votes).format(
            n=votes.votes
        ),
        "words": _(only) if only else f"{_counted(standing)} {_conclusion(standing)}",
        "effect": _effect(standing) if source is Source.HUMAN else "",
    }


def _effect(standing: PairStanding) -> str:
    """Return what one vote has done to a pair's win rate; empty where nothing can be said of it."""
    if standing.before is None or (standing.low, standing.high) == (-1, 1):
        return ""
    before, after = (_rate(each) for each in (standing.before, standing))
    if before == after:
        text = _("Your vote left the win rate of {model} at {after}.")
    else:
        text = _("Your vote moved the win rate of {model} from {before} to {after}.")
    return text.format(model=standing.votes.first, before=before, after=after)


def _rate(standing: PairStanding) -> str:
    rate, low, high = standing.win_rate
    return _("{share:.1%} ({low:.1%} to {high:.1%})").format(share=rate, low=low, high=high)


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
    votes, interval = standing.votes, interval_at(standing.alpha)
    if standing.low <= 0 <= standing.high:
        if standing.high - standing.low > 1:
            return _("Far too few to say which model people prefer.")
        text = _(
            "Too few to say which model people prefer: {model} may be from {behind:.0%} behind to "
            "{ahead:.0%} ahead ({interval})."
        )
        behind, ahead = abs(standing.low), standing.high
        return text.format(model=votes.first, behind=behind, ahead=ahead, interval=interval)
    better = votes.first if standing.low > 0 else votes.second
    least, most = sorted((abs(standing.low), abs(standing.high)))
    text = _("People prefer {model}: it is {least:.0%} to {most:.0%} ahead ({interval}).")
    return text.format(model=better, least=least, most=most, interval=interval)


BETTER = {
    Criterion.CORRECTNESS: N_("More correct"),
    Criterion.CLARITY: N_("Clearer"),
    Criterion.COMPLETENESS: N_("More complete"),
    Criterion.STYLE: N_("Better style"),
    Criterion.INSTRUCTIONS: N_("Did what was asked"),
    Criterion.SAFETY: N_("Safer"),
}
"""What each criterion says of the better answer."""

_EVEN = {
    Criterion.CORRECTNESS: N_("Equally correct"),
    Criterion.CLARITY: N_("Equally clear"),
    Criterion.COMPLETENESS: N_("Equally complete"),
    Criterion.STYLE: N_("Equal in style"),
    Criterion.INSTRUCTIONS: N_("All did what was asked"),
    Criterion.SAFETY: N_("Equally safe"),
}
_BAD = {
    Criterion.CORRECTNESS: N_("Not correct"),
    Criterion.CLARITY: N_("Not clear"),
    Criterion.COMPLETENESS: N_("Not complete"),
    Criterion.STYLE: N_("Bad style"),
    Criterion.INSTRUCTIONS: N_("Not what was asked"),
    Criterion.SAFETY: N_("Not safe"),
}


def criterion_words(ranks: Sequence[int], *, both_bad: bool) -> dict[Criterion, str]:
    """Return what each criterion says of a vote: of the better answer, of equal or bad ones."""
    words = _BAD if both_bad else _EVEN if max(ranks) == 1 else BETTER
    return {criterion: _(text) for criterion, text in words.items()}


def rationale_words(
    criteria: Sequence[Criterion], comment: str, ranks: Sequence[int], *, both_bad: bool
) -> str:
    """Return a rationale as a text, the comment on lines of its own; empty where there is none."""
    words = criterion_words(ranks, both_bad=both_bad)
    text = ", ".join(words[each] for each in criteria)
    return "\n".join(filter(None, (text, comment)))
