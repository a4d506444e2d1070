"""All items of the coupling paper: listed, made from scores and votes, beside published numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from coupled_arena.analysis.coupling.score_tables import write_score_table
from coupled_arena.papers import coupled_generation as protocol_makers
from coupled_arena.papers.coupled_generation import COUPLED_GENERATION, published
from coupled_arena.papers.item import beside_published
from coupled_arena.papers.making import OutputFolder, item_of, make_paper
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.store.database import Store
from tests.papers.protocol_votes import vote_all
from tests.stats.test_score_tables import FOLDER, needs_real_scores


def scores_file(path, models=("ann", "bob"), prompts=12, seeds=3):
    rng = np.random.default_rng(3)
    shape = (prompts, seeds, len(models))
    shared = (rng.random((prompts, seeds, 1)) < 0.5) ^ (rng.random(shape) < 0.1)
    both = (scores.astype(float) for scores in (shared, rng.random(shape) < 0.5))
    write_score_table(ScoreTable(tuple(models), *both), path)
    return path


def source(scores=None, store=None, **settings):
    chosen = PaperSettings(**{"seeds": 3, "repeats": 10, **settings})
    return PaperSource(chosen, lambda: store or Store.in_memory(), (scores,) if scores else ())


def test_every_figure_and_table_is_made_or_has_a_reason():
    names = [item.name for item in COUPLED_GENERATION.items]
    ours = ("savings-by-sampling", "worked-example")
    stated = [*(f"figure-{n}" for n in range(1, 35)), *(f"table-{n}" for n in range(1, 10))]
    assert names == [*stated, *ours]
    unmade = {item.name for item in COUPLED_GENERATION.items if item.make is None}
    assert unmade == {"figure-2", "table-6", "table-8", *(f"table-{n}" for n in range(1, 6))}
    for item in COUPLED_GENERATION.items:
        assert bool(item.reason) == (item.make is None)


def test_a_figure_has_four_rows_of_panels_as_in_the_paper(tmp_path):
    path = scores_file(tmp_path / "scores.csv", ("ann", "bob", "cas", "dan"))
    made = item_of(COUPLED_GENERATION, "figure-9").make(source(path))
    assert list(made.figures) == ["pairs-1-4", "pairs-5-6"]
    assert [len(table) for name, table in made.tables.items() if name in ("pairs", "gains")] == [
        *(6, 18)
    ]
    for figure, rows in zip(made.figures.values(), (4, 2), strict=True):
        axes = [name for name in figure.to_dict()["layout"] if name.startswith("yaxis")]
        assert len(axes) == 3 * rows
    logarithmic = made.figures["pairs-1-4"].layout.xaxis3
    assert logarithmic.type == "log"
    joint, diagonal, median = (
        trace for trace in made.figures["pairs-1-4"].data if trace.xaxis == "x2"
    )
    assert joint.type == "contour"
    assert list(diagonal.x) == list(diagonal.y)
    row = made.tables["pairs"].records()[0]
    assert (*median.x, *median.y) == (
        row["median_variance_coupled"],
        row["median_variance_independent"],
    )


def test_scores_that_never_vary_are_drawn_too(tmp_path):
    path = tmp_path / "scores.csv"
    write_score_table(ScoreTable(("ann", "bob"), *np.ones((2, 9, 3, 2))), path)
    made = protocol_makers.all_pairs(source(path))
    (figure,) = made.figures.values()
    assert not any(trace.type == "contour" for trace in figure.data)
    assert made.tables["pairs"].records()[0]["savings"] is None


@pytest.mark.slow
def test_win_rates_are_drawn_with_intervals_and_stars():
    with Store.in_memory() as store:
        vote_all(store, prompts=12)
        made = item_of(COUPLED_GENERATION, "table-7").make(source(store=store))
    (figure,) = made.figures.values()
    rates = {(r["model"], r["opponent"]): r for r in made.tables["pairs"].records()}
    order = [row["model"] for row in made.tables["ranks"].records()]
    for number, model in enumerate(order):
        coupled, independent = figure.data[2 * number : 2 * number + 2]
        others = [other for other in order if other != model]
        for at, other in enumerate(others):
            row = rates[model, other]
            assert coupled.y[at] == row["coupled"]
            assert independent.y[at] == row["independent"]
            top = coupled.y[at] + coupled.error_y.array[at]
            assert top == pytest.approx(row["coupled_high"], abs=1e-12)
    stars = [note.text for note in figure.layout.annotations if "*" in note.text]
    assert len(stars) == sum(row["p_value"] < 0.05 for row in rates.values())
    rank = made.tables["ranks"].records()[0]
    assert rank["coupled_published_rate"] > 0
    assert not made.values  # nothing that the paper says is of these models


@pytest.mark.slow
def test_a_whole_paper_is_made_from_what_is_there(tmp_path):
    said = []
    place = OutputFolder(tmp_path / "out", ("html",), "data")
    path = scores_file(tmp_path / "scores.csv")
    with Store.in_memory() as store:
        vote_all(store, prompts=6, seeds=2)
        answer = make_paper(
            COUPLED_GENERATION, source(path, store), place, said.append, lambda _: iter
        )
    made = {item["item"]: item for item in answer["items"]}
    assert list(made) == ["figure-1", "figure-3", "worked-example"]
    assert "figure-33" in made["figure-1"]["also"]
    assert made["figure-3"]["also"] == ["figure-15", "figure-26", "figure-34", "table-7", "table-9"]
    left_out = {each["item"]: each["reason"] for each in answer["left_out"]}
    assert "no column Subject" in left_out["figure-8"]
    assert len(left_out) == 10
    with (tmp_path / "out" / "coupled-generation-figure-3-ranks.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 4


@pytest.mark.slow
def test_the_papers_own_data_are_known_by_models_and_prompts(tmp_path):
    """Numbers of the paper stand beside those of such data, and of no others."""
    qwen = list(published.FAMILIES["Qwen"].spellings)
    stated = (item_of(COUPLED_GENERATION, "figure-24"),)
    path = scores_file(tmp_path / "qwen.csv", qwen, prompts=164)
    (row,) = beside_published(stated, stated[0].make(source(path)))
    assert row.published == 0.32
    assert 0 <= row.made <= 1
    for models, prompts in ((qwen, 163), (qwen[1:], 164), ([*qwen[1:], "Qwen-Ann"], 164)):
        path = scores_file(tmp_path / "other.csv", models, prompts=prompts)
        (row,) = beside_published(stated, stated[0].make(source(path)))
        assert row.made is None


@pytest.mark.slow
@needs_real_scores
def test_the_published_scores_as_a_whole():
    """15 pairs on the paper's own grid: 13 gains of a tenth at least, the golden largest one."""
    path = Path(FOLDER / "gsm8k_llama.csv")
    made = protocol_makers.all_pairs(source(path, seeds=10, repeats=None))
    share = "GSM8K, Llama: share of pairs that need 10% fewer samples or better"
    assert made.values[share] == 13 / 15
    gains = [row for row in made.tables["gains"].records() if row["tolerance"] == 0.01]
    best = max(gains, key=lambda row: row["gain"])
    assert (best["samples_coupled"], best["samples_independent"]) == (140, 220)
