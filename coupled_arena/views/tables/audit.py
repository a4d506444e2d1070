"""A judge's audit and a plan of votes as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from coupled_arena.analysis.audit.plan import VotePlan
from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.core.choices import Control, Truth, Voters
from coupled_arena.core.language import N_, number
from coupled_arena.stats.judges.judge_probabilities import ProbabilityMean
from coupled_arena.stats.judges.powered_means import Difference
from coupled_arena.views.tables.style import (
    judge_style_answer,
    judge_style_models,
    judge_style_text,
    judge_style_traits,
)
from coupled_arena.views.tables.table import Column, Table, bounds, table_of
from coupled_arena.views.words.audit import audit_warnings, audit_words
from coupled_arena.views.words.plan import plan_words

_RHO_SQUARED = "\N{GREEK SMALL LETTER RHO}\N{SUPERSCRIPT TWO}"
_LAMBDA = "\N{GREEK SMALL LETTER LAMDA}"


_COUNTS: tuple[Column[ModelAudit], ...] = (
    Column("n", int, "Comparisons in the 2x2 table, with a vote and a verdict", heading=N_("Both")),
    Column("both", int, "Of these: judge and people prefer the model"),
    Column("human_alone", int, "People alone prefer it"),
    Column("judge_alone", int, "The judge alone prefers it"),
    Column("neither", int, "Neither prefers it"),
    Column("votes", int, "Comparisons with vote and verdict, dropped ties included"),
    Column("judge_only", int, "Comparisons with a verdict alone", heading=N_("Verdict alone")),
)
_WORTHS: tuple[Column[ModelAudit], ...] = (
    Column(
        "rho_squared",
        float,
        "Share of the variance of votes that verdicts explain",
        heading=_RHO_SQUARED,
        text=".3f",
    ),
    Column("rho_squared_least", float, "Its lower bound by Theorem 9 of the paper"),
    Column("rho_squared_most", float, "Its upper bound by Theorem 9 of the paper"),
    Column(
        "tau",
        float,
        "Votes that one vote is worth with the verdicts there are",
        heading=N_("Vote worth now"),
        text=".2f",
    ),
    Column(
        "tau_max",
        float,
        "Votes that one vote is worth with unlimited verdicts",
        heading=N_("At most"),
        text=".2f",
        strong=True,
    ),
    *bounds("tau_max_", "tau_max", ".2f", "tau_max"),
    Column("at_frontier", bool, "One half <= agreement <= b, so that tau_max cannot exceed two"),
    Column("powered", float, "b corrected by the verdicts alone", text=".1%"),
    *bounds("powered_", "powered"),
    Column(
        "lambda",
        float,
        "Weight of the verdicts there are: 0 ignores the judge",
        attrgetter("power_tuning"),
        _LAMBDA,
        ".2f",
    ),
    Column("lambda_limit", float, "Weight of unlimited verdicts", attrgetter("power_tuning_limit")),
)
AUDIT_MODELS: tuple[Column[ModelAudit], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    *_COUNTS,
    Column("b", float, "How often people prefer the model", heading=N_("b"), text=".1%"),
    *bounds("b_", "b", ".1%", "b"),
    Column("p", float, "Judge agrees where people prefer the model", heading=N_("p"), text=".1%"),
    Column("q", float, "Judge agrees where they do not", heading=N_("q"), text=".1%"),
    Column("judge_score", float, "How often the judge prefers the model"),
    Column("agreement", float, "Same answer of both", heading=N_("Agrees"), text=".1%"),
    Column(
        "balanced_agreement",
        float,
        "Mean of p and q: one half by guessing",
        heading=N_("Balanced"),
        text=".1%",
    ),
    Column(
        "judge_bias",
        float,
        "Judge's score less people's",
        heading=N_("Bias"),
        text="+.1%",
        strong=True,
    ),
    *bounds("bias_", "the bias", "+.1%", "judge_bias"),
    Column(
        "bias_possible",
        float,
        "Largest bias, either way, of a judge that agrees as often",
        heading=N_("Possible bias"),
        text=".1%",
    ),
    Column("rho", float, "Correlation of judge and people"),
    *_WORTHS,
)


def audit_models(audit: Audit, *, known: bool = False) -> Table[ModelAudit]:
    """Return a row for each model, or each that is known of, the people's favourite first."""
    rows = [row for row in audit.models if row.n or not known]
    table = table_of(AUDIT_MODELS, rows, alpha=audit.alpha).leading(
        *("model", "n", "judge_only", "b", "p", "q", "agreement", "balanced_agreement"),
        *("judge_bias", "bias_low", "bias_possible", "rho_squared", "lambda", "tau", "tau_max"),
    )
    return table.without("b_low", "tau_max_low")


DIFFERENCES: tuple[Column[Difference], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("other", str, "Name of the model it is compared with", heading=N_("Over")),
    Column(
        "human",
        float,
        "Win rate of the model less the other's, by people alone",
        heading=N_("People"),
        text="+.1%",
    ),
    *bounds("human_", "human", "+.1%", "human"),
    Column(
        "powered",
        float,
        "The same with the judge's verdicts",
        heading=N_("With the judge"),
        text="+.1%",
    ),
    *bounds("powered_", "powered", "+.1%", "powered"),
    Column(
        "lambda",
        float,
        "Weight of the verdicts on the model",
        attrgetter("tuning"),
        N_("Weights of the judge"),
        lambda row: f"{number(row.tuning, '.2f')}, {number(row.other_tuning, '.2f')}",
    ),
    Column(
        "other_lambda", float, "Weight of the verdicts on the other", attrgetter("other_tuning")
    ),
)


def audit_differences(audit: Audit, *, neighbours: bool = False) -> Table[Difference]:
    """Return a row for each pair of models; of neighbours each model's lead over the next."""
    following = {one.model: other.model for one, other in pairwise(audit.models)}
    rows = (
        each for each in audit.differences if not neighbours or following[each.model] == each.other
    )
    return table_of(DIFFERENCES, rows, alpha=audit.alpha)


def _of(part: str, *columns: Column[VotePlan]) -> Iterator[Column[VotePlan]]:
    """Yield columns that are read from a part of a plan."""
    for column in columns:
        yield replace(column, value=attrgetter(f"{part}.{column.name}"))


def _judged(*columns: Column[VotePlan]) -> Iterator[Column[VotePlan]]:
    """Yield columns that are empty in a plan by votes alone."""
    for column in columns:
        read = column.value or attrgetter(column.name)
        yield replace(column, value=partial(_if_judged, read))


def _if_judged(read: Callable[[VotePlan], Any], plan: VotePlan) -> Any:
    return read(plan) if plan.judge else None


PLAN: tuple[Column[VotePlan], ...] = (
    Column("judge", str, "Name of the judge"),
    *_of("question", Column("model", str, "Model of the win rate")),
    Column(
        "other",
        str,
        "Model to separate it from; several, all at once, with commas",
        lambda plan: ",".join(plan.question.others) or None,
    ),
    *_of(
        "question",
        Column("width", float, "Of the interval, from end to end"),
        Column("power", float, "Probability that the leaderboard separates them"),
    ),
    Column("lead", float, "Difference of win rates that was planned for"),
    *_of("question", Column("alpha", float, "Error level")),
    *_judged(
        *_of(
            "needs",
            Column("verdicts_per_vote", float, "Verdicts on other comparisons for each vote"),
        )
    ),
    *_of("question", Column("price", float, "Of one verdict")),
    Column("critical_value", float, "Cut-off, in standard deviations"),
    Column("cutoff", str, "How it allows for comparing all models at once"),
    Column("board_models", int, "Models that the leaderboard compares at once"),
    *_of(
        "needs",
        Column("votes_alone", int, "Votes needed without the judge, those there are included"),
    ),
    *_judged(
        *_of(
            "needs",
            Column("votes", int, "Votes needed with the judge, each with a verdict"),
            Column("verdicts", int, "Verdicts needed, on those comparisons and others"),
            Column("tau", float, "Votes that one vote is then worth"),
            Column("tau_max", float, "The same with unlimited verdicts"),
        )
    ),
    Column("votes_there", int, "Votes there are"),
    Column("verdicts_there", int, "Verdicts there are"),
    Column("votes_to_cast_alone", int, "Votes still needed without the judge"),
    *_judged(
        Column("votes_to_cast", int, "Votes still needed with the judge"),
        Column("verdicts_to_buy", int, "Verdicts still needed"),
        Column("cost", float, "Of these verdicts, in the currency of the price"),
    ),
    Column("people_to_ask", int, "More people without the judge; null where tastes do not show"),
    Column("votes_each", int, "Votes of each of these: as many as a person casts now, the median"),
    Column("same_people", bool, "Whether more votes of the same people can suffice"),
    Column("same_people_votes", int, "More votes of the same people, where these can suffice"),
    Column("estimated_lead", float, "Difference of win rates in the votes, if the plan is from it"),
    Column("votes_least", int, "Votes alone that the true difference takes: quantile .1"),
    Column("votes_most", int, "The same: quantile .9"),
)


def plan_table(plan: VotePlan) -> Table[VotePlan]:
    """Return a plan as a table of one row."""
    return Table(PLAN, (plan,))


def plan_answer(plan: VotePlan) -> dict[str, Any]:
    """Return a plan as JSON values."""
    (row,) = plan_table(plan).records()
    return {**row, "words": list(plan_words(plan))}


def audit_tables(found: Audit) -> dict[str, Table[Any]]:
    """Return the tables of an audit by name."""
    tables: dict[str, Table[Any]] = {
        "models": audit_models(found),
        "differences": audit_differences(found),
    }
    if found.style:
        tables["style_traits"] = judge_style_traits(found.style)
        tables["style_models"] = judge_style_models(found.style)
    if found.by_probability:
        tables["soft"] = audit_soft(found)
    return tables


def audit_answer(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values."""
    estimates = audit.estimates
    return {
        "judge": audit.judge,
        "truth": estimates.truth.value,
        "benchmark": estimates.benchmark,
        "models": audit_models(audit).records(),
        "differences": audit_differences(audit).records(),
        "soft": audit_soft(audit).records(),
        "ties": estimates.ties.value,
        **_people(audit),
        "judge_score": estimates.selection.judge_score.value,
        "flips": estimates.selection.flips.value,
        "abstained": estimates.use.abstained,
        "abstained_votes": estimates.use.abstained_voted,
        "without_probability": estimates.use.without_probability,
        "mode": estimates.selection.mode.value if estimates.selection.mode else "all",
        "alpha": audit.alpha,
        "comparisons": audit.comparisons,
        "judge_only_comparisons": audit.judge_only,
        "clusters": estimates.means.clusters,
        "tau_max_range": {ties.value: list(pair) for ties, pair in audit.tau_max_range.items()},
        "board_explained": audit.board_explained,
        "board_tau_max": audit.board_tau_max,
        "largest_bias": audit.largest_bias,
        "smallest_gap": audit.smallest_gap,
        "order_is_safe": audit.order_is_safe,
        "row_agreement": audit.row_agreement,
        "row_agreement_strict": audit.row_agreement_strict,
        "first_by_people": audit.first_by_people,
        "orders": asdict(estimates.orders),
        "lengths": asdict(estimates.lengths),
        **quality_answer(audit),
        "control": audit.style.estimates.control.value if audit.style else Control.NONE.value,
        "style": judge_style_answer(audit.style) if audit.style else None,
        "words": list(audit_words(audit)),
        "warnings": list(audit_warnings(audit)),
    }


def _people(audit: Audit) -> dict[str, Any]:
    estimates = audit.estimates
    voted = estimates.voted
    voters = Voters.THESE if voted and voted.alone else estimates.voters
    return {
        "voters": voters.value if estimates.truth is Truth.VOTES else None,
        "people": voted.people if voted else None,
        "votes_worth": voted.worth if voted else None,
    }


def audit_text(audit: Audit) -> str:
    """Return an audit for a terminal."""
    estimates = audit.estimates
    settings = f"alpha {audit.alpha:g}"
    if estimates.judged:
        settings = f"ties {estimates.ties}, {settings}, voters {estimates.voters}"
    table = audit_models(audit)
    text = table.showing(*table.shown, "tau_max_low").text()
    soft = (
        ["With the judge's probabilities:", audit_soft(audit).text()]
        if audit.by_probability
        else []
    )
    style = judge_style_text(audit.style) if audit.style else []
    sentence = [*audit_words(audit), *quality_text(audit), *style, *audit_warnings(audit)]
    return "\n".join([text, *soft, settings, *sentence])


AUDIT_SOFT: tuple[Column[ProbabilityMean], ...] = (
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
        heading=_RHO_SQUARED,
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
    *bounds("tau_max_", "tau_max", ".2f"),
    Column("powered", float, "b corrected by the probabilities alone", text=".1%"),
    *bounds("powered_", "powered"),
    Column(
        "lambda",
        float,
        "Weight of the probabilities there are: 0 ignores the judge",
        attrgetter("power_tuning"),
        _LAMBDA,
        ".2f",
    ),
)


def audit_soft(audit: Audit) -> Table[ProbabilityMean]:
    """Return a row for each model: the judge's probabilities in place of its grades."""
    return table_of(AUDIT_SOFT, audit.by_probability, alpha=audit.alpha)


def quality_answer(audit: Audit) -> dict[str, Any]:
    """Return the self-preference and the calibration as JSON values; null without data."""
    found, itself = audit.estimates.calibration, audit.estimates.own
    own = itself and itself.preference(audit.alpha)
    calibrated = None
    if found is not None:
        error = found.error_interval(audit.alpha)
        brier = found.brier_interval(audit.alpha)
        calibrated = {
            "comparisons": found.comparisons,
            "prompts": found.prompts,
            **dict(zip(("error", "error_low", "error_high"), (found.error, *error), strict=True)),
            **dict(zip(("brier", "brier_low", "brier_high"), (found.brier, *brier), strict=True)),
            "bins": [asdict(each) for each in found.bins],
        }
    return {"self_preference": own and _known(asdict(own)), "calibration": _known(calibrated)}


def quality_text(audit: Audit) -> list[str]:
    """Return the same as lines for a terminal."""
    found, itself = audit.estimates.calibration, audit.estimates.own
    own = itself and itself.preference(audit.alpha)
    lines: list[str] = []
    if own is not None:
        lines.append(
            f"self-preference: {audit.judge} prefers {', '.join(own.models)} in {own.judge:.1%} of "
            f"{own.comparisons:,} comparisons with others, people in {own.people:.1%}: "
            f"{own.difference:+.1%} ({own.low:+.1%} to {own.high:+.1%})"
        )
    if found is not None:
        error = found.error_interval(audit.alpha)
        brier = found.brier_interval(audit.alpha)
        lines.append(
            f"calibration on {found.comparisons:,} comparisons: expected error {found.error:.3f} "
            f"({error[0]:.3f} to {error[1]:.3f}), Brier score {found.brier:.3f} "
            f"({brier[0]:.3f} to {brier[1]:.3f})"
        )
        lines += [
            f"  said {each.predicted:.1%}, was {each.observed:.1%} of {each.n:,}"
            for each in found.bins
        ]
    return lines


def _known(values: Any) -> Any:
    """Return values with null for what is unknown."""
    if not isinstance(values, dict):
        return values
    floats = {name: value for name, value in values.items() if isinstance(value, float)}
    return values | {name: None for name, value in floats.items() if math.isnan(value)}
