"""Rounds that a judge decides in place of their visitor: verdicts alone, no vote.

What the judge says is kept in memory until all of it is there. It is stored together with the
reveal, for a verdict moves the judge's board, which could tell who plays.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_runs.request import Asked, JudgeOnRequest, matchups_of
from coupled_arena.battles.undo import check_open
from coupled_arena.battles.voting import decided_reveal
from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Finish, Origin, Swap
from coupled_arena.core.verdicts import Matchup
from coupled_arena.store.tables import verdicts, votes

if TYPE_CHECKING:
    import duckdb

    from coupled_arena.battles.rounds import Round
    from coupled_arena.store.database import Store

_log = logging.getLogger(__name__)
_NO_ANSWER = N_(
    "The judge {judge} does not answer. The round is as it was: vote yourself, or let it try again."
)
_UNREADABLE = N_(
    "The judge {judge} said nothing readable. The round is as it was: vote yourself, or let it try "
    "again."
)
_NOT_STORED = N_(
    "What the judge said could not be stored. The round is as it was: vote yourself, or let it try "
    "again."
)


class Decisions:
    """Lets a judge decide rounds.

    A round is held by its lock `changing` while this begins, ends or is called off, so that of a
    vote and a judgement one comes too late. While the judge reads nothing is stored: should the
    server end, the round ends with it, as all do.

    Parameters
    ----------
    store : Store
    asking : JudgeOnRequest

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
            verdicts.add(cursor, asked.verdicts)
            votes.tell(cursor, [(battle.id, current.owner)])

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
        raise VoteError(_("The judge decides battles of your own alone: vote, or skip this one."))
    if state.pending or not state.battle.replies:
        raise VoteError(_("The answers are still being written: the judge reads whole ones."))
    if any(reply.finish is Finish.CANCELLED for reply in state.battle.replies):
        raise VoteError(
            _("Some answers were stopped, and the judge reads whole ones: vote yourself.")
        )
    if not any(reply.text for reply in state.battle.replies):
        raise VoteError(_("Nothing was written, so there is nothing to judge: ask once more."))
