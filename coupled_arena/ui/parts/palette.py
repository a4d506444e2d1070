"""Ctrl-K: one box that leads to tabs, models and battles.

It names nothing that the tab of battles would not show to the same person. Tabs are found by the
script, in the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gradio as gr

from coupled_arena.analysis.battles import named_battles
from coupled_arena.core.errors import ArenaError
from coupled_arena.store.database import Store
from coupled_arena.store.queries import replies
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.ui.parts.events import FREE, sent
from coupled_arena.ui.parts.panel import panel
from coupled_arena.views.battle_pages import palette_page

_LONGEST = 200  # characters of a question that somebody looks for
_MOST = 6  # models, and battles


class _Sight(Protocol):
    """Which battles somebody may see."""

    @property
    def hidden(self) -> Hidden: ...
    @property
    def told(self) -> str | None: ...


class Palette:
    """The box and its handler.

    Parameters
    ----------
    sight : callable
        Tells which battles the sender of a request may see.
    """

    def __init__(self, store: Store, sight: Callable[[gr.Request], _Sight]) -> None:
        self._store = store
        self._sight = sight

    def build(self) -> None:
        """Put the box, closed, into the current page."""
        shown = panel("go-to", "patch", "palette")
        shown.find(self._find, None, shown, trigger_mode="multiple", **FREE)

    def _find(self, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        """Return what some words name, and which question of the page it was."""
        asked, number = sent(event, "words"), sent(event, "number")
        words = asked.strip()[:_LONGEST] if isinstance(asked, str) else ""
        try:
            return {"number": number, **self._found(words, self._sight(request))}
        except ArenaError:  # the tab says what is wrong with the store; here nothing is found
            return {"number": number, **palette_page([], [])}

    def _found(self, words: str, sight: _Sight) -> dict[str, Any]:
        with self._store.cursor() as cursor:
            models = replies.models(cursor, revealed_only=True)
        wanted = words.casefold()
        close = [name for name in models if all(word in name.casefold() for word in wanted.split())]
        close.sort(key=lambda model: not model.casefold().startswith(wanted))
        found = named_battles(self._store, words, sight.hidden, told=sight.told, size=_MOST)
        return palette_page(close[:_MOST], found)
