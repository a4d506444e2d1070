"""One pass of a judge over what it has not judged: no verdict is lost, none is paid twice.

At the end the same in bulk, from the command line: a bar, a budget, and Ctrl-C at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from coupled_arena.core.errors import JudgeError, NoAnswerError, StoreError
from coupled_arena.core.process import on_interrupt
from coupled_arena.core.verdicts import Grade, Matchup, Question, Verdict
from coupled_arena.judging.spec import Budget, BudgetAccount, JudgeSpec
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from coupled_arena.store.work_queues.judging import (
    MatchupSelection,
    PendingMatchups,
    PendingSolutions,
)

if TYPE_CHECKING:
    from coupled_arena.judging.judge import Judge


_BATCH = 500  # verdicts in one transaction
_BEHIND = 0.25  # seconds that a verdict waits for others to be written with
_BEHIND_AT_MOST = 4 * _BATCH  # verdicts not written yet, before nothing more is asked
_FEWEST_FAILURES = 3  # in a row, before a run ends
_AROUND = 1500  # characters of a question besides the judge's prompt and the texts


@dataclass
class Tally:
    """What a run has done so far.

    Attributes
    ----------
    asked : int
        Verdicts that an answer gave, unreadable ones included.
    identical : int
        Ties of identical answers, which the judge was not asked about.
    failed : int
        Questions without an answer; they are still to be asked.
    tokens_in, tokens_out, cost
        What the answers used, and their price.
    stopped : str or None
        Why it ended before everything was judged.
    """

    asked: int = 0
    identical: int = 0
    unreadable: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    stopped: str | None = None


def _silent(tally: Tally, settled: int) -> None: ...


class PendingQuestions(Protocol):
    """What a judge has not been asked yet, and where its answers go."""

    def pages(self) -> Iterator[Sequence[Question]]:
        """Yield everything that is to be asked."""
        ...

    def add(self, answers: Sequence[Any]) -> None:
        """Write answers; those that are there already change nothing."""
        ...


@dataclass
class Run:
    """One pass of a judge over what it has not judged.

    Attributes
    ----------
    progress : callable
        Called with the tally and the number of questions that have just been settled.
    """

    judge: Judge
    concurrency: int = 8
    budget: Budget = field(default_factory=Budget)
    progress: Callable[[Tally, int], None] = _silent

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.trouble: NoAnswerError | None = None  # what the last unanswered question met
        self._pages: Iterator[Sequence[Question]] = iter(())
        self._waiting: deque[Question] = deque()
        self._in_a_row = 0
        self._error: JudgeError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._reading = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._given: asyncio.Queue[Verdict | Grade | None] = asyncio.Queue()
        overhead = len(self.judge.spec.prompt.text) + _AROUND
        self._account = BudgetAccount(self.budget, overhead, self.judge.spec.max_tokens)

    async def over(self, pending: PendingQuestions) -> Tally:
        """Ask all that is pending, once, and write each answer within a second.

        Raises
        ------
        JudgeError
            The judge cannot be asked, or did not answer several times in a row. All verdicts
            that were received are stored.
        StoreError
            The database cannot be written.
        """
        begun = time.perf_counter()
        self._pending, self._pages = pending, pending.pages()
        self._loop = asyncio.get_running_loop()
        try:
            async with self.judge, asyncio.TaskGroup() as group:
                group.create_task(self._write())
                async with asyncio.TaskGroup() as asking:
                    new = asking.create_task
                    self._workers = [new(self._work()) for _ in range(self.concurrency)]
                self._given.put_nowait(None)
        except* StoreError as several:
            raise several.exceptions[0] from None
        self.tally.seconds = time.perf_counter() - begun
        if self._error:
            raise self._error
        return self.tally

    def stop(self, why: str) -> None:
        """Ask nothing more; once again: do not wait for answers either. For any thread."""
        if self._loop is None:
            self._stop(why)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: it is over already
            self._loop.call_soon_threadsafe(self._stop, why)

    def _stop(self, why: str) -> None:
        if self._stopping.is_set():
            for worker in self._workers:
                worker.cancel()
        self.tally.stopped = self.tally.stopped or why
        self._stopping.set()

    async def _work(self) -> None:
        while not self._stopping.is_set() and (question := await self._next()):
            if isinstance(question, Matchup) and question.identical:
                self.tally.identical += 1
                self._give(question.not_asked(self.judge.spec.name))
                continue
            while self._given.qsize() > _BEHIND_AT_MOST:  # a slow disk
                await asyncio.sleep(_BEHIND)
            reserved = self._account.reserve(question)
            if reserved is None:
                self._end("budget")
                return
            await self._ask(question, reserved)

    async def _ask(self, question: Question, reserved: float) -> None:
        answer = None
        try:
            answer = await self.judge.ask(question, self._stopping)
        except NoAnswerError as error:
            self._failed(error)
        except JudgeError as error:
            self._end("error", error)
        finally:
            self._account.settle(question, reserved, answer)
        if answer is None:
            return
        self._in_a_row = 0
        self.tally.asked += 1
        self.tally.unreadable += answer.outcome is None
        self.tally.tokens_in, self.tally.tokens_out = (
            self._account.tokens_in,
            self._account.tokens_out,
        )
        self.tally.cost = self._account.cost
        name = self.judge.spec.name
        outcome: Any = answer.outcome  # of the question's kind: the judge's ballot is
        likely: Any = [answer.probability]
        if isinstance(question, Matchup):
            likely.append(answer.probabilities)
        self._give(question.answered(name, outcome, answer.raw, *likely))

    def _failed(self, error: NoAnswerError) -> None:
        if self._stopping.is_set():
            return
        self.trouble = error
        self.tally.failed += 1
        self._in_a_row += 1
        self.progress(self.tally, 1)
        if self._in_a_row >= max(_FEWEST_FAILURES, self.concurrency):
            self._end("error", error)

    def _end(self, why: str, error: JudgeError | None = None) -> None:
        self.tally.stopped = self.tally.stopped or why
        self._error = self._error or error
        self._stopping.set()

    async def _next(self) -> Question | None:
        async with self._reading:
            if not self._waiting:
                self._waiting.extend(await asyncio.to_thread(next, self._pages, ()))
            if not self._waiting:
                return None
            question = self._waiting.popleft()
            if self._waiting and _settles(question, self._waiting[0]):
                self._waiting.popleft()
                self.progress(self.tally, 1)
            return question

    def _give(self, verdict: Verdict | Grade) -> None:
        # Without waiting: nothing that was received may be lost when its worker is cancelled.
        self._given.put_nowait(verdict)
        self.progress(self.tally, 1)

    async def _write(self) -> None:
        verdict = await self._given.get()
        while verdict:
            batch = [verdict]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BEHIND):
                    while len(batch) < _BATCH and (verdict := await self._given.get()):
                        batch.append(verdict)
            await asyncio.to_thread(self._pending.add, batch)
            if verdict:
                verdict = await self._given.get()


def _settles(one: Question, other: Question) -> bool:
    """Return whether one is about equal answers, and the other about the same in turned order."""
    if not (isinstance(one, Matchup) and isinstance(other, Matchup) and one.identical):
        return False
    return (one.battle, one.first_place, one.second_place) == (
        *(other.battle, other.second_place, other.first_place),
    )


# In bulk.


@dataclass(frozen=True)
class Judged:
    """What a bulk run did; see `Tally`.

    Attributes
    ----------
    verdicts : int
        New ones, or new grades: those asked for, and ties of identical answers.
    skipped : int
        Verdicts that were there already.
    left : int
        Questions that are still to be asked.
    trouble : str or None
        What the last question without an answer met.
    """

    judge: str
    model: str
    prompt_hash: str
    verdicts: int
    asked: int
    identical: int
    unreadable: int
    failed: int
    skipped: int
    left: int
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float
    stopped: str | None
    trouble: str | None


def judge_stored(
    judge: Judge,
    store: Store,
    *,
    ask_unreadable: bool = False,
    limit: int | None = None,
    concurrency: int = 8,
    budget: Budget | None = None,
    progress: bool = True,
) -> Judged:
    """Let a judge judge the stored battles, or grade the answers, that it has not; main thread.

    After Ctrl-C it waits for the answers that it has asked for; after a second one it does not.
    Either way what was received is stored.

    Parameters
    ----------
    ask_unreadable, progress : bool
        Ask again what had unreadable answers; show a bar on stderr.
    limit : int, optional
        Most battles, or answers.

    Raises
    ------
    JudgeError
        See `Run.over`.
    StoreError
        The judge's name stands for another judge, or the database cannot be written.
    """
    spec = judge.spec
    store.write(lambda cursor: judges.bind(cursor, *spec.binding))
    with _pending(store, spec, ask_unreadable=ask_unreadable, limit=limit) as pending:
        bar = _Bar(pending.questions, spec.ballot.key, shown=progress)
        run = Run(judge, concurrency, budget or Budget(), bar.update)
        tally = _finish(run, pending, bar)
    return Judged(
        judge=spec.name,
        model=spec.model,
        prompt_hash=spec.prompt.sha256,
        verdicts=tally.asked + tally.identical,
        skipped=pending.skipped,
        left=pending.questions - bar.settled + tally.failed,
        trouble=run.trouble and str(run.trouble),
        **asdict(tally),
    )


class _Bar:
    """Questions that are settled, and what they have cost, on stderr."""

    def __init__(self, questions: int, unit: str, *, shown: bool) -> None:
        from tqdm import tqdm  # comes with the judge's client

        self.settled = 0
        self._bar = tqdm(total=questions, unit=unit, disable=not shown)

    def update(self, tally: Tally, questions: int) -> None:
        self.settled += questions
        self._bar.set_postfix_str(_cost_so_far(tally), refresh=False)
        self._bar.update(questions)

    def interrupted(self) -> None:
        self._bar.set_description("waiting for the last answers; Ctrl-C drops them")

    def close(self) -> None:
        self._bar.close()


def _finish(run: Run, pending: PendingQuestions, bar: _Bar) -> Tally:
    def interrupt() -> None:
        bar.interrupted()
        run.stop("interrupted")

    try:
        with on_interrupt(interrupt):
            return asyncio.run(run.over(pending))
    except JudgeError as error:
        kept = run.tally.asked + run.tally.identical
        key = run.judge.spec.ballot.key
        text = f"{error} {kept} new {key}s are stored; the same command goes on."
        raise type(error)(text) from None
    finally:
        bar.close()


def _pending(
    store: Store, spec: JudgeSpec, *, ask_unreadable: bool, limit: int | None
) -> PendingMatchups | PendingSolutions:
    if spec.grades:
        return PendingSolutions(store, spec.name, again=ask_unreadable, limit=limit)
    return PendingMatchups(
        store, MatchupSelection(spec.name, spec.swap, again=ask_unreadable, limit=limit)
    )


def _cost_so_far(tally: Tally) -> str:
    parts = [f"{tally.tokens_in + tally.tokens_out:,} tokens"]
    if tally.cost:
        parts.append(f"cost {tally.cost:.4f}")
    if tally.unreadable:
        parts.append(f"{tally.unreadable:,} unreadable")
    if tally.failed:
        parts.append(f"{tally.failed:,} unanswered")
    return ", ".join(parts)
