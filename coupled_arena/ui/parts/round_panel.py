"""A round on the page: its panel, and the vote that comes from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

import gradio as gr

from coupled_arena.analysis.battles import pair_standings
from coupled_arena.battles.blind_view import Reveal, RoundView
from coupled_arena.battles.limits import Limits, Origins
from coupled_arena.core.rationales import LONGEST_COMMENT
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.events import user_errors
from coupled_arena.ui.parts.panel import panel
from coupled_arena.ui.parts.visitor import address_of, visitor
from coupled_arena.views.own_votes import criterion_words, standing_view

_SCRIPTS = (
    *("patch", "remembered", "reading", "follow", "ballot", "recorded", "rationale", "keys"),
    *("bar", "tables", "first_divergence", "judgement", "judging", "result", "round_head"),
    *("newcomer", "differences", "battle_picture", "round"),
)


class Rounds(Protocol):
    """What visitors vote on; see `Arena`."""

    store: Store

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the visitor may see of a round of theirs."""
        ...

    def vote(
        self,
        owner: str,
        round_id: str,
        ranks: Sequence[int],
        *,
        both_bad: bool = False,
        origin: str | None = None,
    ) -> Reveal | None:
        """Record a vote and return who was who, None while it can be undone."""
        ...

    def undo(self, owner: str, round_id: str) -> None:
        """Take back a vote."""
        ...

    def confirm(self, owner: str, round_id: str) -> None:
        """Let a vote count before its time is over."""
        ...

    def explain(self, owner: str, vote: str, criteria: object, comment: object) -> None:
        """Store why a vote was cast."""
        ...


def round_panel(value: dict[str, Any] | None = None) -> gr.HTML:
    """Return the panel that draws a round and takes the vote."""
    return panel("round", *_SCRIPTS, value=value)


def show(
    view: RoundView,
    store: Store | None = None,
    *,
    voter: str = "",
    events: str | None = None,
    resumed: bool = False,
) -> dict[str, Any]:
    """Return a view as the JSON that the page's script draws.

    Parameters
    ----------
    store : Store, optional
        Where it is looked up, once the names are known, how people voted on these models.
    voter : str
        The round's owner: what their vote changed is told with it.
    events : str, optional
        Where the page hears how the answers go on, while they do.
    resumed : bool
        The round was on show before the page was loaded: nobody has just asked for it.
    """
    added: dict[str, Any] = {"events": events if view.running else None, "resumed": resumed}
    vote = view.recorded or view.reveal or view.counted
    if vote and vote.vote:  # a judge has decided where there is none
        words = criterion_words(vote.ranks, both_bad=vote.both_bad)
        added |= {"criteria": list(words.items()), "longest": LONGEST_COMMENT}
    if view.reveal and store:
        told = view.reveal
        standings = pair_standings(store, told.models, but=(told.battle, voter))
        added["standings"] = [standing_view(each, told.source) for each in standings]
    return asdict(view) | added


def cast(
    rounds: Rounds,
    round_id: str | None,
    request: gr.Request,
    event: gr.EventData,
    limits: Limits,
    origins: Origins | None = None,
) -> RoundView:
    """Cast the vote that came from the panel; return the round as it is then."""
    ballot: dict[str, Any] = event._data or {}
    owner = visitor(request)
    ranks, both_bad = ballot.get("ranks") or [], ballot.get("both_bad") is True
    with user_errors():
        address = address_of(request)
        origin = origins.of(address) if origins else None
        with limits.vote(owner, address):
            rounds.vote(owner, round_id or "", ranks, both_bad=both_bad, origin=origin)
        return rounds.view(owner, round_id or "")


def undo(rounds: Rounds, round_id: str | None, request: gr.Request) -> RoundView:
    """Take back a vote that can be undone; return the round as it is then."""
    owner = visitor(request)
    with user_errors():
        rounds.undo(owner, round_id or "")
        return rounds.view(owner, round_id or "")


def explain(
    rounds: Rounds, round_id: str | None, request: gr.Request, event: gr.EventData
) -> RoundView | None:
    """Store why a vote was cast; return the round that is on show, if any is, as it is then."""
    data: Any = event._data
    given: dict[str, Any] = data if isinstance(data, dict) else {}
    owner, vote = visitor(request), given.get("vote")
    with user_errors():
        named = vote if isinstance(vote, str) else ""
        rounds.explain(owner, named, given.get("criteria", []), given.get("comment", ""))
        return rounds.view(owner, round_id) if round_id else None


def confirm(rounds: Rounds, round_id: str | None, request: gr.Request) -> RoundView:
    """Let a vote count at once; return the round as it is then."""
    owner = visitor(request)
    with user_errors():
        rounds.confirm(owner, round_id or "")
        return rounds.view(owner, round_id or "")
