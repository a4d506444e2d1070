"""What a judge is worth, and what coupling saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from coupled_arena.api.checks import (
    check_frame,
    check_level,
    check_names,
    check_store,
    is_frame,
    one_of,
    only_judge,
    selected,
    selection_of,
)
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Drawn, Sampler

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.agreement import AnnotatorAgreement
    from coupled_arena.analysis.audit.result import Audit
    from coupled_arena.analysis.coupling.read import StoredScores
    from coupled_arena.analysis.coupling.result import Coupling


def audit(
    store: ArenaStore | pd.DataFrame,
    *,
    judge: str | None = None,
    ties: Literal["loss", "drop"] = "loss",
    mode: Literal["all", "coupled", "independent"] = "all",
    alpha: float = 0.05,
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
    truth: Literal["votes", "benchmark"] = "votes",
    metric: str | None = None,
    key_from: str | None = None,
    majority: bool = False,
    judge_score: Literal["verdict", "probability"] = "verdict",
    flips: Literal["tie", "abstain"] = "tie",
    own: Sequence[str] | None = None,
    control: Literal["none", "length", "style"] = "none",
) -> Result[Audit]:
    """Say what a judge's verdicts are worth beside people's votes, model by model.

    Parameters
    ----------
    store : ArenaStore or DataFrame
        A DataFrame has a row for each grade of a single answer: columns ``model``, ``prompt``,
        ``truth`` and ``judge`` (1 or 0, or answers, with the model's in ``answer``), and perhaps
        ``judge_name``, ``probability`` and ``category``. Of the settings `judge`, `alpha`,
        `models` and `category` concern it.
    judge : str, optional
        Needed where the store has several.
    ties : {"loss", "drop"}
        Ties count as wins for neither, or are left out.
    mode, models, category, language
        Which battles count: of "all" modes, "coupled" or "independent", between these models, on
        prompts of this category or in this language.
    alpha : float
        Error level of the intervals.
    truth : {"votes", "benchmark"}
        "benchmark": its grades of single answers beside the benchmark's key.
    metric : str, optional
        Which benchmark, where the store has several.
    key_from : str, optional
        A model whose answers to a benchmark are the judge's key.
    majority : bool
        Whether most of several voters on the same two answers count as one.
    judge_score, flips
        How the judge is heard where it corrects win-rates, as in `leaderboard`; the table of
        agreement has verdicts, without those that abstain.
    own : sequence of str, optional
        The models that the judge is itself, for its self-preference; by default those of its name.
    control : {"none", "length", "style"}
        Say besides what the length of replies, or their length and Markdown, do to the judge and
        to people, and what bias and agreement are left with it held fixed.

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
    check_level(alpha)
    from coupled_arena.analysis.audit.chosen import AuditChoice, read_chosen
    from coupled_arena.analysis.audit.read import Truth
    from coupled_arena.analysis.audit.result import audit as audited
    from coupled_arena.analysis.audit.tables import table_estimates
    from coupled_arena.core.style import Control
    from coupled_arena.stats.judges.model_counts import Ties
    from coupled_arena.views.tables import audit as tables
    from coupled_arena.views.tables.judge_style import judge_style_models, judge_style_traits
    from coupled_arena.views.tables.soft import audit_soft

    counted, against = one_of(Ties, "ties", ties), one_of(Truth, "truth", truth)
    held = one_of(Control, "control", control)
    choice = AuditChoice(counted, against, metric, key_from, majority, check_names(own), held)
    heard = {"judge_score": judge_score, "flips": flips}
    wanted = selection_of(mode, judge, models, category, language, **heard)
    of_store = wanted.mode or wanted.language or wanted != wanted.plain
    if is_frame(store):
        if choice != AuditChoice() or of_store:
            raise ArenaError("Of a table only judge, alpha, models and category can be chosen.")
        estimates = table_estimates(store, "the table", judge, wanted.models, category)
    else:
        with check_store(store).reading() as opened:
            estimates = read_chosen(opened, wanted, choice, only_judge)
    found = audited(estimates, alpha)
    shown = {
        **selected(estimates.selection),
        "truth": truth,
        "metric": estimates.benchmark,
        "key_from": key_from,
        "ties": ties,
        "majority": majority,
        **heard,
        "own": estimates.own.models if estimates.own else None,
        "control": control,
        "alpha": alpha,
    }
    frames = {"models": tables.audit_models(found), "differences": tables.audit_differences(found)}
    if found.style:
        frames["style_traits"] = judge_style_traits(found.style)
        frames["style_models"] = judge_style_models(found.style)
    if found.soft:
        frames["soft"] = audit_soft(found)
    return Result(f"Audit of {found.judge}", found, shown, frames, tables.audit_answer(found))


def agreement(
    store: ArenaStore,
    *,
    mode: Literal["all", "coupled", "independent"] = "all",
    alpha: float = 0.05,
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
) -> Result[AnnotatorAgreement]:
    """Say how far people who voted on the same battles agree: Krippendorff's alpha, nominal.

    Parameters
    ----------
    store : ArenaStore
    mode, models, category, language
        Which battles count, as in `audit`.
    alpha : float
        Error level of the interval.

    Returns
    -------
    Result
        Table: "agreement", of one row.

    Raises
    ------
    ArenaError
        The store cannot be read, does not know a name, or a setting is out of range.
    """
    check_level(alpha)
    from coupled_arena.analysis.agreement import read_agreement
    from coupled_arena.views.tables import agreement as tables

    selection = selection_of(mode, None, models, category, language)
    with check_store(store).reading() as opened:
        found = read_agreement(opened, selection, alpha)
    filters = ("mode", "models", "category", "language")
    chosen = selected(selection)
    return Result(
        "Agreement between annotators",
        found,
        {**{name: chosen[name] for name in filters}, "alpha": alpha},
        {"agreement": tables.agreement_table(found)},
        tables.agreement_answer(found),
    )


def coupling(
    scores: pd.DataFrame | ArenaStore,
    *,
    seeds: int = 10,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    sampler: Literal["gumbel", "inverse"] | None = None,
    error: float | None = None,
    repetitions: int = 1,
    alpha: float = 0.05,
) -> Result[Coupling]:
    """Say how many samples coupled generation saves, for every pair of models.

    Parameters
    ----------
    scores : DataFrame or ArenaStore
        A column `Noise`, "Coupled" or "Independent", a column of scores for each model, and maybe
        a column `Subject`; or a store, for the scores that a benchmark has left there.
    seeds : int
        Of a DataFrame: repetitions, which are consecutive rows of one prompt.
    metric, temperature, top_p, sampler
        Of a store: which scores.
    models, category
        Only these models, only prompts of this category or subject.
    error : float, optional
        Say how many prompts an interval of this half width would take, with `repetitions` answers
        to each.
    alpha : float
        Error level.

    Returns
    -------
    Result
        Table: "pairs".

    Raises
    ------
    ScoreError
        These are no such scores, or too few.
    """
    check_level(alpha)
    from coupled_arena.analysis.coupling import result
    from coupled_arena.analysis.coupling.read import read_protocol_scores
    from coupled_arena.views.tables import coupling as tables

    names = check_names(models)
    drawn = Drawn(temperature, top_p, sampler and one_of(Sampler, "sampler", sampler))
    if isinstance(scores, ArenaStore):
        with scores.reading() as opened:
            read = read_protocol_scores(opened, metric, names, category, drawn)
    else:
        read = _of_frame(scores, seeds, names, category, {metric, *asdict(drawn).values()})
    found = result.coupling(read, alpha)
    pairs = tables.coupling_pairs(found)
    if error is not None:
        pairs = tables.with_prompts_needed(pairs, error, repetitions, alpha)
    settings = {
        "metric": found.metric,
        "models": names,
        "category": category,
        **asdict(drawn),
        "seeds": found.pairs[0].repetitions,
        "error": error,
        "repetitions": repetitions,
        "alpha": alpha,
    }
    answer = tables.coupling_answer(found, pairs)
    return Result("Savings by coupling", found, settings, {"pairs": pairs}, answer)


def _of_frame(
    scores: pd.DataFrame,
    seeds: int,
    models: tuple[str, ...] | None,
    category: str | None,
    of_store: set[object],
) -> StoredScores:
    from coupled_arena.analysis.coupling.files import subject_scores_from_frame
    from coupled_arena.analysis.coupling.read import StoredScores

    if of_store != {None}:
        raise ArenaError(
            "metric, temperature, top_p and sampler are for the scores of a store: leave them out."
        )
    read = subject_scores_from_frame(check_frame(scores, "scores"), seeds, models)
    table = read.of(category) if category else read.table
    return StoredScores("the table", table, category, read.left_out)
