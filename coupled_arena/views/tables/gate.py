"""What a gate found as tables: candidates, categories, prompts that flip, the closing interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from coupled_arena.analysis.gate.plan import GatePlan, PromptsNeeded
from coupled_arena.analysis.gate.result import (
    CandidateGate,
    CategoryGap,
    Flip,
    GateReport,
)
from coupled_arena.core.language import N_, _
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.views.tables.gate_costs import changed_table, cost_table, costings
from coupled_arena.views.tables.table import Column, Table, bounds, table_of
from coupled_arena.views.words.gate import (
    coupling_words,
    gate_plan_words,
    gate_warnings,
    gate_words,
    protocol_name,
    verdict_name,
)
from coupled_arena.views.words.gate_costs import churn_words, cost_words

_MOST_SHOWN = 5  # flips of each kind in a text
_DIFFERENCE = Column[Any](
    "difference",
    float,
    "The candidate's mean score less the base's, in points of the scores",
    heading=N_("Difference"),
    text="+.4f",
)


CANDIDATES: tuple[Column[CandidateGate], ...] = (
    Column("model", str, "Name of the candidate", heading=N_("Candidate")),
    Column(
        "verdict",
        str,
        "as good, better, worse, or cannot tell",
        heading=N_("Verdict"),
        text=lambda row: verdict_name(row.verdict),
        strong=True,
    ),
    _DIFFERENCE,
    *bounds("", "the difference, for all candidates together", "+.4f", by="difference"),
    Column("base_score", float, "Mean score of the base", heading=N_("Base"), text=".4f"),
    Column("score", float, "Mean score of the candidate", heading=N_("Its score"), text=".4f"),
    Column("prompts", int, "Prompts, or votes, that both have", heading=N_("Prompts")),
    Column(
        "units",
        int,
        "Prompts, or groups of prompts, that do not depend on each other, or clusters of votes",
    ),
    Column("answers", int, "The most answers of a model to a prompt"),
    Column(
        "lost",
        int,
        "Prompts on which the candidate is worse, or votes that it lost",
        heading=N_("Worse on"),
    ),
    Column(
        "gained",
        int,
        "Prompts on which the candidate is better, or votes that it won",
        heading=N_("Better on"),
    ),
    Column("method", str, "betting, tango, t or exact, or board of votes"),
    Column(
        "known_after",
        int,
        "Units after which as good, or worse, was known",
        heading=N_("Known\nafter"),
    ),
    Column("further", int, "Units that will probably tell, 0 of what is known"),
    Column("missing", float, "Share of the prompts that base or candidate lacks"),
    Column(
        "independent_after",
        int,
        "Units after which answers without shared noise told, where there are some",
    ),
    Column(
        "saved",
        float,
        "Share of the prompts that shared noise saved",
        lambda row: row.worth and row.worth.saved,
    ),
    Column(
        "saved_low",
        float,
        "Lower bound of that share",
        lambda row: row.worth and row.worth.low,
    ),
    Column(
        "saved_high",
        float,
        "Upper bound of that share",
        lambda row: row.worth and row.worth.high,
    ),
    Column(
        "saved_most",
        float,
        "Share that no coupling of these answers could save more than",
        lambda row: row.worth and row.worth.most,
    ),
)


_Row = TypeVar("_Row", CandidateGate, CategoryGap, "IntervalSoFar", Flip)


def in_points(found: GateReport, row: _Row) -> _Row:
    """Return a row with shares of the scores' range as points of the scores."""
    if found.width == 1:
        return row
    names = [each for each in ("difference", "low", "high") if hasattr(row, each)]
    return replace(row, **{name: found.width * getattr(row, name) for name in names})


def candidate_table(found: GateReport) -> Table[CandidateGate]:
    """Return a row for each candidate."""
    rows = (in_points(found, each) for each in found.candidates)
    return table_of(CANDIDATES, rows, alpha=2 * found.settings.alpha)


CATEGORIES: tuple[Column[CategoryGap], ...] = (
    Column("candidate", str, "Name of the candidate", heading=N_("Candidate")),
    Column("category", str, "Category of the prompts", heading=N_("Category")),
    Column("prompts", int, "Prompts of it", heading=N_("Prompts")),
    _DIFFERENCE,
    *bounds("", "it, for all candidates and categories together", "+.4f", by="difference"),
    Column("lost", int, "Prompts on which the candidate is worse", heading=N_("Worse on")),
    Column("gained", int, "Prompts on which it is better", heading=N_("Better on")),
)


def category_table(found: GateReport) -> Table[CategoryGap]:
    """Return a row for each candidate and category, the largest losses first."""
    rows = (in_points(found, gap) for each in found.candidates for gap in each.categories)
    return table_of(CATEGORIES, rows, alpha=2 * found.settings.alpha)


FLIPS: tuple[Column[Flip], ...] = (
    Column("candidate", str, "Name of the candidate", heading=N_("Candidate")),
    Column("prompt", str, "The prompt's name, or its beginning", heading=N_("Prompt")),
    Column("category", str, "Its category", lambda row: row.category or None),
    Column("base_score", float, "Mean score of the base", heading=N_("Base"), text=".4g"),
    Column(
        "candidate_score", float, "Mean score of the candidate", heading=N_("Its score"), text=".4g"
    ),
    Column(
        "difference",
        float,
        "Less than 0 where the candidate is worse, in points of the scores",
        heading=N_("Difference"),
        text="+.4g",
    ),
    Column("battle", str, "The first battle behind it", lambda row: row.battle or None),
)


def flip_table(found: GateReport) -> Table[Flip]:
    """Return a row for each candidate and prompt on which it differs from the base."""
    rows = (in_points(found, flip) for each in found.candidates for flip in each.flips)
    return table_of(FLIPS, rows)


@dataclass(frozen=True)
class IntervalSoFar:
    """The interval of one candidate after some units."""

    candidate: str
    units: int
    difference: float
    low: float
    high: float


CLOSING: tuple[Column[IntervalSoFar], ...] = (
    Column("candidate", str, "Name of the candidate"),
    Column("units", int, "Prompts so far, or groups of prompts that depend on each other"),
    Column("difference", float, "Mean difference so far, in points of the scores"),
    Column("low", float, "Lower bound, valid at any time"),
    Column("high", float, "Upper bound, valid at any time"),
)


def closing_table(found: GateReport) -> Table[IntervalSoFar]:
    """Return the interval on the way through the prompts."""
    rows = (
        in_points(found, IntervalSoFar(each.model, *values))
        for each in found.candidates
        if (way := each.closing) is not None
        for values in zip(way.prompts, way.difference, way.low, way.high, strict=True)
    )
    return table_of(CLOSING, rows)


def gate_tables(found: GateReport) -> dict[str, Table[Any]]:
    """Return the tables that there are data for."""
    tables: dict[str, Table[Any]] = {"candidates": candidate_table(found)}
    if any(each.categories for each in found.candidates):
        tables["categories"] = category_table(found)
    tables["flips"] = flip_table(found)
    if any(each.churn for each in found.candidates):
        tables["answers"] = changed_table(found)
    if costings(found):
        tables["costs"] = cost_table(found)
    if any(each.closing for each in found.candidates):
        tables["closing"] = closing_table(found)
    return tables


def gate_answer(found: GateReport) -> dict[str, Any]:
    """Return what a gate found as JSON values."""
    return {
        "base": found.base,
        "measure": found.measure.value,
        "metric": found.metric,
        "bounds": list(found.bounds),
        "unit": "points",
        "margin": found.settings.margin * found.width,
        "largest_group": found.settings.largest_group,
        "coupled": found.coupled,
        "candidates": candidate_table(found).records(),
        "categories": category_table(found).records(),
        "flips": flip_table(found).records(),
        "answers": changed_table(found).records(),
        "costs": cost_table(found).records(),
        "findings": list(gate_words(found)),
        "warnings": list(gate_warnings(found)),
    }


def gate_text(found: GateReport) -> str:
    """Return what a gate found for a terminal."""
    words = [*gate_words(found), *coupling_words(found), *churn_words(found), *cost_words(found)]
    table = candidate_table(found).showing(
        *("model", "verdict", "difference", "low", "prompts", "lost", "gained", "known_after")
    )
    lines = [*words, "", table.text()]
    if any(each.categories for each in found.candidates):
        lines += ["", _("By category, the largest losses first:"), category_table(found).text()]
    for text, sign in ((_("Worse on:"), -1), (_("Better on:"), 1)):
        rows = [
            in_points(found, flip)
            for each in found.candidates
            for flip in sorted(each.flips, key=lambda flip: -sign * flip.difference)[:_MOST_SHOWN]
            if sign * flip.difference > 0
        ]
        if rows:
            lines += ["", text, table_of(FLIPS, rows).text()]
    return "\n".join([*lines, *gate_warnings(found)])


PROMPTS_NEEDED: tuple[Column[Any], ...] = (
    Column(
        "protocol",
        str,
        "coupled, independent, or as here where nobody knows",
        heading=N_("Answers"),
        text=lambda row: protocol_name(row.protocol),
    ),
    Column(
        "flips",
        float,
        "Share of the prompts, or groups of them, on which the two differ",
        heading=N_("Prompts\nthat differ"),
        text=".1%",
    ),
    Column(
        "least", int, "Prompts by the lower bound of that share", heading=N_("Prompts,\nat least")
    ),
    Column("likely", int, "Prompts by that share", heading=N_("Likely"), strong=True),
    Column("most", int, "Prompts by the upper bound of that share", heading=N_("At most")),
    Column("minutes_least", float, "Minutes of the fewest prompts, at the pace of a stored run"),
    Column("minutes_likely", float, "Minutes of the likely prompts"),
    Column("minutes_most", float, "Minutes of the most prompts"),
)


@dataclass(frozen=True)
class PlannedPrompts(PromptsNeeded):
    """Prompts of a plan with the time they take."""

    minutes_least: float | None = None
    minutes_likely: float | None = None
    minutes_most: float | None = None


def gate_plan_table(plan: GatePlan) -> Table[PlannedPrompts]:
    """Return a row for each protocol."""
    rows = (
        PlannedPrompts(
            *(each.protocol, each.flips, each.least, each.likely, each.most),
            *map(plan.minutes, (each.least, each.likely, each.most)),
        )
        for each in plan.needed
    )
    return table_of(PROMPTS_NEEDED, rows)


def gate_plan_answer(plan: GatePlan) -> dict[str, Any]:
    """Return a plan of a gate as JSON values."""
    return {
        "base": plan.base,
        "model": plan.candidate,
        "metric": plan.metric,
        "pilot_prompts": plan.prompts,
        "pilot_groups": plan.groups,
        "answers": plan.answers,
        "answers_read": plan.answers_read,
        "seconds_a_prompt": plan.seconds,
        "prompts_needed": gate_plan_table(plan).records(),
        "words": list(gate_plan_words(plan)),
    }


def gate_plan_text(plan: GatePlan) -> str:
    """Return a plan of a gate for a terminal."""
    return "\n".join([*gate_plan_words(plan), "", gate_plan_table(plan).text()])


IS_WORSE, CANNOT_TELL = 3, 4
"""Exit codes of a gate, beside 0: all candidates are as good, or better."""


def exit_code(found: GateReport) -> int:
    """Return 0 if all candidates are as good or better, 3 if one is worse, else 4."""
    verdicts = {each.verdict for each in found.candidates}
    if Verdict.WORSE in verdicts:
        return IS_WORSE
    return CANNOT_TELL if Verdict.UNKNOWN in verdicts else 0
