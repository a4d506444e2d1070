"""Named models side by side on one prompt: nothing blind, nothing stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.battles.rounds import check_question
from coupled_arena.core.errors import PromptError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Mode, Origin, Prompt, Sampling, new_id
from coupled_arena.generation.running import Running, Worker
from coupled_arena.generation.turns import Models, next_request, settled, with_turn

FEWEST, MOST = 2, 4
_FIRST_WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True)
class Comparison:
    """A running comparison: a battle without a turn, its one question, and what decodes it."""

    battle: Battle
    question: Prompt
    running: Running

    def over(self, models: Models) -> Battle:
        """Return the battle with its turn, once that is decoded."""
        return with_turn(self.battle, self.question, self.running, models)


def compare(
    models: Models,
    worker: Worker,
    names: Sequence[str],
    question: str,
    mode: Mode,
    sampling: Sampling,
    seed: int | None = None,
) -> Comparison:
    """Let named models answer a question.

    Parameters
    ----------
    seed : int, optional
        64-bit seed; drawn where none is given.

    Raises
    ------
    PromptError
        The question is blank or too long, or the models are too few, too many or unknown.
    """
    if not question.strip():
        raise PromptError(_("Write a question first."))
    if not FEWEST <= len(names) <= MOST:
        raise PromptError(_("Choose {fewest} to {most} models.").format(fewest=FEWEST, most=MOST))
    if any(name not in models for name in names):
        raise PromptError(_("One of these models is not loaded: choose from the list."))
    drawn = secrets.randbits(64) if seed is None else seed
    battle = Battle(
        id=new_id(),
        models=tuple(names),
        mode=mode,
        seed=drawn,
        nonce=b"",
        sampling=settled(sampling, names, models),
        origin=Origin.ARENA,
        prompts=(),
        replies=(),
    )
    asked = Prompt(question)
    check_question(asked)
    return Comparison(battle, asked, worker.submit(next_request(models, battle, asked)))


def parse_seed(text: str) -> int | None:
    """Read a seed of up to 16 hex digits; blank is None.

    Raises
    ------
    PromptError
        It is not such a number.
    """
    digits = text.strip().lower().removeprefix("0x")
    if not digits:
        return None
    if len(digits) > 16 or any(digit not in "0123456789abcdef" for digit in digits):
        raise PromptError(_("A seed is up to 16 hex digits, such as 0123456789abcdef."))
    return int(digits, 16)


def common_beginning(texts: Sequence[str]) -> int:
    """Return how many characters all texts begin with in common."""
    low, high = min(texts), max(texts)  # what these two share, all between them do
    own = (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other)
    return next(own, len(low))


def divided(texts: Sequence[str]) -> list[dict[str, str]]:
    """Return of each text the `common` beginning, its first own word (`divergence`), the `rest`."""
    common = common_beginning(texts)
    return [_divided(text, common) for text in texts]


def _divided(text: str, common: int) -> dict[str, str]:
    own = _FIRST_WORD.match(text, common)
    end = own.end() if own else common
    return {"common": text[:common], "divergence": text[common:end], "rest": text[end:]}
