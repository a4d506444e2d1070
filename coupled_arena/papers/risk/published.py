"""Numbers that the paper on risk states, by the names that ours have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coupled_arena.papers.item import KnownNames, folded, same

INSTRUCTED = KnownNames(
    # As in Mix-Instruct, whose test set has 5,000 prompts.
    {
        "Open assistant": ("oasst-sft-4-pythia-12b-epoch-3.5",),
        "koala": ("koala-7B-HF",),
        "alpaca": ("alpaca-native",),
        "llama 7b": ("llama-7b-hf-baize-lora-bf16",),
        "flan-t5": ("flan-t5-xxl",),
        "stablelm": ("stablelm-tuned-alpha-7b",),
        "Vicuna": ("vicuna-13b-1.1",),
        "Dolly (v2)": ("dolly-v2-12b",),
        "Moss 6b": ("moss-moon-003-sft",),
        "ChatGLM": ("chatglm-6b",),
        "mpt-7b instruct": (),
        "mpt-7b": (),
    }
)
COMPLETING = KnownNames(
    {
        "Llama 2 7b": ("Llama-2-7b-hf",),
        "Llama 2 13b": ("Llama-2-13b-hf",),
        "Llama 2 70b": ("Llama-2-70b-hf",),
        "MosaicML MPT 30b": ("mpt-30b",),
        "Tiiuae Falcon 40b": ("falcon-40b",),
    }
)
PROMPTS = 5000
"""Of Mix-Instruct, for each of the models that follow instructions."""
_INSTRUCTED, _COMPLETING = tuple(INSTRUCTED.spellings), tuple(COMPLETING.spellings)

INSTRUCTIONS: Mapping[str, str] = {
    "RA(MWR @M)": "1 6 2 8 5 7 3 10 9 4 11 12",
    "MWR @P(IC)": "1 5 2 7 6 8 3 9 10 4 11 12",
    "RA(R-FSD @M)": "1 6 2 5 8 11 4 10 7 3 9 12",
    "R-FSD @P(IC)": "1 6 2 5 11 10 4 8 7 3 9 12",
    "R-FSD @judge": "1 7 3 4 12 11 2 8 5 6 9 10",
    "RA(R-SSD @M)": "1 7 2 5 12 10 4 9 6 3 8 11",
    "R-SSD @P(IC)": "1 6 3 5 12 11 4 7 8 2 9 10",
    "R-SSD @judge": "1 8 3 4 11 12 2 7 5 6 9 10",
    "RA(mu - Gini @M)": "1 7 2 5 12 11 4 9 6 3 8 10",
    "RA(mu - r) @P(IC)": "1 6 3 5 12 11 4 7 8 2 9 10",
}
"""Table 4, ranks in the order of its models; the judge is ChatGPT."""

THRESHOLDS: Mapping[str, str] = {
    "eps-FSD 0.08 @P(IC)": "1 6 2 5 10 11 4 7 8 3 9 12",
    "eps-FSD 0.25 @P(IC)": "1 6 2 5 12 10 4 7 8 3 9 11",
    "eps-FSD 0.4 @P(IC)": "1 6 2 5 12 10 4 8 7 3 9 11",
    "eps-SSD 0.08 @P(IC)": "1 6 3 5 12 11 4 7 8 2 9 10",
    "eps-SSD 0.25 @P(IC)": "1 6 3 5 12 11 4 8 7 2 9 10",
    "eps-SSD 0.4 @P(IC)": "1 6 3 5 12 11 4 7 8 2 9 10",
}
"""What table 5 has beyond table 4."""

_WAYS = ("RA(R-FSD @M)", "R-FSD @P(IC)", "RA(R-SSD @M)", "R-SSD @P(IC)")
# The table names both of its last pairs alike: they stand in the order of the others.
_ALL = {
    "All combined (Gen Only)": ("2 3 5 1 4",) * 4,
    "All combined (Prompt + Gen)": ("3 4 5 1 2",) * 4,
}
_PARTS = {
    "Toxic (Gen Only)": ("3 2 4 1 5", "2 3 4 1 5", "3 2 4 1 5", "3 2 4 1 5"),
    "Toxic (Prompt + Gen)": ("2 3 1 4 5",) * 4,
    "Non-toxic (Gen Only)": ("1 2 4 3 5", "1 2 3 4 5", "1 2 3 4 5", "1 2 3 4 5"),
    "Non-toxic (Prompt + Gen)": ("3 2 4 1 5", "1 2 4 3 5", "1 2 3 4 5", "1 2 4 3 5"),
}
_METRICS = {
    "Identity Attack": {
        "mu - sigma": "1 3 4 2 5",
        "mu - Gini": "2 3 4 1 5",
        "mu - nTVaR": "2 3 4 1 5",
        "R-SSD": "2 3 4 1 5",
    },
    "Threat": {
        "mu - sigma": "1 3 2 4 5",
        "mu - Gini": "1 2 3 5 4",
        "mu - nTVaR": "1 2 3 5 4",
        "R-SSD": "1 2 3 5 4",
    },
}


_KINDS = ("Gen Only", "Prompt + Gen")
_SCENARIOS = KnownNames(dict.fromkeys((*_ALL, *_PARTS), ()))
_METRIC_NAMES = KnownNames(dict.fromkeys(_METRICS, ()))
_JUDGED = ("ChatGPT", "gpt-3.5-turbo")


def instructed(models: Iterable[str], prompts: int) -> dict[str, str]:
    """Return the paper's names of its models on Mix-Instruct, nothing for others."""
    return INSTRUCTED.all_of(models) if prompts == PROMPTS else {}


def judged_as_in_the_paper(judge: str | None) -> bool:
    """Tell whether a judge is that of the paper."""
    return same(judge, *_JUDGED)


def scenario_names(categories: Iterable[str], together: str) -> dict[str, str]:
    """Return the paper's names of categories of prompts; of all together where it is clear.

    That is where all of them are of one kind: answers alone, or prompts with their answers.
    """
    found = {each: name for each in categories if (name := _SCENARIOS.name_of(each))}
    for kind in _KINDS:
        parts = {name for name in _PARTS if name.endswith(f"({kind})")}
        if found and set(found.values()) == parts:
            found[together] = f"All combined ({kind})"
    return found


def metric_name(metric: str) -> str | None:
    """Return the paper's name of a metric; one that ends with it is the same."""
    exact = _METRIC_NAMES.name_of(metric)
    ends = (name for name in _METRICS if folded(metric).endswith(folded(name)))
    return exact or next(ends, None)


def tau_name(one: str, other: str) -> str:
    """Return what Kendall's tau of two rankings is called."""
    return f"Kendall's tau, {one} and {other}"


def copulas_name(size: int) -> str:
    """Return what it is called of the portfolios by both copulas, from so many prompts."""
    return f"{tau_name('R-SSD @P(IC)', 'R-SSD @P(EC)')}, {size} samples"


def rank_name(way: str, model: str, where: str = "") -> str:
    """Return what a model's rank by a way is called, among some prompts or by a metric."""
    return f"{where + ': ' if where else ''}{way}: {model}"


def _ranks(models: tuple[str, ...], ways: Mapping[str, str], where: str = "") -> dict[str, float]:
    return {
        rank_name(way, model, where): float(rank)
        for way, ranks in ways.items()
        for model, rank in zip(models, ranks.split(), strict=True)
    }


def _scenarios(parts: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    return {
        what: rank
        for where, rows in parts.items()
        for what, rank in _ranks(_COMPLETING, dict(zip(_WAYS, rows, strict=True)), where).items()
    }


TABLE_2: Mapping[str, float] = _scenarios(_ALL)
TABLE_4: Mapping[str, float] = {
    # Appendix A; the fourth stands there with first order on one side and second on the other.
    tau_name("R-SSD @P(IC)", "RA(R-SSD @M)"): 0.848,
    tau_name("R-FSD @P(IC)", "RA(R-FSD @M)"): 0.878,
    tau_name("R-SSD @P(EC)", "RA(R-SSD @M)"): 0.848,
    tau_name("R-FSD @P(EC)", "RA(R-SSD @M)"): 0.848,
    **_ranks(_INSTRUCTED, INSTRUCTIONS),
}
TABLE_5: Mapping[str, float] = _ranks(_INSTRUCTED, THRESHOLDS)
TABLE_6: Mapping[str, float] = _scenarios(_PARTS | _ALL)
TABLE_7: Mapping[str, float] = {
    what: rank
    for metric, ways in _METRICS.items()
    for what, rank in _ranks(_COMPLETING, ways, metric).items()
}
FIGURE_5: Mapping[str, float] = {
    "violation ratio, first order": 0.2,
    "violation ratio, second order": 0.45,
}
FIGURE_9: Mapping[str, float] = {copulas_name(40_000): 1.0}
FIGURE_10: Mapping[str, float] = {copulas_name(20_000): 1.0}
TABLE_3: Mapping[str, float] = {
    f"pairs that contradict {risk}": 0.0
    for risk in (
        *("absolute_semideviation", "negative_tail_value_at_risk"),
        *("deviation_from_quantile", "gini_tail"),
    )
}
