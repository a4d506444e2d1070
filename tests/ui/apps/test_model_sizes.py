"""What a model is and what its size is worth, in Chromium: the model's page and the board."""

from __future__ import annotations

import csv

import pytest

from coupled_arena.core.records import Origin
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.ui.raw_client import Visitor, differ
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.visiting import open_tab, shoot_both

# Models that are equal part only where each has noise of its own.
CONFIG = """
[sampling]
max_new_tokens = 48
[battle]
coupled_share = 0.0
"""
SIZES = {"tall": ("8000000000", "2.00"), "small": ("1000000000", "2.06")}


def facts(model):
    weights, each = SIZES[model]
    named = {"source": "hub/one", "dtype": "bfloat16", "quantization": "none"}
    named |= {"weights": weights, "bytes per weight": each}
    return {f"{model}/{name}": value for name, value in named.items()}


def fill(folder, imported=False):
    """Store votes by which the tall model is surely better; an odd one has no size."""
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        for number in range(180):
            pair = [("tall", "small"), ("tall", "odd"), ("small", "odd")][number % 3]
            told = (
                {}
                if imported
                else {
                    name: value
                    for each in pair
                    if each in SIZES
                    for name, value in facts(each).items()
                }
            )
            battle = make_battle(*pair, origin=Origin.GENERATE, arithmetic=told, replies=())
            batch.add_battle(battle)
            first = number % 3 != 2 or number % 2
            ranks = (1, 2) if first and number % 30 else (2, 1)
            batch.cast(make_vote(battle, *ranks, voter=f"voter {number % 60}"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    fill(folder)
    with serving(folder, CONFIG + EQUAL_MODELS) as running:
        yield running


def test_a_board_and_a_page_with_sizes(served, visit, tmp_path):
    page = visit(served.url)
    open_tab(page, "Leaderboard")
    figure = page.locator("#board-memory")
    figure.locator(".main-svg").first.wait_for()
    said = figure.inner_text()
    assert "Quality against memory" in said
    assert "1 model of unknown size is left out" in said
    assert {"tall", "small"} <= set(said.split())
    page.locator("#board-memory-table summary").click()
    rows = page.locator("#board-memory-table tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["tall", "small"]
    assert ["16 GB" in rows[0], "2.06 GB" in rows[1]] == [True, True]
    with page.expect_download() as download:
        page.locator("#board-memory-foot [data-kind=csv]").click()
    download.value.save_as(tmp_path / "sizes.csv")
    with (tmp_path / "sizes.csv").open(newline="") as file:
        assert [float(row["memory"]) for row in csv.DictReader(file)] == [1.6e10, 2.06e9]
    shoot_both(page, tmp_path, "board-memory")
    page.locator("#board-memory-table a", has_text="small").click()
    page.wait_for_selector(".battles .glance")
    glance = page.locator(".glance > div").all_inner_texts()
    assert [each.split("\n") for each in glance] == [
        ["Source", "hub/one"],
        ["Precision", "bfloat16"],
        ["Weights", "1 billion"],
        ["Memory of the weights", "2.06 GB"],
        ["Bits per weight", "16.5"],
    ]
    line = page.locator(".trend")
    assert line.locator("svg path").count() == 2
    assert "180 comparisons on the board" in line.get_attribute("aria-label")
    page.get_by_text("The same as a table").click()
    assert (
        page.locator(".trend .dot").count()
        == page.locator(".battles details[open] tbody tr").count()
    )
    shoot_both(page, tmp_path, "model-page")
    page.goto(f"{served.url}/?model=odd")
    page.wait_for_selector(".battles .headline")
    page.wait_for_selector(".trend")
    assert page.locator(".glance").count() == 0


def test_an_open_round_tells_no_size(served):
    """Real models have sizes, which are stored with the round: nobody hears of them before."""
    visitor = Visitor(served.url)
    visitor.ask(stop=differ)
    look, before = visitor.dependency("look", "battles"), len(visitor.heard)
    for query in ("?model=left", "?model=right", "?tab=battles"):
        visitor.call(look, [], {"query": query})
    heard = bytes(visitor.heard[before:])
    assert b"No battle here is of a model of this name" in heard
    for told in (b"bytes per weight", b"Bits per weight", b"glance"):
        assert told not in heard
    visitor.vote()
    told = visitor.call(look, [], {"query": "?model=left"})
    assert dict(told["data"][0]["model"]["glance"])["Bits per weight"]


def test_votes_without_sizes_have_a_board_as_before(tmp_path, visit):
    fill(tmp_path, imported=True)
    with serving(tmp_path, EQUAL_MODELS) as running:
        page = visit(running.url)
        open_tab(page, "Leaderboard")
        page.wait_for_selector("#board-pairs .main-svg")
        assert page.locator("#board-memory").is_hidden()
        assert page.locator("#board-memory-table").is_hidden()
