"""What a judge says of a round: for the visitor, or in place of their vote.

First rounds that a judge decides: verdicts alone, no vote. Then what the page shows of verdicts.
No judge is asked here: `judge_runs` does that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from coupled_arena.analysis.agreement import OwnAgreement, read_own_agreement
from coupled_arena.battles.judge_runs.request import Asked, JudgeOnRequest, LiveJudge, matchups_of
from coupled_arena.battles.rounds import decided_reveal
from coupled_arena.battles.undo import check_open
from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Finish, Origin, Outcome, Swap
from coupled_arena.core.verdicts import NOT_ASKED, Matchup, Verdict
from coupled_arena.judging.answer import read_reason
from coupled_arena.store.queries.battle_record import StoredVerdict, record_of
from coupled_arena.store.tables import judges, votes

if TYPE_CHECKING:
    import duckdb

    from coupled_arena.battles.rounds import Round
    from coupled_arena.store.database import Store


# Rounds that a judge decides in place of their visitor: verdicts alone, no vote.
#
# What the judge says is kept in memory until all of it is there. It is stored together with the
# reveal, for a verdict moves the judge's board, which could tell who plays.

_log = logging.getLogger(__name__)
_NO_ANSWER = N_(
    "The judge {judge} does not answer. The round is as it was: vote yourself, or let it try again."
)
_UNREADABLE = N_(
    "The answer of the judge {judge} could not be read. The round is as it was: vote "
    "yourself, or let it try again."
)
_NOT_STORED = N_(
    "The judge's verdict could not be stored. The round is as it was: vote yourself, or let "
    "it try again."
)


class Decisions:
    """Lets a judge decide rounds.

    The lock `changing` holds a round while this begins, ends or is called off. So of a vote and a
    judgement one comes too late. While the judge reads nothing is stored: should the server end,
    the round ends with it, as all do.

    Attributes
    ----------
    named : Counter of str
        Rounds that were decided, by mode.
    """

    def __init__(self, store: Store, asking: JudgeOnRequest) -> None:
        self.named: Counter[str] = Counter()
        self.judge = asking.name
        self._store = store
        self._asking = asking

    def begin(self, current: Round) -> None:
        """Ask the judge about a round; nothing changes where it is being asked already.

        Raises
        ------
        VoteError
            The round has a vote, its answers are not whole, or it was made earlier.
        JudgeError
            Its visitor has asked the judge too often.
        """
        with current.changing:
            if current.state.judging:
                return
            check_open(current)
            _check_whole(current)
            questions = questions_on(current.state.battle, self._asking.swap)
            asked = Asked(questions, current.state.unjudged)
            self._asking.ask(current.owner, asked, partial(self._end, current))
            current.change(judging=asked, unjudged=None)

    def cancel(self, current: Round) -> None:
        """Call it off: the round is its visitor's to vote on; too late, it changes nothing."""
        with current.changing:
            if asked := current.state.judging:
                asked.cancel()
                self._give_up(current, asked, None)

    def _end(self, current: Round, asked: Asked) -> None:
        with current.changing:
            if current.state.judging is not asked:  # called off meanwhile
                return
            if asked.failed:
                self._give_up(current, asked, _(_NO_ANSWER).format(judge=self.judge))
            elif not asked.readable:
                self._give_up(current, asked, _(_UNREADABLE).format(judge=self.judge))
            else:
                self._decide(current, asked)

    def _decide(self, current: Round, asked: Asked) -> None:
        battle = current.state.battle

        def store(cursor: duckdb.DuckDBPyConnection) -> None:
            judges.add_verdicts(cursor, asked.verdicts)
            votes.add_reveals(cursor, [(battle.id, current.owner)])

        try:
            self._store.write(store)
        except StoreError as error:
            _log.warning("What a judge said of a round could not be stored: %s", error)
            self._give_up(current, asked, _(_NOT_STORED))
            return
        current.change(judging=None, reveal=decided_reveal(battle))
        self.named[battle.mode.value] += 1

    def _give_up(self, current: Round, asked: Asked, why: str | None) -> None:
        """Open the round again; what was readable is not asked again."""
        asked.trouble = why
        current.change(judging=None, unjudged=asked)


def questions_on(battle: Battle, swap: Swap) -> tuple[Matchup, ...]:
    """Return what a judge is asked of a battle."""
    answers = [
        [prompt.prefix + _text(battle, turn, place) for turn, prompt in enumerate(battle.prompts)]
        for place in range(len(battle.models))
    ]
    return matchups_of(battle.id, [prompt.text for prompt in battle.prompts], answers, swap)


def _text(battle: Battle, turn: int, place: int) -> str:
    return next(r.text for r in battle.replies if (r.turn, r.place) == (turn, place))


def _check_whole(current: Round) -> None:
    state = current.state
    if state.error:
        raise VoteError(state.error)
    if state.battle.origin is not Origin.ARENA:
        raise VoteError(
            _("The judge decides only battles that you started: vote, or skip this one.")
        )
    if state.pending or not state.battle.replies:
        raise VoteError(
            _("The answers are still being written: the judge reads only complete answers.")
        )
    if any(reply.finish is Finish.CANCELLED for reply in state.battle.replies):
        raise VoteError(
            _(
                "Some answers were stopped, and the judge reads only complete answers: vote "
                "yourself."
            )
        )
    if not any(reply.text for reply in state.battle.replies):
        raise VoteError(_("Nothing was written, so there is nothing to judge: ask once more."))


_LOOK = 0.2  # seconds between looks, which cost nothing where nothing has moved
_TURNED = {Outcome.FIRST: Outcome.SECOND, Outcome.SECOND: Outcome.FIRST}


@dataclass(frozen=True)
class OrderFeedback:
    """One answer of the judge: which two places it was shown as A and B, and what it said.

    `outcome` is of these two in that order, None where it is unreadable. `raw` is None where the
    judge was not asked, because the answers have the same words. `reason` is None where it gave
    none.
    """

    first: int
    second: int
    outcome: Outcome | None
    raw: str | None
    reason: str | None = None


@dataclass(frozen=True)
class PairFeedback:
    """What the judge says of two places: in each order, and the outcome that follows.

    The outcome is None as long as there is no readable answer; orders that disagree are a tie.
    """

    first: int
    second: int
    outcome: Outcome | None
    orders: tuple[OrderFeedback, ...]
    missing: int


@dataclass(frozen=True)
class Judgement:
    """What the judge has said of a round so far.

    Attributes
    ----------
    pairs : tuple of PairFeedback
        All pairs of places.
    answering : bool
        False while the judge does not answer.
    own : OwnAgreement or None
        How often it has agreed with this visitor, once it has said everything.
    """

    judge: str
    pairs: tuple[PairFeedback, ...]
    answering: bool
    own: OwnAgreement | None = None

    @property
    def complete(self) -> bool:
        """Whether every question has its answer."""
        return not any(pair.missing for pair in self.pairs)


class JudgedRounds:
    """The judge beside the rounds of this process.

    Parameters
    ----------
    live : LiveJudge
        Judges what was voted on.
    swap : Swap
        In which order it is asked.
    round_of : callable
        Returns a visitor's round; raises VoteError where there is none.
    decisions : Decisions, optional
        Lets the judge decide in place of the visitor, where it may.
    """

    def __init__(
        self,
        live: LiveJudge,
        swap: Swap,
        store: Store,
        round_of: Callable[[str, str], Round],
        decisions: Decisions | None = None,
    ) -> None:
        self.judge = live.name
        self.decisions = decisions
        self._live = live
        self._swap = swap
        self._store = store
        self._round_of = round_of

    def check(self, owner: str, round_id: str) -> None:
        """Raise VoteError where a round is not there, or not this visitor's."""
        self._round_of(owner, round_id)

    def decide(self, owner: str, round_id: str, *, begin: bool) -> None:
        """Let the judge decide a round, or call that off; see `Decisions`."""
        current = self._round_of(owner, round_id)
        if self.decisions and begin:
            self.decisions.begin(current)
        elif self.decisions:
            self.decisions.cancel(current)

    async def watch_deciding(self, owner: str, round_id: str) -> AsyncGenerator[int]:
        """Yield how many questions are answered while the judge decides a round, to its end.

        Raises
        ------
        VoteError
            The round is not there, or not theirs.
        """
        current, answered = self._round_of(owner, round_id), -1
        while asked := current.state.judging:
            if len(asked.verdicts) != answered:
                answered = len(asked.verdicts)
                yield answered
            await asyncio.sleep(_LOOK)

    async def watch(self, owner: str, round_id: str) -> AsyncGenerator[Judgement]:
        """Yield what the judge says of a round whose models are known, until that is complete.

        Raises
        ------
        VoteError
            The round is not there, or not theirs.
        """
        current = self._round_of(owner, round_id)
        shown, news = None, -1
        while current.state.reveal:
            if (news, shown and shown.answering) != (self._live.news, self._live.answering):
                news = self._live.news
                judgement = await asyncio.to_thread(self._read, current)
                if judgement != shown:
                    shown = judgement
                    yield judgement
                if judgement.complete:
                    return
            await asyncio.sleep(_LOOK)

    def _read(self, current: Round) -> Judgement:
        battle, answering = current.state.battle, self._live.answering
        with self._store.cursor() as cursor:
            found = [v for v in record_of(cursor, battle.id).verdicts if v.judge == self.judge]
            pairs = pair_feedback(len(battle.models), found, self._swap)
            judgement = Judgement(self.judge, pairs, answering)
            if not judgement.complete:
                return judgement
            own = read_own_agreement(cursor, self.judge, current.owner)
        return Judgement(self.judge, pairs, answering=True, own=own)


def pair_feedback(
    size: int, verdicts: Sequence[Verdict | StoredVerdict], swap: Swap
) -> tuple[PairFeedback, ...]:
    """Return what a judge says of all pairs of so many places, the newest readable answer each."""
    orders = 2 if swap is Swap.BOTH else 1
    return tuple(_pair(i, j, verdicts, orders) for i, j in combinations(range(size), 2))


def _pair(i: int, j: int, verdicts: Sequence[Verdict | StoredVerdict], orders: int) -> PairFeedback:
    newest = {
        (v.first_place, v.second_place): v
        for readable in (False, True)
        for v in verdicts
        if {v.first_place, v.second_place} == {i, j} and bool(v.outcome) is readable
    }
    orders_read = tuple(
        OrderFeedback(*places, v.outcome, None if v.raw == NOT_ASKED else v.raw, read_reason(v.raw))
        for places, v in sorted(newest.items())
    )
    wanted = 1 if any(each.raw is None for each in orders_read) else orders
    return PairFeedback(
        i, j, outcome_of(orders_read), orders_read, max(0, wanted - len(orders_read))
    )


def outcome_of(orders_read: Sequence[OrderFeedback]) -> Outcome | None:
    """Return what the orders say together of the lower place and the higher one.

    The winner if every readable answer names it, else a tie; as the view `judgements` has it.
    """
    outcomes = {
        each.outcome if each.first < each.second else _TURNED.get(each.outcome, each.outcome)
        for each in orders_read
        if each.outcome
    }
    if not outcomes:
        return None
    return outcomes.pop() if len(outcomes) == 1 else Outcome.TIE
