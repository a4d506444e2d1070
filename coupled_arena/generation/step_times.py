"""How long the steps of an engine took, as a histogram, and how many tokens they brought."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

# Seconds: from a small model on a GPU to a large one on a processor that reads a prompt.
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
# What is told moves with a thousand steps of everybody. With every step it would tell somebody who
# reads a lone round how many tokens its words are, and so perhaps which of two models wrote which.
BLOCK = 1000


@dataclass
class StepTimes:
    """Steps that are over.

    Attributes
    ----------
    counts : list of int
        Steps by the first of `BOUNDS` that they did not exceed; last, those beyond all.
    seconds : float
        Of all steps together.
    tokens : int
        Of all replies that ended in them, whole or not.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0
    tokens: int = 0

    @property
    def is_block(self) -> bool:
        """Whether there are enough of them to be told."""
        return sum(self.counts) >= BLOCK

    def add(self, seconds: float, tokens: int) -> None:
        """Count a step."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.tokens += tokens

    def join(self, other: StepTimes) -> None:
        """Count the steps of another one, too."""
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds
        self.tokens += other.tokens
