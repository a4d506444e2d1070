"""Names and numbers as people list them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coupled_arena.analysis.leaderboard.result import Standing
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.core.records import Mode

MOST = 3
"""Names that are said; of others only how many they are."""

_MODES = {
    Mode.COUPLED: N_("coupled"),
    Mode.INDEPENDENT: N_("independent"),
    Mode.UNKNOWN: N_("unknown"),
}


def named(names: Sequence[str], most: int = MOST) -> str:
    """Return names as people list them, those beyond the first few only counted."""
    others = len(names) - most
    if others > 0:
        text = ngettext("{names} and {n} more", "{names} and {n} more", others)
        return text.format(names=", ".join(names[:most]), n=others)
    if len(names) == 1:
        return names[0]
    return _("{names} and {last}").format(names=", ".join(names[:-1]), last=names[-1])


def pair_named(one: str, other: str) -> str:
    """Return two names as people list them."""
    return _("{one} and {other}").format(one=one, other=other)


def modes_named(modes: Iterable[Mode]) -> str:
    """Return the modes of battles as people list them."""
    return ", ".join(_(_MODES[mode]) for mode in modes)


def without_data(names: Sequence[str]) -> str:
    """Return a line for all models of which nothing is known."""
    text = ngettext(
        "{n} model without data: {names}.", "{n} models without data: {names}.", len(names)
    )
    return text.format(n=len(names), names=named(names))


def without_both(names: Sequence[str]) -> str:
    """Return a line for all models that have too few votes in one mode, or in both."""
    text = ngettext(
        "{n} model without enough votes in both: {names}.",
        "{n} models without enough votes in both: {names}.",
        len(names),
    )
    return text.format(n=len(names), names=named(names))


def votes_counted(n: int) -> str:
    """Return so many votes."""
    return ngettext("{n:,} vote", "{n:,} votes", n).format(n=n)


def comparisons_counted(n: int) -> str:
    """Return so many comparisons: a vote on several answers gives one for each pair."""
    return ngettext("{n:,} comparison", "{n:,} comparisons", n).format(n=n)


def verdicts_counted(n: int) -> str:
    """Return so many verdicts."""
    return ngettext("{n:,} verdict", "{n:,} verdicts", n).format(n=n)


def rounded(number: float) -> int:
    """Return a number with two digits: an estimate of votes or prompts has no more."""
    return int(float(f"{number:.2g}"))


def rank_range(place: Standing) -> str:
    """Return the ranks that a model may have, as people read them."""
    ends = dict.fromkeys((place.rank_low, place.rank_high))
    return "\N{EN DASH}".join(str(end) for end in ends)
