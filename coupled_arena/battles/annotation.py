"""Rounds over stored battles: made elsewhere, voted on here, with no model at hand."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.battles.blind_view import Reveal, RoundView
from coupled_arena.battles.rounds import ROUND_LIFETIME, Round, check_ranks, level, same_words
from coupled_arena.battles.undo import UNDO_FIRST, Votes, check_open
from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _
from coupled_arena.core.records import Source, Vote, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.work_queues.battles import Backlog, Drawn, Progress


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
        Orders what is level. Without it each voter has an order of their own, the same after a
        restart: whoever was reading a battle gets it again.
    undo_seconds : float
        How long a vote can be undone.
    """

    def __init__(
        self,
        store: Store,
        backlog: Backlog,
        rng: random.Random | None = None,
        undo_seconds: float = 0.0,
    ) -> None:
        self.store = store
        self._backlog = backlog
        self._rng = rng
        self._opened: dict[str, _Opened] = {}  # by owner
        self._skipped: defaultdict[str, set[int]] = defaultdict(set)
        self._drawing = threading.Lock()
        self._votes = Votes(store, undo_seconds, self._tells_seed)
        self.named = self._votes.named
        for current in self._votes.left_over():
            if drawn := backlog.find(current.state.battle.id):
                self._opened[current.owner] = _Opened(current, drawn)

    def trouble(self) -> str:
        """Return why battles cannot be served: never, for they need nothing but the store."""
        return ""

    def close(self) -> None:
        """Leave the votes that could still be undone for the next start."""
        self._votes.close()

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
                battle = self.store.battle(drawn.id)
                if not battle.identical:
                    current = Round(owner, battle)
                    self._opened[owner] = _Opened(current, drawn)
                    return current.id
                ranks = (1,) * len(battle.models)
                self.store.cast(Vote(new_id(), battle.id, owner, ranks, source=Source.IDENTICAL))
            return None

    def opened(self, owner: str) -> str | None:
        """Return the id of the voter's round, voted on or not; None if they have none."""
        opened = self._opened.get(owner)
        return opened.round.id if opened else None

    def skip(self, owner: str, round_id: str) -> None:
        """Close a round without a vote; its battle comes back only by `look_again`."""
        opened = self._mine(owner, round_id)
        with opened.round.changing, self._drawing:
            if opened.round.state.held:
                raise VoteError(_(UNDO_FIRST))
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

    def look(self, owner: str, round_id: str) -> RoundView:
        """Return what the voter may see; a vote whose time is over counts first."""
        current = self._mine(owner, round_id).round
        self._votes.confirm_if_due(current)
        return current.state.view()

    def vote(
        self,
        owner: str,
        round_id: str,
        ranks: Sequence[int],
        *,
        both_bad: bool = False,
        origin: str | None = None,
    ) -> Reveal | None:
        """Record a vote and return who was who, None while it can be undone; see `Arena.vote`.

        Raises
        ------
        VoteError
            Not the voter's round, already voted on, or ranks that do not order its answers.
        """
        current = self._mine(owner, round_id).round
        with current.changing:
            check_open(current)
            battle = current.state.battle
            checked = check_ranks(ranks, len(battle.models), both_bad=both_bad)
            same = same_words(current.state.view().conversations)
            vote = Vote(new_id(), battle.id, owner, level(checked, same), both_bad)
            return self._votes.cast(current, vote, same, origin)

    def undo(self, owner: str, round_id: str) -> None:
        """Take back a vote whose time is not over; see `Arena.undo`."""
        self._votes.undo(self._mine(owner, round_id).round)

    def confirm(self, owner: str, round_id: str) -> None:
        """Let a vote count before its time is over, and tell who was who."""
        self._votes.confirm(self._mine(owner, round_id).round)

    def round_of(self, owner: str, round_id: str) -> Round:
        """Return a round of the voter's; raise VoteError where it is not open, or not theirs."""
        return self._mine(owner, round_id).round

    def explain(self, owner: str, vote: str, criteria: object, comment: object) -> None:
        """Store why a vote of the voter's was cast; see `Votes.explain`."""
        opened = self._opened.get(owner)
        rounds = [opened.round] if opened else []
        self._votes.explain(owner, vote, criteria, comment, rounds)

    def _tells_seed(self, current: Round) -> bool:
        """With open weights, whoever has a seed can find out who says what under it."""
        return not self._backlog.seed_is_open(current.state.battle.id, current.owner)

    def _draw(self, owner: str) -> Drawn | None:
        opened = self._opened.values()
        others = [kept.drawn.number for kept in opened if not kept.round.state.reveal]
        own = hashlib.blake2b(owner.encode(), digest_size=4).digest()
        salt = self._rng.getrandbits(32) if self._rng else int.from_bytes(own)
        return self._backlog.draw(owner, salt, others, self._skipped.get(owner, ()))

    def _mine(self, owner: str, round_id: str) -> _Opened:
        opened = self._opened.get(owner)
        # One answer for "not yours" and "not there": a guess must not learn which.
        if opened is None or opened.round.id != round_id:
            raise VoteError(_("This battle is not open (any more): go to the next one."))
        return opened

    def _forget_old(self) -> None:
        oldest = time.monotonic() - ROUND_LIFETIME
        self._opened = {o: kept for o, kept in self._opened.items() if kept.round.opened > oldest}
