"""What counts as a vote, and what its acceptance tells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from coupled_arena.battles.visible import Conversations, Groups, Reveal
from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Mode, Vote, seed_to_hex


def check_ranks(ranks: Sequence[int], size: int, *, both_bad: bool) -> tuple[int, ...]:
    """Return ranks that order so many answers, or raise VoteError."""
    whole = all(type(rank) is int for rank in ranks)
    if not whole or len(ranks) != size or min(ranks) != 1 or max(ranks) > size:
        text = _("A vote gives each of the {size} answers a place from 1 (best) to {size}.")
        raise VoteError(text.format(size=size))
    if both_bad and max(ranks) > 1:
        raise VoteError(_("If all answers are bad, none is better: all have place 1."))
    return tuple(ranks)


def same_words(*moments: Conversations) -> Groups:
    """Return which answers had the same words at one of some moments, by place.

    Answers that are each the same as a third are the same as each other; places that stand alone
    are left out.
    """
    group = list(range(len(moments[0])))
    for texts in moments:
        for one, other in combinations(range(len(texts)), 2):
            if texts[one] == texts[other]:
                group = [group[one] if name == group[other] else name for name in group]
    groups = [tuple(at for at, own in enumerate(group) if own == name) for name in sorted({*group})]
    return tuple(places for places in groups if len(places) > 1)


def level(ranks: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """Return ranks in which answers with the same words share the best place given to one of them.

    Whoever puts these words first has said so of all answers that consist of them. Places without
    a gap are left.
    """
    if not groups:
        return tuple(ranks)
    levelled = list(ranks)
    for group in groups:
        for place in group:
            levelled[place] = min(ranks[other] for other in group)
    taken = sorted({*levelled})
    return tuple(taken.index(rank) + 1 for rank in levelled)


def check_comparable(ranks: Sequence[int], shown: Conversations, *, running: bool) -> None:
    """Raise VoteError where all answers have the same words, and so none can be better."""
    if len({*shown}) > 1:
        return
    if not any(shown[0]):
        raise VoteError(_("There is nothing to compare yet: wait for the first words."))
    if running:
        raise VoteError(
            _("The answers are the same so far: wait for the first difference, or stop them.")
        )
    if len({*ranks}) > 1:
        raise VoteError(
            _("The answers have the same words, so none is better: vote a tie, or ask a follow-up.")
        )


def reveal_of(battle: Battle, vote: Vote, *, tells_seed: bool = True, same: Groups = ()) -> Reveal:
    """Return what the voter is told once the vote is safe."""
    shown = tells_seed and bool(commitment_of(battle))
    return Reveal(
        vote=vote.id,
        battle=battle.id,
        models=battle.models,
        ranks=vote.ranks,
        both_bad=vote.both_bad,
        source=vote.source,
        early=vote.early,
        mode=battle.mode,
        seed=seed_to_hex(battle.seed) if shown else None,
        nonce=battle.nonce.hex() if shown else None,
        commitment=commitment_of(battle),
        same=same,
    )


def decided_reveal(battle: Battle) -> Reveal:
    """Return what a visitor is told once a judge has decided in their place."""
    return Reveal(
        vote=None,
        battle=battle.id,
        models=battle.models,
        ranks=(),
        both_bad=False,
        source=None,
        early=False,
        mode=battle.mode,
        seed=seed_to_hex(battle.seed),
        nonce=battle.nonce.hex(),
        commitment=commitment_of(battle),
    )


def commitment_of(battle: Battle) -> str:
    """Return what binds a battle to its seed; empty for battles from elsewhere, which have none."""
    return "" if battle.mode is Mode.UNKNOWN or not battle.nonce else battle.commitment
