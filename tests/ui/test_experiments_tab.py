"""Random subsets of judged votes, in Chromium: run, read, stop, and what is refused."""

from __future__ import annotations

import csv

import gradio as gr
import numpy as np
import pytest

from coupled_arena.analysis.leaderboard.read import LiveEstimates
from coupled_arena.stats.simulation.subsets import Sizes
from coupled_arena.store.database import Store
from coupled_arena.ui.tabs.experiments import ExperimentsTab
from tests.batches import judge
from tests.store.conftest import make_battle, make_vote
from tests.stored import fill as fill_store
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.test_browser import open_tab


def fill_judged(store, n):
    rng = np.random.default_rng(4)
    for _ in range(n):
        battle = make_battle("left", "right", replies=(), prompts=())
        store.add_battle(battle)
        store.cast(make_vote(battle, *[(1, 2), (2, 1), (1, 1)][rng.integers(3)]))
        judge(store, "gpt", battle, 0, 1, ["first", "second", "tie"][rng.integers(3)])


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with Store.open(folder / "arena.duckdb") as store:
        fill_judged(store, 60)
        # As `benchmark` stores them: 21 models that nobody compares, 253 pairs with the others.
        fill_store(store, ["Sum 1?", "Sum 2?"], models=[f"bench-{i:02}" for i in range(21)])
    with serving(folder, EQUAL_MODELS) as running:
        yield running


@pytest.fixture
def page(judged, visit):
    page = visit(judged.url)
    open_tab(page, "Experiments")
    page.wait_for_function("document.querySelector('#experiment-judge input')?.value === 'gpt'")
    return page


def fill(page, votes, total):
    page.get_by_label("Votes that are kept").fill(votes)
    page.get_by_label("Comparisons of each subset").fill(total)


def test_what_is_offered_can_be_run(page):
    """Sixty comparisons of the one pair that has votes: four fifths, and of these one in five."""
    page.wait_for_function(
        "[...document.querySelectorAll('textarea,input')].some(x => x.value === '9')"
    )
    assert page.get_by_label("Votes that are kept").input_value() == "9"
    assert page.get_by_label("Comparisons of each subset").input_value() == "48"
    page.click("#run-experiment")
    page.wait_for_function(
        "document.querySelector('#experiment-said').textContent.includes('100 repeats.')"
    )
    assert "bench" not in page.inner_text("#experiment-positions")


def test_sizes_that_somebody_chose_stay():
    with Store.in_memory() as store, gr.Blocks():
        fill_judged(store, 20)
        tab = ExperimentsTab(store, LiveEstimates(store))
        tab.build()
        first = tab._fit("gpt", "", None, True, None)
        assert first == ["5", 16, True, Sizes(16, 5, True)]
        fill_judged(store, 20)
        assert tab._fit("gpt", *first)[:3] == ["6", 32, True]
        for chosen in (("7", 16, True), ("5", 20, True), ("5", 16, False)):
            kept = tab._fit("gpt", *chosen, first[-1])
            assert all(each == gr.skip() for each in kept)


def test_an_experiment_shows_its_figures(page, tmp_path):
    fill(page, "10, 20", "40")
    page.click("#run-experiment")
    page.wait_for_function(
        "document.querySelector('#experiment-said').textContent.includes('100 repeats.')"
    )
    for name in ("trade-off", "votes", "positions", "rank-sets"):
        page.wait_for_selector(f"#experiment-{name} .main-svg")
    assert "10 of 40 votes" in page.inner_text("#experiment-trade-off")
    with page.expect_download() as download:
        page.click("#experiment-rank-sets-foot [data-kind=csv]")
    download.value.save_as(tmp_path / "sets.csv")
    with (tmp_path / "sets.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["ranking"] == "baseline"]
    shares = sum(float(row["probability"]) for row in rows)
    assert shares == pytest.approx(2 * 7)  # of both models at seven error levels


def test_an_experiment_can_be_stopped(page):
    fill(page, " ".join(map(str, range(2, 40))), "40")  # tens of seconds, if it is let
    page.locator("input[aria-label*='Repeats'][type=number]").fill("1000")
    page.get_by_label("As many in every pair").check()
    page.click("#run-experiment")
    page.wait_for_selector("#experiment-said .progress-text, .progress-level, .eta-bar")
    page.click("#stop-experiment")
    page.wait_for_function(
        "/Stopped after [0-9]+ of 1000/.test("
        "document.querySelector('#experiment-said').textContent)"
    )


@pytest.mark.parametrize(
    ("votes", "total", "message"),
    [
        ("ten", "40", "are not whole numbers"),
        ("50", "40", "cannot keep their vote"),
        ("10", "4000", "comparisons"),
    ],
)
def test_what_cannot_be_drawn_is_told(page, votes, total, message):
    fill(page, votes, total)
    page.click("#run-experiment")
    page.wait_for_selector(f".toast-body:has-text('{message}')")
