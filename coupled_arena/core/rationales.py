"""Why somebody voted as they did: criteria of a fixed list, and a comment of their own."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from coupled_arena.core.errors import VoteError
from coupled_arena.core.language import _

LONGEST_COMMENT = 500
"""Characters of a comment."""


class Criterion(StrEnum):
    """What a vote was about; the ids are stored, and stay."""

    CORRECTNESS = "correctness"
    CLARITY = "clarity"
    COMPLETENESS = "completeness"
    STYLE = "style"
    INSTRUCTIONS = "instructions"
    SAFETY = "safety"


@dataclass(frozen=True)
class Rationale:
    """Why a vote was cast, as its voter gave it; the newest of a vote stands.

    Without criteria and comment it takes back what stood before.
    """

    id: str
    vote: str
    criteria: tuple[Criterion, ...] = ()
    comment: str = ""
    given_at: datetime = field(default_factory=lambda: datetime.now(UTC))


def check_criteria(given: object) -> tuple[Criterion, ...]:
    """Return criteria that a browser sent, each once, in the order of the list.

    Raises
    ------
    VoteError
        They are no list of known criteria.
    """
    known = list(Criterion)
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise VoteError(_("Reasons are a list of criteria."))
    if unknown := [each for each in given if each not in known]:
        text = _("There is no criterion {name!r}. Choose {known}.")
        raise VoteError(text.format(name=unknown[0][:40], known=", ".join(known)))
    return tuple(each for each in known if each in given)


def check_comment(given: object) -> str:
    """Return a comment that a browser sent, without blanks around it.

    Raises
    ------
    VoteError
        It is no text, too long, or has characters that nobody can read.
    """
    if not isinstance(given, str):
        raise VoteError(_("A comment is a text."))
    comment = given.strip()
    if len(comment) > LONGEST_COMMENT:
        text = _("A comment has at most {longest_comment} characters, this one has {n:,}.")
        raise VoteError(text.format(longest_comment=LONGEST_COMMENT, n=len(comment)))
    comment = comment.replace("\r\n", "\n")
    if any(unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" for each in comment):
        raise VoteError(_("The comment has control characters: write it anew, as plain text."))
    return comment
