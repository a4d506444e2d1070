"""What a judge says of a round, for the visitor whose round it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from coupled_arena.analysis.audit.own import OwnAgreement, read_own_agreement
from coupled_arena.battles.judge_runs.live import LiveJudge
from coupled_arena.core.records import Outcome, Swap
from coupled_arena.core.verdicts import NOT_ASKED, Verdict
from coupled_arena.judging.answer import read_reason
from coupled_arena.store.queries.battle_record import StoredVerdict, said_of

if TYPE_CHECKING:
    from coupled_arena.battles.deciding import Decisions
    from coupled_arena.battles.rounds import Round
    from coupled_arena.store.database import Store

_LOOK = 0.2  # seconds between looks, which cost nothing where nothing has moved
_TURNED = {Outcome.FIRST: Outcome.SECOND, Outcome.SECOND: Outcome.FIRST}


@dataclass(frozen=True)
class Said:
    """One answer of the judge: which two places it was shown as A and B, and what it said.

    `outcome` is of these two in that order, None where it is unreadable. `raw` is None where the
    judge was not asked, for the answers have the same words, and `reason` where it gave none.
    """

    first: int
    second: int
    outcome: Outcome | None
    raw: str | None
    reason: str | None = None


@dataclass(frozen=True)
class PairSaid:
    """What the judge says of two places: in each order, and the outcome that follows.

    The outcome is None as long as there is no readable answer; orders that disagree are a tie.
    """

    first: int
    second: int
    outcome: Outcome | None
    said: tuple[Said, ...]
    missing: int


@dataclass(frozen=True)
class Judgement:
    """What the judge has said of a round so far.

    Attributes
    ----------
    pairs : tuple of PairSaid
        All pairs of places.
    answering : bool
        False while the judge does not answer.
    own : OwnAgreement or None
        How often it has agreed with this visitor, once it has said everything.
    """

    judge: str
    pairs: tuple[PairSaid, ...]
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
    store : Store
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
        current, told = self._round_of(owner, round_id), -1
        while asked := current.state.judging:
            if len(asked.verdicts) != told:
                told = len(asked.verdicts)
                yield told
            await asyncio.sleep(_LOOK)

    async def watch(self, owner: str, round_id: str) -> AsyncGenerator[Judgement]:
        """Yield what the judge says of a round whose models are known, until that is complete.

        Raises
        ------
        VoteError
            The round is not there, or not theirs.
        """
        current = self._round_of(owner, round_id)
        told, news = None, -1
        while current.state.reveal:
            if (news, told and told.answering) != (self._live.news, self._live.answering):
                news = self._live.news
                judgement = await asyncio.to_thread(self._read, current)
                if judgement != told:
                    told = judgement
                    yield judgement
                if judgement.complete:
                    return
            await asyncio.sleep(_LOOK)

    def _read(self, current: Round) -> Judgement:
        battle, answering = current.state.battle, self._live.answering
        with self._store.cursor() as cursor:
            found = [v for v in said_of(cursor, battle.id).verdicts if v.judge == self.judge]
            pairs = pairs_said(len(battle.models), found, self._swap)
            judgement = Judgement(self.judge, pairs, answering)
            if not judgement.complete:
                return judgement
            own = read_own_agreement(cursor, self.judge, current.owner)
        return Judgement(self.judge, pairs, answering=True, own=own)


def pairs_said(
    size: int, verdicts: Sequence[Verdict | StoredVerdict], swap: Swap
) -> tuple[PairSaid, ...]:
    """Return what a judge says of all pairs of so many places, the newest readable answer each."""
    orders = 2 if swap is Swap.BOTH else 1
    return tuple(_pair(i, j, verdicts, orders) for i, j in combinations(range(size), 2))


def _pair(i: int, j: int, verdicts: Sequence[Verdict | StoredVerdict], orders: int) -> PairSaid:
    newest = {
        (v.first_place, v.second_place): v
        for readable in (False, True)
        for v in verdicts
        if {v.first_place, v.second_place} == {i, j} and bool(v.outcome) is readable
    }
    said = tuple(
        Said(*places, v.outcome, None if v.raw == NOT_ASKED else v.raw, read_reason(v.raw))
        for places, v in sorted(newest.items())
    )
    wanted = 1 if any(each.raw is None for each in said) else orders
    return PairSaid(i, j, outcome_of(said), said, max(0, wanted - len(said)))


def outcome_of(said: Sequence[Said]) -> Outcome | None:
    """Return what the orders say together of the lower place and the higher one.

    The winner if every readable answer names it, else a tie; as the view `judgements` has it.
    """
    outcomes = {
        each.outcome if each.first < each.second else _TURNED.get(each.outcome, each.outcome)
        for each in said
        if each.outcome
    }
    if not outcomes:
        return None
    return outcomes.pop() if len(outcomes) == 1 else Outcome.TIE
