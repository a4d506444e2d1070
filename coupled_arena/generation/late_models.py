"""Models on servers that were away at the start: they join once their servers answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from coupled_arena.core.errors import ModelError
from coupled_arena.generation.language_model import LanguageModel

Late = Mapping[str, Callable[[], LanguageModel]]
_log = logging.getLogger(__name__)
_PAUSE = 30.0  # seconds before the first new attempt; each pause is twice the one before
_LONGEST_PAUSE = 480.0


class LateModels:
    """Asks for models that are missing, again and again, until all have come.

    Parameters
    ----------
    missing : mapping of str to callable
        By name, what loads a model or raises ModelError.
    joins : callable
        Takes a model that has come.
    """

    def __init__(self, missing: Late, joins: Callable[[LanguageModel], object]) -> None:
        self._missing = dict(missing)
        self._joins = joins
        threading.Thread(target=self._ask, name="late-models", daemon=True).start()

    @property
    def away(self) -> int:
        """How many are still missing."""
        return len(self._missing)

    def _ask(self) -> None:
        pause, never = _PAUSE, threading.Event()
        while self._missing:
            never.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            for name, load in list(self._missing.items()):
                try:
                    model = load()
                except ModelError as error:
                    _log.debug("Still left out: %s", error)
                    continue
                del self._missing[name]
                self._joins(model)
                _log.info("%s takes part from now on", name)
