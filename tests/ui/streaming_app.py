"""A page with the arena's two panels, on made-up answers at 10 Hz: ``python -m … PORT``.

Every round streams until it is voted on, which opens the next one. What arrives is counted on the
page, so that a test can tell a press from a press that came to nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import gradio as gr

from coupled_arena.settings import resource
from coupled_arena.ui.panel import comparison_panel
from coupled_arena.ui.round_panel import round_panel

TICK = 0.1  # seconds
WORDS = ("the", "whale", "sang", "and", "the", "keeper", "lit", "his", "lamp", "while", "rain")

rounds = count(1)
arrived: Counter[str] = Counter()
current = {"round": next(rounds)}


def told() -> str:
    """Return what has arrived, in words that a test waits for."""
    return ", ".join(f"{arrived[name]} {name}" for name in ("votes", "stops"))


def answers(tick: int) -> tuple[str, str]:
    """Return two answers of so many words that part ways at once, one longer than the other."""
    left = " ".join(WORDS[word % len(WORDS)] for word in range(tick))
    return f"Once {left}", f"Then {left} and more"


def view(tick: int, *, size: int) -> dict[str, Any]:
    """Return a round as the arena shows it while it runs."""
    texts = (*answers(tick), *(f"Place {place} {answers(tick)[0]}" for place in range(2, size)))
    return {
        "size": size,
        "turns": [{"system": "", "prompt": "What then?", "answers": texts}],
        "running": True,
        "commitment": f"round {current['round']}",
        "reveal": None,
        "error": None,
        "stored": False,
    }


def comparison(tick: int) -> dict[str, Any]:
    """Return the two answers as the compare tab shows them."""
    parts = zip(("ann", "bob"), answers(tick), strict=True)
    cut = [
        {"model": model, "common": "", "divergence": text[:4], "rest": text[4:]}
        for model, text in parts
    ]
    return {"note": "Seed 7", "answers": cut}


async def stream(size: int) -> AsyncIterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield both panels' views for as long as the page is open."""
    shown, tick = current["round"], 0
    while True:
        if shown != current["round"]:
            shown, tick = current["round"], 0
        tick += 1
        yield view(tick, size=size), comparison(tick)
        await asyncio.sleep(TICK)


def vote(event: gr.EventData) -> str:
    """Count a vote and open the next round."""
    arrived["votes"] += 1
    arrived[f"ranks {event._data['ranks']}"] += 1
    current["round"] = next(rounds)
    return told()


def stop() -> str:
    """Count a stop; the answers go on."""
    arrived["stops"] += 1
    return told()


def build() -> gr.Blocks:
    """Return the page."""
    with gr.Blocks() as page:
        begin = [gr.Button(f"{size} answers", elem_id=f"begin-{size}") for size in (2, 3)]
        gr.Textbox(label="Elsewhere", lines=3, elem_id="elsewhere")
        counted = gr.Textbox(label="Arrived", elem_id="arrived")
        panel = round_panel()
        compared = comparison_panel()
        for size, button in zip((2, 3), begin, strict=True):
            button.click(
                stream, gr.State(size), [panel, compared], concurrency_limit=None, queue=True
            )
        panel.vote(vote, None, counted, concurrency_limit=None)
        panel.stop(stop, None, counted, concurrency_limit=None)
    return page


if __name__ == "__main__":
    build().launch(
        server_port=int(sys.argv[1]),
        css_paths=[resource("assets/arena.css")],
        run_history=False,
        footer_links=[],
        quiet=True,
    )
