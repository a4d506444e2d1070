"""Votes that can be undone: stored as they are cast, counted and told once their time is over."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from coupled_arena.battles.blind_view import Groups, Reasons, Reveal
from coupled_arena.battles.rounds import Held, Round, reveal_of, same_words
from coupled_arena.core.errors import ArenaError, StoreError, VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.rationales import Rationale, check_comment, check_criteria
from coupled_arena.core.records import Battle, Source, Vote, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.tables import repeats, votes

_log = logging.getLogger(__name__)
_RETRY = 5.0  # seconds until a vote is tried again that the store could not take
_RETURN = 30.0  # seconds after a start in which pages come back and their voters can undo
UNDO_FIRST = N_("You have voted on this: undo that vote first, or let it count.")
JUDGE_READS = N_("The judge is reading these answers: cancel that first.")
_TOO_LATE = N_("The vote counts: it can no longer be undone.")
NO_VOTE = N_("There is no vote to undo here (any more).")


def check_open(current: Round) -> None:
    """Raise VoteError where a round has a vote, whether or not it can be undone."""
    if reveal := current.state.reveal:
        if reveal.vote is None:  # the judge decided
            raise VoteError(_("This battle is decided: nobody can vote on it any more."))
        raise VoteError(_("You have voted on this, and the vote counts."))
    if current.state.held:
        raise VoteError(_(UNDO_FIRST))
    if current.state.judging:
        raise VoteError(_(JUDGE_READS))


class Votes:
    """What becomes of the votes of this process. The clock is the server's: a closed page votes.

    Votes that could still be undone when an earlier process ended can be undone once more, see
    `left_over`. The lock `changing` holds a round while its vote is cast, undone or counted. So of
    two people who do so at once, one comes too late.

    Parameters
    ----------
    seconds : float
        How long a vote can be undone; 0: it counts at once.
    reveals_seed : callable, optional
        Whether the voter of a round may know its seed once the vote counts.
    names_told : bool
        Whether the voter is told the names once the vote counts; else nobody notes that they were.
    held_over : bool
        Votes that can be undone wait for the next start when the process ends; else they count
        then.

    Attributes
    ----------
    named : Counter of (str, str)
        Battles with votes that count, by mode and the source of the vote; the mode is "hidden"
        where the names were not told.
    """

    def __init__(
        self,
        store: Store,
        seconds: float,
        reveals_seed: Callable[[Round], bool] = lambda current: True,  # noqa: ARG005
        *,
        names_told: bool = True,
        held_over: bool = True,
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._reveals_seed = reveals_seed
        self._names_told = names_told
        self._held_over = held_over
        self._holding: set[Round] = set()
        self._closing = False
        self.named: Counter[tuple[str, str]] = Counter()

    def left_over(self) -> list[Round]:
        """Return rounds of an earlier process with votes that could still be undone when it ended.

        Their voters had no way to undo while the server was away, so their time begins again.
        A vote that would be refused today is dropped.
        """
        with self._store.cursor() as cursor:
            held = votes.held(cursor)
        return [current for vote in held if (current := self._reopened(vote))]

    def _reopened(self, vote: Vote) -> Round | None:
        try:
            with self._store.cursor() as cursor:
                votes.check(cursor, [vote])
                reasons = votes.held_reasons(cursor, vote.id)
        except VoteError as error:
            _log.warning("Vote %s of an earlier run does not count: %s", vote.id, error)
            self._withdraw(vote)
            return None
        if not self._seconds:
            self._promote(vote)
            return None
        current = Round(vote.voter, self._store.battle(vote.battle))
        current.change(reasons=reasons and Reasons(*reasons))
        same = same_words(current.state.view().conversations)
        self._hold(current, vote, same, max(self._seconds, _RETURN))
        return current

    def cast(
        self, current: Round, vote: Vote, same: Groups = (), origin: str | None = None
    ) -> Reveal | None:
        """Store a vote and return who was who; None as long as it can be undone.

        Parameters
        ----------
        same : tuple
            Places whose answers had the same words.
        origin : str, optional
            Where the vote came from: stored with it, or not at all.
        """
        with current.changing:
            if current.state.held:
                raise VoteError(_(UNDO_FIRST))
            if not self._seconds:
                self._cast(vote, origin)
                return self._reveal(current, vote, same)
            self._keep(vote, origin)
            self._hold(current, vote, same, self._seconds)
            if self._closing:  # pages are still connected
                self._count_last(current)
            return current.state.reveal

    def _hold(self, current: Round, vote: Vote, same: Groups, seconds: float) -> None:
        current.change(held=Held(vote, same, time.monotonic() + seconds))
        self._holding.add(current)
        self._later(current, vote, seconds)

    def tie(self, current: Round, battle: Battle) -> None:
        """Store a battle with identical answers as the tie that it is, and tell who was who."""
        ranks = (1,) * len(battle.models)
        vote = Vote(new_id(), battle.id, current.owner, ranks, source=Source.IDENTICAL)
        with current.changing:
            self._store.cast(vote, battle=battle)
            current.change(battle=battle, pending=None)
            self._reveal(current, vote, ())

    def undo(self, current: Round) -> None:
        """Take a vote back and open the round's ballot again.

        Raises
        ------
        VoteError
            It counts already, or there is none.
        """
        with current.changing:
            if current.state.reveal:
                raise VoteError(_(_TOO_LATE))
            if not (held := current.state.held):
                raise VoteError(_(NO_VOTE))
            self._withdraw(held.vote)
            self._release(current)
            current.change(reasons=None)

    def explain(
        self, owner: str, vote: str, criteria: object, comment: object, rounds: Iterable[Round]
    ) -> None:
        """Store why a vote was cast, in place of what its voter said before.

        Parameters
        ----------
        vote : str
            Its id; its round may be long over.
        criteria, comment : object
            As a browser sends them; nothing at all takes back what was said.
        rounds : iterable of Round
            Those that are open: the one of the vote shows it.

        Raises
        ------
        VoteError
            The vote is not the owner's, or was undone; or the reasons are refused, see
            `coupled_arena.core.rationales`.
        """
        given = Reasons(check_criteria(criteria), check_comment(comment))
        rationale = Rationale(new_id(), vote, given.criteria, given.comment)
        mine = (each for each in rounds if each.owner == owner and each.state.vote == vote)
        current = next(mine, None)
        with current.changing if current else nullcontext():
            self._store.write(partial(votes.give_reasons, rationale=rationale, voter=owner))
            if current:
                current.change(reasons=given)

    def confirm(self, current: Round) -> None:
        """Count a vote that can be undone, if there is one, and tell who was who."""
        with current.changing:
            if held := current.state.held:
                self._promote(held.vote)
                self._reveal(current, held.vote, held.same)

    # What becomes of a vote in the store.

    def _cast(self, vote: Vote, origin: str | None) -> None:
        self._store.cast(vote, origin=origin, reveal=self._names_told)

    def _keep(self, vote: Vote, origin: str | None) -> None:
        self._store.write_along(votes.hold, votes.Casting(vote, origin=origin))

    def _withdraw(self, vote: Vote) -> None:
        self._store.write_along(votes.withdraw, vote.id)

    def _promote(self, vote: Vote) -> None:
        self._store.write_along(votes.promote, votes.Casting(vote, self._names_told))

    def confirm_if_due(self, current: Round) -> None:
        """Count a vote whose time is over, for a page that is a moment faster than the server."""
        held = current.state.held
        if held and time.monotonic() >= held.until:
            self.confirm(current)

    def close(self) -> None:
        """End the time of votes that can still be undone; or the next start gives it again."""
        self._closing = True
        for current in list(self._holding):
            self._count_last(current)
        if waiting := len(self._holding):
            _log.warning(
                "Votes that could still be undone: %(votes)s. They count after the next start.",
                {"votes": waiting},
            )

    def _count_last(self, current: Round) -> None:
        if self._held_over:
            return
        try:
            self.confirm(current)
        except ArenaError as error:
            _log.warning("A vote is not counted before the end: %s", error)

    def _reveal(self, current: Round, vote: Vote, same: Groups) -> Reveal:
        battle = current.state.battle
        reveal = reveal_of(battle, vote, reveals_seed=self._reveals_seed(current), same=same)
        current.change(reveal=reveal)
        mode = battle.mode.value if self._names_told else "hidden"
        self.named[mode, vote.source.value] += 1
        self._release(current)
        return reveal

    def _release(self, current: Round) -> None:
        current.change(held=None)
        self._holding.discard(current)

    def _later(self, current: Round, vote: Vote, seconds: float) -> None:
        timer = threading.Timer(seconds, self._time_is_over, (current, vote))
        timer.daemon = True
        timer.start()

    def _time_is_over(self, current: Round, vote: Vote) -> None:
        with current.changing:
            held = current.state.held
            # It may have been undone, and another one cast since.
            if self._closing or not held or held.vote.id != vote.id:
                return
            try:
                self.confirm(current)
            except StoreError as error:
                _log.warning("A vote waits to be counted: %s", error)
                self._later(current, vote, _RETRY)


class SecondVotes(Votes):
    """Votes on battles that come a second time: their rounds have them, until `keep`.

    They are told like others, so that nobody sees which ones they are. Nothing waits in the store:
    whoever was about to say it again when the server ends is asked once more.
    """

    def __init__(self, store: Store, seconds: float, *, held_over: bool = True) -> None:
        super().__init__(store, seconds, names_told=False, held_over=held_over)
        self._said: dict[Round, Vote] = {}

    def _cast(self, vote: Vote, origin: str | None) -> None: ...

    def _keep(self, vote: Vote, origin: str | None) -> None: ...

    def _withdraw(self, vote: Vote) -> None: ...

    def _promote(self, vote: Vote) -> None: ...

    def _reveal(self, current: Round, vote: Vote, same: Groups) -> Reveal:
        self._said[current] = vote
        return super()._reveal(current, vote, same)

    def explain(
        self, owner: str, vote: str, criteria: object, comment: object, rounds: Iterable[Round]
    ) -> None:
        """Note why a second vote was cast; it is stored with it."""
        given = Reasons(check_criteria(criteria), check_comment(comment))
        for current in rounds:
            if current.owner == owner and current.state.vote == vote:
                current.change(reasons=given)

    def keep(self, current: Round, shown: Sequence[int]) -> None:
        """Store what was said in a round that is over; nothing where nothing was.

        Parameters
        ----------
        shown : sequence of int
            The places of its battle, in the order in which they were shown.
        """
        with current.changing:
            if (vote := self._said.get(current)) is None:
                return
            why = current.state.reasons or Reasons((), "")
            by_place = replace(vote, ranks=repeats.exchanged(vote.ranks, shown))
            second = repeats.SecondVote(by_place, tuple(shown), why.criteria, why.comment)
            self._store.write(partial(repeats.add, second=second))
            del self._said[current]
