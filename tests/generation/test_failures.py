"""A failed step costs the battles it must, and never the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.battles.batch import BatchPlan, generate
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Mode, Prompt, Sampling, seed_to_hex
from coupled_arena.generation import batches
from coupled_arena.generation import worker as worker_module
from coupled_arena.generation.batches import PromptReading
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.database import Store
from tests.generation.markov import MarkovBatch, random_chain
from tests.patience import PATIENCE, until

SAMPLING = Sampling(temperature=0.9, top_p=0.95, max_new_tokens=12)
WORDS = ["q", *"abcdefg", "."]
ERRORS = [
    *(MemoryError(), TypeError("wrong type"), ValueError("wrong value"), KeyError("absent")),
    *(RuntimeError("device\nlong story"), IndexError("out of range"), AssertionError()),
    *(torch.OutOfMemoryError("out of memory"), ModelError("unusable"), StopIteration()),
]


class Faults:
    """What goes wrong in a model: `due` says of each call and its row count if it raises."""

    def __init__(self):
        self.error = None
        self.due = lambda what, prompts: False

    def check(self, what, prompts=()):
        if self.error and self.due(what, prompts):
            raise self.error


class FrailBatch(MarkovBatch):
    def add(self, prompts, read=None):
        self.model.faults.check("add", prompts)
        super().add(prompts, read)

    def advance(self, tokens):
        self.model.faults.check("advance")
        super().advance(tokens)

    def keep(self, rows):
        self.model.faults.check("keep")
        super().keep(rows)


def model(name, seed, *, batchable=True):
    made = random_chain(WORDS, seed, name=name, stops=["."], batchable=batchable)
    made.faults = Faults()
    made.start_batch = lambda _: FrailBatch(made)
    made.arithmetic = {"dtype": "float32"}
    made.encode = lambda messages: (len(messages[-1]["content"]) % 8,)
    return made


def trio(*, batchable=True):
    models = [model("frail", 1, batchable=batchable), model("one", 2), model("two", 3)]
    return {made.name: made for made in models}


def talkative(models):
    """Let no answer end before its limit."""
    for made in models.values():
        made.table[:, -1] = -torch.inf
    return models


def request(seed, *names, prompt=(0,), most=12):
    contenders = tuple(Contender(name, seed, prompt) for name in names)
    return Request(contenders, replace(SAMPLING, max_new_tokens=most))


def undisturbed(wanted):
    """Return what a request's battle says where nothing goes wrong."""
    (running,) = decode(LockstepEngine(trio()), [wanted])
    return running.texts


@pytest.fixture
def serving():
    """Start workers, and stop them."""
    started = []

    def start(models):
        started.append(EngineWorker(LockstepEngine(models)))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


def answered(running):
    assert running.done.wait(PATIENCE), "the engine's thread has died"
    return running


# The thread


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["add", "advance", "keep"])
def test_no_error_ends_the_engine(serving, error, where):
    models = trio()
    worker = serving(models)
    faults = models["frail"].faults
    faults.error, faults.due = error, lambda what, _: what == where
    wanted = request(7, "frail", "one")
    broken = [answered(worker.submit(wanted)) for _ in range(2)]
    for running in broken:
        if where == "keep":  # only finished replies leave a batch, and they are whole
            assert running.texts == undisturbed(wanted)
            continue
        assert isinstance(running.error, ModelError)
        assert "\n" not in str(running.error)
        assert str(running.error).startswith("Decoding failed: ")
    assert worker.alive
    faults.error = None
    later = request(8, "frail", "two")
    assert answered(worker.submit(later)).texts == undisturbed(later)
    assert worker.battles == 0


@pytest.mark.slow
@pytest.mark.parametrize("where", ["add", "advance", "keep"])
def test_battles_of_other_models_go_on_as_if_nothing_had_happened(serving, where):
    """A round with the failing model ends; one without it, running at the same time, does not."""
    models = talkative(trio())
    models["frail"].table[:, -1] = 0  # a likely end
    worker, faults = serving(models), models["frail"].faults
    wanted = request(3, "one", "two", most=400)
    with_frail = request(4, "one", "frail", "two")
    faults.error, faults.due = TypeError("x"), lambda what, _: what == where
    bystander = worker.submit(wanted)
    for _ in range(5):
        assert bool(answered(worker.submit(with_frail)).error) == (where != "keep")
    answered(bystander)
    assert bystander.error is None
    (expected,) = decode(LockstepEngine(talkative(trio())), [wanted])
    assert bystander.texts == expected.texts
    assert len(bystander.lines[0].tokens) == 400


def test_an_engine_that_cannot_compile_its_noise_serves_all_the_same(serving, monkeypatch):
    """The cache of compiled code may be a folder that nobody may write."""

    def forbidden():
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(worker_module, "compile_noise_loop", forbidden)
    worker = serving(trio())
    wanted = request(1, "one", "two")
    assert answered(worker.submit(wanted)).texts == undisturbed(wanted)
    assert worker.alive


def test_a_closed_engine_is_not_alive_and_takes_in_nothing():
    worker = EngineWorker(LockstepEngine(trio()))
    assert worker.alive
    worker.close()
    assert not worker.alive
    assert "stopped" in str(answered(worker.submit(request(1, "one"))).error)


def test_an_engine_whose_steps_all_fail_says_so_until_one_goes_well(serving):
    models = trio()
    worker = serving(models)
    faults = models["frail"].faults
    faults.error, faults.due = RuntimeError("device lost"), lambda what, _: what == "add"
    for failed in range(3):
        assert not worker.failing, failed
        answered(worker.submit(request(1, "frail")))
    assert until(lambda: worker.failing)
    faults.error = None
    answered(worker.submit(request(1, "frail")))
    assert until(lambda: not worker.failing)
    assert worker.alive


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_engine_that_was_ended_says_so():
    """Nobody waits for it, and it is not alive."""
    models = talkative(trio())
    worker = EngineWorker(LockstepEngine(models))
    faults = models["frail"].faults
    faults.error, faults.due = SystemExit(), lambda what, _: what == "advance"
    assert answered(worker.submit(request(1, "frail"))).error
    worker._thread.join(PATIENCE)
    assert not worker.alive
    assert answered(worker.submit(request(1, "one"))).error


# Which battles it costs


def test_only_the_battle_whose_prompt_fails_is_lost():
    """Three begin together and are read in one go; one of them cannot be read."""
    models = trio()
    engine = LockstepEngine(models)
    faults = models["frail"].faults
    faults.error, faults.due = MemoryError(), lambda what, prompts: (5,) in map(tuple, prompts)
    wanted = [
        request(1, "frail", "one"),
        request(2, "one", "frail", prompt=(5,)),
        request(3, "frail", "two", "frail"),
    ]
    runs = [engine.prepare(one) for one in wanted]
    for running in runs:
        engine.add(running)
    engine.step()
    assert runs[1].error
    assert runs[1].done.is_set()
    while engine.battles:
        engine.step()
    for number in (0, 2):
        assert runs[number].error is None
        assert runs[number].texts == undisturbed(wanted[number])


def test_prompts_that_can_be_read_are_still_read_in_one_go():
    models = trio()
    decode(LockstepEngine(models), [request(n, "one") for n in range(3)])
    assert models["one"].calls[0] == ("add", 3)


@pytest.mark.parametrize("call", [MemoryError(), TypeError("x")], ids=["memory", "type"])
def test_a_battle_that_fails_leaves_all_models(call):
    models = talkative(trio())
    engine = LockstepEngine(models)
    faults = models["frail"].faults
    lost, stays = engine.prepare(request(1, "one", "frail")), engine.prepare(request(2, "one"))
    engine.add(lost)
    engine.add(stays)
    engine.step()
    faults.error, faults.due = call, lambda what, _: what == "advance"
    engine.step()
    assert lost.error
    assert stays.error is None
    faults.error = None
    engine.step()
    assert engine.battles == 1
    assert models["one"].calls[-2:] == [("keep", 1), ("advance", 1)]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    names=st.lists(
        st.lists(st.sampled_from(["frail", "one", "two"]), min_size=1, max_size=3),
        min_size=1,
        max_size=5,
    ),
    joins=st.lists(st.integers(0, 6), min_size=5, max_size=5),
    fails=st.sets(st.integers(0, 25), max_size=4),
    batchable=st.booleans(),
)
def test_survivors_say_what_they_would_have_said(names, joins, fails, batchable):
    """In lockstep after every step, whenever and wherever one model fails."""
    models = trio(batchable=batchable)
    engine, calls = LockstepEngine(models), iter(range(10_000))
    faults = models["frail"].faults
    faults.error, faults.due = KeyError("x"), lambda *_: next(calls) in fails
    wanted = [request(seed, *chosen) for seed, chosen in enumerate(names)]
    runs = {}
    for step in range(25):
        for number, one in enumerate(wanted):
            if joins[number] == step:
                runs[number] = engine.prepare(one)
                engine.add(runs[number])
        engine.step()
        for running in runs.values():
            if not running.error:
                written = {len(line.tokens) for line in running.lines if not line.finish}
                assert len(written) <= 1
                assert running.texts == tuple(line.text for line in running.lines)
    assert engine.battles == 0
    for number, running in runs.items():
        assert running.done.is_set()
        if running.error:
            assert "frail" in names[number]
        else:
            assert running.texts == undisturbed(wanted[number])


# Batch runs


def test_a_batch_run_stores_no_battle_that_broke_off():
    """It ends with an error; what was finished is stored, and the same plan goes on."""
    models = trio()
    faults = models["frail"].faults
    prompts = tuple(Prompt("x" * n) for n in range(1, 7))
    plan = BatchPlan(prompts, ("frail", "one"), (Mode.COUPLED,), 1, 7, (SAMPLING,))
    with Store.in_memory() as store:
        faults.error, faults.due = MemoryError(), lambda what, read: (4,) in map(tuple, read)
        with pytest.raises(ModelError, match="Decoding failed: MemoryError"):
            generate(plan, models, store, at_once=1, progress=False)
        assert len(store.battles_of(seed_to_hex(7))) == 3
        faults.error = None
        made = generate(plan, models, store, at_once=1, progress=False)
        assert (made.battles, made.skipped) == (3, 3)


def test_decoding_in_one_go_tells_what_failed():
    models = talkative(trio())
    faults = models["frail"].faults
    faults.error, faults.due = ValueError("no"), lambda what, _: what == "advance"
    with pytest.raises(ModelError, match="Decoding failed: no"):
        decode(LockstepEngine(models), [request(1, "frail"), request(2, "one")])


# The real batch


def talk(text):
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("where", ["read", "join"])
def test_prompts_join_a_batch_all_or_not_at_all(demo_models, monkeypatch, where):
    """What runs goes on from where it was, to the last bit."""
    full = demo_models["SmolLM2-135M"]
    prompts = [
        full.encode(talk(text)) for text in ("Hi", "Why is the sky blue?", "Bye, and thanks")
    ]
    tokens = torch.tensor(prompts[1][-2:])
    quiet, batch = full.start_batch(), full.start_batch()
    for each in (quiet, batch):
        each.add(prompts[:2])
        each.advance(tokens)
    with monkeypatch.context() as patched:
        count = iter(range(10_000))
        owner, name = (PromptReading, "read") if where == "read" else (batches, "_resized")
        whole = getattr(owner, name)

        def failing(*arguments):
            if next(count) == (1 if where == "read" else 21):
                raise torch.OutOfMemoryError("out of memory")
            return whole(*arguments)

        patched.setattr(owner, name, failing)
        with pytest.raises(torch.OutOfMemoryError):
            batch.add([prompts[2], prompts[0] * 3])
    assert next(count) > 1
    assert torch.equal(batch.logits, quiet.logits)
    for each in (quiet, batch):
        each.advance(tokens)
    assert torch.equal(batch.logits, quiet.logits)
    batch.add([prompts[2]])
    assert len(batch.logits) == 3
