"""The compare tab: named models on one prompt, and where they part ways."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr

from coupled_arena.battles.compare import FEWEST, MOST, common_beginning, compare, parse_seed
from coupled_arena.battles.viewers import CADENCE
from coupled_arena.core.records import Mode, Sampling, seed_to_hex
from coupled_arena.generation.running import Worker
from coupled_arena.generation.turns import Models
from coupled_arena.ui.parts.events import FREE, user_errors
from coupled_arena.ui.parts.panel import comparison_panel

_INTRO = (
    "See what coupling does: with one noise stream, answers part ways only where the models "
    "disagree. The common beginning is dimmed; the first difference is marked."
)
_FIRST_WORD = re.compile(r"\s*\S+")


class CompareTab:
    """Components and handlers of the tab."""

    def __init__(self, models: Models, worker: Worker, sampling: Sampling) -> None:
        self._models = models
        self._worker = worker
        self._sampling = sampling

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        names = list(self._models)
        gr.Markdown(_INTRO)
        chosen = gr.Dropdown(
            names,
            value=names[:2],
            multiselect=True,
            max_choices=MOST,
            label=f"Models ({FEWEST} to {MOST})",
            elem_id="compare-models",
        )
        question = gr.Textbox(label="Question", lines=1, max_lines=8, elem_id="compare-question")
        with gr.Row(equal_height=True):
            mode = gr.Radio(
                [Mode.COUPLED.value, Mode.INDEPENDENT.value],
                value=Mode.COUPLED.value,
                label="Noise",
                scale=3,
            )
            seed = gr.Textbox(
                label="Seed (hex)", placeholder="drawn if empty", scale=3, elem_id="compare-seed"
            )
            start = gr.Button("Compare", variant="primary", scale=1, elem_id="compare")
            stop = gr.Button("Stop", scale=1)
        panel = comparison_panel()
        event = gr.on(
            [start.click, question.submit, seed.submit],
            self._compare,
            [chosen, question, mode, seed],
            panel,
            **FREE,
        )
        stop.click(None, None, None, cancels=[event])

    async def _compare(
        self, names: list[str], question: str, mode: str, seed: str
    ) -> AsyncIterator[dict[str, Any]]:
        with user_errors():
            started = compare(
                self._models,
                self._worker,
                names or [],
                question or "",
                Mode(mode),
                self._sampling,
                parse_seed(seed or ""),
            )
            running = started.running
            try:
                while not running.done.is_set():
                    yield show(started.models, running.texts, started.seed, running.ahead)
                    await asyncio.sleep(CADENCE)
            finally:
                running.cancelled.set()
            if running.error:
                raise running.error
            yield show(started.models, running.texts, started.seed)


def show(
    models: tuple[str, ...], texts: tuple[str, ...], seed: int, ahead: int | None = None
) -> dict[str, Any]:
    """Return the answers, each cut at the common beginning and after its first own word."""
    common = common_beginning(texts)
    cut = [_cut(text, common) for text in texts]
    answers = [
        {"model": model, "common": common_part, "divergence": own, "rest": rest}
        for model, (common_part, own, rest) in zip(models, cut, strict=True)
    ]
    note = f"Seed {seed_to_hex(seed)} · the first {common:,} characters are common to all"
    if ahead is not None:
        note = f"{ahead} ahead of you" if ahead else "You are next"
    return {"note": note, "answers": answers}


def _cut(text: str, common: int) -> tuple[str, str, str]:
    own = _FIRST_WORD.match(text, common)
    end = own.end() if own else common
    return text[:common], text[common:end], text[end:]
