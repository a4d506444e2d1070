"""Sentences on votes: who casts them, which are excluded, and how few decide the first place."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates
from coupled_arena.analysis.voter_report import VoterReport
from coupled_arena.core.language import _, ngettext, number
from coupled_arena.stats.ranking.fragility import Fragility
from coupled_arena.stats.told_effects import FEWEST_VOTERS, FEWEST_VOTES, OFTEN
from coupled_arena.store.tables.exclusions import Excluded
from coupled_arena.views.words.names import votes_counted


def voters_words(found: VoterReport) -> str:
    """Return how many voters there are, and how many vote too unlike the others."""
    if not found.rows:
        return _("No votes yet.")
    suspects = sum(row.suspect for row in found.rows)
    voters = ngettext("{n:,} voter", "{n:,} voters", len(found.rows)).format(n=len(found.rows))
    return ngettext(
        "{voters}, {votes}: {n:,} votes too unlike the others (error level {alpha:g} over all).",
        "{voters}, {votes}: {n:,} vote too unlike the others (error level {alpha:g} over all).",
        suspects,
    ).format(voters=voters, votes=votes_counted(found.votes), n=suspects, alpha=found.alpha)


def told_words(found: VoterReport) -> str:
    """Return whether people vote otherwise after many reveals; empty if nobody knew names."""
    told = found.told
    if told is None:
        return ""
    if not told.rows:
        text = _(
            "Do reveals change votes? Too few votes to tell: {votes:,} of {needed:,} votes, "
            "{voters:,} of {people:,} voters with several votes on one pair of models."
        )
        needed = {"needed": FEWEST_VOTES, "people": FEWEST_VOTERS}
        return text.format(votes=told.votes, voters=told.voters, **needed)
    most = told.rows[0]
    if most.low <= 0 <= most.high:
        text = _(
            "Nothing shows that reveals change votes. The largest change after {reveals} reveals "
            "is that of {model}: {change} (95%: {low} to {high})."
        )
    else:
        text = _(
            "People vote otherwise after {reveals} reveals: the share of votes for {model} changes "
            "by {change} (95%: {low} to {high})."
        )
    numbers = {name: number(getattr(most, name), "+.1%") for name in ("change", "low", "high")}
    return text.format(reveals=OFTEN, model=most.model, **numbers)


def excluded_words(found: Excluded) -> str:
    """Return how many votes are left out."""
    return ngettext(
        "{n:,} of {of:,} votes ({share}) is excluded and left out.",
        "{n:,} of {of:,} votes ({share}) are excluded and left out.",
        found.votes,
    ).format(n=found.votes, of=found.of, share=number(found.share, ".1%"))


def left_out_words(estimates: BoardEstimates) -> Iterator[str]:
    """Yield what says how much a board does not count."""
    if comparisons := estimates.left_out:
        text = ngettext(
            "{n:,} comparison is left out: a vote that prefers one of two equal answers says "
            "nothing.",
            "{n:,} comparisons are left out: a vote that prefers one of two equal answers says "
            "nothing.",
            comparisons,
        )
        yield text.format(n=comparisons)
    uncounted = tuple(uncounted_words(estimates))
    yield from uncounted
    # A reader who sees two numbers here would ask which is right.
    if uncounted and int(estimates.votes.comparisons.sum()) // 2 > estimates.excluded.of:
        yield _("A vote on three or more answers gives a comparison for each pair of them.")


def uncounted_words(estimates: BoardEstimates) -> Iterator[str]:
    """Yield how many votes do not count by default, for what reason."""
    found = estimates.excluded
    if found.named:
        yield _named(found, counted=estimates.counting.named)
    if found.waiting and not estimates.counting.excluded:
        yield ngettext(
            "{n:,} vote waits until its voter has cast more.",
            "{n:,} votes wait until their voters have cast more.",
            found.waiting,
        ).format(n=found.waiting)
    if found.votes and not estimates.counting.excluded:
        yield excluded_words(found)
    elif found.votes:
        text = ngettext(
            "{n:,} of {of:,} votes ({share}) is excluded, and counted here all the same.",
            "{n:,} of {of:,} votes ({share}) are excluded, and counted here all the same.",
            found.votes,
        )
        yield text.format(n=found.votes, of=found.of, share=number(found.share, ".1%"))


def _named(found: Excluded, *, counted: bool) -> str:
    """Say how many votes are on answers that told who wrote them."""
    if counted:
        text = ngettext(
            "{n:,} of {of:,} votes ({share}) is on an answer that names a model, and counted here "
            "all the same.",
            "{n:,} of {of:,} votes ({share}) are on answers that name a model, and counted here "
            "all the same.",
            found.named,
        )
    else:
        text = ngettext(
            "{n:,} of {of:,} votes ({share}) is left out because an answer names a model.",
            "{n:,} of {of:,} votes ({share}) are left out because an answer names a model.",
            found.named,
        )
    return text.format(n=found.named, of=found.of, share=number(found.named_share, ".1%"))


def fragility_words(found: Fragility | None) -> Iterator[str]:
    """Say which model would be first without how many votes."""
    if found is None:
        return
    text = ngettext(
        "{rival} would be first in place of {first} if {n:,} comparison of {all:,} ({share:.2%}) "
        "were left out: the one that matters most.",
        "{rival} would be first in place of {first} if {n:,} comparisons of {all:,} ({share:.2%}) "
        "were left out: those that matter most.",
        found.removed,
    )
    yield text.format(
        n=found.removed,
        all=found.comparisons,
        share=found.share,
        rival=found.rival,
        first=found.first,
    )
