"""The command gate: from what is there, or from answers that it draws until it knows.

The options on scores and stores are those of `ca.gate`; how models draw, those of `ca.generate`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.api import models as face
from coupled_arena.api.declared import options
from coupled_arena.api.gates import contenders, gate_result
from coupled_arena.api.gates import gate as gate_of_scores
from coupled_arena.cli import analyses
from coupled_arena.cli.derived import as_options, before_last, flag, parameter, read, signed
from coupled_arena.cli.generation import Data, Tasks, generated_text, marker_of, owned
from coupled_arena.cli.shared import Preset, show
from coupled_arena.core.choices import Battles, Look
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.records import seed_to_hex
from coupled_arena.core.settings import load_settings
from coupled_arena.tasks.task import DRAWN_AS_PUBLISHED

if TYPE_CHECKING:
    from coupled_arena.analysis.gate.result import GateReport, GateSettings
    from coupled_arena.api.results import Result
    from coupled_arena.battles.batch import BatchPlan, Generated, Marker
    from coupled_arena.battles.gate_runs import GateWatcher
    from coupled_arena.core.settings import Settings

_DRAWN = tuple(
    each
    for each in options(face.generate)
    if each.name in ("temperature", "top_k", "top_p", "max_new_tokens", "at_once")
)
_ASKED = (
    parameter(
        "task",
        Annotated[
            Tasks | None,
            typer.Option(
                help="Let the models of the catalog answer this benchmark, in random order, and "
                "stop at the verdict. Without it, stored scores count, or --scores."
            ),
        ],
        None,
    ),
    parameter("data", Data, None),
    parameter(
        "most_prompts",
        Annotated[int | None, typer.Option(min=2, help="`--task`: ask no more than this.")],
        None,
    ),
    parameter(
        "minutes",
        Annotated[float | None, typer.Option(min=0, help="`--task`: begin no prompt after these.")],
        None,
    ),
    parameter(
        "answers",
        Annotated[int, typer.Option(min=1, help="`--task`: answers to each prompt.")],
        1,
    ),
    parameter("preset", Preset, None),
    *(flag(replace(each, text=f"`--task`: {each.text}"), _DRAWN) for each in _DRAWN),
)
_STORED = tuple(inspect.signature(analyses.gate).parameters.values())
_TAKEN = (
    *("base", "candidate", "margin", "alpha", "look", "seed", "mode", "most_missing"),
    *("plots", "config", "db", "as_json"),
)


def gate(**given: Any) -> None:  # noqa: D103 (its docstring is that of the stored one)
    asked = {each.name: given.pop(each.name) for each in _ASKED}
    if asked["task"] is None:
        _refuse({name: each for name, each in asked.items() if name != "task"}, _ASKED, "without")
        analyses.gate(**given)
        return
    # All others speak of scores that are there; an option that comes later is refused until then.
    _refuse({name: each for name, each in given.items() if name not in _TAKEN}, _STORED, "with")
    _draw(given, asked)


signed(gate, "gate", before_last(_STORED, _ASKED))
gate.__doc__ = analyses.gate.__doc__


def _refuse(given: Mapping[str, Any], declared: Any, how: str) -> None:
    defaults = {each.name: each.default for each in declared}
    for name, value in given.items():
        if value != defaults[name]:
            raise SettingsError(f"--{name.replace('_', '-')} has no use {how} --task.")


def _draw(given: Mapping[str, Any], asked: dict[str, Any]) -> None:
    """Let the models answer until it is known, and say what is."""
    from coupled_arena.analysis.gate.result import GateSettings

    with as_options(options(gate_of_scores)):
        models = contenders(given["base"], given["candidate"])
        wanted = GateSettings(
            *(given["margin"], given["alpha"], Look(given["look"])),
            most_missing=given["most_missing"],
        )
        wanted.check()
    if given["mode"] is Battles.ALL:
        raise SettingsError("--task draws in one mode: give --mode coupled or independent.")
    if asked["task"] is Tasks.PAIRWISE:
        raise SettingsError("pairwise has no scores: choose another --task.")
    require("arena", "A model")
    settings = load_settings(given["config"], preset=asked["preset"], db=given["db"])
    for name in models:
        settings.catalog[name]  # raises if there is none
    from coupled_arena.tasks.task import Wording

    marker = marker_of(asked["task"], asked["data"], wording=Wording())
    marker.task.ready()  # before the models, which take a while to load
    planned = partial(_plan, settings, marker, models, given, asked)
    planned(0)  # refuses what cannot be drawn
    made, result = _run(settings, planned, marker, wanted, {**asked, "seed": given["seed"]})
    seed = int(result.settings["seed"])
    answer = {**result.answer, "drawn": {**asdict(made), "experiment": seed_to_hex(seed)}}
    if given["plots"]:
        answer |= analyses.draw_plots(result, given["plots"])
    told = f"{generated_text(made)} The seed is {seed}."
    show(answer, given["as_json"], lambda: f"{told}\n{result.text()}")
    if status := analyses.gate_code(result.analysis):
        raise typer.Exit(status)


def _run(
    settings: Settings,
    planned: Callable[[int], BatchPlan],
    marker: Marker,
    wanted: GateSettings,
    asked: Mapping[str, Any],
) -> tuple[Generated, Result[GateReport]]:
    """Return what was made, and what all answers of the plan say that are stored now."""
    from coupled_arena.analysis.gate.churn import with_churn_and_costs, with_speeds
    from coupled_arena.analysis.gate.result import gate_scores
    from coupled_arena.analysis.gate.store_scores import read_paired
    from coupled_arena.battles.batch import run_benchmark
    from coupled_arena.battles.gate_runs import keep_gates, seed_of_run
    from coupled_arena.generation.loading import load_named
    from coupled_arena.store.queries.comparisons import Selection
    from coupled_arena.views.tables.gate import CANNOT_TELL

    task, aim = marker.task.name, (wanted.margin, wanted.alpha)
    with owned(settings) as store:
        models = load_named(settings, planned(0).models)

        def settled(seed: int) -> BatchPlan:
            return planned(seed).settled(models)

        seed = asked["seed"]
        if seed is None:  # people may vote on these battles, so nobody must guess it
            seed = seed_of_run(store, task, aim, settled)
        wanted, whole = replace(wanted, seed=seed), settled(seed)
        # A run may end before its gate does: with --minutes, and with --most-prompts.
        plan = replace(whole, prompts=whole.prompts[: asked["most_prompts"]])
        watcher = _watcher(plan, wanted, asked["minutes"])
        if wanted.look is Look.ALWAYS:  # nothing stores when one look is taken
            keep_gates(store, whole, task, *aim)
        room = {"at_once": asked["at_once"], "kv_tokens": settings.battle.kv_tokens}
        scored = run_benchmark(plan, marker, models, store, **room, watcher=watcher)
        if (n := watcher.gate.seen) < 2:
            typer.echo(f"Cannot tell: answered prompts: {n}. Give more --minutes.", err=True)
            raise typer.Exit(CANNOT_TELL)
        paired = read_paired(store, plan.models, task, Selection(), battles=watcher.battles)
        found = gate_scores(paired, wanted)
        found = with_churn_and_costs(found, store, task, Selection(), battles=watcher.battles)
    return scored.made, gate_result(with_speeds(found, scored.made.speeds))


def _watcher(plan: BatchPlan, wanted: GateSettings, minutes: float | None) -> GateWatcher:
    """Return what ends a run: the verdict, unless there is one look, or time."""
    from coupled_arena.battles.gate_runs import GateWatcher
    from coupled_arena.stats.gate.betting import Gate

    gate = Gate.start(wanted.margin, wanted.alpha, len(plan.models) - 1)
    seconds = None if minutes is None else 60 * minutes
    return GateWatcher(plan, gate, early=wanted.look is Look.ALWAYS, seconds=seconds)


def _plan(
    settings: Settings,
    marker: Marker,
    models: tuple[str, ...],
    given: Mapping[str, Any],
    asked: Mapping[str, Any],
    seed: int,
) -> BatchPlan:
    """Return all battles there may be, drawn in one way and in one mode."""
    from coupled_arena.battles.gate_runs import in_drawn_order

    defaults = {**DRAWN_AS_PUBLISHED, "max_new_tokens": marker.task.max_new_tokens}
    drawn = {each.name: read(each, asked[each.name]) for each in _DRAWN if each.name != "at_once"}
    plan = face.run_plan(
        *(settings, in_drawn_order(marker.prompts, seed), models),
        mode=given["mode"] or Battles.COUPLED,
        seeds=asked["answers"],
        seed=seed,
        sampler="gumbel",
        coupling=None,
        defaults=defaults,
        **drawn,
    )
    if len(plan.samplings) > 1:
        raise SettingsError("A gate draws in one way: give one --temperature and one --top-p.")
    return plan
