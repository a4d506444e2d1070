"""What a judge is worth, how far people agree, and what coupling saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge, Le

from coupled_arena.api import options
from coupled_arena.api.checks import (
    Files,
    are_files,
    check_frame,
    check_store,
    hold_logs,
    is_frame,
    named_path,
    only_judge,
    paths_of,
    scores_in,
    selected,
    selection_of,
)
from coupled_arena.api.declared import Field, Level, analysis, refuse
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core import choices
from coupled_arena.core.choices import Control, Ties, Truth, Voters
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.language import N_
from coupled_arena.core.records import Drawn, Sampler

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.agreement import AnnotatorAgreement
    from coupled_arena.analysis.audit.result import Audit
    from coupled_arena.analysis.coupling.savings import Coupling, StoredScores, Sweep
    from coupled_arena.analysis.voter_report import VoterReport
    from coupled_arena.stats.coupling.score_tables import ScoreTable

    Parts = dict[str, ScoreTable | None] | None


@analysis
def audit(
    store: ArenaStore | pd.DataFrame | Files,
    *,
    judge: options.Judge = None,
    ties: options.Ties = "loss",
    mode: options.Mode = "all",
    alpha: options.Alpha = 0.05,
    models: options.Models = None,
    category: options.Category = None,
    language: options.Language = None,
    truth: Annotated[
        choices.Truth | str,
        Field(N_("Held against"), N_("With a benchmark, “people” below means the benchmark.")),
        Doc("The truth: people's votes, or a benchmark's scores of graded answers."),
    ] = "votes",
    metric: Annotated[
        str | None, Field(N_("Benchmark")), Doc("Benchmark, if the store has several.")
    ] = None,
    key_from: Annotated[
        str | None, Doc("The model that gives the key by its answers to a benchmark.")
    ] = None,
    majority: Annotated[
        bool, Doc("The majority of several voters on the same two answers is one vote.")
    ] = False,
    metrics: Annotated[
        Sequence[str] | None, Doc("For logs: the metric of the truth, and the judge's metric.")
    ] = None,
    judge_score: options.JudgeScore = "verdict",
    flips: options.Flips = "tie",
    control: Annotated[
        options.Control,
        Field(
            N_("Style held fixed"),
            N_("Adds bias and agreement with length, or also Markdown, held fixed."),
        ),
    ] = "none",
    own: Annotated[
        Sequence[str] | None,
        Doc("The judge's own models, for its self-preference; by default those with its name."),
    ] = None,
    voters: Annotated[options.Voters, Field(N_("The audit speaks for"))] = "like",
) -> Result[Audit]:
    """Report the value of a judge's verdicts beside people's votes, model by model.

    With `truth` "benchmark": the worth of its grades of single answers, beside the benchmark's key.
    With `key_from`: the worth of a model's answers as a key.

    Parameters
    ----------
    store : ArenaStore, DataFrame, or Path, sequence of Path, or mapping of names to Path
        A DataFrame, or files of such a table, has a row for each grade of a single answer. Its
        columns are ``model``, ``prompt``, ``truth`` and ``judge``: 1 or 0, or answers, with the
        model's in ``answer``. ``judge_name``, ``probability`` and ``category`` are optional. Files
        may also be logs of other tools, or folders of them, with `metrics`.

    Returns
    -------
    Result
        Tables: "models" and "differences", and "soft" where the judge told probabilities; with
        `control` "style_traits" and "style_models".

    Raises
    ------
    ArenaError
        The store or table cannot be read, does not know a name, or a setting is out of range.
    """
    from coupled_arena.analysis.audit.chosen import AuditChoice, read_chosen
    from coupled_arena.analysis.audit.grade_tables import table_estimates
    from coupled_arena.analysis.audit.result import audit as audited
    from coupled_arena.core.tables import called
    from coupled_arena.views.tables import audit as tables

    judge_options = {"judge_score": judge_score, "flips": flips}
    if is_frame(store) or are_files(store):
        of_store = {"mode": mode, "language": language, "ties": ties, "majority": majority}
        of_store |= {"truth": truth, "metric": metric, "key_from": key_from, **judge_options}
        of_store |= {"own": own, "control": control, "voters": voters}
        refuse(audit, of_store, "with a table")
        name = called(paths_of(store)) if are_files(store) else "the table"
        grades = _grades(store, metrics)
        estimates = table_estimates(grades, name, judge, models, category)
    elif metrics is not None:
        raise ArenaError("`metrics` is about logs: leave it out with a store.")
    else:
        against = Truth(truth)
        names = tuple(own) if own is not None else None
        counted, held = Ties(ties), (Control(control), Voters(voters))
        choice = AuditChoice(counted, against, metric, key_from, majority, names, *held)
        with check_store(store).reading() as opened:
            wanted = selection_of(opened, mode, None, models, category, language, **judge_options)
            wanted = replace(wanted, judge=judge)
            estimates = read_chosen(opened, wanted, choice, only_judge)
    found = audited(estimates, alpha)
    used = selected(estimates.selection) | {"metric": estimates.benchmark}
    used |= {"own": estimates.own.models if estimates.own else None}
    return Result(
        f"Audit of {found.judge}",
        found,
        used,
        tables.audit_tables(found),
        tables.audit_answer(found),
        lambda: tables.audit_text(found),
    )


def _grades(given: pd.DataFrame | Files, metrics: Sequence[str] | None) -> pd.DataFrame:
    from coupled_arena.analysis.audit.grade_tables import grades_of_logs, read_grades

    if are_files(given) and hold_logs(given):
        match metrics:
            case (truth, judge) if truth != judge:
                return grades_of_logs(scores_in(given, (truth, judge)))
            case _:
                raise ArenaError(
                    "Give two metrics of the log in `metrics`: the truth, the judge's."
                )
    if metrics is not None:
        raise ArenaError("`metrics` is about logs, and this is none: leave it out.")
    return read_grades(paths_of(given)) if are_files(given) else check_frame(given, "the grades")


@analysis
def agreement(
    store: ArenaStore,
    *,
    mode: options.Mode = "all",
    alpha: options.Alpha = 0.05,
    models: options.Models = None,
    category: options.Category = None,
    language: options.Language = None,
    voters: options.OfAnnotators = "like",
) -> Result[AnnotatorAgreement]:
    """Report the agreement of people who voted on the same battles: Krippendorff's alpha.

    Parameters
    ----------
    store : ArenaStore

    Returns
    -------
    Result
        Table: "agreement", of one row.

    Raises
    ------
    ArenaError
        The store cannot be read, does not know a name, or a setting is out of range.
    """
    from coupled_arena.analysis.agreement import read_agreement
    from coupled_arena.views.tables import agreement as tables

    with check_store(store).reading() as opened:
        selection = selection_of(opened, mode, None, models, category, language)
        found = read_agreement(opened, selection, alpha, Voters(voters))
    return Result(
        "Agreement between annotators",
        found,
        {},
        {"agreement": tables.agreement_table(found)},
        tables.agreement_answer(found),
        lambda: tables.agreement_text(found),
    )


@analysis
def voters(
    store: ArenaStore,
    *,
    alpha: Annotated[
        float, Level(), Doc("Largest expected share of honest voters among the named ones.")
    ] = 0.05,
    tolerance: Annotated[
        float,
        Ge(0),
        Le(100),
        Doc("Honest voters give each outcome at most 1 + this times as often as the others."),
    ] = 0.25,
) -> Result[VoterReport]:
    """List voters: number and pace of votes, and evidence of unusual votes. It excludes nobody.

    Parameters
    ----------
    store : ArenaStore

    Returns
    -------
    Result
        Tables: "voters", "origins", "bursts" and "told".

    Raises
    ------
    ArenaError
        The store cannot be read, or a setting is out of range.
    """
    from coupled_arena.analysis.voter_report import read_voters
    from coupled_arena.views.tables import votes as tables

    with check_store(store).reading() as opened:
        found = read_voters(opened, alpha, tolerance)
    return Result(
        "Voters",
        found,
        {},
        {
            "voters": tables.voters_table(found),
            "origins": tables.origins_table(found),
            "bursts": tables.bursts_table(found),
            "told": tables.told_table(found),
        },
        tables.voters_answer(found),
        lambda: tables.voters_text(found),
    )


@analysis
def coupling(
    scores: pd.DataFrame | ArenaStore | Files,
    *,
    seeds: Annotated[
        int,
        Ge(2),
        Field(N_("Repetitions of each prompt")),
        Doc("For a table: repetitions, in consecutive rows of one prompt."),
    ] = 10,
    metric: Annotated[str | None, Field(N_("Scores")), Doc("Scores of the store to use.")] = None,
    models: options.Models = None,
    category: Annotated[
        str | None,
        Field(N_("Category"), nothing=N_("Any category")),
        Doc("Only prompts of this category, or subject."),
    ] = None,
    temperature: Annotated[
        float | None, Field(N_("Temperature")), Doc("Only answers drawn at this temperature.")
    ] = None,
    top_p: Annotated[
        float | None, Field(N_("Top-p")), Doc("Only answers drawn with this top-p.")
    ] = None,
    sampler: Annotated[
        Sampler | str | None, Field(N_("Sampler")), Doc("Only answers drawn by this sampler.")
    ] = None,
    by_sampling: Annotated[
        bool, Doc("Only a comparison of temperatures, top-ps and samplers.")
    ] = False,
    by_category: Annotated[bool, Doc("Also each category, or subject, by itself.")] = False,
    error: Annotated[
        float | None,
        Field(N_("Half the width of the interval"), first=0.02, step=0.005),
        Doc("Report the number of prompts for an interval of this half width."),
    ] = None,
    repetitions: Annotated[
        int, Ge(1), Field(N_("Answers to each prompt")), Doc("Answers to each prompt, for `error`.")
    ] = 1,
    published: Annotated[bool, Doc("Also the paper's own gain, which is biased upwards.")] = False,
    alpha: options.Alpha = 0.05,
    seed: Annotated[int, Ge(0), Doc("Seed of `published`.")] = 0,
    progress: options.Progress = iter,
) -> Result[Coupling | Sweep]:
    """Report the samples saved by coupled generation, for every pair of models.

    From the scores that the benchmark command has stored, or from a table of scores.

    Parameters
    ----------
    scores : DataFrame, ArenaStore, Path or sequence of Path
        A column `Noise`, "Coupled" or "Independent", a column of scores for each model, and maybe a
        column `Subject`. Files of such a table do, too, and a store with the scores of a benchmark.
    progress : callable
        Is given the numbers of the draws of `published` and passes them on.

    Returns
    -------
    Result
        Table: "pairs".

    Raises
    ------
    ScoreError
        These are no such scores, or too few.
    """
    drawn = Drawn(temperature, top_p, Sampler(sampler) if sampler else None)
    if not isinstance(scores, ArenaStore):
        of_store = {"metric": metric, **asdict(drawn), "by_sampling": by_sampling}
        refuse(coupling, of_store, "with a table")
        read, parts = _of_table(scores, seeds, models, category, by_category=by_category)
    elif by_sampling:
        of_one = {"by_category": by_category, "error": error, "published": published}
        refuse(coupling, of_one, "with `by_sampling`", "one sampling")
        return _sweep(scores, metric, models, category, drawn, alpha)
    else:
        read, parts = _of_store(scores, (metric, models, category, drawn), by_category=by_category)
    from coupled_arena.analysis.coupling import savings
    from coupled_arena.analysis.coupling.savings import published_gains
    from coupled_arena.views.tables import coupling as tables

    found = savings.coupling(read, alpha, parts)
    pairs = tables.coupling_pairs(found)
    if error is not None:
        pairs = tables.with_prompts_needed(pairs, error, repetitions, alpha)
    if published:
        pairs = tables.with_published_gains(
            pairs, published_gains(read.table, seed, progress).tolist()
        )
    used = {"metric": found.metric, "seeds": found.pairs[0].repetitions}
    answer = tables.coupling_answer(found, pairs)
    return Result(
        "Savings by coupling",
        found,
        used,
        {"pairs": pairs},
        answer,
        lambda: tables.coupling_text(found, pairs),
    )


def score_table(scores: ArenaStore | pd.DataFrame | Files, options: dict[str, Any]) -> ScoreTable:
    """Return the scores that `coupling` would take, of options of this."""
    if isinstance(scores, ArenaStore):
        sampler = options["sampler"]
        drawn = Drawn(options["temperature"], options["top_p"], sampler and Sampler(sampler))
        chosen = options["metric"], options["models"], options["category"], drawn
        return _of_store(scores, chosen, by_category=False)[0].table
    chosen = options["seeds"], options["models"], options["category"]
    return _of_table(scores, *chosen, by_category=False)[0].table


def _of_table(
    scores: pd.DataFrame | Files,
    seeds: int,
    models: Sequence[str] | None,
    category: str | None,
    *,
    by_category: bool,
) -> tuple[StoredScores, Parts]:
    from coupled_arena.analysis.coupling.savings import StoredScores
    from coupled_arena.analysis.coupling.score_tables import (
        read_subject_scores,
        subject_scores_from_frame,
    )

    names = tuple(models) if models is not None else None
    if are_files(scores):
        paths = paths_of(scores)
        several = [paths] if isinstance(paths, Path) else paths
        for path in several:
            _refuse_log(path)
        read = read_subject_scores(paths, seeds, names)
        name = ", ".join(path.name for path in several)
    else:
        read = subject_scores_from_frame(check_frame(scores, "scores"), seeds, names)
        name = "the table"
    table = read.of(category) if category else read.table
    stored = StoredScores(name, table, category, read.left_out)
    return stored, read.by_subject() if by_category else None


def _refuse_log(path: Path) -> None:
    from coupled_arena.analysis.logs.score_logs import told_as_log

    _name, path = named_path(path)
    if log := told_as_log(path):
        raise ScoreError(
            f"{log}, which does not say which answers were coupled and which independent. With "
            "several answers to a prompt, `gate --scores` says what shared noise saves."
        )


def _of_store(
    store: ArenaStore, choice: tuple[Any, ...], *, by_category: bool
) -> tuple[StoredScores, Parts]:
    from coupled_arena.analysis.coupling.savings import read_categories, read_protocol_scores

    with store.reading() as opened:
        scores = read_protocol_scores(opened, *choice)
        return scores, read_categories(opened, scores) if by_category else None


def _sweep(
    store: ArenaStore,
    metric: str | None,
    models: Sequence[str] | None,
    category: str | None,
    drawn: Drawn,
    alpha: float,
) -> Result[Coupling | Sweep]:
    from coupled_arena.analysis.coupling.savings import read_sweep
    from coupled_arena.views.tables.coupling import sweep_answer, sweep_table, sweep_text

    with store.reading() as opened:
        found = read_sweep(opened, metric, models, category, drawn, alpha=alpha)
    return Result(
        "Savings by coupling, by sampling",
        found,
        {"metric": found.metric},
        {"pairs": sweep_table(found)},
        sweep_answer(found),
        lambda: sweep_text(found),
    )
