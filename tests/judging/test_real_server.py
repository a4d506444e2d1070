"""A real OpenAI-compatible server judges real battles, and is killed in the middle."""

from __future__ import annotations

import os
import runpy
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

from coupled_arena.battles.batch import BatchPlan, generate
from coupled_arena.battles.judge_runs.run import judge_stored
from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Finish, Mode, Reply, Sampling
from coupled_arena.core.settings import resource
from coupled_arena.core.verdicts import NOT_ASKED
from coupled_arena.generation.weights import local_folder
from coupled_arena.judging.answer import VERDICT, read_label
from coupled_arena.judging.judge import Judge
from coupled_arena.judging.prompt import JudgePrompt
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.patience import until
from tests.small_models import NAMES, save_small_models
from tests.store.conftest import make_battle
from tests.ui.server import _FORKS, free_port

_SHORT = JudgePrompt("Which answer is better?", "0" * 64)  # a long one costs seconds a question


@pytest.fixture(scope="module")
def weights(demo_catalog, weights_cache):
    return local_folder(demo_catalog.enabled[0], weights_cache)


@pytest.fixture
def small_weights(tmp_path):
    save_small_models(tmp_path)
    return tmp_path / NAMES[0]


@contextmanager
def transformers_serve(weights, port, log):
    """Run ``transformers serve`` on a small model until the block is left."""
    arguments = ["serve", str(weights), "--device", "cpu", "--port", str(port)]
    process = _FORKS.Process(target=_serve, args=([*arguments, "--host", "127.0.0.1"], log))
    process.start()

    def healthy():
        assert process.exitcode is None, log.read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(healthy)
        yield process
    finally:
        process.kill()
        process.join()


def _serve(arguments, log):
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    sys.argv[1:] = arguments
    runpy.run_module("transformers.cli.transformers", run_name="__main__")


def fill(store, battles):
    """Store battles on the demo's questions with short made-up answers."""
    prompts = read_library(resource("data/prompts.jsonl")).prompts
    with at_once(store) as batch:
        for number, prompt in enumerate(prompts[:battles]):
            replies = tuple(
                Reply(0, place, f"Answer {number} of model {place}.", (1,), Finish.STOP)
                for place in (0, 1)
            )
            batch.add_battle(make_battle(prompts=(prompt,), replies=replies))


def rows(store):
    with store.cursor() as cursor:
        return cursor.execute("select battle, first_place, outcome, raw from verdicts").fetchall()


def judge_through_a_kill(store, weights, folder, kill_after):
    """Judge what is stored while the server is killed and comes back; return what was done."""
    port, log = free_port(), folder / "serve.log"
    spec = JudgeSpec("smol", str(weights), _SHORT, max_tokens=4)
    url = f"http://127.0.0.1:{port}/v1"
    judge = Judge(spec, base_url=url, timeout=120, patience=600)
    judged = threading.Event()
    with transformers_serve(weights, port, log) as first:

        def replace_server():
            until(lambda: len(rows(store)) >= kill_after)
            first.kill()
            first.join()
            with transformers_serve(weights, port, log):
                judged.wait(600)

        replacing = threading.Thread(target=replace_server)
        replacing.start()
        try:
            return judge_stored(judge, store, concurrency=4, progress=False)
        finally:
            judged.set()
            replacing.join()


@pytest.mark.slow  # a scripted server breaks off, too, in tests/judge_runs/test_bulk.py
def test_a_server_killed_in_the_middle_costs_no_verdict(small_weights, tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        fill(store, 5)
        done = judge_through_a_kill(store, small_weights, tmp_path, kill_after=3)
        found = rows(store)
    assert (done.asked, done.failed, done.left) == (10, 0, 0)
    assert done.tokens_in > 10 * 100
    assert len({row[:2] for row in found}) == len(found) == 10
    # Such a small model hardly ever gives its verdict in the form asked for.
    for *_, outcome, raw in found:
        assert raw
        assert (outcome is None) == (read_label(raw, VERDICT) is None)


@pytest.mark.slow
def test_fifty_demo_battles_through_a_kill_take_5_minutes(demo_models, weights, tmp_path):
    prompts = read_library(resource("data/prompts.jsonl")).prompts[:25]
    full, _, four_bits = demo_models
    sampling = Sampling(max_new_tokens=16)
    plan = BatchPlan(
        prompts, (full, four_bits), (Mode.COUPLED, Mode.INDEPENDENT), 1, 5, (sampling,)
    )
    with Store.open(tmp_path / "arena.duckdb") as store:
        assert generate(plan, demo_models, store, at_once=25, progress=False).battles == 50
        done = judge_through_a_kill(store, weights, tmp_path, kill_after=40)
        found = rows(store)
    assert (done.failed, done.left) == (0, 0)
    assert done.asked + 2 * done.identical == 100
    asked = [row for row in found if row[3] != NOT_ASKED]
    assert len({row[:2] for row in asked}) == len(asked) == done.asked
    assert len({row[0] for row in found}) == 50
