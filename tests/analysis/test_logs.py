"""Logs of other tools: small ones as these write them, and what is refused of rubbish."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coupled_arena.analysis.logs.score_logs import read_logs
from coupled_arena.core.errors import ScoreError

TIME = "2026-11-20T10-11-12.131415"


def sample(number, **more):
    return {
        "doc_id": number,
        "doc": {"question": f"What is {number}?"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": f"What is {number}?", "arg_1": " 1"}},
        "resps": [[["-1.5", "False"]]],
        "filtered_resps": [["-1.5", "False"]],
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"d{number}",
        "prompt_hash": f"p{number}",
        "target_hash": "t",
        "acc": float(number % 2),
        "acc_norm": 1.0,
        **more,
    }


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def harness(tmp_path):
    """Return what writes a run of lm-evaluation-harness."""

    def write(folder, *rows, task="sums", time=TIME, results=None):
        inside = tmp_path / folder
        inside.mkdir(exist_ok=True)
        path = inside / f"samples_{task}_{time}.jsonl"
        path.write_text(lines(*(rows or map(sample, range(3)))))
        if results is not None:
            (inside / f"results_{time}.json").write_text(json.dumps(results))
        return path

    return write


def test_a_folder_a_model(harness, tmp_path):
    harness("org__red", results={"model_name": "org/red", "config": {}, "higher_is_better": {}})
    harness("green", *(sample(n, acc=0.25) for n in range(3)))
    scores = read_logs([tmp_path])
    assert scores.models == ("green", "org/red")
    assert scores.metrics == ("acc",)
    assert scores.prompts == (("sums/0", "sums/1", "sums/2"),) * 2
    assert [values[:, 0].tolist() for values in scores.values] == [[0.25] * 3, [0, 1, 0]]
    assert scores.lower_is_better == frozenset()


def test_metrics_are_chosen_and_turned_as_the_results_say(harness, tmp_path):
    better = {"sums": {"acc": True, "acc_norm": False}}
    harness("a", results={"model_name": "A", "higher_is_better": better})
    harness("b")
    scores = read_logs([tmp_path / "a", tmp_path / "b"], ["acc_norm", "acc"])
    assert scores.metrics == ("acc_norm", "acc")
    assert scores.lower_is_better == {"acc_norm"}


def test_each_filter_is_a_metric_of_its_own(harness, tmp_path):
    for folder, right in (("a", 1.0), ("b", 0.0)):
        harness(
            folder,
            *(sample(n, filter="whole", metrics=["em"], em=right) for n in range(2)),
            *(sample(n, filter="loose", metrics=["em"], em=0.5) for n in range(2)),
        )
    assert read_logs([tmp_path]).metrics == ("em:whole",)
    loose = read_logs([tmp_path], ["em:loose"])
    assert np.concatenate(loose.values).ravel().tolist() == [0.5] * 4


def test_logs_before_metrics_were_listed(harness, tmp_path):
    for folder in "ab":
        rows = [sample(n) for n in range(2)]
        for row in rows:
            del row["metrics"]
        harness(folder, *rows)
    assert read_logs([tmp_path], ["acc_norm", "acc"]).metrics == ("acc_norm", "acc")


def test_runs_of_one_model_are_repetitions(harness, tmp_path):
    for folder in "ab":
        harness(folder)
        harness(folder, *(sample(n, acc=7) for n in range(3)), time=TIME.replace("20T", "21T"))
    scores = read_logs([tmp_path])
    assert scores.repetitions == 2
    assert scores.values[0][:, 0].tolist() == [0, 7, 1, 7, 0, 7]


def test_a_model_may_be_named(harness, tmp_path):
    for folder in "ab":
        harness(folder, results={"model_name": "same"})
    scores = read_logs([tmp_path / "a", tmp_path / "b"], models=["one", None])
    assert scores.models == ("one", "same")
    with pytest.raises(ScoreError, match="two models at least"):
        read_logs([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"doc": {"question": "Which?"}},
            "b/.*line 1: sums/0 is another document than in .*a/.*line 1",
        ),
        ({"metrics": ["bleu"], "bleu": 1}, "has no metric 'acc'. It has bleu. Choose with"),
        ({"acc": "maybe"}, "line 1: 'maybe' in column 'acc' is not a score"),
        ({"doc_id": "x"}, "line 1: doc_id 'x' is not a whole number"),
    ],
)
def test_what_does_not_fit_is_named(harness, tmp_path, change, message):
    harness("a")
    harness("b", sample(0) | change, sample(1))
    with pytest.raises(ScoreError, match=message):
        read_logs([tmp_path])


def test_other_prompts_or_settings_are_no_repetitions(harness, tmp_path):
    later = TIME.replace("20T", "21T")
    harness("a")
    harness("a", *(sample(n, prompt_hash="few shots") for n in range(3)), time=later)
    with pytest.raises(ScoreError, match="sums/0 was put to a in other words than in"):
        read_logs([tmp_path])
    for folder, bits in (("c", 4), ("d", 8)):
        config = {"model": "hf", "model_args": f"pretrained=x,bits={bits}"}
        harness(folder, results={"model_name": "x", "config": config})
    with pytest.raises(
        ScoreError,
        match=r"than in .*: model_args pretrained=x,bits=4 there, pretrained=x,bits=8 here\.",
    ):
        read_logs([tmp_path / "c", tmp_path / "d"])
    assert read_logs([tmp_path / "c", tmp_path / "d"], models=["x4", "x8"]).models == ("x4", "x8")


def test_rubbish_is_refused_with_a_line(harness, tmp_path):
    path = harness("a")
    with pytest.raises(ScoreError, match="is there twice"):
        read_logs([tmp_path, path])
    path.write_text(lines(sample(0), {"doc_id": 1}))
    with pytest.raises(ScoreError, match=r"line 2 has no doc: a sample of lm-evaluation-harness"):
        read_logs([path])
    path.write_text(lines(sample(0), sample(0)))
    with pytest.raises(ScoreError, match="line 2 has acc of doc_id 0 once more"):
        read_logs([path])
    path.write_text("no log\n")
    with pytest.raises(ScoreError, match=r"is no log that is known. Known: samples_TASK_TIME"):
        read_logs([tmp_path])
    path.unlink()
    with pytest.raises(ScoreError, match="holds no log that is known"):
        read_logs([tmp_path])
    elsewhere = tmp_path / "renamed.jsonl"
    elsewhere.write_text(lines(sample(0)))
    with pytest.raises(ScoreError, match="should be called samples_TASK_TIME"):
        read_logs([elsewhere])


def single(model, question, score, turn=1, **more):
    return {
        "question_id": question,
        "model": model,
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": "Please rate.",
        "judgment": f"Rating: [[{score}]]",
        "score": score,
        "turn": turn,
        "tstamp": 1687000000.5,
        **more,
    }


@pytest.fixture
def bench(tmp_path):
    def write(*rows):
        path = tmp_path / "gpt-4_single.jsonl"
        path.write_text(lines(*rows))
        return path

    return write


def of_all(change=lambda _: {}):
    return [
        single(model, question, 5 + question - turn, turn) | change((model, question, turn))
        for model in "ab"
        for question in (1, 2, 3)
        for turn in (1, 2)
    ]


def test_turns_of_mt_bench_are_repetitions(bench):
    scores = read_logs([bench(*of_all())])
    assert (scores.models, scores.metrics, scores.repetitions) == (("a", "b"), ("score",), 2)
    assert scores.prompts[0] == ("1", "2", "3")
    assert scores.values[1][:, 0].tolist() == [5, 4, 6, 5, 7, 6]


def test_a_rating_that_was_not_found_leaves_its_question_out(bench):
    rows = of_all(lambda key: {"score": -1} if key == ("b", 2, 1) else {})
    scores = read_logs([bench(*rows)])
    assert scores.prompts == (("1", "3"),) * 2
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 11}, "line 3: score 11 is not a number from 1 to 10, or -1"),
        ({"score": "8"}, "line 3: score '8' is not a number"),
        ({"score": None}, "line 3 has no score: a single score of MT-Bench has question_id"),
        ({"turn": 3}, "line 3: turn 3 is not 1 or 2"),
        ({"judge": ["gpt-4o", "single-v1"]}, "line 3: the judge is gpt-4o, and above it gpt-4"),
        ({"question_id": 1}, "line 3 repeats line 1: a on question 1, turn 1"),
    ],
)
def test_rows_of_mt_bench_that_make_no_sense_are_named(bench, change, message):
    rows = of_all(lambda key: change if key == ("a", 2, 1) else {})
    with pytest.raises(ScoreError, match=message):
        read_logs([bench(*rows)])


def instance(place, score, trial=0, **more):
    name = {"name": "exact_match", "split": "test"}
    changed = name | {"perturbation": {"name": "typos", "robustness": True}}
    stat = {"count": 1, "sum": score, "min": score, "max": score}
    return {
        "instance_id": f"id{place}",
        "train_trial_index": trial,
        "stats": [
            {"name": {"name": "num_references", "split": "test"}, "count": 1, "mean": 4},
            {"name": name, **stat, "mean": score},
            {"name": changed, **stat, "mean": -1},
        ],
        **more,
    }


def run_spec(model, **adapter):
    return {
        "name": f"mmlu:subject=law,model={model.replace('/', '_')}",
        "scenario_spec": {
            "class_name": "helm.benchmark.scenarios.mmlu_scenario.MMLUScenario",
            "args": {"subject": "law"},
        },
        "adapter_spec": {"method": "generation", "model": model, "num_outputs": 1, **adapter},
        "metric_specs": [],
    }


@pytest.fixture
def helm(tmp_path):
    def write(model, *rows, spec=None):
        folder = tmp_path / model.replace("/", "_")
        folder.mkdir(exist_ok=True)
        (folder / "run_spec.json").write_text(json.dumps(spec or run_spec(model), indent=2))
        (folder / "stats.json").write_text("[]")
        path = folder / "per_instance_stats.json"
        path.write_text(json.dumps(rows, indent=2))
        return path

    return write


def test_runs_of_helm(helm, tmp_path):
    perturbed = instance(1, 9, perturbation={"name": "typos"})
    helm("org/a", *(instance(n, n, trial) for n in (1, 2) for trial in (0, 1)), perturbed)
    helm("org/b", *(instance(n, trial, trial) for n in (1, 2) for trial in (0, 1)))
    with pytest.raises(ScoreError, match=r"Choose with --metrics: num_references, exact_match\.$"):
        read_logs([tmp_path])
    scores = read_logs([tmp_path], ["exact_match"])
    assert (scores.models, scores.repetitions) == (("org/a", "org/b"), 2)
    assert scores.prompts[0] == ("MMLUScenario:subject=law/id1", "MMLUScenario:subject=law/id2")
    assert [values[:, 0].tolist() for values in scores.values] == [[1, 1, 2, 2], [0, 1, 0, 1]]


def split(place, score, name):
    stats = [{"name": {"name": "exact_match", "split": name}, "count": 1, "mean": score}]
    return instance(place, score, stats=stats)


def test_splits_of_helm_are_kept_apart(helm, tmp_path):
    for model, right in (("a", 1), ("b", 0)):
        helm(
            model,
            *(split(n, right, "test") for n in (1, 2)),
            *(split(n, 1 - right, "valid") for n in (3, 4, 5)),
        )
    scores = read_logs([tmp_path], ["exact_match"])
    assert [values[:, 0].tolist() for values in scores.values] == [[1, 1], [0, 0]]
    assert "the split 'test' counts. Answers of others: valid 3." in scores.notes[0]
    path = helm("c", split(1, 1, "train"), split(2, 1, "valid"))
    with pytest.raises(ScoreError, match="has the splits train, valid: give a run of one"):
        read_logs([path], ["exact_match"])


def test_what_differs_between_adapters_of_helm_is_told(helm, tmp_path):
    for model, shots in (("a", 0), ("b", 5)):
        spec = run_spec(model, max_train_instances=shots)
        helm(model, *(instance(n, 1) for n in (1, 2)), spec=spec)
    assert read_logs([tmp_path], ["exact_match"]).notes == (
        "Besides the model, the runs differ in: max_train_instances (0 for a, 5 for b).",
    )


def test_metrics_of_helm_come_in_rows_of_their_own_and_may_be_left_out(helm, tmp_path):
    def bare(place, **scores):
        stats = [
            {"name": {"name": name}, "count": 1, "mean": mean} for name, mean in scores.items()
        ]
        return instance(place, 0, stats=stats)

    for model in "ab":
        f1 = [bare(n, f1=n / 4) for n in (1, 2, 3) if (model, n) != ("b", 2)]
        helm(model, *(bare(n, em=n) for n in (1, 2, 3)), *f1)
    scores = read_logs([tmp_path], ["f1", "em"])
    assert [values.tolist() for values in scores.values] == [[[0.25, 1], [0.75, 3]]] * 2
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"instance_id": "x"}, "row 2 has no train_trial_index: an instance of HELM has"),
        (instance(1, 0), "row 2: exact_match of id1 is not that of .*row 1"),
        (instance(2, 0, stats=["exact_match"]), "row 2: a stat of HELM has a name and a mean"),
        (instance(2, "high"), "row 2: 'high' in column 'exact_match' is not a score"),
    ],
)
def test_instances_of_helm_that_make_no_sense_are_named(helm, row, message):
    with pytest.raises(ScoreError, match=message):
        read_logs([helm("a", instance(1, 1), row)], ["exact_match"])


def test_a_run_of_helm_needs_its_description(helm):
    path = helm("a", instance(1, 1), spec={"name": "mmlu"})
    with pytest.raises(ScoreError, match=r"run_spec.json is no run_spec.json of HELM: KeyError"):
        read_logs([path], ["exact_match"])
    helm("a", instance(1, 1), spec=run_spec(""))
    with pytest.raises(ScoreError, match="names no model"):
        read_logs([path], ["exact_match"])
    path.with_name("run_spec.json").unlink()
    with pytest.raises(ScoreError, match=r"tells the model in .*run_spec.json: No such file"):
        read_logs([path], ["exact_match"])


def test_the_very_first_score_may_be_missing(bench):
    rows = of_all(lambda key: {"score": -1} if key == ("a", 1, 1) else {})
    scores = read_logs([bench(*rows)])
    assert (scores.metrics, scores.prompts) == (("score",), (("2", "3"),) * 2)


def test_a_model_without_any_score_does_not_vanish(bench):
    rows = of_all(lambda key: {"score": -1, "question_id": key[1] + 9} if key[0] == "b" else {})
    more = [row | {"model": "c"} for row in rows if row["model"] == "a"]
    with pytest.raises(ScoreError, match="b has no prompt on which it has every score"):
        read_logs([bench(*rows, *more)])
