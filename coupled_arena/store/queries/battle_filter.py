"""What selects the battles behind a number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coupled_arena.core.records import Drawn, Mode


class Word(StrEnum):
    """Whose word on a comparison is meant."""

    PEOPLE = "people"
    JUDGE = "judge"


class Ending(StrEnum):
    """How a comparison ended, where it is not a model that won."""

    TIE = "tie"  # somebody said so
    BOTH_BAD = "both_bad"
    IDENTICAL = "identical"  # equal replies, which nobody was asked about
    EVEN = "even"  # all of these
    ASKED = "asked"  # however it ended, not identical


class Judged(StrEnum):
    """What a judge's verdict is beside people's vote."""

    BOTH = "both"  # there are both
    ALONE = "alone"  # a verdict and no vote
    AGREES = "agrees"
    DIFFERS = "differs"


@dataclass(frozen=True)
class BattleFilter:
    """Which battles; None takes all.

    Attributes
    ----------
    model, other : str or None
        A model of the battle; both: one of its pairs.
    word : Word or None
        Whose word makes a comparison. None takes the judge's where one is named, people's where
        another part of the filter asks for a word, and else all battles.
    winner : str or None
        The model that this word prefers.
    ending : Ending or None
    judged : Judged or None
        The judge agrees with people where both say that `model` won, or both that it did not;
        without a model, where both name the same winner or none.
    decided : bool
        Leave out ties, by people or by the judge.
    benchmark : str or None
        A metric that the battle's replies have scores by.
    temperature, top_p : float or None
        What the replies were drawn at.
    sampler : str or None
        How noise became their tokens, see `Drawn`.
    text : str or None
        Words of a question or of an answer, in either case.
    before : str or None
        A battle: only those that were listed after it.
    """

    model: str | None = None
    other: str | None = None
    word: Word | None = None
    judge: str | None = None
    winner: str | None = None
    ending: Ending | None = None
    judged: Judged | None = None
    decided: bool = False
    mode: Mode | None = None
    category: str | None = None
    language: str | None = None
    voter: str | None = None
    benchmark: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    sampler: str | None = None
    text: str | None = None
    before: str | None = None

    @property
    def drawn(self) -> Drawn:
        """How the replies were drawn."""
        return Drawn(self.temperature, self.top_p, self.sampler)

    @property
    def heard(self) -> Word | None:
        """Whose word the filter asks for, if for any."""
        if self.word is not None:
            return self.word
        if self.judge is not None:
            return Word.JUDGE
        asks = (self.winner, self.ending, self.judged, self.voter, self.decided or None)
        return None if all(part is None for part in asks) else Word.PEOPLE
