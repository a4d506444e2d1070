"""Whether a model is as good as a base: from scores, logs, a judge's grades, or votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api import options
from coupled_arena.api.checks import (
    Files,
    are_files,
    check_frame,
    check_store,
    hold_logs,
    is_frame,
    paths_of,
    scores_in,
    selection_of,
)
from coupled_arena.api.declared import Field, analysis, refuse
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core import choices
from coupled_arena.core.choices import Battles, Look, Measure, Voters
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.language import N_

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.gate.paired import PairedScores, Scale
    from coupled_arena.analysis.gate.plan import GatePlan
    from coupled_arena.analysis.gate.result import GateReport, GateSettings
    from coupled_arena.store.database import Store


@analysis
def gate(
    base: str,
    candidate: str | Sequence[str],
    scores: pd.DataFrame | ArenaStore | Files | None = None,
    *,
    margin: Annotated[
        float,
        Field(N_("Margin"), N_("How much worse is as good."), least=0.005, most=0.2, step=0.005),
        Doc(
            "A candidate is as good if it is worse by less than this share of the scores' range; "
            "with votes, of the win rate."
        ),
    ] = 0.02,
    alpha: options.Alpha = 0.05,
    look: Annotated[
        choices.Look | str,
        Doc(
            "Look after every prompt, and stop when you know (exact at any time), or once, at the "
            "end (the fixed-sample test)."
        ),
    ] = "always",
    by: Annotated[
        choices.Measure | str | None,
        Doc(
            "For a store: scores of a benchmark, a judge's grades, or votes. By default scores, "
            "and votes if there are none."
        ),
    ] = None,
    metric: Annotated[str | None, Doc("The metric, if there are several.")] = None,
    judge: Annotated[
        str | None,
        Doc("For a store: the judge of the grades, or of verdicts beside the votes."),
    ] = None,
    mode: Annotated[
        Battles | str | None,
        Doc("For a store: battles that count, by default coupled ones if there are any."),
    ] = None,
    category: options.Category = None,
    language: options.Language = None,
    voters: options.Voters = "like",
    bounds: Annotated[Sequence[float], Doc("The least and the greatest possible score.")] = (
        0.0,
        1.0,
    ),
    lower_is_better: Annotated[bool, Doc("Lower scores are better.")] = False,
    seeds: Annotated[
        int,
        Ge(2),
        Doc("For a table with a column Noise: repetitions, in consecutive rows of one prompt."),
    ] = 10,
    seed: Annotated[
        int | None,
        Ge(0),
        Doc(
            "Seed of the order of the prompts. By default that of the run if a gate made all "
            "answers, else 0. Of several runs in a store it chooses one. With `--task` it seeds "
            "the noise, too: by default that of the newest run, or a random one."
        ),
    ] = None,
    most_missing: Annotated[
        float,
        Doc(
            "Share of the prompts that base or candidate may lack. Beyond it the gate cannot tell."
        ),
    ] = 0.05,
    largest_group: Annotated[
        int | None,
        Ge(1),
        Doc(
            "Let each prompt count the same, where no group has more prompts than this, here or "
            "elsewhere. By default each group counts once."
        ),
    ] = None,
) -> Result[GateReport]:
    """Say whether a model is as good as a base: as good, better, worse, or cannot tell.

    Each candidate is compared with the base prompt by prompt. Several candidates are judged
    together: the chance that any of them is wrongly called as good is at most alpha. Exit code 0
    stands for as good or better, 3 for worse, and 4 for cannot tell.

    Parameters
    ----------
    base : str
        Name of the base model.
    candidate : str or sequence of str
        The model to compare with the base, or several.
    scores : DataFrame, ArenaStore, Path, sequence of Path, or mapping of names to Path
        A table with columns model, prompt and a metric, as `risk` takes it, and maybe category,
        or group, of prompts that depend on each other. Or files of such a table, logs of other
        tools by the names of their models, or a store.

    Returns
    -------
    Result
        Tables: "candidates", "categories" where prompts have one, "flips", and "closing" with
        `look` "always".

    Raises
    ------
    ArenaError
        There are no such scores or votes, or a setting is out of range.
    """
    from coupled_arena.analysis.gate.result import GateSettings, gate_scores

    models = contenders(base, candidate)
    settings = GateSettings(
        *(margin, alpha, Look(look), seed or 0),
        largest_group=largest_group,
        most_missing=most_missing,
    )
    settings.check()
    of_store = {"by": by, "judge": judge, "mode": mode, "category": category}
    of_store |= {"language": language, "voters": voters}
    if scores is None:
        raise ArenaError("Give `scores`: a table, logs of other tools, or an open store.")
    if is_frame(scores) or are_files(scores):
        refuse(gate, of_store, "with scores")
        given = _of_table(scores, models, metric, bounds, lower_is_better, seeds)
        found = gate_scores(given, settings)
    else:
        asked = {"metric": metric, "bounds": bounds, "seed": seed, **of_store}
        refuse(gate, {"lower_is_better": lower_is_better}, "with a store", "a table")
        with check_store(scores).reading() as opened:
            found = _of_store(opened, models, settings, asked)
    return gate_result(found)


def contenders(base: str, candidate: str | Sequence[str]) -> tuple[str, ...]:
    """Return the base and its candidates.

    Raises
    ------
    ArenaError
        There is no candidate, or a model is there twice.
    """
    from coupled_arena.analysis.gate.paired import check_different

    models = (base, *([candidate] if isinstance(candidate, str) else candidate))
    if len(models) < 2:
        raise ArenaError("Name a candidate beside the base.")
    check_different(models)
    return models


def gate_result(found: GateReport) -> Result[GateReport]:
    """Return what a gate has found with its tables, its JSON and its text."""
    from coupled_arena.views.tables.gate import gate_answer, gate_tables, gate_text

    candidates = ", ".join(each.model for each in found.candidates)
    return Result(
        f"Gate: {candidates} against {found.base}",
        found,
        {"metric": found.metric, "by": found.measure, "seed": found.settings.seed},
        gate_tables(found),
        gate_answer(found),
        lambda: gate_text(found),
    )


def _of_table(
    scores: pd.DataFrame | Files,
    models: tuple[str, ...],
    metric: str | None,
    bounds: Sequence[float],
    lower_is_better: bool,
    seeds: int,
) -> PairedScores:
    from coupled_arena.analysis.gate.paired import Scale

    scale = Scale.of(bounds, lower_is_better=lower_is_better)
    with _one_metric():
        return _read_table(scores, models, metric, scale, seeds)


@contextmanager
def _one_metric() -> Iterator[None]:
    """Let errors of those who read several metrics name the option of the gate, which reads one."""
    try:
        yield
    except ScoreError as error:
        error.args = (str(error).replace("--metrics", "--metric"),)
        raise


def _read_table(
    scores: pd.DataFrame | Files,
    models: tuple[str, ...],
    metric: str | None,
    scale: Scale,
    seeds: int,
) -> PairedScores:
    from coupled_arena.analysis.gate.paired import paired_from_frame, paired_from_scores
    from coupled_arena.core.tables import called, read_frame

    if not are_files(scores):
        return paired_from_frame(check_frame(scores, "scores"), models, metric, scale, seeds)
    if hold_logs(scores):
        found = scores_in(scores, (metric,) if metric else None, models)
        return paired_from_scores(found, models, scale)
    paths = paths_of(scores)
    frame = read_frame(paths, ScoreError)
    return paired_from_frame(frame, models, metric, scale, seeds, called(paths))


def _of_store(
    opened: Store, models: tuple[str, ...], settings: GateSettings, asked: dict[str, Any]
) -> GateReport:
    from coupled_arena.analysis.audit.grades import only_grader
    from coupled_arena.analysis.gate.churn import with_churn_and_costs
    from coupled_arena.analysis.gate.result import gate_scores
    from coupled_arena.analysis.gate.store_scores import read_paired
    from coupled_arena.analysis.gate.votes import gate_votes
    from coupled_arena.store.tables.gates import stored
    from coupled_arena.store.tables.scores import metrics

    with opened.cursor() as cursor:
        scored = bool(metrics(cursor))
    by = Measure(asked["by"] or (Measure.SCORES if scored else Measure.VOTES))
    judge = asked["judge"]
    if by is Measure.SCORES and judge is not None:
        raise ArenaError("`judge` is for `by` grades or votes: name one of them, too.")
    if by is Measure.GRADES and judge is None:
        judge = only_grader(opened)
    mode = Battles(asked["mode"] or "all")
    chosen = selection_of(opened, mode, judge, None, asked["category"], asked["language"])
    if by is Measure.VOTES:
        if asked["metric"] is not None:
            raise ArenaError("`metric` is about scores: leave it out with votes.")
        if settings.largest_group is not None:
            raise ArenaError("`largest_group` is about scores: leave it out with votes.")
        return gate_votes(opened, models, chosen, settings, Voters(asked["voters"]))
    paired = read_paired(
        *(opened, models, asked["metric"], chosen, asked["bounds"]), seed=asked["seed"]
    )
    if asked["seed"] is None and paired.run is not None:
        with opened.cursor() as cursor:
            runs = {each.experiment for each in stored(cursor) if each.base == models[0]}
        if paired.run in runs:  # its prompts were drawn in the order of its seed
            settings = replace(settings, seed=int(paired.run, 16))
    found = gate_scores(paired, settings, by)
    return with_churn_and_costs(found, opened, asked["metric"], chosen, seed=asked["seed"])


def planned_gate(
    scores: pd.DataFrame | ArenaStore | Files,
    model: str,
    base: str | None,
    aim: tuple[float, float, float],
    chosen: dict[str, Any],
    closeness: str | Path | None = None,
) -> Result[Any]:
    """Return how many prompts a gate needs, by a pilot or by closeness: for `plan`.

    Parameters
    ----------
    aim : tuple of float
        Margin, error level, and power.
    chosen : mapping of str to object
        Options that are for a store: mode, category, language.
    closeness : str or Path, optional
        What `closeness` printed as JSON, in place of a pilot.
    """
    from coupled_arena.analysis.gate.churn import seconds_a_battle
    from coupled_arena.analysis.gate.paired import check_different
    from coupled_arena.analysis.gate.plan import plan_gate
    from coupled_arena.analysis.gate.store_scores import read_paired

    if base is None:
        raise ArenaError("Name the base in `against`, beside `margin`.")
    models, bounds = (base, model), (0.0, 1.0)
    check_different(models)
    seconds: float | None = None
    if closeness is not None:
        return _plan_result(_by_closeness(scores, models, Path(closeness), aim))
    if is_frame(scores) or are_files(scores):
        paired = _of_table(scores, models, None, bounds, lower_is_better=False, seeds=10)
    else:
        with check_store(scores).reading() as opened:
            mode = Battles(chosen["mode"])
            selection = selection_of(
                opened, mode, None, None, chosen["category"], chosen["language"]
            )
            paired = read_paired(opened, models, None, selection, bounds)
            seconds = seconds_a_battle(opened, models)
    made = plan_gate(paired, *aim)
    return _plan_result(replace(made, seconds=seconds and seconds * made.answers))


def _by_closeness(
    store: Any, models: tuple[str, str], path: Path, aim: tuple[float, float, float]
) -> GatePlan:
    """Return a plan by closeness, with the pace of a store if there is one."""
    from coupled_arena.analysis.gate.churn import seconds_a_battle
    from coupled_arena.analysis.gate.plan_closeness import plan_by_closeness, read_closeness

    if is_frame(store) or are_files(store):
        raise ArenaError("`closeness` takes the place of scores: leave the scores out.")
    made = plan_by_closeness(read_closeness(path), *models, *aim)
    opened = check_store(store)
    if not opened.path.is_file():
        return made
    with opened.reading() as there:
        return replace(made, seconds=seconds_a_battle(there, models))


def _plan_result(made: GatePlan) -> Result[GatePlan]:
    from coupled_arena.views.tables import gate as tables

    return Result(
        "Prompts for a gate",
        made,
        {"model": made.candidate},
        {"prompts": tables.gate_plan_table(made)},
        tables.gate_plan_answer(made),
        lambda: tables.gate_plan_text(made),
    )
