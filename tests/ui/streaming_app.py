"""A page with the arena's two panels, on made-up answers at 10 Hz.

Those of a round come on the stream that the arena's come on. A round goes on until it is voted on
or a button is pressed, which opens the next one. What arrives is counted on the page, so that a
test can tell a press from a press that came to nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import count
from typing import Any

import gradio as gr

from coupled_arena.battles.blind_view import RoundView, TurnView
from coupled_arena.ui.parts.answer_stream import answer_stream
from coupled_arena.ui.parts.panel import comparison_panel
from coupled_arena.ui.parts.round_panel import round_panel, show
from tests.ui.mounting import serve

TICK = 0.1  # seconds
KINDS = {
    "2": {"size": 2, "same": False},
    "3": {"size": 3, "same": False},
    "2-same": {"size": 2, "same": True},
    "3-same": {"size": 3, "same": True},
}
WORDS = ("the", "whale", "sang", "and", "the", "keeper", "lit", "his", "lamp", "while", "rain")

rounds = count(1)
arrived: Counter[str] = Counter()
current = {"round": next(rounds), **KINDS["2"]}


def told() -> str:
    """Return what has arrived, in words that a test waits for."""
    return ", ".join(f"{arrived[name]} {name}" for name in ("votes", "stops"))


def answers(tick: int) -> tuple[str, str]:
    """Return two answers of so many words that part ways at once, one longer than the other."""
    left = " ".join(WORDS[word % len(WORDS)] for word in range(tick))
    return f"Once {left}", f"Then {left} and more"


def view(tick: int) -> RoundView:
    """Return a round as the arena shows it while it runs."""
    size = current["size"]
    texts = (answers(tick)[0],) * 2 if current["same"] else answers(tick)
    texts = (*texts, *(f"Place {place} {answers(tick)[0]}" for place in range(2, size)))
    turn = TurnView("What then?", texts)
    return RoundView(size, (turn,), running=True, commitment=f"round {current['round']}")


class Rounds:
    """The round that streams, to whoever asks for it."""

    closing = False

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return it as it begins."""
        return view(1)

    async def watch(self, owner: str, round_id: str) -> AsyncGenerator[RoundView]:
        """Yield it until there is another one."""
        for tick in count(1):
            if round_id != str(current["round"]):
                return
            yield view(tick)
            await asyncio.sleep(TICK)


def shown() -> dict[str, Any]:
    """Return the round that streams as the page gets it."""
    return show(view(1), events=f"/rounds/{current['round']}/0/events")


def comparison(tick: int) -> dict[str, Any]:
    """Return the two answers as the compare tab shows them."""
    parts = zip(("ann", "bob"), answers(tick), strict=True)
    cut = [
        {"model": model, "common": "", "divergence": text[:4], "rest": text[4:]}
        for model, text in parts
    ]
    return {"id": "seventh", "note": "Seed 7", "answers": cut, "running": True}


async def compare() -> AsyncIterator[dict[str, Any]]:
    """Yield the comparison for as long as the page is open."""
    for tick in count(1):
        yield comparison(tick)
        await asyncio.sleep(TICK)


def begin(kind: dict[str, int]) -> tuple[str, str, dict[str, Any]]:
    """Open a round of a kind, as if nothing had arrived before."""
    arrived.clear()
    current.update(kind, round=next(rounds))
    return told(), "", shown()


def vote(event: gr.EventData) -> tuple[str, str, dict[str, Any]]:
    """Count a vote and open the next round."""
    arrived["votes"] += 1
    current["round"] = next(rounds)
    return told(), str(event._data["ranks"]), shown()


def stop() -> str:
    """Count a stop; the answers go on."""
    arrived["stops"] += 1
    return told()


def build() -> gr.Blocks:
    """Return the page."""
    with gr.Blocks() as page:
        buttons = [gr.Button(kind, elem_id=f"begin-{kind}") for kind in KINDS]
        gr.Textbox(label="Elsewhere", lines=3, elem_id="elsewhere")
        counted = gr.Textbox(label="Arrived", elem_id="arrived")
        ranks = gr.Textbox(label="Ranks", elem_id="ranks")
        panel = round_panel()
        compared = comparison_panel()
        for kind, button in zip(KINDS.values(), buttons, strict=True):
            button.click(begin, gr.State(kind), [counted, ranks, panel], concurrency_limit=None)
        page.load(shown, None, panel, concurrency_limit=None)
        page.load(compare, None, compared, concurrency_limit=None)
        panel.vote(vote, None, [counted, ranks, panel], concurrency_limit=None)
        panel.stop(stop, None, counted, concurrency_limit=None)
    return page


def launch(port: int) -> None:
    """Serve the page."""
    serve(port, build(), answer_stream(Rounds()))
