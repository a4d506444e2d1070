"""What coupling saves as tables: pairs of models, prompts, curves, samplings side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coupled_arena.analysis.coupling.savings import Coupling, Sweep, SweptPair, prompts_needed
from coupled_arena.core.language import N_, number
from coupled_arena.core.records import Drawn, Mode
from coupled_arena.stats.coupling.error_curves import ErrorCurves
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.views.addresses import COUNTED
from coupled_arena.views.tables.table import BETWEEN, Column, Table, bounds, table_of
from coupled_arena.views.words.coupling import coupling_warnings

# In the order of an array's axis.
_PROTOCOLS = {"coupled": N_("Prompts, coupled"), "independent": N_("Prompts, independent")}
_BATTLES = {Mode.COUPLED: N_("Battles,\ncoupled"), Mode.INDEPENDENT: N_("Battles,\nindependent")}
_FOR_PAGES = (  # too wide for terminals
    *("difference_coupled", "difference_independent"),
    *("pooled_variance_coupled", "pooled_variance_independent"),
)


_DIFFERENCES: tuple[Column[PairSavings], ...] = (
    Column(
        "difference_coupled",
        float,
        "Difference of mean scores under coupling",
        heading=N_("Difference, coupled"),
        text="+.4f",
    ),
    Column(
        "difference_independent",
        float,
        "Difference of mean scores, independent",
        heading=N_("Independent"),
        text="+.4f",
    ),
    Column("difference_error_coupled", float, "Its standard error, clustered by prompt"),
    Column("difference_error_independent", float, "Its standard error, clustered by prompt"),
)
_VARIANCES: tuple[Column[PairSavings], ...] = (
    Column(
        "mean_variance_coupled",
        float,
        "Of the score difference, mean over prompts",
        lambda row: row.variances_coupled.mean(),
    ),
    Column(
        "mean_variance_independent",
        float,
        "Of the score difference, mean over prompts",
        lambda row: row.variances_independent.mean(),
    ),
    Column(
        "pooled_variance_coupled",
        float,
        "Of the score difference, over all answers",
        heading=N_("Variance, coupled"),
        text=".4f",
    ),
    Column(
        "pooled_variance_independent",
        float,
        "Of the score difference, over all answers",
        heading=N_("Independent"),
        text=".4f",
    ),
)
_SAVINGS: tuple[Column[PairSavings], ...] = (
    Column(
        "savings",
        float,
        "Share of the samples that coupling makes needless for the same error",
        heading=N_("Samples saved"),
        text=".1%",
        strong=True,
    ),
    *bounds("savings_", "the savings", ".1%", "savings"),
    Column("savings_within", float, "Savings for a fixed set of prompts"),
)
PAIRS: tuple[Column[PairSavings], ...] = (
    Column(
        "model_a",
        str,
        "Name of model a",
        heading=N_("Pair"),
        text=lambda row: f"{row.model_a}{BETWEEN}{row.model_b}",
        names=("model_a", "model_b"),
    ),
    Column("model_b", str, "Name of model b"),
    Column("prompts", int, "Prompts that both answered", lambda row: len(row.covariances)),
    Column(
        "seeds",
        int,
        "Answers of each model to each prompt under each protocol",
        lambda row: row.repetitions,
    ),
    *_DIFFERENCES,
    Column(
        "mean_covariance",
        float,
        "Of the two scores under coupling, within prompts",
        heading=N_("Covariance"),
        text="+.4f",
    ),
    Column("mean_covariance_error", float, "Its standard error"),
    Column("mean_covariance_independent", float, "Zero but for chance"),
    *_VARIANCES,
    Column("total_covariance", float, "Under coupling over all answers"),
    Column(
        "identity_gap",
        float,
        "Independent variance minus coupled variance minus twice the covariance, within prompts",
        heading=N_("Proposition 1: gap"),
        text=lambda row: " ± ".join(
            (number(row.identity_gap, "+.4f"), number(row.identity_gap_error, ".4f"))
        ),
    ),
    Column("identity_gap_error", float, "Its standard error"),
    *_SAVINGS,
)


def coupling_pairs(
    found: Coupling, pairs: Sequence[PairSavings] | None = None
) -> Table[PairSavings]:
    """Return a row for each pair of models, or for some."""
    rows = found.pairs if pairs is None else pairs
    return table_of(PAIRS, rows, alpha=found.alpha).leading(
        "model_a", "savings", "savings_low", *_FOR_PAGES
    )


def with_prompts_needed(
    table: Table[PairSavings], error: float, repetitions: int, alpha: float
) -> Table[PairSavings]:
    """Return the pairs with how many prompts a difference with this error takes.

    Raises
    ------
    ScoreError
        A number is out of range.
    """
    needed = {row: prompts_needed(row, error, repetitions, alpha) for row in table.rows}
    return table.joined(
        Column(
            f"prompts_needed_{protocol}",
            int,
            f"Prompts that an interval of ± {error:g} takes, {protocol}",
            lambda row, at=at: needed[row][at],
            heading,
        )
        for at, (protocol, heading) in enumerate(_PROTOCOLS.items())
    )


def with_published_gains(table: Table[PairSavings], gains: Sequence[float]) -> Table[PairSavings]:
    """Return the pairs with the paper's own gain."""
    found = dict(zip(table.rows, gains, strict=True))
    return table.joined(
        [
            Column(
                "published_gain",
                float,
                "The paper's gain, about 0.1 where nothing is saved",
                found.__getitem__,
                N_("Published"),
                ".1%",
            )
        ]
    )


def with_battles(
    table: Table[PairSavings], counts: Mapping[tuple[str, str, Mode], int]
) -> Table[PairSavings]:
    """Return the pairs with how many battles of each mode have these scores."""

    def counted(mode: Mode) -> Callable[[PairSavings], int | None]:
        return lambda row: counts.get((row.model_a, row.model_b, mode))

    return table.joined(
        Column(name, int, f"Battles with these scores, {mode}", counted(mode), _BATTLES[mode])
        for name, mode in COUNTED.items()
    )


@dataclass(frozen=True)
class PromptVariances:
    """Variances of a pair's score difference on one prompt."""

    prompt: int
    variance_coupled: float
    variance_independent: float
    covariance: float


PROMPTS: tuple[Column[PromptVariances], ...] = (
    Column("prompt", int, "Its place among the prompts, from 0"),
    Column("variance_coupled", float, "Of the score difference under coupling"),
    Column("variance_independent", float, "Of the score difference, independent"),
    Column("covariance", float, "Of the two scores under coupling"),
)


def prompt_table(pair: PairSavings) -> Table[PromptVariances]:
    """Return a row for each prompt of a pair."""
    columns = (pair.variances_coupled, pair.variances_independent, pair.covariances)
    rows = (PromptVariances(at, *values) for at, values in enumerate(zip(*columns, strict=True)))
    return table_of(PROMPTS, rows)


@dataclass(frozen=True)
class ErrorsOfSize:
    """Errors of a pair's score difference, by so many samples under one protocol."""

    samples: int
    protocol: str
    mean: float
    standard_error: float
    low: float
    high: float


CURVES: tuple[Column[ErrorsOfSize], ...] = (
    Column("samples", int, "Answers of each model that are drawn"),
    Column("protocol", str, "coupled or independent"),
    Column("mean", float, "Mean absolute error of the score difference over the sub-samplings"),
    Column("standard_error", float, "Of that mean"),
    Column("low", float, "2.5 % of the errors are below"),
    Column("high", float, "2.5 % of the errors are above"),
)


def curve_table(curves: ErrorCurves, pair_index: int) -> Table[ErrorsOfSize]:
    """Return the errors of one pair by number of samples."""
    arrays = curves.mean, curves.mean_error, curves.low, curves.high
    rows = (
        ErrorsOfSize(size, protocol, *(values[at, pair_index, i] for values in arrays))
        for at, protocol in enumerate(_PROTOCOLS)
        for i, size in enumerate(curves.sizes)
    )
    return table_of(CURVES, rows)


def coupling_answer(found: Coupling, pairs: Table[PairSavings]) -> dict[str, Any]:
    """Return what coupling saves as JSON values; `pairs` may have more columns than others."""
    answer: dict[str, Any] = {
        "alpha": found.alpha,
        "pairs": pairs.records(),
        "metric": found.metric,
        "prompts_left_out": found.left_out,
    }
    if found.by_category is not None:
        answer["by_category"] = {
            name: coupling_pairs(found, part).records() for name, part in found.by_category.items()
        }
    return {**answer, "warnings": list(coupling_warnings(found))}


def coupling_text(found: Coupling, pairs: Table[PairSavings]) -> str:
    """Return what coupling saves for a terminal."""
    lines = [
        pairs.without(*_FOR_PAGES).text(),
        "Samples saved: the share that coupling makes needless for the same error.",
        "Gap: independent variance minus coupled variance minus twice the covariance; zero but for "
        "chance.",
    ]
    if any(column.name == "published_gain" for column in pairs.columns):
        lines.append("The published gain is about 10% where nothing is saved.")
    lines += coupling_warnings(found)
    categories = found.by_category or {}
    for name, part in categories.items():
        if part:
            shown = coupling_pairs(found, part).without(*_FOR_PAGES)
            lines += [f"\n{name}, {len(part[0].covariances)} prompts", shown.text()]
    if few := [name for name, part in categories.items() if not part]:
        lines.append(f"\nToo few scores to compare in: {', '.join(few)}.")
    return "\n".join(lines)


def _lifted(column: Column[PairSavings]) -> Column[SweptPair]:
    """Return a column of pairs as one of pairs under a sampling."""
    text = column.text
    lifted: str | Callable[[SweptPair], str] = (
        (lambda row: text(row.pair)) if callable(text) else text
    )
    return Column(
        *(column.name, column.kind, column.meaning, lambda row: column.of(row.pair)),
        heading=column.heading,
        text=lifted,
        strong=column.strong,
        by=column.by,
    )


SWEEP: tuple[Column[SweptPair], ...] = (
    Column(
        "temperature",
        float,
        "What the answers were drawn at",
        lambda row: row.drawn.temperature,
        N_("Temperature"),
        "g",
    ),
    Column(
        "top_p",
        float,
        "Share of probability that was kept",
        lambda row: row.drawn.top_p,
        N_("Top-p"),
        "g",
    ),
    Column(
        "sampler",
        str,
        "How noise became tokens: gumbel, bytes, inverse or servers",
        lambda row: row.drawn.sampler,
        N_("Sampler"),
    ),
    *map(_lifted, PAIRS),
)
_FOR_TERMINALS = ("model_a", "savings", "savings_low", "mean_covariance")


def sweep_table(found: Sweep) -> Table[SweptPair]:
    """Return a row for each sampling and pair of models."""
    varied = [name for name in ("temperature", "top_p", "sampler") if _varies(found, name)]
    table = table_of(SWEEP, found.rows, alpha=found.alpha)
    return table.showing(*(varied or ["temperature"]), *_FOR_TERMINALS)


def sweep_answer(found: Sweep) -> dict[str, Any]:
    """Return what coupling saves under each sampling as JSON values."""
    return {
        "alpha": found.alpha,
        "pairs": sweep_table(found).records(),
        "metric": found.metric,
        "prompts_left_out": found.left_out,
        "too_few": [_named(each) for each in found.too_few],
        "warnings": sweep_warnings(found),
    }


def sweep_text(found: Sweep) -> str:
    """Return what coupling saves under each sampling for a terminal."""
    text = "Samples saved: the share that coupling makes needless for the same error."
    return "\n".join([sweep_table(found).text(), text, *sweep_warnings(found)])


def _varies(found: Sweep, name: str) -> bool:
    return len({getattr(row.drawn, name) for row in found.rows}) > 1


def _named(drawn: Drawn) -> str:
    return f"temperature {drawn.temperature:g}, top-p {drawn.top_p:g}, {drawn.sampler}"


def sweep_warnings(found: Sweep) -> list[str]:
    """Return what a sweep leaves out."""
    warnings: list[str] = []
    if found.left_out:
        warnings.append(f"Left out because repetitions are missing: {found.left_out:,} prompts.")
    if found.too_few:
        named = "; ".join(map(_named, found.too_few))
        warnings.append(f"Too few scores to compare under: {named}.")
    return warnings
