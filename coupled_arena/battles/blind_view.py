"""What a browser may know of a round: before the vote, nothing that tells who is who."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Mode, Source

Conversations = tuple[tuple[str, ...], ...]
"""What each model has said, in order of presentation: its answer of every turn."""
Groups = tuple[tuple[int, ...], ...]
"""Places that belong together."""


@dataclass(frozen=True)
class TurnView:
    """A question and the answers so far, in order of presentation.

    Answers begin with the words that were put into the models' mouths, if there were any.

    Attributes
    ----------
    cut_at : tuple of int or None
        After how many tokens the limit cut each answer; None where it did not, 0 where nobody
        knows the limit. Empty as long as that is not told: see `RoundState.view`.
    stopped : tuple of bool
        Which answers were stopped before their end. Where that is not told of one: all or none.
        Empty while answers are written.
    """

    prompt: str
    answers: tuple[str, ...]
    system: str = ""
    cut_at: tuple[int | None, ...] = ()
    stopped: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Reveal:
    """What the reply to an accepted vote tells, or to a judgement in its place.

    Where a judge decided there is no vote, no source and no rank.

    Whoever kept the commitment can check it: it is the SHA-256 of the nonce followed by the seed as
    8 bytes little-endian. Seed and nonce are None where no seed is known. They are None, too, as
    long as the visitor may be asked about another battle with the same seed. `same` are the places
    whose answers had the same words at the time of the vote: they are level in what was stored.
    """

    vote: str | None
    battle: str
    models: tuple[str, ...]
    ranks: tuple[int, ...]
    both_bad: bool
    source: Source | None
    early: bool
    mode: Mode
    seed: str | None
    nonce: str | None
    commitment: str
    same: Groups = ()


@dataclass(frozen=True)
class Reasons:
    """Why the visitor voted so, as far as they have said it."""

    criteria: tuple[Criterion, ...]
    comment: str


@dataclass(frozen=True)
class Recorded:
    """A vote that can still be undone, for so many seconds that are left; it tells no name."""

    vote: str
    ranks: tuple[int, ...]
    both_bad: bool
    early: bool
    left: float


@dataclass(frozen=True)
class Counted:
    """A vote that counts, of which no name is told yet; `then` says when names are told.

    `same` is as in `Reveal`.
    """

    vote: str | None
    ranks: tuple[int, ...]
    both_bad: bool
    early: bool
    source: Source | None
    same: Groups
    then: str


@dataclass(frozen=True)
class Judging:
    """A judge reads the answers, and has answered so many of its questions; not what it said."""

    answered: int
    questions: int


@dataclass(frozen=True)
class RoundView:
    """A round as its owner may see it.

    Attributes
    ----------
    size : int
        How many models answer.
    running : bool
        Answers are still being written.
    commitment : str
        Binds the arena to its seed before the vote; empty where no seed is known.
    recorded : Recorded or None
        The vote, as long as it can be undone.
    reveal : Reveal or None
        None until the vote counts, and the visitor may know the names.
    counted : Counted or None
        The vote, once it counts and the names stay hidden.
    blind : bool
        The names stay hidden when the vote counts.
    reasons : Reasons or None
        Why the visitor voted so; None unless they have said it.
    judging : Judging or None
        A judge is about to decide the round.
    unjudged : str or None
        Why the judge has not.
    error : str or None
        Why the round broke off.
    stored : bool
        The battle was made earlier: it can be skipped, and not be asked again.
    ahead : int or None
        How many questions of others begin before; None unless this one waits.
    """

    size: int
    turns: tuple[TurnView, ...]
    running: bool
    commitment: str
    recorded: Recorded | None = None
    reveal: Reveal | None = None
    counted: Counted | None = None
    blind: bool = False
    reasons: Reasons | None = None
    judging: Judging | None = None
    unjudged: str | None = None
    error: str | None = None
    stored: bool = False
    ahead: int | None = None

    @property
    def characters(self) -> int:
        """How long questions and answers are, all together."""
        return sum(len(t.prompt) + sum(map(len, t.answers)) for t in self.turns)

    @property
    def conversations(self) -> Conversations:
        """What each model has said so far."""
        return tuple(zip(*(turn.answers for turn in self.turns), strict=True))
