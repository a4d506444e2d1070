"""Sentences on what a board does not count, and why."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.analysis.leaderboard.read import BoardEstimates
from coupled_arena.core.language import ngettext
from coupled_arena.store.tables.exclusions import Excluded


def left_out_words(estimates: BoardEstimates) -> Iterator[str]:
    """Yield what says how much a board does not count."""
    if comparisons := estimates.left_out:
        said = ngettext(
            "{n:,} comparison is left out: a vote that prefers one of two equal answers says "
            "nothing.",
            "{n:,} comparisons are left out: a vote that prefers one of two equal answers says "
            "nothing.",
            comparisons,
        )
        yield said.format(n=comparisons)
    yield from uncounted_words(estimates)


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
    if not found.votes:
        return
    if estimates.counting.excluded:
        said = ngettext(
            "{n:,} of {of:,} votes ({share}) is excluded, and counted here all the same.",
            "{n:,} of {of:,} votes ({share}) are excluded, and counted here all the same.",
            found.votes,
        )
    else:
        said = ngettext(
            "{n:,} of {of:,} votes ({share}) is excluded and left out.",
            "{n:,} of {of:,} votes ({share}) are excluded and left out.",
            found.votes,
        )
    yield said.format(n=found.votes, of=found.of, share=f"{found.share:.1%}")


def _named(found: Excluded, *, counted: bool) -> str:
    """Say how many votes are on answers that told who wrote them."""
    if counted:
        said = ngettext(
            "{n:,} of {of:,} votes ({share}) is on an answer that names a model, and counted here "
            "all the same.",
            "{n:,} of {of:,} votes ({share}) are on answers that name a model, and counted here "
            "all the same.",
            found.named,
        )
    else:
        said = ngettext(
            "{n:,} of {of:,} votes ({share}) is left out because an answer names a model.",
            "{n:,} of {of:,} votes ({share}) are left out because an answer names a model.",
            found.named,
        )
    return said.format(n=found.named, of=found.of, share=f"{found.named_share:.1%}")
