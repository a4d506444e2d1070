"""What candidates change beside the scores, and what all models of a gate cost, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from coupled_arena.analysis.gate.result import Churn, Cost, GateReport
from coupled_arena.core.language import N_, number
from coupled_arena.stats.closeness import Mean
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of

_UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True)
class Changed:
    """How often the answers of one candidate differ from those of the base."""

    candidate: str
    churn: Churn


def _mean(name: str, attribute: str, of: str, heading: str) -> tuple[Column[Changed], ...]:
    def mean(row: Changed) -> Mean | None:
        return attrgetter(attribute)(row.churn)

    def of_mean(end: str) -> Any:
        return lambda row: found and getattr(found, end) if (found := mean(row)) else None

    def text(row: Changed) -> str:
        found = mean(row)
        if not found:
            return _UNKNOWN
        return f"{number(found.value, '.1%')} ({span(found.low, found.high, '.1%')})"

    return (
        Column(name, float, f"Share of the answers {of}", of_mean("value"), heading, text),
        Column(f"{name}_low", float, "Lower bound of it", of_mean("low")),
        Column(f"{name}_high", float, "Upper bound of it", of_mean("high")),
    )


CHANGED: tuple[Column[Changed], ...] = (
    Column("candidate", str, "Name of the candidate", heading=N_("Candidate")),
    Column(
        "answers",
        int,
        "Pairs of answers that read one noise stream",
        lambda row: row.churn.answers,
        heading=N_("Answers"),
    ),
    *_mean("text", "text", "in which other words stand than in the base's", N_("Other words")),
    *_mean("read", "read", "of which something else is read", N_("Other answer")),
    *_mean(
        "text_independent",
        "text_alone",
        "in which other words stand, if each has noise of its own",
        N_("Other words,\nindependent"),
    ),
    *_mean(
        "read_independent",
        "read_alone",
        "of which something else is read, if each has noise of its own",
        N_("Other answer,\nindependent"),
    ),
    Column(
        "measured",
        bool,
        "Whether independent noise was measured; else it follows from repetitions",
        lambda row: row.churn.measured,
    ),
)


def changed_table(found: GateReport) -> Table[Changed]:
    """Return a row for each candidate with answers in battles of the base."""
    rows = (Changed(each.model, each.churn) for each in found.candidates if each.churn)
    return table_of(CHANGED, rows, alpha=found.settings.alpha)


@dataclass(frozen=True)
class Costing:
    """What a model of a gate costs, and how good it is.

    Attributes
    ----------
    difference, low, high : float
        From the base; 0 of the base itself.
    behind : bool
        Whether another model is surely better, and takes no more memory.
    """

    model: str
    difference: float
    low: float
    high: float
    cost: Cost
    behind: bool = False


def _of_cost(name: str) -> Any:
    return lambda row: getattr(row.cost, name)


COSTS: tuple[Column[Costing], ...] = (
    Column("model", str, "Name of the base, or of a candidate", heading=N_("Model")),
    Column(
        "difference",
        float,
        "Its mean score less the base's, as a share of the scores' range",
        heading=N_("Difference"),
        text="+.4f",
    ),
    Column(
        "low",
        float,
        "Lower bound of the difference, for all candidates together",
        heading=LEVEL,
        text=lambda row: _UNKNOWN if row.low == row.high else span(row.low, row.high, "+.4f"),
        by="difference",
    ),
    Column("high", float, "Upper bound of the difference"),
    Column(
        "bytes_per_weight",
        float,
        "Bytes of all tensors as loaded, for each weight",
        _of_cost("bytes_per_weight"),
        heading=N_("Bytes per\nweight"),
        text=".2f",
    ),
    Column(
        "memory",
        float,
        "Bytes of all tensors as loaded",
        _of_cost("memory"),
        heading=N_("Memory, MB"),
        text=lambda row: number(row.cost.memory / 1e6, ",.0f") if row.cost.memory else _UNKNOWN,
    ),
    Column(
        "tokens_per_second",
        float,
        "Tokens written in a second of its own steps, in this run and on a processor",
        _of_cost("tokens_per_second"),
        heading=N_("Tokens\na second"),
        text=".0f",
    ),
    Column("behind", bool, "Whether another model is surely better and takes no more memory"),
)


def costings(found: GateReport) -> tuple[Costing, ...]:
    """Return the base and the candidates with what they cost, if anything of that is known."""
    base = Costing(found.base, 0.0, 0.0, 0.0, found.base_cost or Cost())
    rows = [base]
    rows += [
        Costing(each.model, each.difference, each.low, each.high, each.cost or Cost())
        for each in found.candidates
    ]
    if all(row.cost == Cost() for row in rows):
        return ()
    return tuple(
        Costing(*(row.model, row.difference, row.low, row.high, row.cost), _behind(row, rows))
        for row in rows
    )


def _behind(row: Costing, rows: list[Costing]) -> bool:
    """Tell whether a model is surely better, by intervals that do not meet, and no larger."""
    own = size_of(row)
    if own is None:
        return False
    sizes = ((other, size_of(other)) for other in rows)
    return any(size is not None and size <= own and other.low > row.high for other, size in sizes)


def size_of(row: Costing) -> float | None:
    """Return the memory that a model takes or, where that is not known, its bytes per weight."""
    return row.cost.memory or row.cost.bytes_per_weight


def known_costs(found: GateReport) -> Table[Costing]:
    """Return the same with the columns for people of which something is known."""
    table, rows = cost_table(found), costings(found)
    lacking = [
        name
        for name in ("bytes_per_weight", "memory", "tokens_per_second")
        if all(getattr(row.cost, name) is None for row in rows)
    ]
    return table.without(*lacking)


def cost_table(found: GateReport) -> Table[Costing]:
    """Return a row for the base and each candidate; none where no cost is known."""
    return table_of(COSTS, costings(found), alpha=2 * found.settings.alpha)
