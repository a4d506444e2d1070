"""Who votes how, and what is left out, in a sentence."""

from __future__ import annotations

from coupled_arena.analysis.voters import VoterReport
from coupled_arena.core.language import _, ngettext
from coupled_arena.store.tables.exclusions import Excluded


def voters_words(found: VoterReport) -> str:
    """Return how many voters there are, and how many vote too unlike the others."""
    if not found.rows:
        return _("No votes yet.")
    suspects = sum(row.suspect for row in found.rows)
    voters = ngettext("{n:,} voter", "{n:,} voters", len(found.rows)).format(n=len(found.rows))
    votes = ngettext("{n:,} vote", "{n:,} votes", found.votes).format(n=found.votes)
    return ngettext(
        "{voters}, {votes}: {n:,} votes too unlike the others (error level {alpha:g} over all).",
        "{voters}, {votes}: {n:,} vote too unlike the others (error level {alpha:g} over all).",
        suspects,
    ).format(voters=voters, votes=votes, n=suspects, alpha=found.alpha)


def excluded_words(found: Excluded) -> str:
    """Return how many votes are left out."""
    return ngettext(
        "{n:,} of {of:,} votes ({share}) is excluded and left out.",
        "{n:,} of {of:,} votes ({share}) are excluded and left out.",
        found.votes,
    ).format(n=found.votes, of=found.of, share=f"{found.share:.1%}")
