"""Items on coupled generation: pairs of models, subjects, win-rates by votes or verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

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
    SHARE,
    benchmark_of,
    family_of,
    judged_as_in_the_paper,
    more_ties,
    named_place,
    paper_names,
)
from coupled_arena.papers.coupled_generation.rate_bars import rates_figure
from coupled_arena.papers.coupled_generation.rates import (
    PROTOCOLS,
    ProtocolRates,
    places_table,
    protocol_rates,
    published_half,
    rates_table,
    ties_table,
)
from coupled_arena.papers.item import Made
from coupled_arena.papers.shared import judged_prompts, pooled_notes
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.coupling.published import TOLERANCE
from coupled_arena.views.tables.table import BETWEEN

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
