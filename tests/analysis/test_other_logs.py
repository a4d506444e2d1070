"""Logs of more tools and versions, written here as these write them; means are counted by hand."""

from __future__ import annotations

import json
import math

import pytest

import coupled_arena as ca
from coupled_arena.analysis.logs.score_logs import format_of, read_logs
from coupled_arena.core.errors import ScoreError


def document(number, right, **more):
    return {
        "doc_id": number,
        "doc": {"question": f"What is {number}?"},
        "target": "1",
        "arguments": [[f"What is {number}?", {"until": ["\n"]}]],
        "resps": [["1"]],
        "filtered_resps": ["1"],
        "exact_match": right,
        **more,
    }


def means(scores):
    return dict(zip(scores.models, (float(v[:, 0].mean()) for v in scores.values), strict=True))


def old_run(folder, model, rights, task="sums", **results):
    """Write a run as 0.4.0 to 0.4.2 do: an indented array, and what it says of itself."""
    folder.mkdir(exist_ok=True)
    rows = [document(n, right) for n, right in enumerate(rights)]
    path = folder / f"pretrained__{model.replace('/', '__')},dtype__float_{task}.jsonl"
    path.write_text(json.dumps(rows, indent=2))
    told = {
        "results": {task: {"exact_match,none": 0.5}},
        "configs": {task: {"metric_list": [{"metric": "exact_match", "higher_is_better": True}]}},
        "config": {"model": "hf", "model_args": f"pretrained={model},dtype=float"},
    }
    (folder / "results.json").write_text(json.dumps(told | results, indent=2))
    return path


def test_indented_arrays_of_lm_eval_before_0_4_3(tmp_path):
    old_run(tmp_path / "a", "org/a", [1, 0, 1, 1])
    path = old_run(tmp_path / "b", "org/b", [0, 0, 1, 1])
    scores = read_logs([tmp_path])
    assert means(scores) == {"org/a": 0.75, "org/b": 0.5}
    assert scores.prompts[0] == ("sums/0", "sums/1", "sums/2", "sums/3")
    (tmp_path / "b" / "results.json").unlink()
    with pytest.raises(ScoreError, match=r"should have the results\.json of its run beside it"):
        read_logs([path])


def test_the_longest_task_that_ends_the_name_is_the_task(tmp_path):
    both = {"configs": {"sums": {}, "hard_sums": {}}}
    for model in "ab":
        old_run(tmp_path / model, model, [1, 0], "hard_sums", **both)
    assert read_logs([tmp_path]).prompts[0] == ("hard_sums/0", "hard_sums/1")


def test_a_metric_of_which_less_is_better_by_the_task_s_own_list(tmp_path):
    less = {"sums": {"metric_list": [{"metric": "exact_match", "higher_is_better": False}]}}
    for model in "ab":
        old_run(tmp_path / model, model, [1, 0], configs=less)
    assert read_logs([tmp_path]).lower_is_better == {"exact_match"}


def test_a_file_of_another_run_than_the_results_beside_it_is_refused(tmp_path):
    old_run(tmp_path, "org/a", [1, 0])
    path = old_run(tmp_path, "org/b", [0, 0])
    with pytest.raises(ScoreError, match=r"org__a.*_sums\.jsonl is not of the run in results.json"):
        read_logs([tmp_path])
    old_run(tmp_path / "a", "org/a", [1, 0])
    assert means(read_logs([tmp_path / "a", path])) == {"org/a": 0.5, "org/b": 0}


def lines_run(folder, rows, suffix="jsonl", **results):
    folder.mkdir(exist_ok=True)
    time = "2024-09-01T10-00-00.000000"
    path = folder / f"samples_sums_{time}.{suffix}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = {"model_name": folder.name, "config": {}, "configs": {"sums": {}}} | results
    (folder / f"results_{time}.json").write_text(json.dumps(told))
    return path


@pytest.mark.parametrize("named", [True, False])
def test_two_rows_a_document_are_two_filters(tmp_path, named):
    names = [{"name": "strict"}, {"name": "flexible"}] if named else []
    configs = {"configs": {"sums": {"filter_list": names}}}
    for model, first, second in (("a", [1, 0], [1, 1]), ("b", [0, 0], [1, 0])):
        rows = [document(n, right) for rights in (first, second) for n, right in enumerate(rights)]
        lines_run(tmp_path / model, rows, **configs)
    strict, flexible = ("strict", "flexible") if named else ("1", "2")
    assert means(read_logs([tmp_path], [f"exact_match:{strict}"])) == {"a": 0.5, "b": 0}
    assert means(read_logs([tmp_path], [f"exact_match:{flexible}"])) == {"a": 1, "b": 0.5}
    assert read_logs([tmp_path]).metrics == (f"exact_match:{strict}",)


def test_one_filter_of_several_is_named_and_compared_with_no_other(tmp_path):
    configs = {"configs": {"sums": {"filter_list": [{"name": "strict"}, {"name": "maj"}]}}}
    strict, maj = ([document(n, n, filter=name) for n in (0, 1)] for name in ("strict", "maj"))
    lines_run(tmp_path / "a", strict, **configs)
    lines_run(tmp_path / "b", maj, **configs)
    with pytest.raises(ScoreError, match="has no metric 'exact_match:strict'"):
        read_logs([tmp_path])
    lines_run(tmp_path / "a", strict)
    lines_run(tmp_path / "b", maj)
    with pytest.raises(ScoreError, match=r"passed another filter than in .*: strict there, maj he"):
        read_logs([tmp_path])


def test_log_likelihoods_under_the_name_of_perplexity(tmp_path):
    configs = {
        "configs": {"sums": {"output_type": "loglikelihood"}},
        "higher_is_better": {"sums": {"perplexity": False, "acc": True}},
    }
    for model, likelihood in (("good", -1.0), ("poor", -3.0)):
        rows = [document(n, 1, perplexity=likelihood, acc=n) for n in (0, 1)]
        for row in rows:
            del row["exact_match"]
        lines_run(tmp_path / model, rows, **configs)
    assert read_logs([tmp_path]).metrics == ("acc",)
    scores = read_logs([tmp_path], ["perplexity"])
    assert scores.lower_is_better == frozenset()
    assert scores.notes == (
        "perplexity of a prompt is the log-likelihood of its answer: more is better.",
    )
    found = ca.gate("good", "poor", tmp_path, metric="perplexity", bounds=(-10, 0))
    assert found.to_frame()["difference"].item() == -2


def test_replies_that_lm_eval_did_not_score_are_told(tmp_path):
    rows = [document(n, True) for n in range(3)]
    for row in rows:
        row.pop("acc", None)
    rows = [row | {"metrics": ["bypass"], "bypass": 999} for row in rows]
    lines_run(tmp_path, rows)
    with pytest.raises(ScoreError, match="no metric: a run with --predict_only scores nothing"):
        read_logs([tmp_path])


def test_a_document_is_known_without_its_hash(tmp_path):
    lines_run(tmp_path / "a", [document(n, n) for n in (0, 1)])
    lines_run(tmp_path / "b", [document(n, n, doc_hash=f"d{n}") for n in (0, 1)])
    assert means(read_logs([tmp_path])) == {"a": 0.5, "b": 0.5}


def test_lines_in_files_named_json(tmp_path):
    for model, right in (("a", 1), ("b", 0)):
        lines_run(tmp_path / model, [document(n, right) for n in (0, 1)], "json")
    assert means(read_logs([tmp_path])) == {"a": 1, "b": 0}


def test_what_differs_between_runs_is_told_once(tmp_path):
    for model, shots in (("a", 0), ("b", 5)):
        rows = [document(n, 1, prompt_hash=f"{n} after {shots}") for n in (0, 1)]
        told = {"versions": {"sums": 3}, "n-shot": {"sums": shots}, "system_instruction": "Think."}
        lines_run(tmp_path / model, rows, **told)
    assert read_logs([tmp_path]).notes[0] == (
        "Besides the model, the runs differ in: n-shot (0 for a, 5 for b); "
        'words of the prompts ("0 after 0" for a, "0 after 5" for b).'
    )


def test_another_law_or_noise_of_lm_eval_is_told(tmp_path):
    rows = [document(n, right) for n, right in enumerate([True, False, True])]
    for name, heat, seed in (("a", 0.7, 7), ("b", 1.5, 8)):
        config = {"model": "coupled", "model_args": f"model={name},seed={seed}"}
        config["gen_kwargs"] = {"temperature": heat}
        lines_run(tmp_path / name, rows, model_name=name, config=config)
    (told,) = (note for note in read_logs([tmp_path]).notes if note.startswith("Besides"))
    assert 'gen_kwargs ({"temperature": 0.7} for a, {"temperature": 1.5} for b)' in told
    assert 'seed of coupled models ("7" for a, "8" for b)' in told


def test_one_run_under_two_names_is_told(tmp_path):
    for model in "ab":
        lines_run(tmp_path / model, [document(n, 1, resps=[[f"It is {n}."]]) for n in (0, 1)])
    (told,) = read_logs([tmp_path]).notes
    assert told.startswith("a and b gave the same replies to all 2 prompts. Coupled models may; ")
    lines_run(tmp_path / "b", [document(n, n, resps=[["It is 0."]]) for n in (0, 1)])
    assert read_logs([tmp_path]).notes == ()


def test_a_copy_of_a_run_counts_once(tmp_path):
    for model, right in (("a", 1), ("b", 0)):
        path = lines_run(tmp_path / model, [document(n, right) for n in (0, 1)])
        copy = path.with_name(path.name.replace("T10", "T11"))
        copy.write_bytes(path.read_bytes())
        results = path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")
        results.with_name(results.name.replace("T10", "T11")).write_bytes(results.read_bytes())
    scores = read_logs([tmp_path])
    assert scores.repetitions == 1
    assert scores.notes[1] == f"{copy} is the same run as {path}: it counts once."


def test_several_answers_count_as_their_mean_beside_single_ones(tmp_path):
    for model, runs in (("a", [[1, 0, 1]]), ("b", [[1, 1, 0], [1, 0, 0]])):
        for number, rights in enumerate(runs):
            old_run(tmp_path / f"{model}{number}", model, rights)
    scores = read_logs([tmp_path])
    assert [values[:, 0].tolist() for values in scores.values] == [[1, 0, 1], [1, 0.5, 0]]
    assert scores.notes == ("Answers to a prompt: a 1, b 2. Several count as their mean.",)


def test_a_third_model_does_not_change_a_gate(tmp_path):
    for model, number in (("a", 30), ("b", 30), ("c", 3)):
        lines_run(tmp_path / model, [document(n, n % 2) for n in range(number)])
    answer = ca.gate("a", "b", tmp_path)
    assert answer.to_frame()["prompts"].item() == 30
    with pytest.raises(ScoreError, match=r"no scores of d\. Models with scores: a, b, c\."):
        ca.gate("a", "d", tmp_path)


def test_a_document_that_is_there_once_too_often_is_a_fault(tmp_path):
    rows = [document(0, 1), document(1, 1), document(0, 1)]
    with pytest.raises(ScoreError, match="line 3 has exact_match of doc_id 0 once more"):
        read_logs([lines_run(tmp_path / "a", rows)])


def test_nan_and_a_missing_prompt_leave_their_prompts_out(tmp_path):
    lines_run(tmp_path / "a", [document(n, 1) for n in range(5)])
    lines_run(
        tmp_path / "b",
        [document(0, 0), document(1, math.nan), document(2, 1), document(4, 1)],
    )
    scores = read_logs([tmp_path])
    assert scores.prompts == (("sums/0", "sums/2", "sums/4"),) * 2
    assert means(scores) == {"a": 1, "b": 2 / 3}
    assert scores.notes == (
        "Left out, for a score is missing: 1 prompt.",
        "Left out, for some models lack them: 1 prompt.",
    )
    # Whoever compares models prompt by prompt gets an answer, and hears of it.
    board = ca.rank(tmp_path)
    assert "some models lack them" in " ".join(board.to_dict()["warnings"])


def test_a_missing_repetition_leaves_its_prompt_out(tmp_path):
    for model in "ab":
        rights = [1, 0, 1] if model == "a" else [0, 0, 1]
        old_run(tmp_path / f"{model}1", model, rights)
        old_run(tmp_path / f"{model}2", model, rights[:2] if model == "a" else [0, 1, 1])
    scores = read_logs([tmp_path])
    assert (scores.repetitions, scores.prompts[0]) == (2, ("sums/0", "sums/1"))
    assert scores.notes == ("Left out, for some models lack them: 1 prompt.",)


def test_models_without_a_prompt_in_common_stay_apart(tmp_path):
    lines_run(tmp_path / "a", [document(n, 1) for n in range(3)])
    lines_run(tmp_path / "b", [document(n, 1) for n in range(3, 6)])
    scores = read_logs([tmp_path])
    assert (scores.paired, scores.notes) == (False, ())


@pytest.mark.parametrize("as_list", [True, False])
def test_what_lm_eval_0_3_has_written_out(tmp_path, as_list):
    for model, rights in (("a", [1.0, 0.0, 1.0]), ("b", [0.0, 0.0, 1.0])):
        rows = [
            {
                "doc_id": n,
                "prompt_0": f"What is {n}?",
                "logit_0": "-1.5",
                "truth": 1,
                "ppl": "-3.5",
                "acc": str(right),
                "acc_norm": "1.0",
            }
            for n, right in enumerate(rights)
        ]
        (tmp_path / model).mkdir()
        told = rows if as_list else {str(n): row for n, row in enumerate(rows)}
        path = tmp_path / model / "sums_write_out_info.json"
        path.write_text(json.dumps(told, indent=4))
    scores = read_logs([tmp_path])
    assert means(scores) == {"a": 2 / 3, "b": 1 / 3}
    assert (scores.metrics, scores.prompts[0][0]) == (("acc",), "sums/0")
    assert scores.notes[0].startswith("ppl of a prompt is the log-likelihood of its answer")


def evaluated(path, model, outcomes, **spec):
    """Write a log of OpenAI evals: what it ran, what happened to each sample, what came of it."""
    told = {
        "completion_fns": [model],
        "eval_name": "sums.dev.v0",
        "run_id": f"run-{model}",
        "created_at": "2024-01-01 10:00:00",
    }
    events = [{"spec": told | spec}]
    for n, data in enumerate(outcomes):
        sample = {"run_id": f"run-{model}", "sample_id": f"sums.dev.{n}", "created_by": ""}
        events.append({**sample, "event_id": 2 * n, "type": "sampling", "data": {"prompt": "Hi"}})
        if data is not None:
            kind = "match" if "correct" in data else "metrics"
            events.append({**sample, "event_id": 2 * n + 1, "type": kind, "data": data})
    events.append({"final_report": {"accuracy": 0.5}, "run_id": f"run-{model}"})
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def test_logs_of_openai_evals(tmp_path):
    right = {"correct": True, "expected": "1", "picked": "1"}
    wrong = right | {"correct": False, "picked": "2"}
    evaluated(tmp_path / "1.jsonl", "gpt-4", [right, right, wrong, right])
    evaluated(tmp_path / "2.jsonl", "gpt-3.5-turbo", [right, wrong, wrong, None])
    scores = read_logs([tmp_path])
    assert means(scores) == {"gpt-4": 2 / 3, "gpt-3.5-turbo": 1 / 3}
    assert scores.metrics == ("correct",)
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)


def test_a_run_of_openai_evals_that_broke_off_is_refused(tmp_path):
    path = evaluated(tmp_path / "a.jsonl", "a", [{"correct": True}] * 3)
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(ScoreError, match="a run that has not ended: it has no final_report"):
        read_logs([path])


def test_several_matches_of_a_sample_count_as_their_mean(tmp_path):
    """As in the accuracy of OpenAI evals, which counts events."""
    path = evaluated(tmp_path / "a.jsonl", "a", [{"correct": True}, {"correct": False}])
    rows = path.read_text().splitlines()
    more = json.loads(rows[2]) | {"event_id": 9, "data": {"correct": False}}
    path.write_text("\n".join([*rows[:-1], json.dumps(more), rows[-1]]))
    evaluated(tmp_path / "b.jsonl", "b", [{"correct": True}] * 2)
    assert means(read_logs([tmp_path])) == {"a": 0.25, "b": 1.0}


def test_the_command_of_openai_evals_is_no_setting(tmp_path):
    for model, right in (("a", True), ("b", False)):
        for number in (1, 2):
            evaluated(
                tmp_path / f"{model}{number}.jsonl",
                model,
                [{"correct": right}] * 2,
                run_id=f"{model}{number}",
                run_config={"seed": 1, "command": f"oaieval --record_path {model}{number}"},
            )
    assert read_logs([tmp_path]).repetitions == 2
    evaluated(tmp_path / "a2.jsonl", "a", [{"correct": True}] * 2, run_config={"seed": 2})
    with pytest.raises(ScoreError, match="a was run otherwise than in"):
        read_logs([tmp_path])


def test_other_expected_answers_of_openai_evals_are_told(tmp_path):
    for model, expected in (("a", "Paris"), ("b", "Rome")):
        data = [{"correct": True, "expected": expected, "picked": model}] * 2
        evaluated(tmp_path / f"{model}.jsonl", model, data)
    told = 'Besides the model, the runs differ in: expected ("Paris" for a, "Rome" for b).'
    assert read_logs([tmp_path]).notes == (told,)


def test_grades_of_openai_evals_and_what_they_lack(tmp_path):
    for model, grade in (("a", 1.0), ("b", 0.5)):
        data = [{"choice": "A", "score": grade}] * 2
        evaluated(tmp_path / f"{model}.jsonl", model, data)
    assert means(read_logs([tmp_path])) == {"a": 1, "b": 0.5}
    with pytest.raises(ScoreError, match="has no scores: no event is a match or has metrics"):
        read_logs([evaluated(tmp_path / "c", "c", [None])])
    with pytest.raises(ScoreError, match="names no model: its spec has no completion_fns"):
        read_logs([evaluated(tmp_path / "c", "c", [{"score": 1}], completion_fns=[])])


def result(test, provider, score, best=None, prompt="p", **more):
    parts = [{"pass": True, "score": 1, "assertion": {"type": "contains"}}]
    if best is not None:
        parts.append({"pass": best, "score": float(best), "assertion": {"type": "select-best"}})
    return {
        "promptIdx": 0,
        "testIdx": test,
        "provider": {"id": f"openai:{provider}", "label": provider},
        "prompt": {"raw": "{{q}}", "label": prompt},
        "vars": {"q": f"Q{test}"},
        "response": {"output": "Yes."},
        "success": score > 0.5,
        "score": score,
        "namedScores": {"Tone": 0.25},
        "failureReason": 0,
        "gradingResult": {"pass": True, "score": score, "componentResults": parts},
        **more,
    }


def prompted(path, *results, wrapped=True):
    summary = {"version": 3, "timestamp": "2025-01-15T10:30:00Z", "prompts": [], "results": results}
    whole = {"evalId": "eval-1", "results": summary, "config": {}} if wrapped else summary
    path.write_text(json.dumps(whole, indent=2))
    return path


@pytest.mark.parametrize("wrapped", [True, False])
def test_results_of_promptfoo(tmp_path, wrapped):
    path = prompted(
        tmp_path / "results.json",
        *(result(0, "red", 1, True), result(0, "blue", 0.5, False)),
        *(result(1, "red", 0, False), result(1, "blue", 0.5, True)),
        *(result(2, "red", 1, True), result(2, "blue", 0.5, False)),
        *(result(3, "red", 1), result(3, "blue", 0, failureReason=2, error="timeout")),
        wrapped=wrapped,
    )
    scores = read_logs([path])
    assert means(scores) == {"red": 2 / 3, "blue": 0.5}
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)
    best = read_logs([path], ["select-best"])  # which the last test does not ask for
    assert (means(best), best.size) == ({"red": 2 / 3, "blue": 1 / 3}, 3)
    board = ca.rank(path, metric="Tone").to_dict()
    assert {row["model"]: row["win_rate"] for row in board["models"]} == {"red": 0.5, "blue": 0.5}


def test_results_of_promptfoo_in_lines(tmp_path):
    rows = [
        result(test, provider, score, promptIdx=0, testIdx=test)
        for test in range(3)
        for provider, score in (("openai:a", 1.0), ("openai:b", test / 4))
    ]
    for more in ({}, {"testIdx": None}):
        written = [json.dumps(row | more) + "\n" for row in rows]
        (tmp_path / "results.jsonl").write_text("".join(written))
        assert means(read_logs([tmp_path])) == {"openai:a": 1.0, "openai:b": 0.25}


def test_repeated_tests_of_promptfoo_are_one_prompt(tmp_path):
    # --repeat 3 numbers 2 tests from 0 to 5; an equal question with another assertion is another.
    rows = [
        result(
            3 * test + turn,
            name,
            float(test == 0 or turn == 1),
            vars={"q": "Q"},
            testCase={"vars": {"q": "Q"}, "assert": [{"type": "equals", "value": test}]},
            response={"output": f"{name} {turn}"},
        )
        for test in (0, 1)
        for turn in (0, 1, 2)
        for name in ("red", "blue")
    ]
    scores = read_logs([prompted(tmp_path / "r.json", *rows)], ["score"])
    assert (scores.prompts[0], scores.repetitions) == (("0", "1"), 3)
    assert scores.values[0][:, 0].tolist() == [1, 1, 1, 0, 1, 0]


@pytest.mark.parametrize("own", ["_conversation", "stored"])
def test_what_models_have_said_before_is_not_what_promptfoo_asks(tmp_path, own):
    rows = [
        result(
            n,
            name,
            float(name == "red"),
            vars={"q": n, own: f"{name} has said so"},
            **({"testCase": {"vars": {"q": n}}} if own == "stored" else {}),
        )
        for n in (0, 1)
        for name in ("red", "blue")
    ]
    assert means(read_logs([prompted(tmp_path / "r.json", *rows)])) == {"red": 1, "blue": 0}


def test_an_error_of_promptfoo_before_reasons_were_given_is_no_score(tmp_path):
    rows = [result(n, name, 1) for n in range(3) for name in ("red", "blue")]
    rows[0] |= {"score": 0, "error": "API error: 429", "gradingResult": None, "response": {}}
    rows[2] |= {"score": 0, "error": "Expected output to contain"}
    for row in rows:
        del row["failureReason"]
    scores = read_logs([prompted(tmp_path / "r.json", *rows)])
    assert means(scores) == {"red": 0.5, "blue": 1}
    assert scores.notes == ("Left out, for a score is missing: 1 prompt.",)


def test_columns_of_promptfoo_with_one_name_stay_apart(tmp_path):
    rows = [result(n, "red", n, promptIdx=at) for n in (0, 1) for at in (0, 1)]
    assert read_logs([prompted(tmp_path / "r.json", *rows)]).models == ("red #0", "red #1")
    long = "You are a polite assistant of a bank. " * 3
    rows = [
        result(n, "red", n, prompt=f"{long}{at}", promptIdx=at) for n in (0, 1) for at in (0, 1)
    ]
    names = tuple(f"red {long[:80]} #{at}" for at in (0, 1))
    assert read_logs([prompted(tmp_path / "r.json", *rows)]).models == names


def test_a_judge_s_best_answer_of_promptfoo_ranks_models(tmp_path):
    won = [("red", "blue"), ("red", "blue"), ("blue", "red")]
    rows = [
        result(n, name, 1, name == best)
        for n, (best, other) in enumerate(won)
        for name in (best, other)
    ]
    board = ca.rank(prompted(tmp_path / "r.json", *rows), metric="select-best").to_dict()
    rates = {row["model"]: row["win_rate"] for row in board["models"]}
    assert rates == pytest.approx({"red": 2 / 3, "blue": 1 / 3})


def test_several_prompts_of_promptfoo_are_models_of_their_own(tmp_path):
    rows = [result(n, "red", n, prompt=prompt) for n in (0, 1) for prompt in ("short", "long")]
    assert read_logs([prompted(tmp_path / "r.json", *rows)]).models == ("red short", "red long")
    with pytest.raises(ScoreError, match="result 1 names no provider"):
        read_logs([prompted(tmp_path / "r.json", result(0, "red", 1) | {"provider": None})])
    with pytest.raises(ScoreError, match=r"r.json has no results\."):
        read_logs([prompted(tmp_path / "r.json")])


def judged(number, label, first, second, model="judge-1"):
    return {
        "pair_id": f"p{number}",
        "source": "mmlu",
        "question": f"Q{number}",
        "response_model": "gpt-4o",
        "response_A": "A",
        "response_B": "B",
        "label": label,
        "judge_name": "arena_hard",
        "judgments": [
            None if said is None else {"judgment": {"judge_model": model}, "decision": said}
            for said in (first, second)
        ],
    }


def test_outputs_of_judge_bench_rank_judges(tmp_path):
    # The second verdict is on the answers in the other order.
    pairs = [
        ("A>B", "A>B", "B>A", 1),  # right in both
        ("A>B", "A>B", "A>B", 0),  # once right, once wrong
        ("B>A", "B>A", "A=B", 1),  # right, and a tie
        ("B>A", "A>B", "B>A", 0),  # wrong in both
        ("B>A", None, "A>B", 1),  # right, and nothing
        ("B>A", "A=B", "A=B", 0),
    ]
    for model, turned in (("judge-1", False), ("judge-2", True)):
        rows = [
            judged(n, *((label, second, first) if turned else (label, first, second)), model)
            for n, (label, first, second, _) in enumerate(pairs)
        ]
        path = tmp_path / f"{model}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = read_logs([tmp_path])
    assert scores.models == ("arena_hard/judge-1", "arena_hard/judge-2")
    assert scores.values[0][:, 0].tolist() == [right for *_, right in pairs]
    assert scores.values[1][:, 0].tolist() == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("content", ['{"evalId": 1', "[1]", '{"spec": 1}', '[{"doc_id": 1}]'])
def test_rubbish_that_looks_like_a_log_is_refused_with_a_line(tmp_path, content):
    path = tmp_path / "log.json"
    path.write_text(content)
    with pytest.raises(ScoreError, match=r"log.json (cannot be read|is no log that is known)"):
        read_logs([path])


def test_votes_are_no_logs(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text(json.dumps([{"id": 1, "data": {}, "annotations": []}]))
    assert format_of(path) is None
