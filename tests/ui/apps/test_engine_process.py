"""The process that decodes: as the thread does, killed, started again, and gone with its owner."""

from __future__ import annotations

import math
import multiprocessing.forkserver
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from coupled_arena.battles.arena import Arena
from coupled_arena.core.errors import ModelError, PromptError, PromptLengthError, SettingsError
from coupled_arena.core.records import Finish, Sampling
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import engine_child, engine_process, loading
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.engine_process import EngineProcess
from coupled_arena.generation.loading import load_enabled
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from tests.patience import PATIENCE, until
from tests.small_models import NAMES, SMALL_MODELS, save_small_models
from tests.ui.raw_client import NO_TLS, Visitor, differ, speak
from tests.ui.server import EQUAL_MODELS, read, serving

RED, GREEN, BLUE = NAMES
CONFIG = f"""
[battle]
coupled_share = 0
[sampling]
max_new_tokens = 6000
{EQUAL_MODELS}
"""


def request(seed, *names, most=6000, prompt=(300, 400)):
    contenders = tuple(Contender(name, seed + place, prompt) for place, name in enumerate(names))
    return Request(contenders, Sampling(temperature=0.9, max_new_tokens=most))


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder)
    (folder / "arena.toml").write_text(SMALL_MODELS)
    return load_settings(folder / "arena.toml")


@pytest.fixture(scope="module")
def start():
    """Start engines, as forks of the process that apps are forks of, and end them."""
    multiprocessing.forkserver.ensure_running()
    started = []

    def begin(load, capacity=None):
        started.append(EngineProcess(load, capacity))
        return started[-1]

    yield begin
    for engine in started:
        engine.close()


@pytest.fixture(scope="module")
def engine(start, settings):
    return start(partial(load_enabled, settings))


def done(running):
    assert running.done.wait(PATIENCE)
    return running


def lines(running):
    return [(line.tokens, line.text, line.finish) for line in running.lines]


def test_the_web_server_leaves_torch_to_that_process():
    faces = "arena, coupled_arena.battles.first_divergence, coupled_arena.battles.replay"
    pages = "layout, coupled_arena.ui.tabs.battle, coupled_arena.ui.tabs.compare"
    code = f"""import sys, coupled_arena.battles.{faces}, coupled_arena.ui.{pages}
import coupled_arena.generation.engine_process
sys.exit("torch" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_process_writes_what_a_thread_would(engine, settings):
    wanted = [request(seed, RED, GREEN, BLUE, most=60) for seed in range(4)]
    runs = [done(engine.submit(one)) for one in wanted]
    models = load_enabled(settings)
    for running, expected in zip(runs, decode(LockstepEngine(models), wanted), strict=True):
        assert lines(running) == lines(expected)
        assert running.texts == expected.texts
    assert {*engine.speeds} == {RED, GREEN, BLUE}
    for name, model in models.items():
        asked = [{"role": "user", "content": "What is a whale?"}]
        assert engine.models[name].encode(asked) == model.encode(asked)
        assert engine.models[name].arithmetic == model.arithmetic
        assert engine.models[name].perplexity == model.perplexity
        assert engine.models[name].context_length == model.context_length
    assert engine.battles == 0


def test_a_draw_is_laid_open_as_in_a_thread(engine, settings):
    wanted = replace(request(3, RED, GREEN, most=1), opened=7)
    models = load_enabled(settings)
    (expected,) = decode(LockstepEngine(models), [wanted])
    found = [line.draw for line in done(engine.submit(wanted)).lines]
    assert found == [line.draw for line in expected.lines]
    assert [len(draw.candidates) >= 7 for draw in found] == [True, True]
    assert found[0].candidates[0].noise is not None


def test_a_cancelled_turn_keeps_what_was_seen_of_it(engine):
    running = engine.submit(request(7, RED, GREEN))
    seen = until(lambda: all(running.texts) and running.texts)
    running.cancelled.set()
    done(running)
    assert running.error is None
    assert [line.finish for line in running.lines] == [Finish.CANCELLED] * 2
    assert all(line.text.startswith(text) for line, text in zip(running.lines, seen, strict=True))
    assert running.texts == tuple(line.text for line in running.lines)
    assert len({len(line.tokens) for line in running.lines}) == 1


def test_what_one_model_cannot_read_costs_one_battle(engine):
    bystander = engine.submit(request(3, GREEN, BLUE, most=200))
    broken = done(engine.submit(request(3, RED, GREEN, prompt=(10**6,))))
    assert isinstance(broken.error, ModelError)
    assert str(broken.error).startswith("Decoding failed: ")
    assert done(bystander).error is None
    assert len(bystander.lines[0].tokens) == 200
    assert engine.alive
    assert not engine.failing


def test_what_is_left_out_is_said_and_too_few_models_are_refused(start, settings, caplog):
    entries = [entry | {"folder": f"no-{entry['name']}"} for entry in settings.models]
    one_left = settings.model_copy(update={"models": [settings.models[0], *entries[1:]]})
    with pytest.raises(SettingsError, match="Only 1 of the enabled models can be used"):
        start(partial(load_enabled, one_left))
    left_out = [line for line in caplog.messages if line.startswith("Left out: ")]
    assert len(left_out) == 2
    assert all("no config.json" in line for line in left_out)


def test_turns_wait_in_the_process_and_too_many_are_sent_away(start, settings):
    load = partial(load_enabled, settings)
    engine = start(load, Capacity(most_at_once=1, most_waiting=2, kv_tokens=7000))
    assert engine.room.tokens == 7000
    first = engine.submit(request(1, RED, GREEN))
    until(lambda: all(first.texts))
    second, third = engine.submit(request(2, RED, GREEN)), engine.submit(request(3, BLUE, most=9))
    assert until(lambda: third.ahead) == 1
    assert (first.begun, second.begun, second.ahead) == (True, False, 0)
    with pytest.raises(PromptError, match="The arena is busy"):
        engine.submit(request(4, RED))
    second.cancelled.set()
    assert not done(second).begun
    until(lambda: third.ahead == 0)
    first.cancelled.set()
    assert done(third).begun
    assert [line.finish for line in third.lines] == [Finish.LENGTH]
    with pytest.raises(PromptLengthError, match=r"may take 7,002 tokens"):
        engine.check(request(5, RED, prompt=(300,) * 1002))
    with pytest.raises(SettingsError, match="an answer may have 7,000"):
        engine.room.check_answers(Sampling(max_new_tokens=7000))


def test_a_process_that_dies_while_it_loads_is_no_start(start):
    with pytest.raises(ModelError, match="exit code 3"):
        start(partial(os._exit, 3))


def load_deadly(settings, fatal=None):
    """Load models of which one ends the process, as a fault of a library's own code does."""
    load_here = loading._load_here

    def deadly(spec, cache):
        return os.kill(os.getpid(), 11) if spec.name == BLUE else load_here(spec, cache)

    loading._load_here = deadly
    return load_enabled(settings, fatal)


def test_a_model_that_ends_the_process_is_left_out(start, settings):
    engine = start(partial(load_deadly, settings))
    assert list(engine.models) == [RED, GREEN]
    assert engine.left_out == {BLUE: f"Model '{BLUE}' ends the process that loads it (signal 11)."}
    assert done(engine.submit(request(1, RED, GREEN, most=9))).error is None


def load_still(settings, marker, when, fatal=None):
    """Load models of which one is never read to its end, as from a mount that is gone."""
    load_here = loading._load_here

    def still(spec, cache):
        if spec.name == BLUE and when.exists():
            marker.write_text(str(os.getpid()))
            threading.Event().wait()
        return load_here(spec, cache)

    loading._load_here = still
    return load_enabled(settings, fatal)


@pytest.fixture
def still(monkeypatch, tmp_path):
    """Have processes move at every look, but the one that says that it does not."""
    monkeypatch.setattr(engine_process, "_LOOK", 0.01)
    monkeypatch.setattr(engine_process, "_MOST_SILENT", math.inf)
    marker = tmp_path / "pid"

    class Movement:
        def __init__(self, pid):
            self.pid = str(pid)

        def seen(self):
            return not marker.exists() or marker.read_text() != self.pid

    monkeypatch.setattr(engine_process, "Movement", Movement)
    return marker


SAID = f"Model '{BLUE}' does not load: nothing was read or computed for 1 s."


def test_a_model_of_which_nothing_is_read_is_left_out(start, settings, still, caplog):
    with closing(start(partial(load_still, settings, still, when=still.parent))) as engine:
        assert list(engine.models) == [RED, GREEN]
        assert engine.left_out == {BLUE: SAID}
        (line,) = (line for line in caplog.messages if line.startswith("Left out: "))
        assert line == f"Left out: {SAID}"
        assert done(engine.submit(request(1, RED, GREEN, most=9))).error is None


def test_a_model_of_which_nothing_is_read_any_more_costs_itself(start, settings, still):
    gone = still.with_name("gone")
    with closing(start(partial(load_still, settings, still, when=gone))) as engine:
        assert list(engine.models) == [RED, GREEN, BLUE]
        gone.touch()
        engine._process.kill()
        until(lambda: engine.left_out == {BLUE: SAID})
        until(lambda: engine.alive)
        assert done(engine.submit(request(1, RED, GREEN, most=9))).error is None
        refused = done(engine.submit(request(1, RED, BLUE, most=9))).error
        assert str(refused) == f"{BLUE} could not be loaded again."


def load_restless(settings):
    """Load models in a process that wants to be heard of at every look."""
    engine_child.BEAT = 0.05
    return load_enabled(settings)


def load_stuck(settings):
    """Load models in a process whose first step has no end."""
    LockstepEngine.step = lambda _: threading.Event().wait()
    return load_restless(settings)


@pytest.fixture
def looks(monkeypatch):
    """Have watchdogs look often; return a way to say after how many looks in vain they kill."""
    monkeypatch.setattr(engine_process, "_LOOK", 0.05)

    def kill_after(most):
        monkeypatch.setattr(engine_process, "_MOST_SILENT", most)

    kill_after(math.inf)
    return kill_after


def test_a_process_that_hangs_is_killed_and_started_again(
    start, settings, looks, caplog, monkeypatch
):
    heard, note = [], engine_process.Watchdog.note_sign
    monkeypatch.setattr(engine_process.Watchdog, "note_sign", lambda dog: heard.append(note(dog)))
    engine = start(partial(load_restless, settings))
    first = engine._process.pid
    until(lambda: len(heard) > 20)  # though nothing happens
    running = engine.submit(request(7, RED, GREEN))
    until(lambda: all(running.texts))
    arena = SimpleNamespace(worker=engine)
    assert Arena.trouble(arena) == ""
    os.kill(first, signal.SIGSTOP)
    until(lambda: Arena.trouble(arena) == "nothing is heard of the process that decodes")
    looks(12)
    assert isinstance(done(running).error, ModelError)
    looks(math.inf)
    assert all(running.texts)
    until(lambda: engine.alive)
    assert Arena.trouble(arena) == ""
    assert engine._process.pid != first
    until(lambda: is_gone(first))
    assert done(engine.submit(request(8, RED, GREEN, most=9))).error is None
    assert sum("hangs: nothing was heard of it" in line for line in caplog.messages) == 1
    assert any("(signal 9); battles lost: 1" in line for line in caplog.messages)


def test_a_step_without_end_ends_its_rounds_and_the_process(start, settings, caplog):
    engine = start(partial(load_stuck, settings), Capacity(step_seconds=1.0))
    first, arena = engine._process.pid, SimpleNamespace(worker=engine)
    assert Arena.trouble(arena) == ""
    began = time.monotonic()
    runs = [engine.submit(request(seed, RED, GREEN)) for seed in range(2)]
    assert {str(done(run).error) for run in runs} == {"The process that decodes has ended."}
    assert time.monotonic() - began > 1
    assert Arena.trouble(arena) == "models are being loaded again: a step did not end"
    until(lambda: engine.alive)
    assert Arena.trouble(arena) == ""
    until(lambda: is_gone(first))
    (line,) = (line for line in caplog.messages if "has not ended" in line)
    assert re.search(r"has not ended for \d s; step_seconds allows 1\. It is killed\.", line)
    assert engine.ended["failed"] == 2


# In the page


def decoder(served):
    """Return the number of the newest process that decodes for an app."""
    return int(re.findall(r"Process (\d+) decodes", served.stderr.read_text())[-1])


def health(served):
    answer = httpx.get(f"{served.url}/healthz", verify=NO_TLS)
    return answer.status_code, answer.json()["ailing"]


def is_gone(pid):
    return not Path(f"/proc/{pid}").exists()


def test_a_killed_process_is_told_and_started_again(tmp_path):
    model = tmp_path / RED
    with serving(tmp_path, CONFIG) as served:
        visitor = Visitor(served.url)
        views = visitor.follow(visitor.begin())
        assert any(map(speak, views))
        model.rename(tmp_path / "away")  # it stays down for as long as a test needs
        first = decoder(served)
        os.kill(first, signal.SIGKILL)
        last = list(views)[-1]
        assert last["running"]  # there is more to know
        told = visitor.call(visitor.dependency("look", "round"), [None])["data"][1]
        assert "The models broke off" in told["error"]
        assert told["turns"] == last["turns"]
        assert health(served) == (503, ["engine"])
        newcomer = Visitor(served.url)
        assert newcomer.ask() == {}
        assert b"The models are being loaded again. Ask again in a minute." in newcomer.heard
        (tmp_path / "away").rename(model)
        until(lambda: health(served) == (200, []))
        assert decoder(served) != first
        view = newcomer.ask(stop=differ)
        assert not view["error"]
        assert "vote" in newcomer.vote()
        log = served.stderr.read_text()
        assert log.count("has ended (signal 9); battles lost: 1.") == 1
        assert "Traceback" not in log
        assert served.stop(signal.SIGTERM) == 0
        until(lambda: is_gone(decoder(served)))
    assert read(served.db, "select count(*) from votes") == [(1,)]


def test_a_killed_app_leaves_no_process_behind(tmp_path):
    """Nothing runs, so nothing but the closed pipe tells the process."""
    with serving(tmp_path, CONFIG) as served:
        pid = decoder(served)
        assert not is_gone(pid)
        served.kill()
        until(lambda: is_gone(pid))
