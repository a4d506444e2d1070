"""What a judge is asked, and what it answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

from coupled_arena.core.records import Outcome

MOST_JUDGES = 3
"""Judges whose verdicts can be taken together: each multiplies the kinds of comparisons by four."""


MIXED_CODES = 8
"""Codes of what one judge said, where that may be other than one of the four outcomes.

After these come their mixtures in equal parts: first and second (4), first and tie (5), second and
tie (6); and 7, that it abstained. A judge that prefers the first answer with probability p, the
second with q, and neither with t stands for these codes with the weights p (2p - 1), q (2q - 1),
t (2t - 1), 4pq, 4pt and 4qt: sums of anything quadratic in p and q, and so all that win rates and
their variances are made of, are the same as of p and q themselves. It is the interpolation of
quadratic functions on a triangle from its corners and the middles of its sides.
"""
TIE_CODE, ABSTAINED_CODE = 2, 7


@dataclass(frozen=True)
class Probabilities:
    """How likely a judge was to give each verdict, as shown to it; the sum is 1.

    Attributes
    ----------
    first, second, tie : float
        For the answer shown first, for the other, for neither ("both bad" included).
    """

    first: float
    second: float
    tie: float


@dataclass(frozen=True)
class Verdict:
    """One answer of one judge on the pair of models at two places, as shown to the judge."""

    id: str
    battle: str
    judge: str
    first_place: int
    second_place: int
    outcome: Outcome | None  # None: unreadable, unscored
    raw: str
    probability: float | None = None
    probabilities: Probabilities | None = None
    judged_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class Grade:
    """One answer of one judge on whether an answer is right.

    Attributes
    ----------
    answer_key : str
        As in `Solution`.
    correct : bool or None
        None: unreadable, unscored.
    """

    id: str
    answer_key: str
    judge: str
    correct: bool | None
    raw: str
    probability: float | None = None
    graded_at: datetime = field(default_factory=lambda: datetime.now(UTC))


NOT_ASKED = "identical answers: not asked"
"""What stands for the judge's answer in a verdict on equal answers: a tie without a question."""


@dataclass(frozen=True)
class Matchup:
    """What two models of a battle said, in the order in which a judge is to see it.

    Attributes
    ----------
    first_place, second_place : int
        Indices in ``Battle.models`` of the models shown as A and B.
    questions, first, second : tuple of str
        One text a turn.
    attempt : int
        How many verdicts the judge has given on exactly this, all of them unreadable.
    """

    battle: str
    first_place: int
    second_place: int
    questions: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    attempt: int = 0

    @property
    def identical(self) -> bool:
        """Whether both gave the same text in every turn."""
        return self.first == self.second

    @property
    def texts(self) -> tuple[str, ...]:
        """All that the judge is to read."""
        return (*self.questions, *self.first, *self.second)

    def answered(
        self,
        judge: str,
        outcome: Outcome | None,
        raw: str,
        probability: float | None = None,
        probabilities: Probabilities | None = None,
    ) -> Verdict:
        """Return a judge's answer to this; asked again, it has the same id."""
        return Verdict(
            _id(judge, self.battle, self.first_place, self.second_place, self.attempt),
            self.battle,
            judge,
            self.first_place,
            self.second_place,
            outcome,
            raw,
            probability,
            probabilities,
        )

    def not_asked(self, judge: str) -> Verdict:
        """Return what stands for a judge's answer to this, where both answers are the same."""
        return self.answered(judge, Outcome.TIE, NOT_ASKED, None, Probabilities(0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Solution:
    """An answer to a question, which a judge is to grade by itself.

    Attributes
    ----------
    key : str
        Stands for the question and the answer, whoever gave it.
    attempt : int
        How many grades the judge has given on it, all of them unreadable.
    """

    key: str
    question: str
    answer: str
    attempt: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """All that the judge is to read."""
        return self.question, self.answer

    def answered(
        self, judge: str, correct: bool | None, raw: str, probability: float | None = None
    ) -> Grade:
        """Return a judge's answer to this; asked again, it has the same id."""
        identity = _id(judge, self.key, self.attempt)
        return Grade(identity, self.key, judge, correct, raw, probability)


Question = Matchup | Solution


def _id(*parts: str | int) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
