"""What a row of votes may say: its columns, and the words for who won.

`import`, `coupled_arena.rank`, the Data tab and the page on data all take them from here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from coupled_arena.core.language import N_
from coupled_arena.core.records import Outcome

QUESTION_NAMES = ("question_id", "prompt_id", "id")
"""Columns that say which question it was; the first that has a value counts."""
VOTER_NAMES = ("voter", "judge", "judge_hash", "annotator")
"""Columns that say who voted; the first that has a value counts."""
IDENTICAL_WORDS: dict[str, tuple[str, ...]] = {
    "identical": ("true", "1", "1.0", "identical"),
    "source": ("identical",),
}
"""Columns that mark a tie of equal answers, and their words; the first that has a value counts."""
TEXTS = ("prompt", "response_a", "response_b", "conversation_a", "conversation_b")
"""Columns of what was asked and answered."""
VERDICT = "verdict"
"""The column of a judge's verdicts beside votes, and the name of that judge."""


@dataclass(frozen=True)
class VoteColumn:
    """Columns that mean the same.

    Attributes
    ----------
    names : tuple of str
        The first of them that has a value in a row counts.
    meaning : str
        In a sentence; `_` translates it.
    ranked : bool
        Whether `coupled_arena.rank` reads them.
    """

    names: tuple[str, ...]
    meaning: str
    ranked: bool = True


VOTE_COLUMNS = (
    VoteColumn(("model_a",), N_("The model shown first. Needed.")),
    VoteColumn(("model_b",), N_("The other model. Needed.")),
    VoteColumn(
        ("winner",),
        N_("A word for the winner, or the name of a model of the row. Needed."),
    ),
    VoteColumn(
        (VERDICT,),
        N_(
            "A judge's verdict on the same pair, in the words of `winner`. Then `winner` may "
            "be empty. The judge is called `verdict`. `--judge` ignores this column."
        ),
    ),
    VoteColumn(
        ("num",),
        N_("The number of the row. Rows of one dataset with the same number are one battle."),
    ),
    VoteColumn(
        QUESTION_NAMES,
        N_(
            "The question. Rows with the same question and the same two models, in any order, are "
            "one battle. Without it, the texts of a row say which question it is."
        ),
    ),
    VoteColumn(
        ("prompt",),
        N_(
            "The text of the question, or a name for it. Votes with the same text depend on each "
            "other."
        ),
    ),
    VoteColumn(
        VOTER_NAMES,
        N_("The voter. Without this column, `import` takes the name of the dataset."),
    ),
    VoteColumn(
        ("mode",),
        N_("`coupled` or `independent`. Every other word counts as unknown."),
    ),
    VoteColumn(
        tuple(IDENTICAL_WORDS),
        N_(
            "`true`, and in `source` the word `identical`: a tie of equal answers, recorded "
            "without a question."
        ),
    ),
    VoteColumn(("response_a", "response_b"), N_("The answers."), ranked=False),
    VoteColumn(
        ("conversation_a", "conversation_b"),
        N_("Questions and answers as lists of messages."),
        ranked=False,
    ),
    VoteColumn(("turn",), N_("How many questions were asked. 1 by default."), ranked=False),
    VoteColumn(
        ("category", "language"), N_("The category and the language of the question."), ranked=False
    ),
    VoteColumn(("tstamp", "timestamp"), N_("When the vote was cast."), ranked=False),
    VoteColumn(
        ("toxic_chat_tag", "openai_moderation"),
        N_("What `--no-toxic` looks at."),
        ranked=False,
    ),
    VoteColumn(
        ("battle", "seed"),
        N_("Written by `export --format arena`: the battle and its noise."),
        ranked=False,
    ),
)

WINNERS: dict[Outcome, tuple[str, ...]] = {
    Outcome.FIRST: ("model_a", "a", "response_a", "a_is_better"),
    Outcome.SECOND: ("model_b", "b", "response_b", "b_is_better"),
    Outcome.TIE: (
        *("tie", "draw", "equal", "same", "both_good", "tie_(bothgood)", "tie_(both_good)"),
        *("both_are_good", "equally_good", "both_equally_good", "both_are_equally_good"),
    ),
    Outcome.BOTH_BAD: (
        *("both_bad", "bothbad", "tie_(bothbad)", "tie_(both_bad)"),
        *("both_are_bad", "equally_bad", "both_equally_bad", "both_are_equally_bad"),
    ),
}
"""Words that are sure to mean an outcome. Sides and numbers (`left`, `1`) are not: which answer
stood there, or where they begin to count, a file does not say. `neither` may be a tie or both bad.
"""

KNOWN_WINNERS = "model_a (or a), model_b (or b), tie, draw, both good, both_bad, tie (bothbad)"
"""For messages."""
TWO_MEANINGS = "names one model, and the side of the other"
"""What is said of a winner that is a word for one side, and the name of the other model."""

_GAPS = re.compile(r"[\s_-]+")


def outcome_of(word: str) -> Outcome | None:
    """Return what a word for the winner means, in any case; None if it is none."""
    written = _GAPS.sub("_", word.strip()).lower()
    return next((outcome for outcome, words in WINNERS.items() if written in words), None)


def read_names(*, ranked: bool = False) -> tuple[str, ...]:
    """Return the names of all columns that are read: by `import`, or by `coupled_arena.rank`."""
    return tuple(
        name for column in VOTE_COLUMNS if column.ranked or not ranked for name in column.names
    )
