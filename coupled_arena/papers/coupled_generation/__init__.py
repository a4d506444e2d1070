"""Coupled generation: Benz, Tsirtsis, et al., "Evaluation … via coupled token generation".

Figures and tables by the numbers of its newer version, and what it states of them. Models go by
their full names, as in Tables 6 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping

from coupled_arena.core.records import Mode
from coupled_arena.papers.coupled_generation.makers import (
    all_pairs,
    by_subject,
    more_ties,
    named_place,
    win_rates,
)
from coupled_arena.papers.coupled_generation.sampling import savings_by_sampling
from coupled_arena.papers.item import Item, Needs, Paper
from coupled_arena.views.tables.table import BETWEEN

_ONE, _THREE, _EIGHT = (f"Llama-3.{n}-Instruct" for n in ("2-1B", "2-3B", "1-8B"))
_BITS_8, _BITS_4, _INT4 = (f"{_EIGHT}-{kind}" for kind in ("bnb-8bit", "bnb-4bit", "AWQ-INT4"))
_SMALL = f"college computer science, Llama, {BETWEEN.join((_ONE, _THREE))}"
_SHARE = "share of pairs that need 10% fewer samples or better"

_LLAMA = {  # rank, mean win-rate and half its interval, coupled and independent
    _EIGHT: ((1, 0.3670, 0.0020), (1, 0.3863, 0.0020)),
    _BITS_8: ((2, 0.3562, 0.0020), (1, 0.3825, 0.0020)),
    _BITS_4: ((3, 0.3339, 0.0020), (3, 0.3463, 0.0020)),
    _INT4: ((4, 0.3164, 0.0019), (4, 0.3310, 0.0019)),
    _THREE: ((5, 0.2787, 0.0019), (5, 0.2828, 0.0019)),
    _ONE: ((6, 0.1650, 0.0015), (6, 0.1664, 0.0015)),
}
_QWEN = {
    "Qwen3-8B": ((1, 0.4486, 0.0013), (1, 0.4524, 0.0013)),
    "Qwen2.5-7B-Instruct-bnb-8bit": ((2, 0.3211, 0.0012), (2, 0.3264, 0.0012)),
    "Qwen2.5-7B-Instruct": ((3, 0.3148, 0.0012), (2, 0.3279, 0.0012)),
    "Qwen2.5-7B-Instruct-bnb-4bit": ((4, 0.2892, 0.0012), (4, 0.2862, 0.0012)),
    "Qwen2.5-7B-Instruct-AWQ-INT4": ((5, 0.2561, 0.0011), (5, 0.2591, 0.0012)),
    "Qwen2.5-3B-Instruct": ((6, 0.2072, 0.0011), (6, 0.2121, 0.0011)),
    "Qwen2.5-1.5B-Instruct": ((7, 0.1834, 0.0010), (7, 0.1875, 0.0010)),
    "DistilQwen2.5-3B-Instruct": ((8, 0.1780, 0.0010), (8, 0.1850, 0.0010)),
}
_MISTRAL = {
    f"Mistral-7B-Instruct-{name}": places
    for name, places in {
        "v0.2": ((1, 0.3310, 0.0026), (1, 0.3355, 0.0026)),
        "v0.3-bnb-4bit": ((2, 0.2861, 0.0025), (2, 0.2953, 0.0025)),
        "v0.3-bnb-8bit": ((2, 0.2844, 0.0025), (2, 0.2953, 0.0025)),
        "v0.3": ((4, 0.2757, 0.0025), (2, 0.2918, 0.0025)),
        "v0.1": ((5, 0.1598, 0.0020), (5, 0.1617, 0.0020)),
    }.items()
}
_Rows = Mapping[str, tuple[tuple[int, float, float], tuple[int, float, float]]]


def _places(rows: _Rows) -> dict[str, float]:
    return {
        what: value
        for model, both in rows.items()
        for mode, place in zip((Mode.COUPLED, Mode.INDEPENDENT), both, strict=True)
        for what, value in named_place(model, mode, *place).items()
    }


_TIES = {
    more_ties(_BITS_8, _EIGHT): 0.24,
    more_ties(_BITS_8, _BITS_4): 0.11,
    more_ties(_BITS_8, _INT4): 0.15,
}


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
        {f"{_SMALL}: reduction": 0.40, f"{_SMALL}: at an error of": 0.034},
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
        {**_places(_LLAMA), **_TIES},
    ),
    _pairs(4, f"Llama, {_SUBJECT}", {"college computer science, Llama: largest reduction": 0.75}),
    *(_pairs(number, f"Llama, {_SUBJECT}") for number in (5, 6, 7)),
    _subjects(8, "Llama 1B and 3B, four of MMLU"),
    *(_pairs(number, "Llama, GSM8K") for number in (9, 10, 11)),
    *(_pairs(number, "Llama, HumanEval") for number in (12, 13, 14)),
    _rates("figure-15", "Win-rates of each Llama against the others"),
    _pairs(16, f"Qwen, {_SUBJECT}", {f"college computer science, Qwen: {_SHARE}": 0.40}),
    *(_pairs(number, f"Qwen, {_SUBJECT}") for number in (17, 18)),
    _subjects(19, "Qwen 2.5-7B and its 8-bit version, four of MMLU"),
    _pairs(20, "Qwen, GSM8K", {f"GSM8K, Qwen: {_SHARE}": 0.61}),
    *(_pairs(number, "Qwen, GSM8K") for number in (21, 22, 23)),
    _pairs(24, "Qwen, HumanEval", {f"HumanEval, Qwen: {_SHARE}": 0.32}),
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
    _rates("table-7", "Ranks and mean win-rates of Qwen under both protocols", _places(_QWEN)),
    Item(
        "table-8",
        "Full and short names of the Mistral models",
        Needs.NOTHING,
        reason="a list of names, without data",
    ),
    _rates(
        "table-9", "Ranks and mean win-rates of Mistral under both protocols", _places(_MISTRAL)
    ),
)
_SWEEP = Item(
    "savings-by-sampling",
    "What coupling saves by temperature and top-p (ours: the paper has one temperature)",
    Needs.SAMPLINGS,
    savings_by_sampling,
)
COUPLED_GENERATION = Paper(
    "coupled-generation",
    "Evaluation of large language models via coupled token generation",
    (*_FIGURES, *_TABLES, _SWEEP),
)
