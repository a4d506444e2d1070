"""Rounds over stored battles: made elsewhere, voted on here, with no model at hand.

Where names are not told after each vote, a vote opens the next battle. The vote before can be
undone as long as its time lasts.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coupled_arena.battles.blind_view import Counted, Recorded, Reveal, RoundView
from coupled_arena.battles.rounds import ROUND_LIFETIME, Round, check_ranks, level, same_words
from coupled_arena.battles.undo import NO_VOTE, UNDO_FIRST, SecondVotes, Votes, check_open
from coupled_arena.core.choices import Reveals
from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Source, Vote, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.tables.votes import reveal_all
from coupled_arena.store.work_queues.battles import Backlog, Drawn, Progress

_THEN = {
    Reveals.END: N_("The names are told once your share is done."),
    Reveals.NEVER: N_("The names are not told here."),
}


@dataclass(frozen=True)
class _Opened:
    round: Round
    drawn: Drawn

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the battle as it is stored, in the order in which they are on show."""
        places = tuple(range(len(self.round.state.battle.models)))
        return places[::-1] if self.drawn.repeat else places


class Annotation:
    """All rounds of this process; a voter has one at a time, and the one that they last left.

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
    reveal : Reveals
        When voters are told names, and see boards and battles.
    held_over : bool
        A vote can be undone again after a restart; else it counts before.
    """

    def __init__(
        self,
        store: Store,
        backlog: Backlog,
        rng: random.Random | None = None,
        undo_seconds: float = 0.0,
        reveal: Reveals = Reveals.EACH,
        *,
        held_over: bool = True,
    ) -> None:
        self.store = store
        self.reveal = reveal
        self._backlog = backlog
        self._rng = rng
        self._opened: dict[str, _Opened] = {}  # by owner
        self._before: dict[str, _Opened] = {}  # by owner, who has gone on with a vote on it
        self._skipped: defaultdict[str, set[int]] = defaultdict(set)
        self._drawing = threading.Lock()
        self._told: set[str] = set()  # voters who have done their share, and know names since
        told = reveal is Reveals.EACH
        self._votes = Votes(
            store, undo_seconds, self._tells_seed, names_told=told, held_over=held_over
        )
        self._second = SecondVotes(store, undo_seconds, held_over=held_over)
        self.named = self._votes.named
        for current in self._votes.left_over():
            if drawn := backlog.find(current.state.battle.id):
                self._opened[current.owner] = _Opened(current, drawn)

    def trouble(self) -> str:
        """Return why battles cannot be served: never, for they need nothing but the store."""
        return ""

    def close(self) -> None:
        """End the time of votes that can still be undone, or leave them for the next start."""
        self._votes.close()
        self._second.close()
        for opened in (*self._opened.values(), *self._before.values()):
            self._leave(opened)

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
            if opened:
                self._leave(opened)
            self._opened.pop(owner, None)
            return self._open_another(owner)

    def _open_another(self, owner: str) -> str | None:
        while drawn := self._draw(owner):
            battle = self.store.battle(drawn.id)
            if not battle.identical:
                current = Round(owner, _turned(battle) if drawn.repeat else battle)
                self._opened[owner] = _Opened(current, drawn)
                return current.id
            ranks = (1,) * len(battle.models)
            tie = Vote(new_id(), battle.id, owner, ranks, source=Source.IDENTICAL)
            self.store.cast(tie, reveal=self.reveal is Reveals.EACH)
        return None

    def go_on(self, owner: str) -> None:
        """Let the voter's vote count before its time is over, where that tells no name.

        Whoever waits for no name asks for the next battle at once.
        """
        opened = self._opened.get(owner)
        if opened and self.reveal is not Reveals.EACH:
            self._votes_of(opened).confirm(opened.round)
            self._close_before(owner)

    def move_on(self, owner: str) -> str | None:
        """Open the next battle with a vote, which can still be undone; return the round's id.

        The vote before that one counts. None, and the battle stays on show, where none is left, or
        the names of this one are to be told.
        """
        opened = self._opened.get(owner)
        if self.reveal is Reveals.EACH or opened is None or not opened.round.state.vote:
            return None
        self._close_before(owner)
        with self._drawing:
            self._before[owner] = opened  # not to be drawn again
            found = self._open_another(owner)
            if found is None:
                del self._before[owner]
            return found

    def last(self, owner: str) -> Recorded | None:
        """Return the vote that the voter has gone on with; `left` is 0 where it counts."""
        before = self._before.get(owner)
        if before is None:
            return None
        state = before.round.state
        if state.held:
            return state.held.view()
        told = state.reveal
        if told is None or told.vote is None:
            return None
        return Recorded(told.vote, told.ranks, told.both_bad, told.early, 0.0)

    def look_back(self, owner: str, *, undo: bool) -> str:
        """Return to the battle that the voter has gone on from; return the round's id.

        The one that is open comes again.

        Parameters
        ----------
        undo : bool
            Take back the vote on it; else its reasons can be given.

        Raises
        ------
        VoteError
            There is no such battle, its vote counts, or the one that is open has a vote.
        """
        before, opened = self._before.get(owner), self._opened.get(owner)
        if before is None:
            raise VoteError(_(NO_VOTE))
        if opened and opened.round.state.vote:
            raise VoteError(_(UNDO_FIRST))
        if undo:
            self._votes_of(before).undo(before.round)
        with self._drawing:
            self._opened[owner] = before
            self._before.pop(owner, None)
        return before.round.id

    def _close_before(self, owner: str) -> None:
        """Let the vote count that a voter has gone on from."""
        if before := self._before.get(owner):
            self._votes_of(before).confirm(before.round)
            self._leave(before)
            self._before.pop(owner, None)

    def opens(self, owner: str, progress: Progress | None = None) -> bool:
        """Tell whether somebody may know names, and see boards and battles.

        If that is at the end of their share, the store notes that they know names. Their later
        votes on battles with the same words would not be blind. Whoever has just read the progress
        of their share hands it on, so that it is not counted twice.
        """
        if self.reveal is Reveals.EACH or owner in self._told:
            return True
        if self.reveal is Reveals.NEVER or not self._share_done(owner, progress):
            return False
        self.store.write(lambda cursor: reveal_all(cursor, owner))
        self._told.add(owner)
        return True

    def _share_done(self, owner: str, progress: Progress | None) -> bool:
        both = (self._opened.get(owner), self._before.get(owner))
        if any(each and not each.round.state.reveal for each in both):
            return False
        progress = progress or self.progress(owner)
        return progress.yours > 0 and not (progress.left or progress.due_now)

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
            self._leave(opened)
            self._opened.pop(owner, None)

    def look_again(self, owner: str) -> None:
        """Ask the voter again about what they skipped."""
        with self._drawing:
            self._skipped.pop(owner, None)

    def skipped(self, owner: str) -> int:
        """Return how many battles the voter has skipped."""
        return len(self._skipped.get(owner, ()))

    def progress(self, owner: str) -> Progress:
        """Return how far the voting is; a vote that the voter has gone on from is done."""
        found, before = self._backlog.progress(owner), self._before.get(owner)
        if before is None or (before.round.state.reveal and not before.drawn.repeat):
            return found
        if before.drawn.repeat:
            due = max(0, found.due - 1), max(0, found.due_now - 1)
            return replace(found, repeated=found.repeated + 1, due=due[0], due_now=due[1])
        yours = found.yours + 1
        voted = max(found.voted, min(found.battles, yours))  # others may have voted on it before
        return replace(found, yours=yours, voted=voted, left=max(0, found.left - 1))

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the voter may see of a round of theirs."""
        return self._shown(owner, self._mine(owner, round_id).round)

    def _shown(self, owner: str, current: Round) -> RoundView:
        """Return a round without names where its voter may not know them."""
        view = current.state.view()
        if self.reveal is Reveals.EACH:
            return view
        told = view.reveal
        if told is None or self._known(owner, told):
            return replace(view, blind=True)
        vote = told.vote, told.ranks, told.both_bad, told.early, told.source, told.same
        return replace(view, blind=True, reveal=None, counted=Counted(*vote, _(_THEN[self.reveal])))

    def _known(self, owner: str, reveal: Reveal | None) -> Reveal | None:
        """Return who was who, where the voter may know it."""
        if reveal is None or self.reveal is Reveals.EACH or self.opens(owner):
            return reveal
        return None

    def look(self, owner: str, round_id: str) -> RoundView:
        """Return what the voter may see; a vote whose time is over counts first."""
        opened = self._mine(owner, round_id)
        self._votes_of(opened).confirm_if_due(opened.round)
        return self._shown(owner, opened.round)

    def vote(
        self,
        owner: str,
        round_id: str,
        ranks: Sequence[int],
        *,
        both_bad: bool = False,
        origin: str | None = None,
    ) -> Reveal | None:
        """Record a vote and return who was who; see `Arena.vote`.

        Nothing is returned while the vote can be undone, or while the voter may not know the names.

        Raises
        ------
        VoteError
            Not the voter's round, already voted on, or ranks that do not order its answers.
        """
        opened = self._mine(owner, round_id)
        current = opened.round
        with current.changing:
            check_open(current)
            battle = current.state.battle
            checked = check_ranks(ranks, len(battle.models), both_bad=both_bad)
            same = same_words(current.state.view().conversations)
            vote = Vote(new_id(), battle.id, owner, level(checked, same), both_bad)
            self._votes_of(opened).cast(current, vote, same, origin)
        return self._known(owner, current.state.reveal)

    def undo(self, owner: str, round_id: str) -> None:
        """Take back a vote whose time is not over; see `Arena.undo`."""
        opened = self._mine(owner, round_id)
        self._votes_of(opened).undo(opened.round)

    def confirm(self, owner: str, round_id: str) -> None:
        """Let a vote count before its time is over; what `view` returns follows."""
        opened = self._mine(owner, round_id)
        self._votes_of(opened).confirm(opened.round)

    def round_of(self, owner: str, round_id: str) -> Round:
        """Return a round of the voter's; raise VoteError where it is not open, or not theirs."""
        return self._mine(owner, round_id).round

    def explain(self, owner: str, vote: str, criteria: object, comment: object) -> None:
        """Store why a vote of the voter's was cast; see `Votes.explain`."""
        both = [each for each in (self._opened.get(owner), self._before.get(owner)) if each]
        again = any(each.drawn.repeat and each.round.state.vote == vote for each in both)
        votes = self._second if again else self._votes
        votes.explain(owner, vote, criteria, comment, [each.round for each in both])

    def _votes_of(self, opened: _Opened) -> Votes:
        return self._second if opened.drawn.repeat else self._votes

    def _leave(self, opened: _Opened) -> None:
        """Store what was said a second time, with the reasons that were given until now."""
        if opened.drawn.repeat:
            self._second.keep(opened.round, opened.shown)

    def _tells_seed(self, current: Round) -> bool:
        """With open weights, whoever has a seed can find out who says what under it."""
        return not self._backlog.seed_is_open(current.state.battle.id, current.owner)

    def _draw(self, owner: str) -> Drawn | None:
        opened = (*self._opened.values(), *self._before.values())
        others = {
            kept.drawn.number
            for kept in opened
            if not kept.round.state.reveal and not kept.drawn.repeat
        }
        own = hashlib.blake2b(owner.encode(), digest_size=4).digest()
        salt = self._rng.getrandbits(32) if self._rng else int.from_bytes(own)
        before = self._before.get(owner)
        skipped = {*self._skipped.get(owner, ()), *({before.drawn.number} if before else ())}
        # A second vote is stored only when its battle is left: it would seem to be due still.
        is_due = not (before and before.drawn.repeat)
        again = self._backlog.draw_again(owner, salt, skipped) if is_due else None
        return again or self._backlog.draw(owner, salt, others, skipped)

    def _mine(self, owner: str, round_id: str) -> _Opened:
        opened = self._opened.get(owner)
        # One answer for "not yours" and "not there": a guess must not learn which.
        if opened is None or opened.round.id != round_id:
            raise VoteError(_("This battle is not open (any more): go to the next one."))
        return opened

    def _forget_old(self) -> None:
        oldest = time.monotonic() - ROUND_LIFETIME
        for rounds in (self._opened, self._before):
            for owner, kept in list(rounds.items()):
                if kept.round.opened <= oldest:
                    self._leave(kept)
                    del rounds[owner]


def _turned(battle: Battle) -> Battle:
    """Return a battle with its sides exchanged, as it is shown a second time."""
    last = len(battle.models) - 1
    replies = (replace(reply, place=last - reply.place) for reply in battle.replies)
    ordered = sorted(replies, key=lambda reply: (reply.turn, reply.place))
    return replace(battle, models=battle.models[::-1], replies=tuple(ordered))
