"""Faults that readers saw in figures of the papers: each is looked for in what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from coupled_arena.analysis.coupling.score_tables import write_score_table
from coupled_arena.papers.coupled_generation.rates import (
    PROTOCOLS,
    PairRate,
    ProtocolPlace,
    ProtocolRates,
    Rate,
    rates_figure,
)
from coupled_arena.papers.making import item_of, paper_of
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.store.database import Store
from tests.papers.test_known import AUTHORS, scores
from tests.papers.test_shared_judges import made_up, source_of


def drawn(paper, name, path, **chosen):
    source = PaperSource(PaperSettings(**chosen), Store.in_memory, (path,))
    return item_of(paper_of(paper), name).make(source).figures


def rates_of(models):
    none = dict.fromkeys(PROTOCOLS)
    rates = dict.fromkeys(PROTOCOLS, Rate(0.4, 0.3, 0.5))
    return ProtocolRates(
        judge=None,
        alpha=0.05,
        pairs=tuple(PairRate(a, b, rates, 1.0, 1.0) for a in models for b in models if a != b),
        ties=(),
        places=tuple(ProtocolPlace(model, none, none) for model in models),
    )


@pytest.mark.parametrize("family", AUTHORS)
def test_each_bar_has_the_whole_name_of_its_model(family):
    """Names ran to the right: the last of the right-hand panels left the figure."""
    models = AUTHORS[family]
    layout = rates_figure(rates_of(models)).layout
    for number, model in enumerate(models, start=1):
        axis = layout[f"xaxis{number}"]
        others = [other for other in models if other != model]
        assert [text.replace("<br>", "") for text in axis.ticktext] == others
        assert axis.tickangle < 0  # a name ends under its bar
        assert max(text.count("<br>") for text in axis.ticktext) < 2  # and beside the next one
        assert axis.tickmode == "array"
        # The first one begins left of its bar: there is room for it beside the figure before.
        longest = max(len(line) for text in axis.ticktext for line in text.split("<br>"))
        before = layout[f"xaxis{number - 1}"].domain[1] if number % 2 == 0 else 0
        room = (axis.domain[0] - before) * layout.width
        bar = (axis.domain[1] - axis.domain[0]) * layout.width / len(others) / 2
        assert room + bar > longest * 6 * math.cos(math.radians(axis.tickangle)) - 20


def test_the_first_size_stands_apart_from_the_zero_beside_it(tmp_path):
    """With a hundred questions both stood in the corner, as one number."""
    rng = np.random.default_rng(3)
    table = ScoreTable(("ann", "bob"), *(rng.random((2, 100, 10, 2)) < 0.5).astype(float))
    write_score_table(table, tmp_path / "a.csv")
    (figure,) = drawn("coupled-generation", "figure-1", tmp_path / "a.csv", repeats=5).values()
    axis = figure.layout.xaxis3
    first = math.log10(axis.tickvals[0])
    assert axis.tickvals[0] == 20
    assert (first - axis.range[0]) / (axis.range[1] - axis.range[0]) > 0.03
    assert axis.range[1] >= math.log10(1000)


def test_tied_models_have_lines_of_their_own(tmp_path):
    rng = np.random.default_rng(5)
    rows = [
        {"model": f"m{model}", "prompt": at, "good": rng.normal(), "safe": rng.normal()}
        for model in range(5)
        for at in range(20)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    (figure,) = drawn("risk", "figure-9", tmp_path / "a.csv").values()
    ends = [tuple(line.y) for line in figure.data]
    assert len(set(ends)) == 5
    for end in range(2):  # nearer to its own rank than to the next
        apart = [line[end] for line in ends]
        assert all(abs(one - round(one)) < 0.45 for one in apart)
        assert len(set(apart)) == 5


def test_curves_are_named_in_the_order_that_the_head_says(tmp_path):
    """One model has the better mean and the worse tail: its curve ends above the first one's."""
    rng = np.random.default_rng(1)
    values = {"risky": [*rng.normal(-5, 1, 18), *rng.normal(5, 1, 22)], "safe": rng.normal(size=40)}
    rows = [
        {"model": model, "prompt": at, "good": value}
        for model, each in values.items()
        for at, value in enumerate(each)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    figures = drawn("risk", "figure-1", tmp_path / "a.csv")
    for name in ("quantiles", "tails"):
        figure = figures[name]
        named = sorted(figure.layout.annotations, key=lambda note: -(note.y * 1e6 + note.yshift))
        assert [note.text.rpartition(" ")[2] for note in named] == ["safe", "risky"]


def test_a_radar_tells_the_numbers_at_the_ends_of_its_axes(tmp_path):
    path = scores(tmp_path / "a.csv", ("one", "two", "three"), ["x"], ("good", "safe"))
    source = PaperSource(PaperSettings(), Store.in_memory, (path,))
    made = item_of(paper_of("risk"), "figure-7").make(source)
    (figure,) = made.figures.values()
    found = {}
    for row in made.tables["mean-risk"].records():
        found.setdefault(row["measure"], []).append(row["score"])
    polar = figure.layout.polar
    assert list(polar.radialaxis.range) == [0, 1]
    for text, values in zip(polar.angularaxis.ticktext, found.values(), strict=True):
        low, high = (f"{end:.2g}" for end in (min(values), max(values)))
        assert text.endswith(f"{low} to {high}")


@pytest.mark.slow
def test_a_vote_is_worth_votes(tmp_path):
    source = source_of(tmp_path, made_up(("gpt",)), ("gpt",))
    (figure,) = item_of(paper_of("judge"), "figure-3").make(source).figures.values()
    assert figure.layout.yaxis.title.text == "worth of one vote"
