"""The battles tab: those behind a number, and each of them with all that was said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr

from coupled_arena.analysis.battles import read_battle, read_battles
from coupled_arena.analysis.leaderboard.one_model import LiveModels
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.battles.replay import Redecoder
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Mode
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.battle_search import Agreement, BattleFilter, Ending, Rater
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts.events import FREE, sent
from coupled_arena.ui.parts.example_link import example_view
from coupled_arena.ui.parts.first_divergence import divergence_reason
from coupled_arena.ui.parts.held_back import HeldBack
from coupled_arena.ui.parts.panel import panel
from coupled_arena.ui.parts.visitor import member_of, visitor
from coupled_arena.views.addresses import Address, read_address
from coupled_arena.views.battle_pages import NO_BATTLES, battle_page, list_page
from coupled_arena.views.model_pages import model_page
from coupled_arena.views.own_votes import BETTER
from coupled_arena.views.words.first_divergence import replay_words

_LONGEST = 300  # characters of a message
_SCRIPTS = "patch", "remembered", "reading", "tables", "first_divergence", "model", "battles"
_SOME = 5  # battles of a model's page
_NO_MODELS = N_("No models are loaded here: run the command above where they are.")
_WORDS = {Rater.PEOPLE: N_("people"), Rater.JUDGE: N_("the judge")}
_ENDINGS = {
    Ending.TIE: N_("a tie"),
    Ending.BOTH_BAD: N_("both bad"),
    Ending.IDENTICAL: N_("equal replies, nobody was asked"),
    Ending.EVEN: N_("no winner, for any reason"),
    Ending.ASKED: N_("somebody was asked"),
}
_JUDGED = {
    Agreement.DIFFERS: N_("differs from people"),
    Agreement.AGREES: N_("agrees with people"),
    Agreement.BOTH: N_("has a vote beside it"),
    Agreement.ALONE: N_("has no vote beside it"),
}


class Sight(NamedTuple):
    """Which battles somebody may see, see `coupled_arena.analysis.battles.read_battles`."""

    hidden: Hidden
    told: str | None


class BattlesTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}
        What is not shown, as in the Data tab.
    redecoder : Redecoder or None
        Decodes a battle again; None where no models are.
    trends : LiveTrends
        Lines of the board, for pages of models.
    held_back : HeldBack, optional
        Where names open to a person once their share is done, so do the battles of their share, and
        to admins all that are stored.
    """

    def __init__(
        self,
        store: Store,
        hidden: Hidden,
        redecoder: Redecoder | None,
        trends: LiveTrends,
        held_back: HeldBack | None = None,
        offer: str = "",
    ) -> None:
        self._store = store
        self._offer = offer
        self._held_back = held_back
        self._hidden: Hidden = hidden
        self._redecoder = redecoder
        self._models = LiveModels(store, hidden, trends)

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        shown = panel("battles", *_SCRIPTS)
        # Where one follows another at once, the page waits for the answer to the last.
        shown.look(self._search, None, shown, trigger_mode="multiple", **FREE)
        shown.replay(self._replay, None, shown, **FREE)
        shown.part(self._part, None, shown, trigger_mode="multiple", **FREE)

    def _search(self, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        """Return what an address asks for, and which address and question of the page it was."""
        query = _text(event, "query")
        return {"query": query, "number": _number(event), **self._found(query, request)}

    def _found(self, query: str, request: gr.Request) -> dict[str, Any]:
        try:
            asked, sight = read_address(query), self.sight(request)
            if asked.battle is not None:
                return self._battle(asked.battle, sight)
            if asked.model is not None:
                return self._model(asked.model, sight)
            return self._list(asked, visitor(request), sight)
        except ArenaError as error:
            return {"error": str(error)[:_LONGEST]}

    async def _replay(self, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        query = _text(event, "query")
        try:
            battle, sight = read_address(query).battle or "", self.sight(request)
            sentence = await self._replayed(battle, visitor(request), sight)
            return {"query": query, **self._battle(battle, sight), "replayed": sentence}
        except ArenaError as error:
            return {"query": query, "error": str(error)[:_LONGEST]}

    async def _replayed(self, battle: str, reader: str, sight: Sight) -> str:
        if self._redecoder is None:
            return _(_NO_MODELS)
        try:
            result = await self._redecoder.replay(reader, self._opened(battle, sight))
        except ArenaError as error:
            return str(error)[:_LONGEST]
        return _("Decoded again: {said}.").format(said=replay_words(result))

    async def _part(self, request: gr.Request, event: gr.EventData) -> dict[str, Any]:
        """Say why answers parted, or why that cannot be said."""
        battle, sight = _text(event, "of"), self.sight(request)
        return await divergence_reason(
            self._redecoder, visitor(request), lambda: self._opened(battle, sight), event
        )

    def sight(self, request: gr.Request) -> Sight:
        """Return which battles somebody may see, to whom the tab is open."""
        if self._held_back is None:
            return Sight(self._hidden, None)
        if (member := member_of(request)) and member.admin:
            return Sight("rounds", None)
        return Sight(self._hidden, visitor(request))

    def _opened(self, battle: str, sight: Sight) -> Battle:
        return read_battle(self._store, battle, sight.hidden, told=sight.told).battle

    def _battle(self, battle: str, sight: Sight) -> dict[str, Any]:
        opened = read_battle(self._store, battle, sight.hidden, told=sight.told)
        return {"battle": battle_page(opened)}

    def _model(self, model: str, sight: Sight) -> dict[str, Any]:
        found, wanted = self._models.get(model), BattleFilter(model=model)
        some = read_battles(self._store, wanted, sight.hidden, told=sight.told, size=_SOME)
        return {"model": model_page(found, some)}

    def _list(self, asked: Address, reader: str, sight: Sight) -> dict[str, Any]:
        wanted = replace(asked.wanted, voter=reader) if asked.mine else asked.wanted
        found = read_battles(self._store, wanted, sight.hidden, reader=reader, told=sight.told)
        if not found.tally.battles and wanted == BattleFilter():
            offered = example_view() if self._offer else None
            return {"nothing": {"text": _(NO_BATTLES), "offer": offered}}
        return {"list": list_page(found, mine=asked.mine), "fields": self._fields(asked)}

    def _fields(self, asked: Address) -> list[dict[str, Any]]:
        """Return the filter as the fields of a form, by their names in addresses."""
        wanted = asked.wanted
        with self._store.cursor() as cursor:
            models = replies.models(cursor, revealed_only=True)
            judges = comparisons.judges(cursor)
            categories = comparisons.categories(cursor)
            languages = comparisons.languages(cursor)
            benchmarks = scores.benchmarks(cursor)
        modes = {mode: mode.value for mode in Mode}
        return [
            _field("a", _("Model"), wanted.model, models),
            _field("b", _("Against"), wanted.other, models),
            _field("mode", _("Random numbers"), wanted.mode, modes),
            _field("source", _("Decided by"), wanted.rater, _WORDS),
            _field("winner", _("Winner"), wanted.winner, models),
            _field("judge", _("Judge"), wanted.judge, judges),
            _written("text", _("Words in question or answers"), wanted.text),
            _field("ending", _("Or the end"), wanted.ending, _ENDINGS),
            _field("judged", _("The judge"), wanted.agreement, _JUDGED),
            _field("category", _("Category"), wanted.category, categories),
            _field("reason", _("A reason"), wanted.reason, BETTER),
            _field("language", _("Language"), wanted.language, languages),
            _field("benchmark", _("Benchmark"), wanted.benchmark, benchmarks),
            _written("temperature", _("Temperature"), _shown(wanted.temperature)),
            _written("voter", _("Voter"), wanted.voter),
            _ticked("mine", _("My votes only"), asked.mine),
            _ticked("decided", _("Without ties"), wanted.decided),
        ]


def _field(
    name: str, label: str, value: str | None, choices: dict[Any, str] | list[str]
) -> dict[str, Any]:
    """Return a choice; what an address asks for is one, even if there is nothing of it."""
    known = choices.items() if isinstance(choices, dict) else zip(choices, choices, strict=True)
    offered = [
        ["", _("any")],
        *([str(key), _(text) if isinstance(choices, dict) else text] for key, text in known),
    ]
    if value and value not in [key for key, __ in offered]:
        offered.append([value, value])
    return {"name": name, "label": label, "value": value or "", "choices": offered}


def _shown(number: float | None) -> str | None:
    return None if number is None else f"{number:g}"


def _written(name: str, label: str, value: str | None) -> dict[str, Any]:
    return {"name": name, "label": label, "value": value or ""}


def _ticked(name: str, label: str, value: bool) -> dict[str, Any]:
    return {"name": name, "label": label, "value": value}


def _number(event: gr.EventData) -> int:
    number = sent(event, "number")
    return number if isinstance(number, int) else 0


def _text(event: gr.EventData, name: str) -> str:
    value = sent(event, name)
    return value if isinstance(value, str) else ""
