"""Judging in bulk: a bar, a budget, and Ctrl-C at any time."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tqdm import tqdm

from coupled_arena.battles.judge_runs.run import Run, Tally
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

    After Ctrl-C it waits for the answers that have been asked for, after a second one it does
    not; either way what was received is stored.

    Parameters
    ----------
    again : bool
        Ask again what had unreadable answers.
    limit : int, optional
        Most battles, or answers.
    progress : bool
        Show a bar on stderr.

    Raises
    ------
    JudgeError
        See `Run.over`.
    StoreError
        The judge's name stands for another judge, or the database cannot be written.
    """
    spec = judge.spec
    bound = (spec.name, spec.model, spec.prompt.sha256, spec.sampling)
    store.write(lambda cursor: judges.bind(cursor, *bound))
    settled = 0
    with (
        _pending(store, spec, again=again, limit=limit) as pending,
        tqdm(total=pending.questions, unit=spec.ballot.key, disable=not progress) as bar,
    ):

        def show(tally: Tally, questions: int) -> None:
            nonlocal settled
            settled += questions
            bar.set_postfix_str(_cost_so_far(tally), refresh=False)
            bar.update(questions)

        def interrupt() -> None:
            bar.set_description("waiting for the last answers; Ctrl-C drops them")
            run.stop("interrupted")

        run = Run(judge, concurrency, budget or Budget(), show)
        with on_interrupt(interrupt):
            try:
                tally = asyncio.run(run.over(pending))
            except JudgeError as error:
                kept = run.tally.asked + run.tally.identical
                told = (
                    f"{error} {kept} new {spec.ballot.key}s are stored; the same command goes on."
                )
                raise type(error)(told) from None
    return Judged(
        judge=spec.name,
        model=spec.model,
        prompt_hash=spec.prompt.sha256,
        verdicts=tally.asked + tally.identical,
        skipped=pending.skipped,
        left=pending.questions - settled + tally.failed,
        trouble=run.trouble,
        **asdict(tally),
    )


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
