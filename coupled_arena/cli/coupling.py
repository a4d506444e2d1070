"""The ``coupling`` command: how many samples coupled generation saves on a benchmark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Json, show
from coupled_arena.errors import ArenaError

if TYPE_CHECKING:
    from coupled_arena.stats.score_tables import PairSavings, ScoreTable

_SIZES = 200  # points of a published curve


def coupling(
    scores: Annotated[
        Path, typer.Option(help="CSV with a column Noise and a column of scores for each model.")
    ],
    seeds: Annotated[
        int, typer.Option(min=2, help="Repetitions: consecutive rows of one prompt.")
    ] = 10,
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
    as_json: Json = False,
) -> None:
    """Say how many samples coupled generation saves, for every pair of models."""
    from coupled_arena.score_files import read_score_table
    from coupled_arena.stats.score_tables import compare_scores

    table = read_score_table(scores, seeds)
    try:
        pairs = compare_scores(table, alpha, seed=seed)
        answers = [_answer(pair, table) for pair in pairs]
        if error is not None:
            for answer, pair in zip(answers, pairs, strict=True):
                needed = pair.prompts_needed(error, repetitions, alpha)
                answer["prompts_needed_coupled"] = math.ceil(needed[0])
                answer["prompts_needed_independent"] = math.ceil(needed[1])
    except ValueError as refused:
        raise ArenaError(str(refused)) from refused
    if published:
        for answer, gain in zip(answers, _published(table, seed), strict=True):
            answer["published_gain"] = gain
    show({"alpha": alpha, "pairs": answers}, as_json, lambda: _text(answers))


def _answer(pair: PairSavings, table: ScoreTable) -> dict[str, Any]:
    prompts, seeds, _ = table.coupled.shape
    answer = {
        "model_a": pair.model_a,
        "model_b": pair.model_b,
        "prompts": prompts,
        "seeds": seeds,
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
    return {name: _finite(value) for name, value in answer.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _published(table: ScoreTable, seed: int) -> list[float | None]:
    import numpy as np
    from tqdm import tqdm

    from coupled_arena.stats.error_curves import error_curves

    prompts, seeds, _ = table.coupled.shape
    half = prompts * seeds // 2
    sizes = np.unique(np.linspace(min(20, half), half, _SIZES).astype(np.int64))
    curves = error_curves(
        table, sizes, seed=seed, track=lambda repeats: tqdm(repeats, unit=" sub-samplings")
    )
    return [_finite(float(gain)) for gain in curves.published_gain()]


def _text(answers: list[dict[str, Any]]) -> str:
    """Return the pairs as a table, and what its columns mean."""
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
    lines.append("Savings: the share of samples that coupling makes needless for the same error.")
    if any("published_gain" in one for one in answers):
        lines.append("The published gain is about 10% where nothing is saved.")
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
