"""What coupling saves under each sampling, as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coupled_arena.analysis.coupling.savings import Sweep, SweptPair
from coupled_arena.core.language import N_
from coupled_arena.core.records import Drawn
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.views.tables.coupling import PAIRS
from coupled_arena.views.tables.table import Column, Table, table_of


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
        "How noise became tokens: gumbel, bytes or inverse",
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
    told = "Samples saved: the share that coupling makes needless for the same error."
    return "\n".join([sweep_table(found).text(), told, *sweep_warnings(found)])


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
