"""How often visitors may ask a judge: somebody has to pay for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from coupled_arena.core.errors import JudgeError
from coupled_arena.core.language import _

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
                    "The judge has been asked as much as it may be in a day ({n} questions by "
                    "visitors). Vote yourself, or come back later."
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
                "You may put {n} questions an hour to the judge, and this needs more. Vote "
                "yourself."
            )
            return text.format(n=self._hourly)
        minutes = int((mine[over - 1] + _HOUR - now) // 60) + 1
        text = _(
            "You may put {n} questions an hour to the judge, and this needs {over} more than are "
            "left. Vote yourself, or come back in {minutes} min."
        )
        return text.format(n=self._hourly, over=over, minutes=minutes)
