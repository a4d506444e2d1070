"""A gate beside visitors: what it takes, what it stores, how it ends and goes on."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from coupled_arena.analysis.gate.stored import LiveGates, read_standing
from coupled_arena.battles.batch import BatchPlan, marker_for
from coupled_arena.battles.gate_runs import keep_gates
from coupled_arena.battles.gate_service import Asked, Gates, Share
from coupled_arena.core.errors import ModelError, PromptError, ScoreError, StoreFileError
from coupled_arena.core.records import Mode, Origin, Prompt, Sampling
from coupled_arena.core.settings import TaskSettings
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.services import _is_there
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import gates
from coupled_arena.tasks.registry import TASKS
from tests.battles.conftest import talking
from tests.patience import until

BASE, OTHER = "ann", "bob"
ROW = (
    '{{"id": "{n}", "category": "sums", "question": "{n} and one?", "prefix": "It is", '
    '"answer": "{answer}", "choices": ["left", "right", "up"]}}'
)
SAMPLING = Sampling(max_new_tokens=4)
QUESTIONS = 24


class Hands(EngineWorker):
    """An engine that steps only when a test says so, and where visitors may wait."""

    def __init__(self, models):
        self.engine, self.others, self.waits = LockstepEngine(models), [], 0
        self.refusal, self.submitted = None, []

    @property
    def battles(self):
        return self.engine.battles

    @property
    def speeds(self):
        return self.engine.speeds()

    @property
    def waiting(self):
        return self.waits

    @property
    def alive(self):
        return self.refusal is None

    def submit(self, request):
        if self.refusal:
            raise self.refusal
        running = self.engine.prepare(request)
        self.submitted.append(running)
        self.engine.add(running)
        running.begin()
        return running


@pytest.fixture
def models(request):
    """Two equal models, of which more questions than there are would tell; or any two."""
    alike = getattr(request, "param", "alike") == "alike"
    return {BASE: talking(BASE, 0), OTHER: talking(OTHER, 0 if alike else 1)}


@pytest.fixture
def quiz(tmp_path):
    """Questions whose answer is a word that the models say now and then."""
    path = tmp_path / "quiz.jsonl"
    rows = (ROW.format(n=n, answer="left" if n % 2 else "right") for n in range(QUESTIONS))
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def make(quiz, store):
    """Return gates on a worker; all of them end with the test."""
    made = []

    def gates_on(models, worker, most=8, in_store=store):
        tasks = {"quiz": lambda: marker_for(TASKS["quiz"], str(quiz))}
        share = Share(most)
        made.append(Gates(models, worker, in_store, tasks, SAMPLING, share))
        return made[-1]

    yield gates_on
    for each in made:
        each.close()


def asked(base=BASE, candidate=OTHER, margin=0.1, alpha=0.05):
    return Asked(base, candidate, "quiz", margin, alpha)


def ended(run):
    return until(run.ended.is_set)


def stored(store):
    with store.cursor() as cursor:
        return gates.stored(cursor)


def test_a_run_answers_scores_and_stores_until_it_is_known(make, models, worker, store):
    """Equal models never flip, so that little is needed to know that one is as good."""
    service = make(models, worker)
    gate = service.start(asked(margin=0.5))
    until(lambda: service.running is None)
    assert service.trouble(gate.id) is None
    standing = read_standing(store, gate)
    assert standing.candidate.verdict is Verdict.AS_GOOD
    assert standing.candidate.flips == ()
    assert standing.candidate.known_after <= standing.answered < QUESTIONS
    battles = store.battles_of(gate.experiment)
    assert battles <= set(gate.battles)
    first = store.battle(gate.battles[0])
    assert (first.origin, first.experiment) == (Origin.GENERATE, gate.experiment)
    assert {*first.models} == {BASE, OTHER}
    assert {*service.speeds(gate.id)} == {BASE, OTHER}
    assert service.speeds("of another") == {}


def test_what_is_stopped_goes_on_with_the_same_battles(make, models, worker, store):
    service = make(models, worker)
    gate = service.start(asked(margin=0.01))
    until(lambda: len(store.battles_of(gate.experiment)) >= 5)
    service.stop()
    until(lambda: service.running is None)
    done = {name: store.battle(name) for name in store.battles_of(gate.experiment)}
    assert len(done) < QUESTIONS
    again = make(models, worker)  # as after a restart
    assert again.start(asked(margin=0.01)) == gate
    until(lambda: again.running is None)
    standing = read_standing(store, gate)
    assert (standing.answered, standing.over) == (QUESTIONS, True)
    assert stored(store) == (gate,)
    assert all(store.battle(name) == battle for name, battle in done.items())


@pytest.mark.slow
def test_another_margin_begins_with_the_answers_there_are(make, models, worker, store):
    service = make(models, worker)
    first = service.start(asked(margin=0.01))
    until(lambda: service.running is None)
    second = service.start(asked(margin=0.02))
    until(lambda: service.running is None)
    assert second.id != first.id
    assert second.battles == first.battles
    assert stored(store)[0] == second
    assert len(store.battles_of(first.experiment)) == QUESTIONS
    assert read_standing(store, second).answered == QUESTIONS


@pytest.mark.slow
def test_a_gate_of_the_command_does_not_end_those_of_the_app(make, models, worker, store):
    """It has a seed of its own, and another noise."""
    service = make(models, worker)
    first = service.start(asked(margin=0.01))
    until(lambda: service.running is None)
    questions = tuple(Prompt(f"{n} and one?") for n in range(4))
    alone = BatchPlan(questions, (BASE, OTHER), (Mode.INDEPENDENT,), 1, 0, (SAMPLING,))
    keep_gates(store, alone, "quiz", 0.02, 0.05)
    assert service.start(asked(margin=0.01)) == first
    until(lambda: service.running is None)
    second = service.start(asked(margin=0.03))
    until(lambda: service.running is None)
    assert (second.experiment, second.battles) == (first.experiment, first.battles)


def test_a_stored_gate_never_changes(store):
    """Else an export or a backup from before would be known with other content."""
    questions = tuple(Prompt(f"{n} and one?") for n in range(4))
    asked_of = {"models": (BASE, OTHER, "cid"), "modes": (Mode.COUPLED,), "samplings": (SAMPLING,)}
    plan = BatchPlan(questions[:2], repetitions=2, seed=7, **asked_of)
    first = keep_gates(store, plan, "quiz", 0.1, 0.05)
    assert [(each.candidate, each.alpha, each.prompts) for each in first] == [
        (OTHER, 0.05, 2),
        ("cid", 0.05, 2),
    ]
    assert keep_gates(store, plan, "quiz", 0.1, 0.05) == first
    more = keep_gates(store, replace(plan, prompts=questions), "quiz", 0.1, 0.05)
    assert [each.prompts for each in more] == [4, 4]
    assert {*stored(store)} == {*first, *more}


def test_answers_count_in_the_order_of_their_prompts(make, models, worker, store):
    """Those behind a gap wait, as they do in the run itself."""
    service = make(models, worker)
    gate = service.start(asked(margin=0.01))
    until(lambda: service.running is None)
    whole = read_standing(store, gate)
    store.write(
        lambda cursor: cursor.execute("delete from scores where battle = ?", [gate.battles[10]])
    )
    cut = read_standing(store, gate)
    assert (whole.answered, cut.answered) == (QUESTIONS, 10)
    assert whole.candidate.closing.difference[9] == cut.candidate.closing.difference[-1]


@pytest.mark.parametrize("models", ["alike", "different"], indirect=True)
def test_a_run_and_what_is_read_of_it_agree(make, models, worker, store):
    service = make(models, worker)
    gate = service.start(asked(margin=0.1))
    run = service.running
    until(lambda: service.running is None)
    standing, watched = read_standing(store, gate), run._watcher.gate
    low, high = watched.interval()
    assert standing.answered >= watched.seen
    assert standing.candidate.known_after == watched.known_after[0]
    if standing.answered == watched.seen:
        assert (standing.candidate.low, standing.candidate.high) == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize(
    ("others", "crowded", "places"),
    [(0, False, 16), (1, False, 1), (3, False, 1), (9, False, 3), (60, False, 16), (9, True, 0)],
)
def test_a_run_takes_a_quarter_and_leaves_all_to_those_who_wait(others, crowded, places):
    assert Share(64).places(others, crowded=crowded) == places


def test_one_place_is_the_least(make):
    assert Share(1).places(0, crowded=False) == 1
    assert Share(2).places(5, crowded=False) == 1


def test_a_run_gives_way_to_visitors_who_come(make, models, store):
    worker = Hands(models)
    service = make(models, worker, most=32)
    service.start(asked(margin=0.01))
    run = service.running
    until(lambda: len(run._under_way) == 8)
    first = [each.battle.id for each in run._under_way]
    visitors = [worker.engine.prepare(worker.submitted[0].request) for _ in range(7)]
    for each in visitors:
        worker.engine.add(each)
    until(lambda: len(run._under_way) == 2)
    assert [each.battle.id for each in run._under_way] == first[:2]
    assert sum(each.cancelled.is_set() for each in worker.submitted) == 6
    late = [worker.engine.prepare(worker.submitted[0].request) for _ in range(30)]
    for each in late:
        worker.engine.add(each)
    until(lambda: not run._under_way and run.crowded)
    for each in (*visitors, *late):
        each.cancelled.set()
    worker.engine.step()
    until(lambda: len(run._under_way) == 8)
    assert [each.battle.id for each in run._under_way] == first


def test_nothing_begins_while_somebody_waits_for_the_first_word(make, models, store):
    worker = Hands(models)
    visitor = worker.submit(make_request(models))
    worker.waits = 1
    service = make(models, worker, most=32)
    service.start(asked())
    run = service.running
    until(lambda: run._waiting)
    with run_held(run):
        assert run._under_way == []
        assert worker.submitted == [visitor]
    worker.waits = 0
    until(lambda: len(run._under_way) == 1)


def make_request(models):
    """Return what a visitor asks."""
    contenders = tuple(Contender(name, 1, (0, 1)) for name in models)
    return Request(contenders, Sampling(max_new_tokens=100))


def test_one_run_at_a_time(make, models, store):
    service = make(models, Hands(models))
    gate = service.start(asked())
    with pytest.raises(ScoreError, match="Another run goes on"):
        service.start(asked(margin=0.2))
    assert service.running.gate == gate


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"candidate": BASE}, "is there twice"),
        ({"candidate": "nobody"}, "not loaded"),
        ({"task": "gsm8k"}, "no data"),
        ({"margin": 0.0}, "margin"),
    ],
)
def test_what_cannot_be_asked(make, models, worker, store, wrong, said):
    with pytest.raises(ScoreError, match=said):
        make(models, worker).start(replace(asked(), **wrong))
    assert stored(store) == ()


def test_a_model_that_fails_ends_the_run_and_what_is_done_stays(make, models, store):
    worker = Hands(models)
    service = make(models, worker, most=32)
    gate = service.start(asked(margin=0.01))
    run = service.running
    until(lambda: len(run._under_way) == 8)
    with run_held(run):
        for _ in range(6):
            worker.engine.step()
        worker.submitted[-1].error = ModelError("Model 'bob' failed.")
    ended(run)
    assert str(service.trouble(gate.id)) == "Model 'bob' failed."
    assert len(store.battles_of(gate.experiment)) >= 7
    assert make(models, EngineWorker(worker.engine)).start(asked(margin=0.01)) == gate


def run_held(run):
    """Keep a run from looking at its battles."""
    return Held(run)


class Held:
    def __init__(self, run):
        self.run, self.go = run, threading.Event()

    def __enter__(self):
        take, entered = self.run._take_ended, threading.Event()

        def waits():
            entered.set()
            self.go.wait()
            return take()

        self.run._take_ended = waits
        until(entered.is_set)

    def __exit__(self, *error):
        self.go.set()


def test_an_engine_that_starts_again_ends_the_run(make, models):
    worker = Hands(models)
    worker.refusal = PromptError("The models are being loaded again.")
    service = make(models, worker)
    gate = service.start(asked())
    until(lambda: service.running is None)
    assert "loaded again" in str(service.trouble(gate.id))


@pytest.mark.slow
def test_a_disk_that_is_full_ends_the_run(make, models, worker, store, monkeypatch):
    add = Store.add_battles

    def full(self, marked):
        stored = self.battles_of(marked[0][0].experiment)
        if len(stored) + len(marked) > 3:
            raise StoreFileError("arena.duckdb cannot be written: no space.")
        add(self, marked)

    monkeypatch.setattr(Store, "add_battles", full)
    service = make(models, worker)
    gate = service.start(asked())
    until(lambda: service.running is None)
    assert isinstance(service.trouble(gate.id), StoreFileError)
    monkeypatch.undo()
    assert 0 < len(store.battles_of(gate.experiment)) <= 3
    assert service.start(asked()) == gate
    until(lambda: service.running is None)
    assert service.trouble(gate.id) is None


def test_a_closing_arena_ends_the_run_and_begins_none(make, models):
    service = make(models, Hands(models))
    service.start(asked())
    run = service.running
    service.close()
    assert run.ended.is_set()
    with pytest.raises(ScoreError):
        service.start(asked())


@pytest.mark.slow
def test_runs_are_counted_again_where_there_is_something_new(make, models, worker, store):
    service, live = make(models, worker), LiveGates(store, rest=0.0)
    assert live.all() == ()
    gate = service.start(asked(margin=0.01))
    assert live.all() == (gate,)
    until(lambda: live.standing(gate).answered == QUESTIONS)
    assert live.standing(gate) is live.standing(gate)


def test_a_benchmark_without_its_file_is_not_offered(tmp_path, caplog):
    there = tmp_path / "mmlu.csv"
    there.touch()
    settings = TaskSettings(mmlu=str(there), gsm8k=str(tmp_path / "gone"), humaneval="hub:a/b")
    offered = [name for name, place in settings.data.items() if _is_there(name, place)]
    assert offered == ["mmlu", "humaneval"]
    assert "The page does not offer gsm8k" in caplog.text
