"""A round on the page: its panel, and the vote that comes from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

import gradio as gr

from coupled_arena.battles.visible import Reveal, RoundView
from coupled_arena.ui.parts.events import user_errors
from coupled_arena.ui.parts.panel import panel
from coupled_arena.ui.parts.visitor import visitor


class Rounds(Protocol):
    """What visitors vote on; see `Arena`."""

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the visitor may see of a round of theirs."""
        ...

    def vote(
        self, owner: str, round_id: str, ranks: Sequence[int], *, both_bad: bool = False
    ) -> Reveal:
        """Record a vote and return who was who."""
        ...


def round_panel(value: dict[str, Any] | None = None) -> gr.HTML:
    """Return the panel that draws a round and takes the vote."""
    return panel("round", "patch", "follow", "ballot", "keys", "round", value=value)


def show(view: RoundView, *, events: str | None = None, resumed: bool = False) -> dict[str, Any]:
    """Return a view as the JSON that the page's script draws.

    Parameters
    ----------
    view : RoundView
    events : str, optional
        Where the page hears how the answers go on, while they do.
    resumed : bool
        The round was on show before the page was loaded: nobody has just asked for it.
    """
    return asdict(view) | {"events": events if view.running else None, "resumed": resumed}


def cast(
    rounds: Rounds, round_id: str | None, request: gr.Request, event: gr.EventData
) -> dict[str, Any]:
    """Cast the vote that came from the panel; return what the panel is to show."""
    ballot: dict[str, Any] = event._data or {}
    owner = visitor(request)
    ranks, both_bad = ballot.get("ranks") or [], ballot.get("both_bad") is True
    with user_errors():
        rounds.vote(owner, round_id or "", ranks, both_bad=both_bad)
        return show(rounds.view(owner, round_id or ""))
