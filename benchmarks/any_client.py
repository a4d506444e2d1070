"""Two vLLM servers with ambient noise, asked by lm-evaluation-harness: what coupling does there.

    python -m benchmarks.any_client --first http://gpu-1:8000 --second http://gpu-2:8000 \
        --lm-eval .venv-lm-eval/bin/lm_eval --work build/any_client

Every third question of the quiz is asked with some seeds. Prints how many answers are the same with
one seed, and with different ones; the covariance of the scores within prompts with its 95%
interval; and what `coupled-arena gate` and `coupled-arena coupling` say of the logs.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from scipy.stats import t as student

from coupled_arena.core.settings import resource

TASK = """\
task: arena_quiz
dataset_path: json
dataset_kwargs:
  data_files: {data}
test_split: train
output_type: generate_until
doc_to_text: "{{{{question}}}}\\n{{{{prefix}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: ["\\n\\n\\n"]
  max_gen_toks: {tokens}
filter_list:
  - name: first
    filter:
      - function: regex
        regex_pattern: "(-?[0-9]+|[A-Za-z]+)"
      - function: take_first
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--first", required=True)
    arguments.add_argument("--second", required=True)
    arguments.add_argument("--lm-eval", default="lm_eval", help="its program")
    arguments.add_argument("--work", type=Path, default=Path("build/any_client"))
    arguments.add_argument("--prompts", type=int, default=100)
    arguments.add_argument("--tokens", type=int, default=24)
    arguments.add_argument("--seeds", type=int, default=4)
    arguments.add_argument("--temperature", type=float, default=0.7)
    given = arguments.parse_args()
    write_task(given.work, given.prompts, given.tokens)
    servers = {"first": given.first, "second": given.second}
    found = {
        name: [answers(given, name, url, seed) for seed in range(1, given.seeds + 1)]
        for name, url in servers.items()
    }
    texts, scores = (
        {name: np.array([[row[of] for row in run] for run in runs]) for name, runs in found.items()}
        for of in (0, 1)
    )
    report(texts, scores)
    table = given.work / "scores.csv"
    write_table(table, scores)
    logs = [f"{name}={given.work / 'runs' / name / '1'}" for name in servers]
    run("gate", "first", "second", "--scores", logs[0], "--scores", logs[1], "--margin", "0.05")
    run("coupling", "--scores", str(table), "--seeds", str(given.seeds))


def write_task(work: Path, prompts: int, tokens: int) -> None:
    """Write the questions, and the task as lm-evaluation-harness reads it."""
    (work / "task").mkdir(parents=True, exist_ok=True)
    lines = resource("data/quiz.jsonl").read_text(encoding="utf-8").splitlines()
    data = (work / "quiz.jsonl").resolve()
    data.write_text("\n".join(lines[:: len(lines) // prompts][:prompts]) + "\n", encoding="utf-8")
    text = TASK.format(data=data, tokens=tokens)
    (work / "task" / "arena_quiz.yaml").write_text(text, encoding="utf-8")


def answers(given: argparse.Namespace, name: str, url: str, seed: int) -> list[tuple[str, float]]:
    """Ask a server with the harness, unless it was asked; return texts and scores by prompt."""
    out = given.work / "runs" / name / str(seed)
    if not (logs := list(out.rglob("samples_*.jsonl"))):
        with urlopen(f"{url}/v1/models") as answer:
            model = json.load(answer)["data"][0]["id"]
        settings = {
            "model": model,
            "base_url": f"{url}/v1/completions",
            "tokenizer_backend": "None",
            "tokenized_requests": "False",
            "num_concurrent": 16,
            "seed": seed,
        }
        subprocess.run(
            [
                *(given.lm_eval, "run", "--model", "local-completions"),
                *("--model_args", ",".join(f"{key}={value}" for key, value in settings.items())),
                *("--tasks", "arena_quiz", "--include_path", given.work / "task"),
                *("--gen_kwargs", f"temperature={given.temperature},do_sample=True"),
                *("--log_samples", "--output_path", out),
            ],
            check=True,
        )
        logs = list(out.rglob("samples_*.jsonl"))
    (log,) = logs
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: row["doc_id"])
    return [(row["resps"][0][0], float(row["exact_match"])) for row in rows]


def report(texts: dict[str, np.ndarray], scores: dict[str, np.ndarray]) -> None:
    """Print how far the answers of both are the same, and the covariance of their scores."""
    first, second = texts["first"], texts["second"]
    seeds, prompts = first.shape
    same = (first == second).mean()
    other = np.mean([(first == np.roll(second, by, axis=0)).mean() for by in range(1, seeds)])
    print(f"{prompts} prompts, {seeds} seeds")
    print(f"the same answers with one seed: {same:.3f}, with different ones: {other:.3f}")
    one, two = (scores[name] - scores[name].mean(axis=0) for name in ("first", "second"))
    by_prompt = (one * two).sum(axis=0) / (seeds - 1)
    middle = by_prompt.mean()
    width = student.ppf(0.975, prompts - 1) * by_prompt.std(ddof=1) / prompts**0.5
    print(f"covariance within prompts: {middle:.4f} ({middle - width:.4f} to {middle + width:.4f})")
    print(f"mean scores: {scores['first'].mean():.3f}, {scores['second'].mean():.3f}")


def write_table(path: Path, scores: dict[str, np.ndarray]) -> None:
    """Write scores coupled and independent: of the latter, each seed of one beside the next."""
    first, second = scores["first"].T, scores["second"].T
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("Noise", "first", "second"))
        for noise, other in (("Coupled", second), ("Independent", np.roll(second, 1, axis=1))):
            rows = zip(first.ravel().astype(int), other.ravel().astype(int), strict=True)
            table.writerows((noise, *row) for row in rows)


def run(*arguments: str) -> None:
    """Print what a command of this package says."""
    print(f"\n$ coupled-arena {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "coupled_arena", *arguments], check=False)


if __name__ == "__main__":
    main()
