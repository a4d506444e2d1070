"""One draw laid open: what was likely, what the noise said of it, and what won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coupled_arena.generation.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Candidate:
    r"""An outcome that a draw could have had.

    Attributes
    ----------
    key : int
        Its noise key, the same in every vocabulary that has these bytes; signed 64 bits. By bytes
        it is that of one byte, or of one answer to whether text follows at all.
    text : str
        Its characters; bytes that are none by themselves as ``\xe2``. Empty for the end of the
        answer and for control tokens.
    kind : str
        "text", "control" or "end"; by bytes also "more": text, whichever it is.
    probability : float
        After temperature, top-k and top-p, with all tokens that end the answer as one.
    noise : float or None
        Its standard Gumbel number; None where the likeliest is taken (temperature 0).
    """

    key: int
    text: str
    kind: str
    probability: float
    noise: float | None


@dataclass(frozen=True)
class Draw:
    """The draw of one token: the outcome with the largest log-probability plus noise.

    Attributes
    ----------
    candidates : tuple of Candidate
        The likeliest, first, and the one that was drawn.
    drawn : int
        Index of the one that was drawn.
    possible : int
        How many outcomes temperature, top-k and top-p had left.
    """

    candidates: tuple[Candidate, ...]
    drawn: int
    possible: int


def read_draw(
    scores: torch.Tensor, noise: torch.Tensor | None, vocabulary: Vocabulary, most: int
) -> Draw:
    """Lay a draw open.

    Parameters
    ----------
    scores : float64 tensor, shape (v + 1,)
        As `outcome_scores` returns them.
    noise : float64 tensor, shape (v + 1,), optional
    most : int
        How many of the likeliest to tell, at most.
    """
    probabilities = scores.softmax(0)
    possible = int((scores > float("-inf")).sum())
    likeliest = probabilities.topk(min(most, possible)).indices.tolist()
    winner = int((scores if noise is None else scores + noise).argmax())
    outcomes = likeliest if winner in likeliest else [*likeliest, winner]
    candidates = tuple(
        Candidate(
            key=int(vocabulary.keys[outcome]),
            text=outcome_text(vocabulary, outcome),
            kind=outcome_kind(vocabulary, outcome),
            probability=float(probabilities[outcome]),
            noise=None if noise is None else float(noise[outcome]),
        )
        for outcome in outcomes
    )
    return Draw(candidates, outcomes.index(winner), possible)


def outcome_text(vocabulary: Vocabulary, outcome: int) -> str:
    """Return the characters of an outcome, see `Candidate`."""
    if outcome == vocabulary.end:
        return ""
    return (vocabulary.spellings[outcome] or b"").decode("utf-8", errors="backslashreplace")


def outcome_kind(vocabulary: Vocabulary, outcome: int) -> str:
    """Return what an outcome is, see `Candidate`."""
    if outcome == vocabulary.end:
        return "end"
    return "control" if vocabulary.spellings[outcome] is None else "text"
