"""The battle tab on a real arena whose votes can be undone, with small models that write slowly.

``/votes`` tells what the store holds, so that a test can hold it against what was meant.
"""

from __future__ import annotations

import random
import time

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

from coupled_arena.battles.arena import Arena, ArenaRules
from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Sampling
from coupled_arena.core.settings import resource
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.answer_stream import answer_stream
from coupled_arena.ui.parts.visitor import VisitorCookie
from coupled_arena.ui.tabs.battle import BattleTab
from tests.battles.conftest import TalkingModel, talking
from tests.generation.markov import MarkovBatch
from tests.ui.mounting import mount

PAUSE = 0.02  # seconds between the words of a model
NAMES = ("ann", "bob", "cas", "dot")
_VOTES = """
select list([ranks::text, both_bad::text] order by cast_at) from {} where source = 'human'
"""
_RATIONALES = "select criteria, comment from {} order by given_at"


class SlowBatch(MarkovBatch):
    """Takes its time, so that answers grow before one's eyes."""

    def advance(self, tokens):
        time.sleep(PAUSE)
        return super().advance(tokens)


class SlowModel(TalkingModel):
    """Goes on and on, a word at a time."""

    def start_batch(self, most_tokens=None):
        return SlowBatch(self)


def models() -> dict[str, TalkingModel]:
    """Return models whose answers never end by themselves."""
    made = {name: talking(name, seed, context_length=9000) for seed, name in enumerate(NAMES)}
    for model in made.values():
        model.table[:, -1] = -float("inf")
        model.__class__ = SlowModel
    return made


def application(store: Store, undo_seconds: float) -> FastAPI:
    """Return the page, its stream and what is stored."""
    talkers = models()
    worker = EngineWorker(LockstepEngine(talkers))
    sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=4000)
    rules = ArenaRules(sampling, coupled_share=0.0, undo_seconds=undo_seconds)
    arena = Arena(talkers, worker, store, rules, random.Random(0))
    with gr.Blocks() as page:
        BattleTab(arena, read_library(resource("data/prompts.jsonl")), 2, None).build(page)
    served = FastAPI(middleware=[Middleware(VisitorCookie, arena.expect)])
    served.include_router(answer_stream(arena))

    @served.get("/votes")
    def votes() -> dict[str, list[list[str]]]:
        with store.cursor() as cursor:
            return {
                table: cursor.execute(_VOTES.format(table)).fetchall()[0][0] or []
                for table in ("votes", "pending_votes")
            }

    @served.get("/rationales")
    def rationales() -> dict[str, list[list[object]]]:
        with store.cursor() as cursor:
            return {
                table: [list(row) for row in cursor.execute(_RATIONALES.format(table)).fetchall()]
                for table in ("rationales", "pending_rationales")
            }

    script = resource("assets/stream.js").read_text(encoding="utf-8")
    return mount(served, page, f"<script>{script}</script>")


def launch(port: int, undo_seconds: float = 60.0) -> None:
    """Serve the page; a vote can be undone for longer than a test takes."""
    with Store.in_memory() as store:
        uvicorn.run(application(store, undo_seconds), port=port, log_level="error")


def launch_brief(port: int) -> None:
    """Serve the page; a vote can be undone for a moment."""
    launch(port, undo_seconds=1.0)
