"""Not speed: what `gate` finds in logs that lm-evaluation-harness and Inspect write here.

    pip install 'coupled-arena[arena,inspect]' 'lm_eval[hf]==0.4.13'
    python -m benchmarks.harness_logs --work build/harness_logs

Two small models answer every third question of the quiz that asks for a word. They hardly know
one, so the first letter counts. Prints the difference by the tool's own results beside that of
`gate`. The last column is the largest deviation of `coupled-arena gate`, `--look once` and
`ca.gate` from these results, and from a plain mean over the samples. A tool that is not installed
is left out.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from math import fsum
from pathlib import Path
from typing import Any

import coupled_arena as ca
from coupled_arena.cli import main as command
from coupled_arena.core.settings import resource
from tests.small_models import SMALL_MODELS, save_small_models

MODELS = BASE, CANDIDATE = "small-red", "small-blue"
EVERY = 3  # of the quiz's questions for a word
LACKING = 7  # the question that the candidate lacks where one is missing
SAMPLED = {"temperature": 0.7, "do_sample": True, "max_gen_toks": 12}

Samples = dict[str, list[float]]  # of each prompt the scores of its answers


@dataclass(frozen=True)
class Log:
    """What one run says: files for `gate`, the tool's own mean, and the scores themselves."""

    path: Path
    table: float
    samples: Samples


@dataclass(frozen=True)
class Case:
    """One metric in the logs of both models."""

    source: str
    metric: str
    logs: Mapping[str, Log]

    @property
    def common(self) -> list[str]:
        """The prompts that both have answered equally often."""
        base, candidate = (self.logs[name].samples for name in MODELS)
        return [name for name in base if len(candidate.get(name, ())) == len(base[name])]

    @property
    def plain(self) -> float:
        """The difference of the means over prompts, of means over answers."""
        base, candidate = (self._mean(name, self.common) for name in MODELS)
        return candidate - base

    @property
    def theirs(self) -> float:
        """The difference of the tool's own means; what only the base has is taken off first."""
        base, candidate = (self.logs[name] for name in MODELS)
        lost = [
            fsum(each) / len(each) for name, each in base.samples.items() if name not in self.common
        ]
        n = len(base.samples)
        return candidate.table - (base.table * n - fsum(lost)) / (n - len(lost))

    def _mean(self, model: str, prompts: list[str]) -> float:
        each = (self.logs[model].samples[name] for name in prompts)
        return fsum(fsum(scores) / len(scores) for scores in each) / len(prompts)

    def ours(self) -> Iterator[tuple[float, int]]:
        """Yield difference and prompts by the command, with one look, and by the Python API."""
        scores = [f"--scores={name}={log.path}" for name, log in self.logs.items()]
        for look in ("always", "once"):
            asked = [*scores, f"--metric={self.metric}", f"--look={look}", "--json"]
            said = printed("gate", *MODELS, *asked)
            (row,) = json.loads(said)["candidates"]
            yield row["difference"], row["prompts"]
        paths = {name: log.path for name, log in self.logs.items()}
        (row,) = ca.gate(BASE, CANDIDATE, paths, metric=self.metric).to_dict()["candidates"]
        yield row["difference"], row["prompts"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--work", type=Path, default=Path("build/harness_logs"))
    work = arguments.parse_args().work.resolve()
    work.mkdir(parents=True)  # logs of an earlier run would count as repetitions
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    save_small_models(work, MODELS)
    (work / "arena.toml").write_text(SMALL_MODELS, encoding="utf-8")
    lines = resource("data/quiz.jsonl").read_text(encoding="utf-8").splitlines()
    words = [row for row in map(json.loads, lines) if row["answer"].isalpha()][::EVERY]
    questions = [row | {"letter": row["answer"][0].lower()} for row in words]
    print("| logs of | metric | prompts | by the tool | by `gate` | largest deviation |")
    print("|---|---|---|---|---|---|", flush=True)
    for tool, cases in (("lm_eval", of_lm_eval), ("inspect_ai", of_inspect)):
        if find_spec(tool) is None:
            print(f"{tool} is not installed", file=sys.stderr)
            continue
        for case in cases(work, questions):
            report(case)


def report(case: Case) -> None:
    """Print a row; refuse one with another number of prompts."""
    found = list(case.ours())
    if {prompts for _, prompts in found} != {len(case.common)}:
        raise SystemExit(f"{case.source}: {found}, but there are {len(case.common)} prompts")
    known = case.theirs, case.plain
    most = max(abs(ours - each) for ours, _ in found for each in known)
    cells = case.source, f"`{case.metric}`", len(case.common), f"{case.theirs:+.6f}"
    print(
        "|", " | ".join(map(str, (*cells, f"{found[0][0]:+.6f}", f"{most:.1e}"))), "|", flush=True
    )


def printed(*arguments: str) -> str:
    """Return what `coupled-arena` prints; a verdict is no error."""
    with redirect_stdout(io.StringIO()) as said:
        try:
            command(list(arguments))
        except SystemExit as ended:
            if ended.code not in (None, 0, 3, 4):
                raise
    return said.getvalue()


# lm-evaluation-harness

_DRAWN = """\
task: TASK
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}\\n{{prefix}}"
doc_to_target: "{{letter}}"
generation_kwargs: {until: ["\\n\\n\\n"]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}
"""
_FILTERED = """\
filter_list:
  - name: first-letter
    filter:
      - {function: regex, regex_pattern: "[A-Za-z]"}
      - {function: take_first}
  - name: last-letter
    filter:
      - {function: regex, regex_pattern: "[A-Za-z]", group_select: -1}
      - {function: take_first}
"""
_TWICE = """\
repeats: 2
process_results: !function shares.right
filter_list:
  - name: of-both
    filter:
      - {function: take_first_k, k: 2}
  - name: of-first
    filter:
      - {function: take_first_k, k: 1}
"""
_SHARES = """\
def right(doc, results):
    said = results[0]
    return {"exact_match": sum(doc["letter"] in each.lower() for each in said) / len(said)}
"""
_CHOSEN = """\
task: arena_choice
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: choices
doc_to_target: "{{choices.index(answer)}}"
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
"""
_GROUP = """\
group: arena_quiz
task: [arena_forms, arena_words]
aggregate_metric_list:
  - metric: exact_match
    aggregation: mean
    weight_by_size: true
    filter_list: [first-letter, last-letter]
"""


def of_lm_eval(work: Path, questions: list[dict[str, Any]]) -> Iterator[Case]:
    """Run the harness, and yield what its logs have."""
    forms = [each for each in questions if each["category"] == "forms"]
    words = [each for each in questions if each["category"] != "forms"]
    write_tasks(work / "tasks", forms, words)
    both = {name: lm_eval_run(work, "arena_quiz", name) for name in MODELS}
    for found in ("first-letter", "last-letter"):
        asked = both, f"exact_match:{found}"
        yield lm_eval_case("lm-eval, a group of two tasks", *asked, "arena_quiz")
        yield lm_eval_case("lm-eval, one task of it", *asked, "arena_words")
    kept = {"arena_words": [n for n in range(len(words)) if n != LACKING]}
    less = lm_eval_run(work, "arena_words", CANDIDATE, kept)
    asked = {BASE: both[BASE], CANDIDATE: less}, "exact_match:first-letter"
    yield lm_eval_case("lm-eval, one prompt is missing", *asked, "arena_words")
    twice = {name: lm_eval_run(work, "arena_twice", name) for name in MODELS}
    for found in ("of-both", "of-first"):
        asked = twice, f"exact_match:{found}"
        yield lm_eval_case("lm-eval, `repeats: 2`", *asked, "arena_twice")
    chosen = {name: lm_eval_run(work, "arena_choice", name) for name in MODELS}
    for metric in ("acc", "acc_norm"):
        yield lm_eval_case("lm-eval, its own model `hf`", chosen, metric, "arena_choice")


def write_tasks(folder: Path, forms: list[dict[str, Any]], words: list[dict[str, Any]]) -> None:
    """Write the questions, and tasks that read them."""
    folder.mkdir()
    kinds = {
        task: (rows, _DRAWN + _FILTERED)
        for task, rows in (("arena_forms", forms), ("arena_words", words))
    }
    kinds |= {"arena_twice": (words, _DRAWN + _TWICE), "arena_choice": (words, _CHOSEN)}
    for task, (questions, text) in kinds.items():
        data = folder / f"{task}.jsonl"
        data.write_text("".join(json.dumps(each) + "\n" for each in questions), encoding="utf-8")
        named = text.replace("TASK", task).replace("DATA", str(data))
        (folder / f"{task}.yaml").write_text(named, encoding="utf-8")
    (folder / "arena_quiz.yaml").write_text(_GROUP, encoding="utf-8")
    (folder / "shares.py").write_text(_SHARES, encoding="utf-8")


def lm_eval_run(
    work: Path, task: str, name: str, samples: dict[str, list[int]] | None = None
) -> Path:
    """Run a task as the harness's command does, and return the folder of its logs."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    import coupled_arena.harness.lm_eval_model  # noqa: F401 - adds the model

    out = work / "lm_eval" / (task + "-less" * bool(samples)) / name
    model, given = "coupled", {"model": name, "seed": 7, "arena": str(work / "arena.toml")}
    if task == "arena_choice":
        model, given = "hf", {"pretrained": str(work / name), "device": "cpu"}
    tracker = EvaluationTracker(output_path=str(out))
    found = lm_eval.simple_evaluate(
        model=model,
        model_args=given,
        tasks=[task],
        samples=samples,
        gen_kwargs=None if model == "hf" else SAMPLED,
        log_samples=True,
        evaluation_tracker=tracker,
        task_manager=TaskManager(include_path=str(work / "tasks"), include_defaults=False),
    )
    rows = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=rows)
    for each in found["configs"]:
        tracker.save_results_samples(task_name=each, samples=rows[each])
    return out


def lm_eval_case(source: str, folders: Mapping[str, Path], metric: str, task: str) -> Case:
    """Return a metric of a task, or of a group, in the logs of both models."""
    logs = {}
    for name, folder in folders.items():
        (results,) = folder.rglob("results_*.json")
        table = json.loads(results.read_text(encoding="utf-8"))["results"][task]
        files = sorted(results.parent.glob("samples_*.jsonl"))
        if task != "arena_quiz":
            files = [each for each in files if each.name.startswith(f"samples_{task}_")]
        path = results.parent if task == "arena_quiz" else files[0]
        mean, _, found = metric.partition(":")
        rows = [row for file in files for row in rows_of(file, mean, found or "none")]
        logs[name] = Log(path, table[f"{mean},{found or 'none'}"], dict(rows))
    return Case(source, metric, logs)


def rows_of(file: Path, metric: str, found: str) -> Iterator[tuple[str, list[float]]]:
    """Yield each prompt with its score after a filter."""
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["filter"] == found:
            yield f"{file.name.rpartition('_')[0]}/{row['doc_id']}", [float(row[metric])]


# Inspect


def of_inspect(work: Path, questions: list[dict[str, Any]]) -> Iterator[Case]:
    """Run Inspect, and yield what its logs have."""
    for epochs, source in ((1, "Inspect"), (2, "Inspect, two epochs")):
        runs = {name: inspect_run(work, name, epochs, questions) for name in MODELS}
        for metric in ("includes", "parts/share", "parts/short"):
            yield inspect_case(source, runs, metric)
        less = inspect_run(work, CANDIDATE, epochs, questions, questions[LACKING]["id"])
        yield inspect_case(f"{source}, one prompt is missing", runs | {CANDIDATE: less}, "includes")


def inspect_run(
    work: Path, name: str, epochs: int, questions: list[dict[str, Any]], lacking: str = ""
) -> Path:
    """Run a task with two scorers, and return the folder of its log; one sample may fail."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Score, accuracy, includes, mean, scorer
    from inspect_ai.solver import solver

    import coupled_arena.harness.inspect_provider  # noqa: F401 - else by its entry point

    @scorer(metrics={"share": [mean()], "short": [accuracy()]})
    def parts():
        async def score(state, target):
            said, letters = state.output.completion.lower(), target.text
            share = sum(letter in said for letter in letters) / len(letters)
            return Score(value={"share": share, "short": len(said) < 40})

        return score

    @solver
    def asking():
        async def solve(state, generate):
            if state.sample_id == lacking:
                raise RuntimeError("nobody answers")
            return await generate(state)

        return solve

    samples = [
        Sample(id=row["id"], input=row["question"], target=row["answer"][:2].lower())
        for row in questions
    ]
    out = work / "inspect" / f"epochs-{epochs}{'-less' * bool(lacking)}" / name
    inspect_ai.eval(
        inspect_ai.Task(
            dataset=samples, solver=asking(), scorer=[includes(), parts()], name="quiz"
        ),
        model=get_model(f"coupled/{name}", arena=str(work / "arena.toml"), seed=7),
        epochs=epochs,
        temperature=0.7,
        max_tokens=12,
        fail_on_error=False,
        log_dir=str(out),
        display="none",
    )
    return out


def inspect_case(source: str, folders: Mapping[str, Path], metric: str) -> Case:
    """Return a metric in the logs of both models, whose archives are read without Inspect."""
    return Case(source, metric, {name: inspect_log(path, metric) for name, path in folders.items()})


def inspect_log(folder: Path, metric: str) -> Log:
    """Return a metric of a log, by its header and its samples."""
    (file,) = folder.glob("*.eval")
    scorer, _, part = metric.partition("/")
    samples: Samples = {}
    with zipfile.ZipFile(file) as archive:
        results = json.loads(archive.read("header.json"))["results"]["scores"]
        for member in archive.namelist():
            if member.startswith("samples/"):
                sample = json.loads(archive.read(member))
                if sample.get("error") is None:
                    value = sample["scores"][scorer]["value"]
                    value = value[part] if part else {"C": 1.0, "I": 0.0}[value]
                    samples.setdefault(str(sample["id"]), []).append(float(value))
    (table,) = (each for each in results if each["name"] == (part or scorer))
    mean = next(table["metrics"][each] for each in ("accuracy", "mean") if each in table["metrics"])
    return Log(folder, mean["value"], samples)


if __name__ == "__main__":
    main()
