"""Numbers that a reply's text has by itself: its length, repetition, refusal.

All are computed when they are asked for. Each function takes any number of texts and returns an
array of as many float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_GRAM = 4
# Scripts that put no spaces between words: a character stands for one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

_HEAD = 200  # characters in which a refusal must begin and speak
_LEADING = re.compile(r"[\s\"'\N{LEFT DOUBLE QUOTATION MARK}*_#>(\[-]+")
_SPELLINGS = (
    ("\N{RIGHT SINGLE QUOTATION MARK}", "'"),
    ("can't", "cannot"),
    ("can not", "cannot"),
    ("won't", "will not"),
    ("don't", "do not"),
    ("i'm ", "i am "),
    ("i'd ", "i would "),
    ("apologise", "apologize"),
)
_APOLOGIES = (
    *("sorry", "i am sorry", "i am so sorry", "i am very sorry", "i am really sorry"),
    *("i am afraid", "unfortunately", "regrettably", "i apologize", "my apologies", "i regret"),
    *("as an ai", "as an ai model", "as an ai assistant", "as an ai language model"),
    *("as a language model", "thank you for asking", "thanks for asking"),
)
_OPENINGS = (
    *("i cannot help", "i cannot assist", "i cannot answer", "i cannot provide", "i cannot do "),
    *("i cannot give", "i cannot share", "i cannot discuss", "i cannot support", "i cannot comply"),
    *("i cannot write", "i cannot create", "i cannot produce", "i cannot generate"),
    *("i cannot fulfil", "i cannot engage", "i cannot offer", "i cannot tell you"),
    *("i am unable to", "i am not able to", "i am not allowed to", "i am not permitted to"),
    *("i am not comfortable", "i do not feel comfortable", "i am not going to", "i will not "),
    *("i must decline", "i have to decline", "i need to decline", "i decline", "i must refuse"),
    *("i refuse", "i would rather not", "i would prefer not", "i prefer not to"),
)
_AFTER_APOLOGY = ("i cannot", "but i cannot", "that i cannot", "this is something i cannot")
_APOLOGY = re.compile(
    rf"(?:{'|'.join(sorted(_APOLOGIES, key=len, reverse=True))})\b[\s,.;:!*_-]*(?:but |that )?"
)


@dataclass(frozen=True)
class TextMetric:
    """A number that follows from a text.

    Attributes
    ----------
    measure : callable
        From texts to numbers.
    higher_is_better : bool
    """

    measure: Callable[[Sequence[str]], FloatArray]
    higher_is_better: bool = False


def lengths(texts: Sequence[str]) -> FloatArray:
    """Return the number of characters.

    Characters rather than words: they exist in every script, and studies of judges that prefer
    long answers count them. Neither more nor less is better by nature; here less is, for whoever
    reads an answer pays for each character, and the worst replies are then those that ramble.
    """
    return np.array([len(text) for text in texts], dtype=np.float64)


def repetitions(texts: Sequence[str]) -> FloatArray:
    """Return the share of sequences of four words that occurred before in the same reply.

    This is seq-rep-4 of Welleck et al. (2020), Neural Text Generation with Unlikelihood Training,
    over words instead of tokens, so that models of different vocabularies compare: 1 less
    distinct-4 (Li et al., 2016). 0 for a reply of fewer than four words. A word is a run of
    letters and digits in any case, or a single Chinese or Japanese character.
    """
    return np.array([_repetition(text) for text in texts], dtype=np.float64)


def _repetition(text: str) -> float:
    words = _WORD.findall(text.lower())
    total = len(words) - _GRAM + 1
    if total <= 1:
        return 0.0
    grams = set(zip(*(words[at:] for at in range(_GRAM)), strict=False))
    return 1.0 - len(grams) / total


def refusals(texts: Sequence[str]) -> FloatArray:
    """Return 1 for a reply that opens by declining to answer, else 0.

    The rule: after quotation marks, markup and any apologies ("Sorry, but", "As an AI model,") the
    reply goes on with one of a short list of English openings, such as "I cannot help" or "I am
    unable to"; after an apology "I cannot" is enough.

    A refusal in other words, in another language, after a preamble or later in the reply counts
    as an answer, and an answer that opens like one ("I will not lie:") as a refusal. So the shares
    compare models on the same prompts; they are no census of refusals.
    """
    return np.array([_refuses(text) for text in texts], dtype=np.float64)


def _refuses(text: str) -> bool:
    head = text[:_HEAD].lower()
    for written, meant in _SPELLINGS:
        head = head.replace(written, meant)
    head = head[match.end() :] if (match := _LEADING.match(head)) else head
    apologized = False
    while match := _APOLOGY.match(head):
        head, apologized = head[match.end() :], True
    return head.startswith(_OPENINGS) or (apologized and head.startswith(_AFTER_APOLOGY))


METRICS: dict[str, TextMetric] = {
    "length": TextMetric(lengths),
    "repetition": TextMetric(repetitions),
    "refusal": TextMetric(refusals),
}
"""By the names that commands and pages use. Less of each comes first, better or not."""
