"""What counts as a vote, and what its acceptance tells."""

from __future__ import annotations

from collections.abc import Sequence

from coupled_arena.arena.views import Reveal
from coupled_arena.errors import VoteError
from coupled_arena.records import Battle, Mode, Vote, seed_to_hex


def check_ranks(ranks: Sequence[int], size: int, *, both_bad: bool) -> tuple[int, ...]:
    """Return ranks that order so many answers, or raise VoteError."""
    whole = all(type(rank) is int for rank in ranks)
    if not whole or len(ranks) != size or min(ranks) != 1 or max(ranks) > size:
        raise VoteError(f"A vote gives each of the {size} answers a place from 1 (best) to {size}.")
    if both_bad and max(ranks) > 1:
        raise VoteError("If all answers are bad, none is better: all have place 1.")
    return tuple(ranks)


def reveal_of(battle: Battle, vote: Vote, *, tells_seed: bool = True) -> Reveal:
    """Return what the voter is told once the vote is safe."""
    told = tells_seed and bool(commitment_of(battle))
    return Reveal(
        vote=vote.id,
        battle=battle.id,
        models=battle.models,
        ranks=vote.ranks,
        both_bad=vote.both_bad,
        source=vote.source,
        early=vote.early,
        mode=battle.mode,
        seed=seed_to_hex(battle.seed) if told else None,
        nonce=battle.nonce.hex() if told else None,
        commitment=commitment_of(battle),
    )


def commitment_of(battle: Battle) -> str:
    """Return what binds a battle to its seed; empty for battles from elsewhere, which have none."""
    return "" if battle.mode is Mode.UNKNOWN or not battle.nonce else battle.commitment
