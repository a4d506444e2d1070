"""The judge behind the app: on request, while a visitor waits, and live, after votes.

First how often visitors may ask, for somebody has to pay for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_runs.run import Run
from coupled_arena.core.errors import JudgeError, StoreError
from coupled_arena.core.language import _
from coupled_arena.core.records import Outcome, Swap
from coupled_arena.core.verdicts import Matchup, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from coupled_arena.store.work_queues.judging import MatchupSelection, PendingMatchups

if TYPE_CHECKING:
    from coupled_arena.judging.judge import Judge


_log = logging.getLogger(__name__)

# How often visitors may ask a judge: somebody has to pay for it.

_HOUR, _DAY = 3600.0, 86_400.0


class Allowance:
    """Counts the questions that visitors put to a judge, each visitor's and all together.

    Parameters
    ----------
    hourly : int
        Most questions of one visitor within an hour.
    daily : int
        Most of all visitors within a day.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self, hourly: int, daily: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hourly = hourly
        self._daily = daily
        self._clock = clock
        self._taken: deque[tuple[float, str]] = deque()  # of the last day, a question each
        self._taking = threading.Lock()

    def take(self, visitor: str, questions: int) -> None:
        """Count questions that are about to be asked, all of them or none.

        Raises
        ------
        JudgeError
            There would be too many.
        """
        with self._taking:
            now = self._clock()
            while self._taken and self._taken[0][0] <= now - _DAY:
                self._taken.popleft()
            mine = [at for at, who in self._taken if who == visitor and at > now - _HOUR]
            over = len(mine) + questions - self._hourly
            if over > 0:
                raise JudgeError(self._later(mine, over, now))
            if len(self._taken) + questions > self._daily:
                text = _(
                    "The judge answers {n} questions of visitors in a day, and has answered "
                    "them all. Vote yourself, or come back later."
                )
                raise JudgeError(text.format(n=self._daily))
            self._taken.extend((now, visitor) for _ in range(questions))

    def give_back(self, visitor: str, questions: int) -> None:
        """Take questions off the count that had no answer."""
        with self._taking:
            for _ in range(questions):
                newest = next((x for x in reversed(self._taken) if x[1] == visitor), None)
                if newest:
                    self._taken.remove(newest)

    def _later(self, mine: list[float], over: int, now: float) -> str:
        if over > len(mine):
            text = _(
                "You may ask the judge {n} questions an hour, and this needs more. Vote yourself."
            )
            return text.format(n=self._hourly)
        minutes = int((mine[over - 1] + _HOUR - now) // 60) + 1
        text = _(
            "You may ask the judge {n} questions an hour; this needs {over} more than are "
            "left. Vote yourself, or come back in {minutes} min."
        )
        return text.format(n=self._hourly, over=over, minutes=minutes)


def matchups_of(
    battle: str, questions: Sequence[str], answers: Sequence[Sequence[str]], swap: Swap
) -> tuple[Matchup, ...]:
    """Return what a judge is asked of one battle, as `store.pending.matchups` has it.

    Parameters
    ----------
    questions : sequence of str
        One a turn.
    answers : sequence of sequence of str
        Of each model in order of presentation: one text a turn.
    """
    asked: list[Matchup] = []
    for i, j in combinations(range(len(answers)), 2):
        one, other = tuple(answers[i]), tuple(answers[j])
        there = Matchup(battle, i, j, tuple(questions), one, other)
        back = Matchup(battle, j, i, tuple(questions), other, one)
        if there.identical:
            asked.append(there)
        elif swap is Swap.BOTH:
            asked += [there, back]
        else:
            digest = hashlib.md5(f"{battle}/{i}/{j}".encode(), usedforsecurity=False)
            asked.append(back if digest.hexdigest() >= "8" else there)
    return tuple(asked)


class Asked:
    """Questions that somebody has put to a judge, and what it has answered so far.

    Attributes
    ----------
    verdicts : list of Verdict
        In the order in which they came, unreadable ones included.
    failed, done : bool
        Whether a question had no answer, and whether all have had theirs or failed.
    trouble : str or None
        Why nothing came of them, in words for whoever asked.
    """

    def __init__(self, questions: tuple[Matchup, ...], earlier: Asked | None = None) -> None:
        self.questions = questions
        known = earlier.verdicts if earlier and earlier.questions == questions else []
        self.verdicts = [verdict for verdict in known if verdict.outcome]  # paid for already
        self.failed = self.done = False
        self.trouble: str | None = None
        self.future: Future[None] | None = None

    @property
    def over(self) -> bool:
        """Whether no more answers will come."""
        return self.done or (self.future is not None and self.future.done())

    @property
    def readable(self) -> bool:
        """Whether any of the answers is a verdict."""
        return any(verdict.outcome for verdict in self.verdicts)

    def trouble_after(self, turns: int) -> str | None:
        """Return the trouble, as long as the conversation has not gone on."""
        return self.trouble if len(self.questions[0].questions) == turns else None

    @property
    def missing(self) -> tuple[Matchup, ...]:
        """Questions that have no readable answer yet."""
        known = {(v.first_place, v.second_place) for v in self.verdicts if v.outcome}
        return tuple(q for q in self.questions if (q.first_place, q.second_place) not in known)

    def cancel(self) -> None:
        """Wait for no more answers."""
        if self.future:
            self.future.cancel()


class JudgeOnRequest:
    """Asks a judge for visitors who wait, on an event loop in a thread of its own.

    Parameters
    ----------
    judge : Judge
        It is nobody else's: a client belongs to one loop.
    concurrency : int
        Most questions in flight.
    """

    def __init__(self, judge: Judge, concurrency: int, allowance: Allowance) -> None:
        self.name = judge.spec.name
        self.swap = judge.spec.swap
        self._judge = judge
        self._concurrency = concurrency
        self._allowance = allowance
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="judge-on-request", daemon=True)
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Drop the questions in flight and end."""
        with suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def ask(
        self,
        visitor: str,
        asked: Asked,
        then: Callable[[Asked], object] = lambda asked: None,  # noqa: ARG005
    ) -> None:
        """Put all questions that have no readable answer to the judge.

        Parameters
        ----------
        visitor : str
            Who wants to know.
        then : callable, optional
            Called in a thread once every question has had its answer or its failure; not where
            it is cancelled.

        Raises
        ------
        JudgeError
            The visitor, or all of them together, ask too much.
        """
        missing = asked.missing
        self._allowance.take(visitor, sum(not question.identical for question in missing))
        work = self._over(visitor, asked, missing, then)
        try:
            asked.future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise JudgeError(_("The arena is closing. Try again in a minute.")) from None

    def _serve(self) -> None:
        asyncio.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._places = asyncio.Semaphore(self._concurrency)
        self._ready.set()
        async with self._judge:
            await self._closing.wait()
            running = asyncio.all_tasks() - {asyncio.current_task()}
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _over(
        self,
        visitor: str,
        asked: Asked,
        missing: Sequence[Matchup],
        then: Callable[[Asked], object],
    ) -> None:
        # Those in flight are waited for where one fails: they are paid for.
        answers = (self._one(question, asked) for question in missing)
        ended = await asyncio.gather(*answers, return_exceptions=True)
        errors = [error for error in ended if isinstance(error, BaseException)]
        if errors:
            trouble = (
                errors[0].brief if isinstance(errors[0], JudgeError) else type(errors[0]).__name__
            )
            fields = {"judge": self.name, "trouble": trouble}
            _log.warning("What a visitor asked the judge %(judge)s: %(trouble)s", fields)
            self._allowance.give_back(visitor, len(errors))
        asked.failed = bool(errors)
        asked.done = True
        await asyncio.to_thread(then, asked)

    async def _one(self, question: Matchup, asked: Asked) -> None:
        if question.identical:
            asked.verdicts.append(question.not_asked(self.name))
            return
        async with self._places:
            answer = await self._judge.ask(question)
        outcome = answer.outcome if isinstance(answer.outcome, Outcome) else None
        likely = answer.probability, answer.probabilities
        asked.verdicts.append(question.answered(self.name, outcome, answer.raw, *likely))


# Live: a thread judges battles of the app once somebody has voted on them.

_LOOK = 0.5  # seconds between looks for new votes
_LONGEST_PAUSE = 60.0  # seconds between attempts while the judge does not answer


class _Matchups(PendingMatchups):
    """What is to be judged; tells how many verdicts have just been stored."""

    def __init__(
        self, store: Store, wanted: MatchupSelection, on_stored: Callable[[int], object]
    ) -> None:
        super().__init__(store, wanted)
        self._on_stored = on_stored

    def add(self, answers: Sequence[Verdict]) -> None:
        super().add(answers)
        self._on_stored(len(answers))


class LiveJudge:
    """Judges revealed battles in the background, those of earlier runs of the app first.

    It starts from the votes in the store, never from the round. So a vote waits for nothing, and
    what an outage or a restart left over is found again.

    Raises
    ------
    StoreError
        The judge's name stands for another judge.
    """

    def __init__(self, judge: Judge, store: Store, concurrency: int) -> None:
        self.name = judge.spec.name
        self.answering = True
        """False from the first unanswered question until everything has been caught up."""
        self.news = 0
        """Grows with every verdict that is stored."""
        self._judge = judge
        self._store = store
        self._concurrency = concurrency
        self._leaving = threading.Event()
        self._run: Run | None = None
        spec = judge.spec
        store.write(lambda cursor: judges.bind(cursor, *spec.binding))
        self._thread = threading.Thread(target=self._work, name="live-judge", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop judging; questions in flight are asked again next time."""
        self._leaving.set()
        if run := self._run:
            run.stop("closing")
            run.stop("closing")
        self._thread.join()

    def _work(self) -> None:
        judged = 0  # number of the last vote whose battle, and all before it, are judged
        pause = _LOOK
        while not self._leaving.wait(pause):
            newest = self._store.version()[0]
            trouble = self._judge_since(judged) if newest > judged else None
            if trouble is None:
                judged = newest
                self._answers()
            else:
                self._is_silent(trouble)
            pause = _LOOK if trouble is None else min(max(2 * pause, 2.0), _LONGEST_PAUSE)

    def _judge_since(self, vote: int) -> str | None:
        """Judge what was revealed after a vote; return what went wrong, if anything did."""
        spec = self._judge.spec
        wanted = MatchupSelection(spec.name, spec.swap, revealed=True, after_vote=vote)
        self._run = Run(self._judge, self._concurrency)
        if self._leaving.is_set():
            return None
        try:
            with _Matchups(self._store, wanted, self._count_news) as pending:
                asyncio.run(self._run.over(pending))
        except JudgeError as error:
            return error.brief
        except StoreError as error:
            return str(error)
        return self._run.trouble and self._run.trouble.brief

    def _count_news(self, verdicts: int) -> None:
        self.news += verdicts

    def _answers(self) -> None:
        if not self.answering:
            _log.info("The judge %s answers again; nothing is left to judge.", self.name)
        self.answering = True

    def _is_silent(self, trouble: str) -> None:
        if self.answering:
            fields = {"trouble": trouble}
            _log.warning("Live judging waits: %(trouble)s It is tried again.", fields)
        self.answering = False
