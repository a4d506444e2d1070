"""A judge beside people with style held fixed, as tables, JSON and text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from coupled_arena.analysis.style.judge import JudgeStyle, StyleBias, TraitBeside
from coupled_arena.core.language import N_, _
from coupled_arena.views.tables.style import NAMES, TRAITS
from coupled_arena.views.tables.table import LEVEL, Column, Table, span, table_of
from coupled_arena.views.words.judge_style import judge_style_warnings, judge_style_words

_TWICE = {
    "judge": N_("Twice as much wins:\njudge"),
    "people": N_("Twice as much wins:\npeople"),
}


def judge_style_traits(found: JudgeStyle) -> Table[TraitBeside]:
    """Return a row for each trait: what it does to the judge, and to people."""
    return table_of(JUDGE_STYLE_TRAITS, found.traits, alpha=found.alpha)


def judge_style_models(found: JudgeStyle) -> Table[StyleBias]:
    """Return a row for each model: the judge's bias with style held fixed, and without."""
    return table_of(JUDGE_STYLE_MODELS, found.models, alpha=found.alpha)


def _ends(low: str, high: str, form: str) -> Callable[[Any], str]:
    ends = attrgetter(low, high)
    return lambda row: span(*ends(row), form)


def _side(side: str, whose: str) -> tuple[Column[TraitBeside], ...]:
    """Return the columns of the judge, or of people."""
    of = f"Log-odds that {whose} prefers the reply with a standard deviation more"
    return (
        Column(f"{side}_coefficient", float, of, attrgetter(f"{side}.coefficient")),
        Column(f"{side}_low", float, "Lower bound of it", attrgetter(f"{side}.low")),
        Column(f"{side}_high", float, "Upper bound of it", attrgetter(f"{side}.high")),
        Column(
            f"{side}_twice",
            float,
            "How often the reply with twice as much wins between equally strong models",
            attrgetter(f"{side}.twice.rate"),
            _TWICE[side],
            ".1%",
        ),
        Column(
            f"{side}_twice_low",
            float,
            "Lower bound of it",
            attrgetter(f"{side}.twice.low"),
            LEVEL,
            _ends(f"{side}.twice.low", f"{side}.twice.high", ".1%"),
            by=f"{side}_twice",
        ),
        Column(f"{side}_twice_high", float, "Upper bound of it", attrgetter(f"{side}.twice.high")),
    )


JUDGE_STYLE_TRAITS: tuple[Column[TraitBeside], ...] = (
    Column(
        "trait",
        str,
        "length (in characters), headers, bold or lists (list items)",
        lambda row: NAMES[row.trait],
        N_("Held fixed"),
        lambda row: _(TRAITS[row.trait]),
    ),
    *_side("judge", "the judge"),
    *_side("people", "people, where they voted on the same comparisons,"),
    Column(
        "difference",
        float,
        "The judge's coefficient less people's",
        heading=N_("Difference of log-odds"),
        text="+.3f",
    ),
    Column(
        "low",
        float,
        "Lower bound of the difference",
        heading=LEVEL,
        text=_ends("low", "high", "+.3f"),
        by="difference",
    ),
    Column("high", float, "Upper bound of the difference"),
)
JUDGE_STYLE_MODELS: tuple[Column[StyleBias], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "bias",
        float,
        "Win rate at equal style by the judge less that by people; ties are half a win",
        heading=N_("Bias at equal style"),
        text="+.1%",
    ),
    Column(
        "low",
        float,
        "Lower bound of that bias",
        heading=LEVEL,
        text=_ends("low", "high", "+.1%"),
        by="bias",
    ),
    Column("high", float, "Upper bound of that bias"),
    Column(
        "plain_bias",
        float,
        "The same of Bradley-Terry scores without control, by the same comparisons",
        heading=N_("Bias without control"),
        text="+.1%",
    ),
    Column(
        "plain_low",
        float,
        "Lower bound of it",
        heading=LEVEL,
        text=_ends("plain_low", "plain_high", "+.1%"),
        by="plain_bias",
    ),
    Column("plain_high", float, "Upper bound of it"),
)


def judge_style_answer(found: JudgeStyle) -> dict[str, Any]:
    """Return a judge's style control as JSON values."""
    counted = found.estimates.counted
    return {
        "comparisons": counted.comparisons,
        "prompts": counted.prompts,
        "without_texts": counted.without_texts,
        "agreement": found.agreement and asdict(found.agreement),
        "plain_agreement": found.plain_agreement and asdict(found.plain_agreement),
        "traits": judge_style_traits(found).records(),
        "models": judge_style_models(found).records(),
        "warnings": list(judge_style_warnings(found)),
    }


def judge_style_text(found: JudgeStyle) -> list[str]:
    """Return the same as lines for a terminal."""
    lines = [f"control {found.estimates.control}:"]
    if found.traits:
        lines += [judge_style_traits(found).text(), judge_style_models(found).text()]
    return [*lines, *judge_style_words(found), *judge_style_warnings(found)]
