"""How much an engine takes in: battles that decode together, battles that wait, keys and values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coupled_arena.core.errors import PromptError, PromptLengthError, SettingsError
from coupled_arena.core.language import _
from coupled_arena.core.records import Sampling
from coupled_arena.generation.language_model import LanguageModel, holds_keys
from coupled_arena.generation.running import Line


@dataclass(frozen=True)
class Capacity:
    """What an engine takes in; None: no bound, of `kv_tokens` what free memory allows.

    Attributes
    ----------
    most_at_once : int or None
        Battles that decode together.
    most_waiting : int or None
        Battles that wait beside them.
    kv_tokens : int or None
        Tokens whose keys and values each model of this machine holds at most.
    step_seconds : float or None
        Longest that one step may take, in a process of its own.
    """

    most_at_once: int | None = None
    most_waiting: int | None = None
    kv_tokens: int | None = None
    step_seconds: float | None = None

    def check(self, battles: int) -> None:
        """Raise PromptError where so many battles leave no place for another."""
        if self.most_at_once is None or self.most_waiting is None:
            return
        if battles >= self.most_at_once + self.most_waiting:
            raise PromptError(_("The arena is busy. Try again in a minute."))


class Room:
    """Where keys and values lie: of each model, so many tokens.

    A batch has as many columns as its longest row. So it counts as a rectangle: rows times the
    longest that one of them may become. Whoever is let in has all the room it may ever need.

    Parameters
    ----------
    tokens : int or None
        None: there is no bound.
    """

    def __init__(self, models: Mapping[str, LanguageModel], tokens: int | None) -> None:
        self.tokens = tokens
        self._models = models

    def holds(self, lines: Iterable[Line]) -> bool:
        """Tell whether all these replies fit at once, however long they become."""
        return self.tokens is None or self._needed(lines) <= self.tokens

    def check(self, lines: Iterable[Line]) -> None:
        """Raise PromptLengthError where replies of one turn would never fit."""
        if self.tokens is not None and (needed := self._needed(lines)) > self.tokens:
            text = _(
                "This conversation and its answer may take {needed:,} tokens of memory; "
                "there are {there:,}. Shorten the conversation, lower max_new_tokens, or "
                "raise kv_tokens."
            )
            raise PromptLengthError(text.format(needed=needed, there=self.tokens))

    def check_answers(self, sampling: Sampling) -> None:
        """Raise SettingsError where no answer would ever fit."""
        if self.tokens is not None and self.tokens <= sampling.max_new_tokens:
            raise SettingsError(
                f"There is room for the keys and values of {self.tokens:,} tokens, and an answer "
                f"may have {sampling.max_new_tokens:,}: lower max_new_tokens, or raise kv_tokens."
            )

    def _needed(self, lines: Iterable[Line]) -> int:
        """Return how many tokens the model that needs most of them needs."""
        lengths: dict[str, list[int]] = defaultdict(list)
        for line in lines:
            lengths[line.contender.model].append(line.longest)
        return max(
            (_taken(self._models[name], those) for name, those in lengths.items()), default=0
        )


def _taken(model: LanguageModel, lengths: list[int]) -> int:
    if not holds_keys(model):
        return 0
    together = getattr(model, "batchable", True)
    return len(lengths) * max(lengths) if together else sum(lengths)
