"""Coupled generation: Benz, Tsirtsis, et al., "Evaluation … via coupled token generation".

Figures and tables by the numbers of its newer version, and what it states of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import plotly.graph_objects as go

from coupled_arena.papers.coupled_generation.example import PUBLISHED, worked_example
from coupled_arena.papers.coupled_generation.pairs import (
    PairPanels,
    Protocols,
    compare_protocols,
    compare_subjects,
    gain_table,
    panel_table,
    protocol_curves,
    spread_table,
)
from coupled_arena.papers.coupled_generation.panels import panels_figure
from coupled_arena.papers.coupled_generation.published import (
    COMPUTER_SCIENCE,
    LLAMA_PLACES,
    MISTRAL_PLACES,
    QWEN_PLACES,
    SHARE,
    SMALL,
    TIES,
    benchmark_of,
    family_of,
    judged_as_in_the_paper,
    more_ties,
    named_place,
    paper_names,
)
from coupled_arena.papers.coupled_generation.rates import (
    PROTOCOLS,
    ProtocolRates,
    places_table,
    protocol_rates,
    published_half,
    rates_figure,
    rates_table,
    ties_table,
)
from coupled_arena.papers.coupled_generation.sampling import savings_by_sampling
from coupled_arena.papers.item import Item, Made, Needs, Paper
from coupled_arena.papers.source import PaperSource, judged_prompts, pooled_notes
from coupled_arena.stats.coupling.error_curves import TOLERANCE
from coupled_arena.views.tables.table import BETWEEN

# Items on coupled generation: pairs of models, subjects, win-rates by votes or verdicts.

_ROWS = 4  # of panels in a figure, as in the paper
_WIDE = 0.05  # the tolerance of the paper's curves on MMLU
_BIASED = (
    "The gain is the paper's: a maximum over noisy curves, about a tenth where nothing is saved. "
    "The samples saved by the variances, with their interval, are the measure to trust."
)


def all_pairs(source: PaperSource) -> Made:
    """Return the three panels of every pair of models on all prompts."""
    found = compare_protocols(source)
    what = _what(found)
    figures = {
        f"pairs-{first + 1}-{first + len(part)}": panels_figure(part, what)
        for first, part in _parts(found.panels)
    }
    return _made(found, figures, _stated(found))


def by_subject(source: PaperSource) -> Made:
    """Return the three panels of every pair of models in each subject."""
    found = compare_subjects(source)
    pairs: dict[tuple[str, str], list[PairPanels]] = {}
    for panel in found.panels:
        pairs.setdefault((panel.pair.model_a, panel.pair.model_b), []).append(panel)
    figures = {
        f"{a}-{b}-subjects-{first + 1}-{first + len(part)}": panels_figure(part, _what(found))
        for (a, b), panels in pairs.items()
        for first, part in _parts(panels)
    }
    notes = (f"Too few prompts: {', '.join(found.too_few)}.",) if found.too_few else ()
    return _made(found, figures, {}, notes)


def win_rates(source: PaperSource) -> Made:
    """Return win-rates by pair, ranks and ties under both protocols."""
    found = protocol_rates(source)
    return Made(
        tables={
            "ranks": places_table(found),
            "pairs": rates_table(found),
            "ties": ties_table(found),
        },
        figures={"win-rates": rates_figure(found)},
        values=_places(found, judged_prompts(source, found.judge)),
        notes=(
            *pooled_notes(source),
            "Ranks, intervals and stars allow for prompts that several comparisons share; the "
            "columns as published do not, and take a covariance that is too small.",
        ),
    )


def _made(
    found: Protocols,
    figures: dict[str, go.Figure],
    values: dict[str, float],
    notes: tuple[str, ...] = (),
) -> Made:
    left_out = found.scores.left_out
    if left_out:
        notes = (*notes, f"Prompts left out, which lack scores: {left_out:,}.")
    tables = {
        "pairs": panel_table(found.panels),
        "gains": gain_table(found.panels),
        "curves": protocol_curves(found.panels),
        "spreads": spread_table(found.panels),
    }
    return Made(tables, figures, values, (*notes, _BIASED))


def _parts(panels: Sequence[PairPanels]) -> Iterator[tuple[int, Sequence[PairPanels]]]:
    for first in range(0, len(panels), _ROWS):
        yield first, panels[first : first + _ROWS]


def _what(found: Protocols) -> str:
    scores = found.scores
    return f"{scores.metric}, {scores.category}" if scores.category else scores.metric


def _stated(found: Protocols) -> dict[str, float]:
    """Return what the paper states of its own models and questions; of others nothing."""
    table = found.scores.table
    names = paper_names(table.models)
    benchmark = benchmark_of(len(table.coupled), found.scores.category)
    if benchmark is None or not names:
        return {}
    gains = [panel.gains[TOLERANCE].gain for panel in found.panels]
    wide = [panel.gains[_WIDE] for panel in found.panels]
    known = f"{benchmark}, {family_of(table.models)}"
    values = {
        f"{known}: {SHARE}": sum(gain >= 0.1 for gain in gains) / len(gains),
        f"{known}: largest reduction": max(gain.gain for gain in wide),
    }
    for panel, gain in zip(found.panels, wide, strict=True):
        pair = (names[panel.pair.model_a], names[panel.pair.model_b])
        values[f"{known}, {BETWEEN.join(sorted(pair))}: reduction"] = gain.gain
        if gain.error is not None:
            values[f"{known}, {BETWEEN.join(sorted(pair))}: at an error of"] = gain.error
    return values


def _places(found: ProtocolRates, questions: int) -> dict[str, float]:
    names = paper_names([row.model for row in found.places])
    if not names or not judged_as_in_the_paper(found.judge, questions):
        return {}
    values: dict[str, float] = {}
    for row in found.places:
        for mode in PROTOCOLS:
            place = row.published[mode]
            if place is not None:
                values |= named_place(
                    names[row.model], mode, place.rank_low, place.win_rate, published_half(place)
                )
    ties = {more_ties(names[tie.model_a], names[tie.model_b]): tie.change for tie in found.ties}
    return values | ties


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
