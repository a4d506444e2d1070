"""Logs of Inspect: what its reader gives counts as it does there; broken and odd ones are told."""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from types import SimpleNamespace

import pytest

from coupled_arena.analysis.gate.paired import Scale, paired_from_scores
from coupled_arena.analysis.logs.score_logs import read_logs
from coupled_arena.core.errors import ScoreError


def inspected(model, values, **more):
    """Return a log as Inspect gives it: of one task, with two epochs a sample."""
    samples = [
        SimpleNamespace(
            id=f"q{place // 2}",
            epoch=1 + place % 2,
            input=f"What is {place // 2}?",
            target="1",
            error=None,
            invalidation=None,
            messages=[],
            output=SimpleNamespace(completion=f"It is {value}, says {model}."),
            scores={"match": SimpleNamespace(value=value), "other": SimpleNamespace(value=1)},
        )
        for place, value in enumerate(values)
    ]
    scorers = [SimpleNamespace(name=name, options={}) for name in ("match", "other")]
    run = SimpleNamespace(
        model=model,
        task="sums",
        task_version=0,
        eval_id=f"eval-{model}",
        config=SimpleNamespace(epochs=2, epochs_reducer=None),
        model_args={},
        task_args={},
        scorers=scorers,
        model_generate_config=SimpleNamespace(model_dump=lambda **_: {"temperature": 0.5}),
    )
    log = {"status": "success", "eval": run, "samples": samples, "reductions": None}
    log["invalidated"] = False
    log["plan"] = SimpleNamespace(config=SimpleNamespace(model_dump=lambda **_: {}))
    return SimpleNamespace(**(log | more))


@pytest.fixture
def inspect(tmp_path, monkeypatch):
    """Return what writes logs of Inspect; in place of its reader stands one that knows them."""
    logs = {}
    reader = SimpleNamespace(read_eval_log=lambda path: logs[path])
    monkeypatch.setitem(sys.modules, "inspect_ai", SimpleNamespace(log=reader))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", reader)

    def write(name, log):
        path = tmp_path / name
        if path.suffix == ".eval":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("_journal/start.json", "{}")
        else:
            path.write_text('{\n  "version": 2,\n  "status": "success",\n  "eval": {}\n}')
        logs[str(path)] = log
        return path

    return write


def test_logs_of_inspect(inspect, tmp_path):
    inspect("1.eval", inspected("good", ["C", "C", "P", "N"]))
    inspect("2.json", inspected("poor", ["I", 0.25, {"a": "C", "b": 0}, {"a": 1, "b": 0}]))
    with pytest.raises(ScoreError, match=r"'q1', epoch 1 has no metric 'match'\. It has match/a"):
        read_logs([tmp_path])
    inspect("2.json", inspected("poor", ["I", 0.25, True, "2"]))
    scores = read_logs([tmp_path])
    assert (scores.models, scores.metrics, scores.repetitions) == (("good", "poor"), ("match",), 2)
    assert scores.prompts[0] == ("sums/q0", "sums/q1")
    assert [values[:, 0].tolist() for values in scores.values] == [[1, 1, 0.5, 0], [0, 0.25, 1, 2]]


def test_a_sample_of_inspect_that_failed_is_left_out(inspect, tmp_path):
    for name in ("good", "poor"):
        log = inspected(name, ["C"] * 6)
        if name == "poor":
            log.samples[2].error, log.samples[2].scores = "out of memory", None
        inspect(f"{name}.eval", log)
    scores = read_logs([tmp_path])
    assert scores.prompts == (("sums/q0", "sums/q2"),) * 2
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)


def test_a_sample_of_inspect_that_failed_counts_if_it_is_scored(inspect, tmp_path):
    for name, values in (("good", ["C"] * 4), ("poor", ["I"] * 4)):
        log = inspected(name, values)
        log.samples[2].error = "out of memory"
        inspect(f"{name}.eval", log)
    assert read_logs([tmp_path]).prompts == (("sums/q0", "sums/q1"),) * 2


@pytest.mark.parametrize("failed", [True, False])
def test_a_scorer_of_inspect_that_gave_nothing_lacks_its_metrics(inspect, tmp_path, failed):
    for name in ("good", "poor"):
        log = inspected(name, [{"a": "C", "b": 0.5}] * 6)
        log.samples[0].scores = None if failed else {}
        log.samples[0].error = "out of memory" if failed else None
        inspect(f"{name}.eval", log)
    scores = read_logs([tmp_path])
    assert (scores.metrics, scores.prompts) == (("match/a",), (("sums/q1", "sums/q2"),) * 2)
    assert read_logs([tmp_path], ["match/b"]).values[0].tolist() == [[0.5]] * 4


def test_words_of_inspect_are_right_or_wrong(inspect, tmp_path):
    inspect("1.eval", inspected("good", ["yes", "True", "Yes", "C"]))
    inspect("2.eval", inspected("poor", ["no", "false", "N", "yes"]))
    values = [each[:, 0].tolist() for each in read_logs([tmp_path]).values]
    assert values == [[1, 1, 1, 1], [0, 0, 0, 1]]


def test_invalidated_samples_of_inspect_are_left_out_and_told(inspect, tmp_path):
    for name in ("good", "poor"):
        log = inspected(name, ["C"] * 6)
        if name == "poor":
            log.samples[4].invalidation = SimpleNamespace(reason="a broken sandbox")
        path = inspect(f"{name}.eval", log)
    scores = read_logs([tmp_path])
    assert scores.prompts == (("sums/q0", "sums/q1"),) * 2
    assert scores.notes == (
        "Left out, for a score is missing: 1 prompt.",
        f"{path} has 1 invalidated sample: it lacks a score.",
    )


@pytest.mark.parametrize("written", [True, False])
def test_epochs_of_inspect_are_reduced_as_its_log_says(inspect, tmp_path, written):
    for name, values, best in (("good", "CICC", [1.0, 1.0]), ("poor", "ICII", [1.0, 0.0])):
        log = inspected(name, values)
        log.eval.config.epochs_reducer = ["max", "mean"]
        samples = [SimpleNamespace(sample_id=f"q{n}", value=value) for n, value in enumerate(best)]
        log.reductions = [SimpleNamespace(scorer="match", reducer="max", samples=samples)]
        log.reductions *= written
        inspect(f"{name}.eval", log)
    scores = read_logs([tmp_path])
    means = [float(values[:, 0].mean()) for values in scores.values]
    if written:
        assert (means, scores.repetitions) == ([1, 0.5], 1)
        assert scores.notes == ("The score of a sample is the 'max' of its epochs, as in the log.",)
    else:
        assert (means, scores.repetitions) == ([0.75, 0.25], 2)
        assert "no values of its reducer 'max': the mean of epochs counts." in scores.notes[0]


def test_epochs_that_are_reduced_otherwise_are_told(inspect, tmp_path):
    for name, reducer, epochs in (("a", "max", 2), ("b", None, 3)):
        log = inspected(name, "CICC")
        log.eval.config.epochs_reducer, log.eval.config.epochs = reducer and [reducer], epochs
        inspect(f"{name}.eval", log)
    assert read_logs([tmp_path]).notes[-1] == (
        'Besides the model, the runs differ in: epochs (2 for a, 3 for b); reducer ("max" for a, '
        '"mean" for b).'
    )


def test_another_law_or_noise_is_told(inspect, tmp_path):
    for name, heat, seed, system in (("a", 0.7, 7, "Be brief."), ("b", 1.5, 8, "")):
        log = inspected(name, "CICC")
        log.plan.config = SimpleNamespace(model_dump=lambda heat=heat, **_: {"temperature": heat})
        log.eval.model_args = {"seed": seed}
        for sample in log.samples:
            sample.messages = [SimpleNamespace(role="system", text=system)]
        inspect(f"{name}.eval", log)
    assert read_logs([tmp_path]).notes == (
        "Besides the model, the runs differ in: seed of coupled models (7 for a, 8 for b); "
        'system message ("Be brief." for a, "" for b); temperature (0.7 for a, 1.5 for b).',
    )


def test_a_slash_in_a_sample_s_name_makes_no_task(inspect, tmp_path):
    for name in ("good", "poor"):
        log = inspected(name, ["C"] * 4)
        for sample in log.samples:
            sample.id = f"{sample.id}/main"
        inspect(f"{name}.eval", log)
    scores = read_logs([tmp_path])
    assert scores.tasks == {"sums/q0/main": "sums", "sums/q1/main": "sums"}
    assert paired_from_scores(scores, scores.models, Scale()).categories == ()


def test_one_run_of_inspect_counts_once_and_for_one_model(inspect, tmp_path):
    for file in ("1.eval", "1.json"):
        path = inspect(file, inspected("good", ["C", "I", "C", "C"]))
    inspect("2.eval", inspected("poor", ["I"] * 4))
    scores = read_logs([tmp_path])
    assert scores.repetitions == 2
    assert f"{path} is the same run as {tmp_path / '1.eval'}: it counts once." in scores.notes
    with pytest.raises(
        ScoreError, match=r"1.json is the run 'eval-good of good', and so is .*1.eval"
    ):
        read_logs([tmp_path / "1.eval", path], models=["a", "b"])


def test_what_differs_between_runs_of_inspect_is_told(inspect, tmp_path):
    inspect("1.eval", inspected("good", ["C"] * 4))
    other = inspected("poor", ["C"] * 4)
    other.eval.task_version = 2
    other.eval.scorers[0].options = {"model": "a-grader", "template": "Is it right? " * 9}
    inspect("2.eval", other)
    assert read_logs([tmp_path]).notes == (
        "Besides the model, the runs differ in: options of match; "
        "task version (0 for good, 2 for poor).",
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"status": "error"}, "is of a run that has ended with 'error', not 'success'"),
        ({"samples": None}, "has no samples"),
        (
            {"samples": inspected("a", ["maybe"]).samples},
            "'maybe' in column 'match' is not",
        ),
    ],
)
def test_what_inspect_has_not_finished_is_refused(inspect, more, message):
    path = inspect("1.eval", inspected("a", ["C", "C"], **more))
    with pytest.raises(ScoreError, match=message):
        read_logs([path], ["match"])
    bare = inspected("a", ["C", "C"])
    bare.samples[0].scores = None
    with pytest.raises(ScoreError, match="epoch 1 has no scores: score the log first"):
        read_logs([inspect("2.eval", bare)])


@pytest.mark.parametrize("fault", [ValueError("odd\nlong"), zlib.error("odd"), OSError("odd")])
def test_a_damaged_log_of_inspect_is_named(inspect, monkeypatch, fault):
    path = inspect("1.eval", None)

    def read(_):
        raise fault

    monkeypatch.setattr(sys.modules["inspect_ai.log"], "read_eval_log", read)
    with pytest.raises(ScoreError, match=r"1.eval cannot be read as a log of Inspect: odd\.$"):
        read_logs([path])


def test_without_inspect_it_is_said_what_to_install(inspect, monkeypatch):
    path = inspect("1.eval", inspected("a", ["C"]))
    monkeypatch.delitem(sys.modules, "inspect_ai.log")
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(
        ScoreError, match=r"which needs more packages: pip install 'coupled-arena\[inspect\]'"
    ):
        read_logs([path])


def test_one_of_several_values_that_a_scorer_of_inspect_leaves_out_is_missing(inspect, tmp_path):
    whole = {"fluent": 1, "true": "C"}
    inspect("1.eval", inspected("a", [whole, whole, {"fluent": 0}, whole, whole, whole]))
    inspect("2.eval", inspected("b", [whole] * 6))
    scores = read_logs([tmp_path], ["match/true"])
    assert scores.prompts[0] == ("sums/q0", "sums/q2")
    assert scores.notes[0] == "Left out, for a score is missing: 1 prompt."
    assert read_logs([tmp_path], ["match/fluent"]).prompts[0] == ("sums/q0", "sums/q1", "sums/q2")


def test_a_run_of_inspect_beside_its_retry_is_passed_over(inspect, tmp_path):
    broken = inspect("1.eval", inspected("a", ["C"] * 4, status="error"))
    with pytest.raises(ScoreError, match="has ended with 'error'"):
        read_logs([tmp_path])
    inspect("2.eval", inspected("a", ["I", "C"] * 2))
    with pytest.raises(ScoreError, match=r"two models at least\. Passed over: .*1\.eval is of a"):
        read_logs([tmp_path])
    inspect("3.eval", inspected("b", ["C", "I"] * 2))
    scores = read_logs([tmp_path])
    assert scores.models == ("a", "b")
    assert scores.repetitions == 2
    assert scores.notes[0] == (
        f"Passed over: {broken} is of a run that has ended with 'error', not 'success'."
    )
    with pytest.raises(ScoreError, match="has ended with 'error'"):
        read_logs([broken, tmp_path / "3.eval"])


def test_a_log_of_inspect_marked_as_invalidated_without_a_sample_is_told(inspect, tmp_path):
    path = inspect("1.eval", inspected("a", ["C", "I"] * 2, invalidated=True))
    inspect("2.eval", inspected("b", ["C", "I"] * 2))
    told = f"{path} is marked as invalidated, but none of its samples: all of them count."
    assert told in read_logs([tmp_path]).notes


def test_a_log_of_inspect_that_is_cut_off_is_told(inspect, tmp_path):
    path = inspect("1.eval", inspected("a", ["C"]))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ScoreError, match="cannot be read as a log of Inspect: it is cut off"):
        read_logs([tmp_path])


def test_a_log_of_inspect_with_sorted_keys(inspect, tmp_path):
    path = inspect("1.json", inspected("a", ["C", "I"] * 2))
    told = {"version": 2, "status": "success", "eval": {"task": "sums", "dataset": {"name": "q"}}}
    path.write_text(json.dumps(told, sort_keys=True, indent=2))
    inspect("2.eval", inspected("b", ["C", "I"] * 2))
    assert read_logs([tmp_path]).models == ("a", "b")
