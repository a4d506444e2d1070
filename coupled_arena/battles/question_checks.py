"""Whether a question can be answered, whichever models answer it."""

from __future__ import annotations

import re
import unicodedata

from coupled_arena.core.errors import PromptError, PromptLengthError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Prompt
from coupled_arena.generation.running import Contender, Request, Worker
from coupled_arena.generation.turns import Models, messages, next_request

LONGEST_PROMPT = 40_000  # characters
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of surrogate pairs

_TELLING = 10  # letters and digits that a text needs to tell a question that it is a part of

OVER = N_("This round is over: the models are known. Start the next one.")
STILL_WRITTEN = N_("The answers are still being written: wait, or stop them first.")


def check_question(prompt: Prompt) -> None:
    """Raise PromptError where a question is no text, or none that can be stored."""
    if not prompt.text.strip():
        raise PromptError(_("Write a question first, or choose one from the library."))
    if _UNSTORABLE.search(prompt.text):
        raise PromptError(_("The question holds characters that are no text: remove them."))
    if len(prompt.text) > LONGEST_PROMPT:
        text = _("Shorten the question: at most {most:,} characters.")
        raise PromptError(text.format(most=LONGEST_PROMPT))


def same_question(one: str, other: str) -> bool:
    """Return whether two texts ask the same, or one of them is a part of the other.

    Case, blanks, punctuation and forms of letters make no difference. Of a part, the shorter text
    has ten letters at least, and a third of the longer one's where it is cut from a question.

    Parameters
    ----------
    one : str
        What is asked now.
    other : str
        The question that it is compared with.
    """
    asked, question = _plain(one), _plain(other)
    if asked == question:
        return True
    if len(question) >= _TELLING and question in asked:
        return True
    return len(asked) >= max(_TELLING, len(question) / 3) and asked in question


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, folded)) or "".join(folded.split())


def request_of(models: Models, worker: Worker, battle: Battle, question: Prompt) -> Request:
    """Return what the engine needs to answer the battle's next question.

    Every model is asked, not only those of the battle: which prompts are too long, or refused by a
    chat template, would otherwise tell which models a round has.

    Raises
    ------
    PromptError
        One of the models cannot answer it, or would never have room for it.
    """
    read: dict[tuple[str, int], tuple[int, ...]] = {}
    try:
        for place in range(len(battle.models)):
            for model in models.values():
                # Of a first question all places read the same, and a long one takes a while.
                first = read.get((model.name, 0)) if not battle.prompts else None
                ids = first or model.encode(messages(battle, place, question))
                worker.check(Request((Contender(model.name, 0, ids),), battle.sampling))
                read[model.name, place] = ids
    except PromptLengthError as error:
        raise PromptError(_("This conversation is too long for the models: shorten it.")) from error
    except PromptError as error:
        raise PromptError(
            _("The models cannot be asked this: ask in other words, or start anew.")
        ) from error
    return next_request(models, battle, question, read)
