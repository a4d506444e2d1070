"""What a judge's probabilities are worth, as a table."""

from __future__ import annotations

from operator import attrgetter

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.core.language import N_
from coupled_arena.stats.judges.soft import SoftMean
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of

AUDIT_SOFT: tuple[Column[SoftMean], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("n", int, "Answers with the truth and a probability", heading=N_("Both")),
    Column("judge_only", int, "Answers with a probability alone", heading=N_("Verdict alone")),
    Column("b", float, "Share of right answers", heading=N_("b"), text=".1%"),
    Column("judge_score", float, "Mean probability that the judge gives", text=".1%"),
    Column("rho", float, "Correlation of truth and probability"),
    Column(
        "rho_squared",
        float,
        "Share of the variance of the truth that probabilities explain",
        heading="\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}",
        text=".3f",
    ),
    Column(
        "tau",
        float,
        "Checked answers that one is worth with the probabilities there are",
        heading=N_("Vote worth now"),
        text=".2f",
    ),
    Column(
        "tau_max",
        float,
        "Checked answers that one is worth with probabilities without end",
        heading=N_("At most"),
        text=".2f",
    ),
    Column(
        "tau_max_low",
        float,
        "Lower bound of tau_max",
        heading=LEVEL,
        text=lambda row: span(row.tau_max_low, row.tau_max_high, ".2f"),
    ),
    Column("tau_max_high", float, "Upper bound of tau_max"),
    Column("powered", float, "b corrected by the probabilities alone", text=".1%"),
    Column("powered_low", float, "Lower bound of powered"),
    Column("powered_high", float, "Upper bound of powered"),
    Column(
        "lambda",
        float,
        "Weight of the probabilities there are: 0 ignores the judge",
        attrgetter("power_tuning"),
        "\N{GREEK SMALL LETTER LAMDA}",
        ".2f",
    ),
)


def audit_soft(audit: Audit) -> Table[SoftMean]:
    """Return a row for each model: the judge's probabilities in place of its grades."""
    return table_of(AUDIT_SOFT, audit.soft, alpha=audit.alpha)
