"""Tables in Chromium: sorted, searched, the same after a redraw; and the pages of their models."""

from __future__ import annotations

import pytest

from coupled_arena.core.records import Outcome, new_id
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.ui.raw_client import Visitor, speak
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.visiting import open_tab

HOSTILE = '<img src=x onerror="window.hacked=1">'
PROBABILITIES = {"gpt": 0.55, "bare": None, "claude": 0.085, "judy": 0.9}
FEW = "few"  # wins always, which may be chance
WINS = {f"model-{number}": number for number in range(2, 13)} | {HOSTILE: 30, FEW: 3}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sorting")
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        for name, wins in WINS.items():
            for number in range(wins + (name != FEW) * 2):
                battle = make_battle(name, "left", replies=(), prompts=())
                batch.add_battle(battle)
                batch.cast(make_vote(battle, *((1, 2) if number < wins else (2, 1))))
        battle = make_battle(FEW, "left", id="judged", replies=(), prompts=())
        batch.add_battle(battle)
        for voter in ("cy", "ann", "bob"):
            batch.cast(make_vote(battle, 1, 1, voter=voter))
        for judge, probability in PROBABILITIES.items():
            verdict = Verdict(new_id(), battle.id, judge, 0, 1, Outcome.TIE, "", probability)
            batch.verdicts.append(verdict)
    with serving(folder, EQUAL_MODELS) as running:
        yield running


@pytest.fixture
def board(served, visit):
    page = visit(served.url)
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board .board .sort")
    return page


def heading(page, name):
    return page.locator("#board").get_by_role("columnheader", name=name)


def press(page, name):
    """Press a heading as the keyboard does; return how the column is sorted then."""
    heading(page, name).locator("button.sort").press("Enter")
    return heading(page, name).get_attribute("aria-sort")


def column(page, number, table="board"):
    """Return what a column shows, all of one moment: rows are drawn into what rows there were."""
    cells = f"#{table} tbody tr:not([hidden]) > :nth-child({number})"
    return page.evaluate(
        "cells => [...document.querySelectorAll(cells)].map(cell => cell.textContent)", cells
    )


def numbers(page, number):
    return [int(text) for text in column(page, number)]


def names(page, table="board"):
    return column(page, 2 if table == "board" else 1, table)


def test_a_heading_sorts_by_the_value_then_the_other_way_then_not_at_all(board):
    before = names(board)
    assert press(board, "Wins") == "descending"
    wins = numbers(board, 7)
    assert wins == sorted(wins, reverse=True)
    assert len(set(wins)) > 9  # some have two digits, which texts would put before those of one
    assert press(board, "Wins") == "ascending"
    assert numbers(board, 7) == sorted(wins)
    assert press(board, "Model") == "ascending"
    assert names(board)[3:7] == ["model-2", "model-3", "model-4", "model-5"]
    assert heading(board, "Wins").get_attribute("aria-sort") is None
    assert press(board, "Model") == "descending"
    assert press(board, "Model") is None
    assert names(board) == before
    assert board.evaluate("window.hacked === undefined")


def test_an_interval_is_sorted_by_its_estimate(board):
    press(board, "Win rate")
    by_estimate = names(board)
    press(board, "interval")
    assert heading(board, "interval").get_attribute("aria-sort") == "descending"
    assert heading(board, "Win rate").get_attribute("aria-sort") is None
    assert names(board) == by_estimate
    lows = column(board, 4)
    assert lows != sorted(lows, key=lambda text: -float(text.split("%")[0]))


def test_order_search_and_focus_stay_when_a_vote_redraws_the_board(served, board):
    press(board, "Comparisons")
    press(board, "Comparisons")
    field = board.locator("#board").get_by_label("Find by model")
    assert not board.locator("#board-pair-table .search").is_visible()
    board.locator("#board-pair-table summary").press("Enter")
    pairs = board.locator("#board-pair-table")
    pairs.get_by_label("Find by model").fill("left")
    pairs.get_by_role("columnheader", name="few").locator("button.sort").press("Enter")
    field.fill("LEFT")
    assert names(board) == ["left"]
    assert board.locator("#board .search [role=status]").inner_text() == f"1 of {len(WINS) + 1}"
    field.fill("e")
    found = names(board)
    votes = "[...document.querySelectorAll('#board tbody tr')]"
    votes += ".reduce((sum, row) => sum + Number(row.cells[4].textContent), 0)"
    for focused in (field, heading(board, "Comparisons").locator("button.sort")):
        focused.focus()
        cast = board.evaluate(votes)
        elsewhere = Visitor(served.url)
        elsewhere.ask(stop=speak)
        assert elsewhere.vote([1, 1])  # of one model twice: the words may be the same
        board.wait_for_function(f"{votes} > {cast}")
        assert heading(board, "Comparisons").get_attribute("aria-sort") == "ascending"
        counts = numbers(board, 5)
        assert counts == sorted(counts)
        assert names(board) == found
        assert names(board, "board-pair-table") == ["left"]
        assert pairs.get_by_role("columnheader", name="few").get_attribute("aria-sort")
        assert field.input_value() == "e"
        assert focused.evaluate("node => node === document.activeElement")
    field.fill("")
    assert len(names(board)) == len(WINS) + 2


def test_a_name_leads_to_the_model_s_page_and_its_numbers_to_battles(board):
    row = board.locator("#board tbody tr", has_text="<img src=x")
    rate = row.locator("td", has_text="%").first.inner_text().strip()
    row.locator("a").first.click()
    board.wait_for_selector(".battles[aria-busy=false] h2")
    assert board.locator(".battles h2").inner_text() == HOSTILE
    said = board.locator(".battles .headline").inner_text()
    assert f"People prefer it in {rate} of comparisons with all others" in said
    assert said.endswith("95% interval; 32 comparisons).")
    assert board.locator(".battles .history .days").count() == 1
    won = board.locator(".battles .numbers a", has_text="30/32")
    won.click()
    board.locator(".battles .headline", has_text="32 comparisons, in 32 battles.").wait_for()
    board.go_back()
    board.locator(".battles .numbers").get_by_role("link", name="left").click()
    board.locator(".battles h2", has_text="left").wait_for()
    against = board.locator(".battles .numbers tbody tr", has_text="few")
    assert "few votes" in against.first.inner_text()
    board.reload()
    board.locator(".battles h2", has_text="left").wait_for()
    board.evaluate(
        "window.dispatchEvent(new CustomEvent('arena:go', { detail: '?model=nobody%3Cb%3E' }))"
    )
    board.locator(".battles .broken", has_text="No battle here is of a model").wait_for()
    assert board.evaluate("window.hacked === undefined")


def opponents(page):
    """Return how the table of a model's opponents is shown, all of one moment."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".battles .numbers")].at(-1)
            .querySelectorAll("tbody tr:not([hidden])").values()
            .map((row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent)).toArray()"""
    )


def of_how_many(row):
    return int(row[3].split("/")[1])


@pytest.fixture
def strong(served, visit):
    """The page of a model that has met thirteen others."""
    page = visit(f"{served.url}/?model=left")
    page.locator(".battles .numbers").last.locator(".sort").first.wait_for()
    return page


def test_the_table_of_a_model_s_page_is_sorted_and_searched_however_often_it_is_drawn(strong):
    table = strong.locator(".battles .numbers").last
    before = opponents(strong)
    head = table.get_by_role("columnheader", name="Won, of how many")
    for direction in ("descending", "ascending"):
        head.locator("button.sort").press("Enter")
        assert head.get_attribute("aria-sort") == direction
    shown = opponents(strong)
    assert shown == sorted(before, key=of_how_many)
    assert shown != before
    field = strong.get_by_label("Find by opponent")
    field.fill("model-1")
    found = [row for row in shown if "model-1" in row[0]]
    assert opponents(strong) == found
    assert len(found) == 3
    strong.evaluate("window.dispatchEvent(new Event('arena:address'))")  # draws the page again
    strong.wait_for_function("document.activeElement?.type === 'search'")
    assert opponents(strong) == found
    assert field.input_value() == "model-1"
    assert head.get_attribute("aria-sort") == "ascending"
    assert head.inner_text().startswith("Won, of how many")
    field.fill("")
    rates = table.get_by_role("columnheader", name="Win rate")
    rates.locator("button.sort").press("Enter")
    shares = [float(row[1].rstrip("%")) for row in opponents(strong)]
    assert shares == sorted(shares, reverse=True)
    for _ in range(2):
        rates.locator("button.sort").press("Enter")
    assert rates.get_attribute("aria-sort") is None
    assert opponents(strong) == before


def test_the_tables_of_a_battle_are_sorted(served, visit):
    page = visit(f"{served.url}/?battle=judged")
    votes, verdicts = (page.locator(".battles .said").nth(at) for at in range(2))
    verdicts.locator(".sort").first.wait_for()
    who = votes.locator("tbody td:nth-child(2)")
    votes.get_by_role("columnheader", name="Who").locator("button.sort").click()
    assert who.all_inner_texts() == ["ann", "bob", "cy"]
    judges = verdicts.locator("tbody td:first-child")
    verdicts.get_by_role("columnheader", name="Probability").locator("button.sort").click()
    assert judges.all_inner_texts() == ["judy", "gpt", "claude", "bare"]  # what is unknown is last
    assert page.locator(".battles .search").count() == 0


AT_THE_EDGE = """() => {
    const figure = document.querySelector("#board-pairs");
    const ticks = [...figure.querySelectorAll(".yaxislayer-above text")];
    return [...figure.querySelectorAll(".row-names span")].map((name, at) => {
        const { left, right, top, bottom } = name.getBoundingClientRect();
        const row = ticks[at].getBoundingClientRect();
        const level = Math.abs(top + bottom - row.top - row.bottom) < 4;
        const seen = name.checkVisibility({ visibilityProperty: true });
        return [name.textContent, seen && left >= 0 && right <= 390 && level];
    });
}"""


def swipe(page, start, end, y=422):
    """Draw a finger over the page, sideways."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *xs):
        points = [{"x": x, "y": y} for x in xs]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", start)
    for step in range(1, 11):
        touch("touchMove", start + (end - start) * step / 10)
    touch("touchEnd")


def test_a_phone_moves_a_matrix_sideways_and_the_names_of_its_rows_stay(served, visit):
    page = visit(f"{served.url}/?tab=leaderboard", has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    matrix = page.locator("#board-pairs")
    matrix.locator(".row-names").wait_for(state="attached")
    matrix.evaluate("figure => figure.scrollIntoView({ block: 'center' })")
    in_place = page.evaluate(AT_THE_EDGE)
    assert {seen for _, seen in in_place} == {False}  # the figure's own are there
    swipe(page, 300, 100)
    page.wait_for_function("document.querySelector('#board-pairs').scrollLeft > 100")
    page.wait_for_selector("#board-pairs .row-names.staying")
    held = page.evaluate(AT_THE_EDGE)
    assert page.url.endswith("?tab=leaderboard")  # a finger that moves is no click on a cell
    assert [seen for _, seen in held] == [True] * len(held)
    models = [name for name, _ in held]
    assert len(set(models)) == len(models) > len(WINS)  # a vote of another test may bring one more
    assert {"left", "model-12", FEW} < set(models)
    assert max(map(len, models)) <= 16
    page.set_viewport_size({"width": 1440, "height": 900})  # where there is room for all of it
    matrix.locator(".row-names").wait_for(state="detached")
    assert page.evaluate("window.hacked === undefined")
