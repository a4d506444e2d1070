"""Rounds over stored battles: made elsewhere, voted on here, with no model at hand."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.battles.rounds import ROUND_LIFETIME, Round
from coupled_arena.battles.visible import Reveal, RoundView
from coupled_arena.battles.voting import check_ranks, level, reveal_of, same_words
from coupled_arena.core.errors import VoteError
from coupled_arena.core.records import Source, Vote, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.pending.battles import Backlog, Drawn, Progress


@dataclass(frozen=True)
class _Opened:
    round: Round
    drawn: Drawn


class Annotation:
    """All rounds of this process; a voter has one at a time.

    Parameters
    ----------
    store : Store
        Where the battles are and the votes go.
    backlog : Backlog
        What can be asked about.
    rng : random.Random
        Orders what is level; unpredictable unless a test says otherwise.
    """

    def __init__(self, store: Store, backlog: Backlog, rng: random.Random | None = None) -> None:
        self._store = store
        self._backlog = backlog
        self._rng = rng or random.SystemRandom()
        self._opened: dict[str, _Opened] = {}  # by owner
        self._skipped: defaultdict[str, set[int]] = defaultdict(set)
        self._drawing = threading.Lock()

    def is_well(self) -> bool:
        """Tell whether battles can be served; it needs nothing but the store."""
        return True

    def close(self) -> None:
        """Nothing runs here that would have to end."""

    def next(self, owner: str) -> str | None:
        """Return the id of the round that the voter is to vote on; None if nothing is left.

        That is their open round where they have one: a page that is opened again goes on where
        it was. Battles with identical answers that come up on the way are recorded as ties.
        """
        with self._drawing:
            self._forget_old()
            opened = self._opened.get(owner)
            if opened and not opened.round.state.reveal:
                return opened.round.id
            self._opened.pop(owner, None)
            while drawn := self._draw(owner):
                battle = self._store.battle(drawn.id)
                if not battle.identical:
                    current = Round(owner, battle)
                    self._opened[owner] = _Opened(current, drawn)
                    return current.id
                ranks = (1,) * len(battle.models)
                self._store.cast(Vote(new_id(), battle.id, owner, ranks, source=Source.IDENTICAL))
            return None

    def opened(self, owner: str) -> str | None:
        """Return the id of the voter's round, voted on or not; None if they have none."""
        opened = self._opened.get(owner)
        return opened.round.id if opened else None

    def skip(self, owner: str, round_id: str) -> None:
        """Close a round without a vote; its battle comes back only by `look_again`."""
        opened = self._mine(owner, round_id)
        with opened.round.changing, self._drawing:
            if not opened.round.state.reveal:
                self._skipped[owner].add(opened.drawn.number)
            self._opened.pop(owner, None)

    def look_again(self, owner: str) -> None:
        """Ask the voter again about what they skipped."""
        with self._drawing:
            self._skipped.pop(owner, None)

    def skipped(self, owner: str) -> int:
        """Return how many battles the voter has skipped."""
        return len(self._skipped.get(owner, ()))

    def progress(self, owner: str) -> Progress:
        """Return how far the voting is."""
        return self._backlog.progress(owner)

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the voter may see of a round of theirs."""
        return self._mine(owner, round_id).round.state.view()

    def vote(
        self, owner: str, round_id: str, ranks: Sequence[int], *, both_bad: bool = False
    ) -> Reveal:
        """Record a vote and return who was who; see `Arena.vote`.

        Raises
        ------
        VoteError
            Not the voter's round, already voted on, or ranks that do not order its answers.
        """
        current = self._mine(owner, round_id).round
        with current.changing:
            if current.state.reveal:
                raise VoteError("You have voted on this battle, and the models are known.")
            battle = current.state.battle
            checked = check_ranks(ranks, len(battle.models), both_bad=both_bad)
            same = same_words(current.state.view().conversations)
            vote = Vote(new_id(), battle.id, owner, level(checked, same), both_bad)
            self._store.cast(vote)
            # With open weights, whoever has a seed can find out who says what under it.
            tells_seed = not self._backlog.seed_is_open(battle.id, owner)
            reveal = reveal_of(battle, vote, tells_seed=tells_seed, same=same)
            current.change(reveal=reveal)
            return reveal

    def _draw(self, owner: str) -> Drawn | None:
        opened = self._opened.values()
        others = [kept.drawn.number for kept in opened if not kept.round.state.reveal]
        return self._backlog.draw(
            owner, self._rng.getrandbits(32), others, self._skipped.get(owner, ())
        )

    def _mine(self, owner: str, round_id: str) -> _Opened:
        opened = self._opened.get(owner)
        # One answer for "not yours" and "not there": a guess must not learn which.
        if opened is None or opened.round.id != round_id:
            raise VoteError("This battle is not open (any more): go to the next one.")
        return opened

    def _forget_old(self) -> None:
        oldest = time.monotonic() - ROUND_LIFETIME
        self._opened = {o: kept for o, kept in self._opened.items() if kept.round.opened > oldest}
