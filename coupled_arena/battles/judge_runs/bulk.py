"""Judging in bulk: a bar, a budget, and Ctrl-C at any time."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_runs.run import PendingQuestions, Run, Tally
from coupled_arena.core.errors import JudgeError
from coupled_arena.core.interrupts import on_interrupt
from coupled_arena.judging.budget import Budget
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.database import Store
from coupled_arena.store.pending.matchups import MatchupSelection, PendingMatchups
from coupled_arena.store.pending.solutions import PendingSolutions
from coupled_arena.store.tables import judges

if TYPE_CHECKING:
    from coupled_arena.judging.judge import Judge


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
    again: bool = False,
    limit: int | None = None,
    concurrency: int = 8,
    budget: Budget | None = None,
    progress: bool = True,
) -> Judged:
    """Let a judge judge the stored battles, or grade the answers, that it has not; main thread.

    After Ctrl-C it waits for the answers that it has asked for, after a second one it does not;
    either way what was received is stored.

    Parameters
    ----------
    again, progress : bool
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
    with _pending(store, spec, again=again, limit=limit) as pending:
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
    store: Store, spec: JudgeSpec, *, again: bool, limit: int | None
) -> PendingMatchups | PendingSolutions:
    if spec.grades:
        return PendingSolutions(store, spec.name, again=again, limit=limit)
    return PendingMatchups(store, MatchupSelection(spec.name, spec.swap, again=again, limit=limit))


def _cost_so_far(tally: Tally) -> str:
    parts = [f"{tally.tokens_in + tally.tokens_out:,} tokens"]
    if tally.cost:
        parts.append(f"cost {tally.cost:.4f}")
    if tally.unreadable:
        parts.append(f"{tally.unreadable:,} unreadable")
    if tally.failed:
        parts.append(f"{tally.failed:,} unanswered")
    return ", ".join(parts)
