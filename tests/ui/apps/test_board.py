"""The leaderboard as people use it, in Chromium, on a store that already has votes."""

from __future__ import annotations

import csv
import hashlib
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from coupled_arena.core.records import Mode, Prompt
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.visitor import COOKIE
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote
from tests.ui.fields import enter
from tests.ui.raw_client import Visitor, speak
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.visiting import open_tab

SECRET = "a" * 32
MYSELF = hashlib.blake2b(f"cookie {SECRET}".encode(), digest_size=8).hexdigest()
VOTES = "Number(document.querySelector('#board tbody tr')?.cells[4].textContent)"


def vote(store, ranks, times, *, voter="ann", mode=Mode.COUPLED):
    for _ in range(times):
        battle = make_battle("left", "right", mode=mode, replies=(), prompts=())
        store.add_battle(battle)
        store.cast(make_vote(battle, *ranks, voter=voter))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        vote(batch, (1, 2), 13)
        vote(batch, (2, 1), 6)
        vote(batch, (2, 1), 7, mode=Mode.INDEPENDENT)
        vote(batch, (1, 2), 4, mode=Mode.INDEPENDENT)
        vote(batch, (2, 1), 5, voter=MYSELF)
    with serving(folder, EQUAL_MODELS) as running:
        yield running


def open_board(visit, url, **options):
    page = visit(url, **options)
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board .board")
    page.get_by_role("button", name="How this was computed, and filters").click()
    return page


@pytest.fixture(scope="module")
def lasting_board(served, stay):
    return open_board(stay, served.url)


@pytest.fixture
def board(lasting_board):
    """The leaderboard of a visitor who chose nothing."""
    yield lasting_board
    set_alpha(lasting_board, 0.05)
    choose_mode(lasting_board, "All battles")
    lasting_board.get_by_label("My votes only").set_checked(False)


def ranks(page):
    """Return the ranks that the table gives each model."""
    return page.locator("#board tbody tr td:nth-child(1)").all_inner_texts()


def set_alpha(page, value):
    field = page.locator("#board-alpha input[type=number]")
    enter(field, str(value))
    field.press("Enter")


def choose_mode(page, name):
    page.locator("#board-mode").get_by_text(name).click()


def test_the_error_level_changes_rank_sets(board):
    set_alpha(board, 0.01)
    board.wait_for_function("document.querySelector('#board th:nth-child(4)').textContent[1] == 9")
    assert ranks(board) == ["1–2", "1–2"]
    board.wait_for_function(
        "document.querySelector('#board-rank-sets').textContent.includes('99%')"
    )
    board.locator("#board-said").get_by_text(" may each be first, 99% sure").wait_for()
    choose_mode(board, "Coupled")
    set_alpha(board, 0.4)
    for said in ("60%", "coupled battles"):
        board.wait_for_function(
            f"document.querySelector('#board-rank-sets').textContent.includes('{said}')"
        )


def test_sets_for_each_model_alone_and_ties_as_a_win_for_neither_are_said(board):
    said, table = board.locator("#board-said"), board.locator("#board")
    for label, value in (
        ("Rank-sets hold", "For each model alone"),
        ("A tie is", "A win for neither"),
    ):
        choose(board, label, value)
    said.get_by_text("A model that you chose before you looked has").wait_for()
    table.get_by_text("Each rank-set holds at 95% for its model alone").wait_for()
    table.get_by_text("A tie counts as a win for neither").wait_for()
    board.wait_for_function(
        "document.querySelector('#board-rank-sets').textContent.includes('95%, each model alone')"
    )
    choose(board, "Rank-sets hold", "For all models together")
    choose(board, "A tie is", "Half a win for both")
    table.get_by_text("A tie counts as a win for neither").wait_for(state="detached")


def choose(page, label, value):
    page.get_by_label(label).click()
    page.get_by_role("option", name=value).click()


def test_modes_are_shown_apart(board):
    board.wait_for_selector("#board-modes .js-plotly-plot .main-svg")
    assert board.evaluate(VOTES) >= 35
    choose_mode(board, "Independent")
    board.wait_for_function(f"{VOTES} < 20")
    board.wait_for_function(
        "document.querySelector('#board-win-rates').textContent.includes('independent battles')"
    )
    board.wait_for_selector("#board-modes", state="detached")


def test_a_personal_board_is_of_the_cookie_s_votes(served, board, visit):
    cookie = {"name": COOKIE, "value": SECRET, "domain": urlsplit(served.url).hostname}
    cookie |= {"path": "/", "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Lax"}
    state = {"cookies": [cookie], "origins": []}
    mine = open_board(visit, served.url, storage_state=state)
    for page in (mine, board):
        page.get_by_label("My votes only").check()
    mine.wait_for_function(f"{VOTES} === 5")
    board.wait_for_selector("#board-said >> text=You have not voted")
    board.wait_for_selector("#board-win-rates", state="detached")


@pytest.mark.parametrize("name", ["rank-sets", "win-rates", "pairs", "modes"])
def test_figures_are_saved_as_pictures_and_numbers(board, tmp_path, name):
    figure = f"board-{name}"
    board.wait_for_selector(f"#{figure} .js-plotly-plot .main-svg")
    saved = {}
    for kind in ("png", "svg", "csv"):
        with board.expect_download() as download:
            board.locator(f"#{figure}-foot [data-kind={kind}]").click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
        assert saved[kind].suffix == f".{kind}"
    assert saved["png"].read_bytes().startswith(b"\x89PNG")
    shown = board.locator(f"#{figure} .main-svg").first.bounding_box()
    settings = board.evaluate(
        f"document.querySelector('#{figure} .js-plotly-plot').layout.meta.method"
    )
    with Image.open(saved["png"]) as image:
        assert image.height == pytest.approx(3 * (shown["height"] + 16 * len(settings)), abs=4)
    drawn = "".join(ElementTree.parse(saved["svg"]).getroot().itertext())
    assert all(setting in drawn for setting in settings)
    assert ElementTree.parse(saved["svg"]).getroot().tag.endswith("svg")
    with saved["csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert {row["model"] for row in rows} == {"left", "right"}


def test_a_vote_cast_elsewhere_moves_the_board_and_nothing_else_does(served, board):
    board.wait_for_selector("#board-win-rates .js-plotly-plot .main-svg")
    board.evaluate("document.querySelector('#board .board').drawn = 'once'")
    board.evaluate("document.querySelector('#board-win-rates .main-svg g').drawn = 'once'")
    for _ in range(3):
        with board.expect_request(lambda request: "queue/join" in request.url):
            pass  # the board looks whether there is a new vote
    assert board.evaluate("document.querySelector('#board .board').drawn") == "once"
    assert board.evaluate("document.querySelector('#board-win-rates .main-svg g').drawn") == "once"
    elsewhere = Visitor(served.url)
    elsewhere.ask(stop=speak)
    votes = board.evaluate(VOTES) + 1
    assert elsewhere.vote([1, 1])  # of one model twice: the words may be the same
    board.wait_for_function(f"{VOTES} === {votes}")
    # Figures take longer to draw than the table.
    board.locator("#board-win-rates .gtitle-subtitle").get_by_text(
        f"{votes} comparisons"
    ).wait_for()
    assert board.evaluate(VOTES) == votes


def test_several_judges_help_together(tmp_path, visit):
    rng = np.random.default_rng(3)
    with Store.open(tmp_path / "arena.duckdb") as store, at_once(store) as batch:
        for number in range(60):
            battle = make_battle("left", "right", prompts=(Prompt(f"Why {number}?"),), replies=())
            batch.add_battle(battle)
            truth = int(rng.integers(2))
            if number < 30:
                batch.cast(make_vote(battle, *((1, 2), (2, 1))[truth]))
            for name in ("ann", "<b>ben</b>"):
                said = truth if rng.random() < 0.8 else 1 - truth
                judge(batch, name, battle, 0, 1, ("first", "second")[said])
    with serving(tmp_path, EQUAL_MODELS) as served:
        page = open_board(visit, served.url)
        page.locator("#board-source").get_by_text("Both together").click()
        page.locator("#board-saved").get_by_text("With this judge a model keeps").wait_for()
        choose(page, "More judges", "ann")
        saved = page.locator("#board-saved")
        saved.get_by_text("With these judges a model keeps").wait_for()
        saved.get_by_text("their verdicts weigh <b>ben</b> 0.").wait_for()
        page.locator("#board-source").get_by_text("Judge", exact=True).click()  # one alone
        saved.get_by_text("With this judge a model keeps").wait_for()
        page.locator("#board-source").get_by_text("People", exact=True).click()
        saved.wait_for(state="hidden")
        assert not page.get_by_role("alert").all()
