"""The ``coupling`` command: how many samples coupled generation saves on a benchmark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, check_level, listed, reading, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings
from coupled_arena.views.values import plain

if TYPE_CHECKING:
    from coupled_arena.stats.coupling.score_tables import PairSavings, ScoreTable

_SIZES = 200  # points of a published curve


def coupling(
    scores: Annotated[
        Path | None,
        typer.Option(
            help="CSV with a column Noise, a column of scores for each model, and maybe a column "
            "Subject.  [default: the store]"
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=2, help="Repetitions: consecutive rows of one prompt, in --scores.")
    ] = 10,
    metric: Annotated[str | None, typer.Option(help="Which scores of the store.")] = None,
    models: Annotated[str | None, typer.Option(help="Only these models: A,B[,C...].")] = None,
    category: Annotated[str | None, typer.Option(help="Only prompts of this category.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Only answers drawn at this temperature.")
    ] = None,
    by_category: Annotated[
        bool, typer.Option("--by-category", help="Each category, or subject, by itself too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the scores as such a CSV file, and nothing else.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Say how many prompts an interval of this half width would take."),
    ] = None,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Answers to each prompt, for --error.")
    ] = 1,
    published: Annotated[
        bool,
        typer.Option("--published", help="The paper's own gain too, which is biased upwards."),
    ] = False,
    alpha: Annotated[float, typer.Option(help="Error level, not the confidence.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say how many samples coupled generation saves, for every pair of models.

    From the scores that the benchmark command has stored, or from a table of scores.
    """
    check_level(alpha)
    from coupled_arena.analysis.coupling.files import read_subject_scores, write_score_table
    from coupled_arena.analysis.coupling.read import read_protocol_scores, savings_by_category

    chosen = listed(models) if models else None
    parts: dict[str, tuple[PairSavings, ...]] = {}
    if scores:
        if db or metric or temperature is not None:
            raise ArenaError(
                "--db, --metric and --temperature are for the scores in the store: leave them out "
                "with --scores."
            )
        stored, read = None, read_subject_scores(scores, seeds, chosen)
        table = read.of(category) if category else read.table
        if by_category:
            parts = read.savings_by_subject(alpha, seed)
    else:
        choice = (metric, chosen, category, temperature)
        with reading(load_settings(config, db=db)) as store:
            stored = read_protocol_scores(store, *choice)
            if by_category:
                parts = savings_by_category(store, stored, temperature, alpha, seed)
        table = stored.table
    if out:
        write_score_table(table, out)
        typer.echo(f"{out} holds {2 * table.coupled[..., 0].size:,} rows.", err=True)
        return
    answers = _compared(table, alpha, seed, error, repetitions)
    if published:
        for answer, gain in zip(answers, _published(table, seed), strict=True):
            answer["published_gain"] = gain
    answer: dict[str, Any] = {"alpha": alpha, "pairs": answers}
    if stored:
        answer |= {"metric": stored.metric, "prompts_left_out": stored.left_out}
    if by_category:
        answer["by_category"] = {
            name: [_answer(pair, len(pair.covariances)) for pair in pairs]
            for name, pairs in parts.items()
        }
    show(answer, as_json, lambda: _whole_text(answer))


def _compared(
    table: ScoreTable, alpha: float, seed: int, error: float | None, repetitions: int
) -> list[dict[str, Any]]:
    from coupled_arena.stats.coupling.score_tables import compare_scores

    try:
        pairs = compare_scores(table, alpha, seed=seed)
        answers = [_answer(pair, len(table.coupled)) for pair in pairs]
        if error is not None:
            for answer, pair in zip(answers, pairs, strict=True):
                needed = pair.prompts_needed(error, repetitions, alpha)
                answer["prompts_needed_coupled"] = math.ceil(needed[0])
                answer["prompts_needed_independent"] = math.ceil(needed[1])
    except ValueError as refused:
        raise ArenaError(str(refused)) from refused
    return answers


def _answer(pair: PairSavings, prompts: int) -> dict[str, Any]:
    answer = {
        "model_a": pair.model_a,
        "model_b": pair.model_b,
        "prompts": prompts,
        "seeds": pair.repetitions,
        "difference_coupled": pair.difference_coupled,
        "difference_independent": pair.difference_independent,
        "difference_error_coupled": pair.difference_error_coupled,
        "difference_error_independent": pair.difference_error_independent,
        "mean_covariance": pair.mean_covariance,
        "mean_covariance_error": pair.mean_covariance_error,
        "mean_covariance_independent": pair.mean_covariance_independent,
        "mean_variance_coupled": float(pair.variances_coupled.mean()),
        "mean_variance_independent": float(pair.variances_independent.mean()),
        "pooled_variance_coupled": pair.pooled_variance_coupled,
        "pooled_variance_independent": pair.pooled_variance_independent,
        "total_covariance": pair.total_covariance,
        "identity_gap": pair.identity_gap,
        "identity_gap_error": pair.identity_gap_error,
        "savings": pair.savings,
        "savings_low": pair.savings_low,
        "savings_high": pair.savings_high,
        "savings_within": pair.savings_within,
    }
    return {name: plain(value) for name, value in answer.items()}


def _published(table: ScoreTable, seed: int) -> list[float | None]:
    from tqdm import tqdm

    from coupled_arena.analysis.coupling.read import curve_sizes
    from coupled_arena.stats.coupling.error_curves import error_curves

    prompts, seeds, _ = table.coupled.shape
    sizes = curve_sizes(prompts * seeds, _SIZES)
    curves = error_curves(
        table, sizes, seed=seed, track=lambda repeats: tqdm(repeats, unit=" sub-samplings")
    )
    return [plain(float(gain)) for gain in curves.published_gain()]


def _whole_text(answer: dict[str, Any]) -> str:
    """Return the pairs, then those of each category."""
    parts = [_text(answer["pairs"])]
    if left_out := answer.get("prompts_left_out"):
        parts.append(f"Left out, for they lack repetitions: {left_out} prompts.")
    by_category: dict[str, Any] = answer.get("by_category", {})
    parts += [
        f"\n{name}, {pairs[0]['prompts']} prompts\n{_table(pairs)}"
        for name, pairs in by_category.items()
        if pairs
    ]
    if few := [name for name, pairs in by_category.items() if not pairs]:
        parts.append(f"\nToo few scores to compare in: {', '.join(few)}.")
    return "\n".join(parts)


def _text(answers: list[dict[str, Any]]) -> str:
    """Return the pairs as a table, and what its columns mean."""
    lines = [_table(answers)]
    lines.append("Savings: the share of samples that coupling makes needless for the same error.")
    if any("published_gain" in one for one in answers):
        lines.append("The published gain is about 10% where nothing is saved.")
    return "\n".join(lines)


def _table(answers: list[dict[str, Any]]) -> str:
    names = max(len(f"{one['model_a']} | {one['model_b']}") for one in answers)
    lines = [f"{'pair':<{names}}{'savings':>9}{'interval':>18}{'covariance':>12}"]
    for one in answers:
        line = f"{one['model_a'] + ' | ' + one['model_b']:<{names}}{_share(one['savings']):>9}"
        interval = f"{_share(one['savings_low'])} to {_share(one['savings_high'])}"
        line += f"{interval:>18}{one['mean_covariance']:>12.4f}"
        if "published_gain" in one:
            line += f"  published {_share(one['published_gain'])}"
        if "prompts_needed_coupled" in one:
            coupled, independent = (
                one[f"prompts_needed_{mode}"] for mode in ("coupled", "independent")
            )
            line += f"  prompts {coupled:,} instead of {independent:,}"
        lines.append(line)
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
