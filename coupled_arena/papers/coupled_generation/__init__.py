"""Coupled generation: Benz, Tsirtsis, et al., "Evaluation … via coupled token generation".

Figures and tables by the numbers of its newer version, and what it states of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from coupled_arena.papers.coupled_generation.example import PUBLISHED, worked_example
from coupled_arena.papers.coupled_generation.makers import (
    all_pairs,
    by_subject,
    win_rates,
)
from coupled_arena.papers.coupled_generation.published import (
    COMPUTER_SCIENCE,
    LLAMA_PLACES,
    MISTRAL_PLACES,
    QWEN_PLACES,
    SHARE,
    SMALL,
    TIES,
)
from coupled_arena.papers.coupled_generation.sampling import savings_by_sampling
from coupled_arena.papers.item import Item, Needs, Paper


def _pairs(number: int, title: str, stated: Mapping[str, float] | None = None) -> Item:
    return Item(
        f"figure-{number}",
        f"Covariance, variances, and error by samples, of pairs of models: {title}",
        Needs.PROTOCOL_SCORES,
        all_pairs,
        stated or {},
    )


def _subjects(number: int, title: str) -> Item:
    return Item(
        f"figure-{number}",
        f"The same in each subject: {title}",
        Needs.PROTOCOL_SCORES,
        by_subject,
    )


def _rates(name: str, title: str, stated: Mapping[str, float] | None = None) -> Item:
    return Item(name, title, Needs.PROTOCOL_VOTES, win_rates, stated or {})


def _prompt(number: int, title: str) -> Item:
    return Item(
        f"table-{number}",
        title,
        Needs.NOTHING,
        reason="the words of a prompt, without data",
    )


_SUBJECT = "college computer science of MMLU"
_FIGURES = (
    _pairs(
        1,
        f"Llama 1B and 3B, {_SUBJECT}",
        {f"{SMALL}: reduction": 0.40, f"{SMALL}: at an error of": 0.034},
    ),
    Item(
        "figure-2",
        "Coupled and independent generation as a graph of causes",
        Needs.NOTHING,
        reason="a drawing of what coupling is, without data",
    ),
    _rates(
        "figure-3",
        "Win-rates of one Llama against the others, and of each on average",
        {**LLAMA_PLACES, **TIES},
    ),
    _pairs(4, f"Llama, {_SUBJECT}", {f"{COMPUTER_SCIENCE}, Llama: largest reduction": 0.75}),
    *(_pairs(number, f"Llama, {_SUBJECT}") for number in (5, 6, 7)),
    _subjects(8, "Llama 1B and 3B, four of MMLU"),
    *(_pairs(number, "Llama, GSM8K") for number in (9, 10, 11)),
    *(_pairs(number, "Llama, HumanEval") for number in (12, 13, 14)),
    _rates("figure-15", "Win-rates of each Llama against the others"),
    _pairs(16, f"Qwen, {_SUBJECT}", {f"{COMPUTER_SCIENCE}, Qwen: {SHARE}": 0.40}),
    *(_pairs(number, f"Qwen, {_SUBJECT}") for number in (17, 18)),
    _subjects(19, "Qwen 2.5-7B and its 8-bit version, four of MMLU"),
    _pairs(20, "Qwen, GSM8K", {f"GSM8K, Qwen: {SHARE}": 0.61}),
    *(_pairs(number, "Qwen, GSM8K") for number in (21, 22, 23)),
    _pairs(24, "Qwen, HumanEval", {f"HumanEval, Qwen: {SHARE}": 0.32}),
    _pairs(25, "Qwen, HumanEval"),
    _rates("figure-26", "Win-rates of each Qwen against the others"),
    *(_pairs(number, f"Mistral, {_SUBJECT}") for number in (27, 28)),
    _subjects(29, "Mistral v0.3 and its 8-bit version, four of MMLU"),
    *(_pairs(number, "Mistral, GSM8K") for number in (30, 31)),
    *(_pairs(number, "Mistral, HumanEval") for number in (32, 33)),
    _rates("figure-34", "Win-rates of each Mistral against the others"),
)
_TABLES = (
    _prompt(1, "System prompt for MMLU"),
    _prompt(2, "System prompt for GSM8K"),
    _prompt(3, "System prompt for the questions of LMSYS"),
    _prompt(4, "Prefixes of question and answer for HumanEval"),
    _prompt(5, "System prompt of the judge"),
    Item(
        "table-6",
        "Full and short names of the Qwen models",
        Needs.NOTHING,
        reason="a list of names, without data",
    ),
    _rates("table-7", "Ranks and mean win-rates of Qwen under both protocols", QWEN_PLACES),
    Item(
        "table-8",
        "Full and short names of the Mistral models",
        Needs.NOTHING,
        reason="a list of names, without data",
    ),
    _rates("table-9", "Ranks and mean win-rates of Mistral under both protocols", MISTRAL_PLACES),
)
_SWEEP = Item(
    "savings-by-sampling",
    "What coupling saves by temperature and top-p, with intervals (ours)",
    Needs.SAMPLINGS,
    savings_by_sampling,
)
_EXAMPLE = Item(
    "worked-example",
    "Three models on two prompts whose ranking by win-rates flips under coupling",
    Needs.NOTHING,
    worked_example,
    PUBLISHED,
)
COUPLED_GENERATION = Paper(
    "coupled-generation",
    "Evaluation of large language models via coupled token generation",
    (*_FIGURES, *_TABLES, _SWEEP, _EXAMPLE),
)
