"""A tab's settings in the page's address: a link or a reload shows what was on show."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import gradio as gr

from coupled_arena.ui.parts.events import FREE, sent
from coupled_arena.ui.parts.panel import panel
from coupled_arena.views.addresses import read_settings_address, settings_address


class SettingsAddress:
    """What reads a tab's settings out of the address, and writes them into it.

    Parameters
    ----------
    tab : str
        Its name in addresses.
    """

    def __init__(self, tab: str) -> None:
        self._tab = tab

    def build(self) -> None:
        """Lay out what listens to the address, which nobody sees, inside the current Blocks."""
        self.panel = panel(self._tab, "settings")

    def on_open(self, opened: Callable[..., Any], inputs: set[Any], outputs: list[Any]) -> Any:
        """Call a handler whenever an address asks for the tab; return what may follow it."""
        look: Any = self.panel.look
        return look(opened, inputs, outputs, trigger_mode="multiple", **FREE)

    @staticmethod
    def asked(event: gr.EventData) -> dict[str, str]:
        """Return the settings that the address asks for, by the names of options.

        Raises
        ------
        ArenaError
            It asks for too much.
        """
        query = sent(event, "query")
        return read_settings_address(query if isinstance(query, str) else "")

    def told(
        self, settings: Mapping[str, str], event: gr.EventData | None = None
    ) -> dict[Any, Any]:
        """Return the update that puts settings into the address.

        Parameters
        ----------
        event : gr.EventData, optional
            The question that this answers; unanswered, the page asks again after seconds.
        """
        value = {"address": settings_address(self._tab, settings)}
        return {self.panel: value | ({"number": sent(event, "number")} if event else {})}


def weights_text(weights: Mapping[str, float]) -> str:
    """Return weights by name as the text of one setting."""
    return ",".join(f"{name}={weight:g}" for name, weight in weights.items())


def read_weights(text: str, names: Collection[str]) -> dict[str, float]:
    """Return weights by name of such a text; what is none is left out, as with all settings."""
    found: dict[str, float] = {}
    for name in sorted(names, key=len, reverse=True):  # one may be the end of another
        told = re.search(rf"(?:^|,){re.escape(name)}=([^,]*)(?=,|$)", text)
        if told is None:
            continue
        text = text[: told.start()] + text[told.end() :]
        with suppress(ValueError):
            weight = float(told[1])
            if math.isfinite(weight):
                found[name] = weight
    return found
