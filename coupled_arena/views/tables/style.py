"""Style control as tables: models, traits, and a judge compared with people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from coupled_arena.analysis.style.judge import JudgeStyle, StyleBias, TraitBeside
from coupled_arena.analysis.style.result import ControlledModel, StyleBoard, TraitEffect
from coupled_arena.core.choices import Trait
from coupled_arena.core.language import N_, _
from coupled_arena.views.tables.table import LEVEL, Column, Table, bounds, span, table_of
from coupled_arena.views.words.style import (
    judge_style_warnings,
    judge_style_words,
    style_warnings,
    style_words,
)

_DASH = "\N{EN DASH}"
TRAITS = {
    Trait.LENGTH: N_("Length"),
    Trait.HEADERS: N_("Headings"),
    Trait.BOLD: N_("Bold text"),
    Trait.LISTS: N_("List items"),
}
NAMES = {Trait.LENGTH: "length", Trait.HEADERS: "headers", Trait.BOLD: "bold", Trait.LISTS: "lists"}
"""What JSON and CSV call the traits."""


def style_models(board: StyleBoard) -> Table[ControlledModel]:
    """Return a row for each model, best first."""
    shown = ("model", "rank_low", "plain_rank_low", "score", "low", "plain_score")
    table = table_of(STYLE_MODELS, board.models, alpha=board.alpha)
    return table.showing(*shown, "win_rate", "win_rate_low")


def style_effects(board: StyleBoard) -> Table[TraitEffect]:
    """Return a row for each trait that is held fixed."""
    return table_of(STYLE_EFFECTS, board.effects, alpha=board.alpha)


def _held(name: str) -> Callable[[ControlledModel], Any]:
    return lambda row: getattr(row.controlled, name) if row.controlled else None


def _plain(name: str) -> Callable[[ControlledModel], Any]:
    return lambda row: getattr(row.plain, name) if row.plain else None


def _interval(low: str, high: str, form: str) -> Callable[[ControlledModel], str]:
    def text(row: ControlledModel) -> str:
        held = row.controlled
        return _DASH if held is None else span(getattr(held, low), getattr(held, high), form)

    return text


def _ranks(low: Any, high: Any) -> str:
    if low is None:
        return _DASH
    return _DASH.join(str(end) for end in dict.fromkeys((low, high)))


_SCALE = "On the scale of Elo ratings, their mean 1000: 400 points are odds of ten to one"
STYLE_MODELS: tuple[Column[ControlledModel], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "score",
        float,
        f"Bradley-Terry score with style held fixed. {_SCALE}; null where there is none",
        _held("score"),
        N_("Score"),
        ".0f",
        strong=True,
    ),
    Column("standard_error", float, "Of the score", _held("standard_error")),
    Column(
        "low",
        float,
        "Lower bound of the score's interval",
        _held("low"),
        LEVEL,
        _interval("low", "high", ".0f"),
        by="score",
    ),
    Column("high", float, "Upper bound of the score's interval", _held("high")),
    Column("rank", int, "Position by the score, 1 is best", _held("rank")),
    Column(
        "rank_low",
        int,
        "Best rank still possible, jointly for all models",
        _held("rank_low"),
        N_("Rank, style held fixed"),
        lambda row: _ranks(_held("rank_low")(row), _held("rank_high")(row)),
        by="rank",
    ),
    Column("rank_high", int, "Worst rank still possible", _held("rank_high")),
    Column(
        "win_rate",
        float,
        "Mean over opponents of how often the model would win with replies of equal style; "
        "a tie is half a win",
        _held("win_rate"),
        N_("Win rate at equal style"),
        ".1%",
    ),
    Column("win_rate_error", float, "Standard error of that rate", _held("win_rate_error")),
    Column(
        "win_rate_low",
        float,
        "Lower bound of its interval",
        _held("win_rate_low"),
        LEVEL,
        _interval("win_rate_low", "win_rate_high", ".1%"),
        by="win_rate",
    ),
    Column("win_rate_high", float, "Upper bound of its interval", _held("win_rate_high")),
    Column(
        "plain_score",
        float,
        "Score without control, by the same comparisons",
        _plain("score"),
        N_("Score without"),
        ".0f",
    ),
    Column("plain_standard_error", float, "Of that score", _plain("standard_error")),
    Column("plain_low", float, "Lower bound of its interval", _plain("low")),
    Column("plain_high", float, "Upper bound of its interval", _plain("high")),
    Column("plain_rank", int, "Position by it", _plain("rank")),
    Column(
        "plain_rank_low",
        int,
        "Best rank still possible by it",
        _plain("rank_low"),
        N_("Rank without"),
        lambda row: _ranks(_plain("rank_low")(row), _plain("rank_high")(row)),
        by="plain_rank",
    ),
    Column("plain_rank_high", int, "Worst rank still possible by it", _plain("rank_high")),
    Column(
        "plain_win_rate",
        float,
        "Mean over opponents of how often the model wins by that score",
        _plain("win_rate"),
    ),
    Column("plain_win_rate_error", float, "Standard error of it", _plain("win_rate_error")),
)


def _share(name: str, end: str) -> Callable[[TraitEffect], Any]:
    def found(row: TraitEffect) -> Any:
        share = getattr(row, name)
        return None if share is None else getattr(share, end)

    return found


def _between(name: str) -> Callable[[TraitEffect], str]:
    def text(row: TraitEffect) -> str:
        share = getattr(row, name)
        return _DASH if share is None else span(share.low, share.high, ".1%")

    return text


def _bounds(name: str, *, shown: bool) -> tuple[Column[TraitEffect], Column[TraitEffect]]:
    """Return the columns of an interval."""
    low = Column[TraitEffect](
        f"{name}_low",
        float,
        "Lower bound of its interval",
        _share(name, "low"),
        LEVEL if shown else "",
        _between(name),
        by=name,
    )
    high = "Upper bound of its interval"
    return low, Column(f"{name}_high", float, high, _share(name, "high"))


_TRAIT: Column[Any] = Column(
    "trait",
    str,
    "length (in characters), headers, bold or lists (list items)",
    lambda row: NAMES[row.trait],
    N_("Held fixed"),
    lambda row: _(TRAITS[row.trait]),
)
STYLE_EFFECTS: tuple[Column[TraitEffect], ...] = (
    _TRAIT,
    Column(
        "coefficient",
        float,
        "Log-odds to win for a standard deviation more of (a - b)/(a + b)",
        heading=N_("Coefficient"),
        text="+.3f",
    ),
    Column("standard_error", float, "Of the coefficient"),
    *bounds("", "its interval", "+.3f", "coefficient"),
    Column(
        "typical",
        float,
        "How often the reply with a standard deviation more wins against an equally strong model",
        _share("typical", "rate"),
    ),
    *_bounds("typical", shown=False),
    Column(
        "twice",
        float,
        "How often the reply with twice as much wins against an equally strong model",
        _share("twice", "rate"),
        N_("Twice as much wins"),
        ".1%",
    ),
    *_bounds("twice", shown=True),
    Column(
        "against_none",
        float,
        "How often the reply with some wins against one with none; null for the length",
        _share("against_none", "rate"),
        N_("Some against none wins"),
        ".1%",
    ),
    *_bounds("against_none", shown=True),
    Column("spread", float, "Standard deviation of (a - b)/(a + b) among the comparisons"),
    Column(
        "differing",
        float,
        "Share of comparisons with replies that differ in it",
        heading=N_("Replies differ"),
        text=".0%",
    ),
)


def style_answer(board: StyleBoard) -> dict[str, Any]:
    """Return style control as JSON values."""
    return {
        "source": "judge" if board.estimates.by_judge else "human",
        "comparisons": board.comparisons,
        "prompts": board.prompts,
        "without_texts": board.without_texts,
        "people": board.estimates.counted.people,
        "models": style_models(board).records(),
        "effects": style_effects(board).records(),
        "words": list(style_words(board)),
        "warnings": list(style_warnings(board)),
    }


def style_text(board: StyleBoard) -> list[str]:
    """Return style control for a terminal."""
    lines = [style_models(board).text()] if board.models else []
    lines += [style_effects(board).text()] if board.effects else []
    return [*lines, *style_words(board), *style_warnings(board)]


_TWICE = {"judge": N_("Twice as much wins:\njudge"), "people": N_("Twice as much wins:\npeople")}


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
    _TRAIT,
    *_side("judge", "the judge"),
    *_side("people", "people, where they voted on the same comparisons,"),
    Column(
        "difference",
        float,
        "The judge's coefficient less people's",
        heading=N_("Difference of log-odds"),
        text="+.3f",
    ),
    *bounds("", "the difference", "+.3f", "difference"),
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
    *bounds("", "that bias", "+.1%", "bias"),
    Column(
        "plain_bias",
        float,
        "The same of Bradley-Terry scores without control, by the same comparisons",
        heading=N_("Bias without control"),
        text="+.1%",
    ),
    *bounds("plain_", "it", "+.1%", "plain_bias"),
)


def judge_style_answer(found: JudgeStyle) -> dict[str, Any]:
    """Return a judge's style control as JSON values."""
    counted = found.estimates.counted
    return {
        "comparisons": counted.comparisons,
        "prompts": counted.prompts,
        "without_texts": counted.without_texts,
        "people": counted.people,
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
