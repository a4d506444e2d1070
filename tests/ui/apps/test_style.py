"""The leaderboard with style held fixed, in Chromium, where length moves votes."""

from __future__ import annotations

import pytest

from coupled_arena.store.database import Store
from tests.analysis.styled import TERSE, fill_styled
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.visiting import open_tab


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("style")
    with Store.open(folder / "arena.duckdb") as store:
        fill_styled(store, TERSE, 500)
    with serving(folder, EQUAL_MODELS) as running:
        yield running


@pytest.fixture
def board(served, visit):
    page = visit(served.url)
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board .board")
    page.get_by_role("button", name="How this was computed, and filters").click()
    return page


def hold(page, what):
    page.locator("#board-control").get_by_text(what, exact=True).click()


def test_with_length_held_fixed_the_terse_models_are_ahead(board):
    order = "#board-style-models tbody tr th"
    assert board.locator("#board-style").count() == 0
    hold(board, "Length")
    board.wait_for_selector(order)
    assert board.locator(order).all_inner_texts()[0] == "amber"
    assert board.locator("#board tbody tr th").all_inner_texts()[0] == "dusk"
    board.locator("#board-style-words").get_by_text("a reply twice as long wins").wait_for()
    board.wait_for_selector("#board-style-effects .js-plotly-plot .main-svg")
    hold(board, "Length and Markdown")
    board.locator("#board-style-words").get_by_text(
        "nothing can be held fixed: headings"
    ).wait_for()
    hold(board, "Nothing")
    board.wait_for_selector("#board-style", state="detached")
