"""The harness's own runs of two models: coupled by their seed, read by `gate`."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from coupled_arena.core.errors import ArenaError
from tests.small_models import catalog_of, save_small_models

lm_eval = pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
from lm_eval.api.registry import get_model  # noqa: E402

from coupled_arena.harness import lm_eval_model  # noqa: E402


@pytest.fixture
def model(tmp_path):
    save_small_models(tmp_path, ("small-red", "small-blue"))
    path = tmp_path / "arena.toml"
    path.write_text(catalog_of(red="small-red", copy="small-red", blue="small-blue"))
    created = []

    def make(name, **more):
        found = get_model("coupled")(model=name, arena=str(path), **{"seed": 7} | more)
        created.append(found)
        return found

    yield make
    for each in created:
        each.close()


def asked(prompt, **wanted):
    return SimpleNamespace(args=(prompt, wanted), task_name="questions")


SAMPLED = {"do_sample": True, "temperature": 0.7, "max_gen_toks": 12}


def test_one_seed_gives_one_answer_whatever_the_batch_and_repeats_differ(model):
    requests = [asked(f"Question {n % 4}?", **SAMPLED) for n in range(8)]
    found = [
        model(name, batch_size=size).generate_until(requests)
        for name, size in (("red", "auto"), ("copy", 3))
    ]
    assert found[0] == found[1]
    assert len(set(found[0])) == 8
    assert found[0] != model("red", seed=8).generate_until(requests)


def test_conversations_have_the_models_own_template_and_one_prompt(model):
    said = [{"role": "user", "content": "Which way is up?"}]
    red, blue = model("red"), model("blue")
    prompt = red.apply_chat_template(said)
    assert prompt == blue.apply_chat_template(said)
    (answer,) = red.generate_until([asked(prompt, **SAMPLED)])
    assert model("copy").generate_until([asked("Which way is up?", **SAMPLED)]) == [answer]


def test_an_answer_ends_before_its_first_stop(model):
    (whole,) = model("red").generate_until([asked("Question?", **SAMPLED)])
    stops = ["never written", whole[5:8], whole[3:5]]
    (cut,) = model("red").generate_until([asked("Question?", **SAMPLED, until=stops)])
    assert cut == whole[: min(whole.find(stop) for stop in stops[1:])]


def test_without_sampling_the_seed_does_not_matter(model):
    requests = [asked("Question?", max_gen_toks=12, until=[], temperature=0, do_sample=False)]
    assert model("red").generate_until(requests) == model("red", seed=8).generate_until(requests)


def test_odd_settings_of_the_harness_are_read_or_refused(model):
    greedy = asked("Question?", max_gen_toks=5, until=[], do_sample="false", temperature=0.7)
    assert model("red").generate_until([greedy]) == model("red", seed=8).generate_until([greedy])
    with pytest.raises(ArenaError, match="max_new_tokens"):
        model("red").generate_until([asked("Question?", max_gen_toks=0)])
    assert model("red", at_once=4).generate_until([asked('messages:[{"role', **SAMPLED)])


@pytest.mark.parametrize("name", ["loglikelihood", "loglikelihood_rolling"])
def test_likelihoods_are_refused_with_the_task_s_name(model, name):
    with pytest.raises(ArenaError, match="questions asks for log-likelihoods"):
        getattr(model("red"), name)([asked("Question?")])


def test_what_changes_the_law_is_refused(model):
    with pytest.raises(ArenaError, match="take no min_p and no repetition_penalty"):
        model("red").generate_until([asked("Question?", min_p=0.1, repetition_penalty=1.1)])


def test_the_harness_s_own_models_stay_there():
    assert {get_model(name).__name__ for name in ("coupled", "dummy")} == {"CoupledLM", "DummyLM"}


def test_the_harness_s_command_knows_the_model(monkeypatch):
    monkeypatch.setattr("sys.argv", ["lm_eval", "run", "--help"])
    with pytest.raises(SystemExit) as ended:
        lm_eval_model.cli_evaluate()
    assert not ended.value.code


def test_two_runs_of_the_harness_are_read_by_the_gate(model, tmp_path, call):
    questions = tmp_path / "questions.jsonl"
    lines = [{"question": f"Question {n}?", "answer": "in"} for n in range(4)]
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from lm_eval.loggers import EvaluationTracker

    task = {
        "task": "questions",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(questions)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {**SAMPLED, "until": ["\n\n"]},
        "metric_list": [{"metric": "exact_match"}],
    }
    for name in ("red", "copy"):
        tracker = EvaluationTracker(output_path=str(tmp_path / name))
        found = lm_eval.simple_evaluate(
            model=model(name), tasks=[task], log_samples=True, evaluation_tracker=tracker
        )
        tracker.save_results_aggregated(results=found, samples=found["samples"])
        tracker.save_results_samples(task_name="questions", samples=found["samples"]["questions"])
    logs = (f"--scores={name}={tmp_path / name}" for name in ("red", "copy"))
    _, out, error = call("gate", "red", "copy", *logs, "--margin", "0.3", "--json")
    assert json.loads(out)["candidates"][0]["difference"] == 0, error
