"""Judging live: a thread that judges battles of the app once somebody has voted on them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from coupled_arena.battles.judge_runs.run import Run
from coupled_arena.core.errors import JudgeError, StoreError
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from coupled_arena.store.work_queues.judging import MatchupSelection, PendingMatchups

if TYPE_CHECKING:
    from coupled_arena.judging.judge import Judge

_log = logging.getLogger(__name__)
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

    It starts from the votes in the store, never from the round: a vote waits for nothing, and
    whatever an outage or a restart has left over is found again.

    Parameters
    ----------
    judge : Judge
    store : Store
    concurrency : int

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
