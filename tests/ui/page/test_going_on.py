"""Votes on stored battles that go on to the next: what the page sends, and what it offers then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui.static_page import buttons, stages, tell

DEAF = 400  # milliseconds
LAST = {"vote": "w", "ranks": [2, 1], "both_bad": False, "early": False, "left": 5.0}
RANKS = {"1": ([1, 2], False), "2": ([1, 1], False), "3": ([1, 1], True), "4": ([2, 1], False)}


@pytest.fixture
def page(stopped_page):
    return stopped_page


def shown(page, name, *, blind=True, stored=True, size=2, **more):
    """Show a round and wait until its buttons hear; return their places."""
    tell(page, replace(stages(size, stored=stored, name=name)["answered"], blind=blind), **more)
    page.clock.run_for(2 * DEAF)
    page.evaluate("window.sent.length = 0")
    return {each["at"]: each for each in buttons(page)}


def sent(page):
    return page.evaluate("window.sent.splice(0)")


@pytest.mark.parametrize("key", RANKS)
def test_keys_1_to_4_vote_as_the_buttons_stand_and_go_on(page, key):
    shown(page, f"digit {key}")
    page.keyboard.press(key)
    ranks, both_bad = RANKS[key]
    assert sent(page) == [["vote", {"ranks": ranks, "both_bad": both_bad, "go_on": True}]]


@pytest.mark.parametrize(("blind", "stored"), [(False, True), (False, False)])
def test_where_names_are_told_a_vote_stays(page, blind, stored):
    shown(page, f"stays {stored}", blind=blind, stored=stored)
    assert page.locator("#round .stay").count() == 0
    page.keyboard.press("a")
    assert sent(page)[0][1]["go_on"] is False


def test_one_may_choose_to_stay(page):
    shown(page, "choose")
    page.locator("#round .menu > summary").click()
    page.locator("#round .stay input").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    assert sent(page)[0][1]["go_on"] is False
    page.locator("#round .menu > summary").click()
    page.locator("#round .stay input").check()
    page.keyboard.press("Escape")


def test_the_vote_before_can_be_undone_as_long_as_its_time_lasts(page):
    recorded = stages(stored=True, name="time")["recorded"]
    tell(page, replace(recorded, blind=True))
    page.clock.run_for(2 * DEAF)  # while the mouse is down nothing moves, and a moment longer
    (place,) = (each["box"] for each in buttons(page) if each["at"] == "undo")
    there = shown(page, "time is", last=LAST)
    assert there["undo"]["box"] == place
    assert page.locator("#round .said").text_content() == "Recorded before: B is better."
    page.keyboard.press("u")
    page.keyboard.press("Backspace")
    assert sent(page) == [["back", {"undo": True}]] * 2
    page.clock.run_for(5000)
    assert {each["at"] for each in buttons(page)} == {*there} - {"undo"}
    assert page.locator("#round .said").text_content() == ""
    page.keyboard.press("u")
    assert sent(page) == []


def test_after_an_undo_the_page_says_so(page):
    shown(page, "second", last=LAST | {"vote": "x"})
    page.keyboard.press("u")
    shown(page, "first")
    assert page.locator("#round .said").text_content() == "Undone. Vote again."


def test_reasons_are_a_key_away(page):
    shown(page, "reasons", last=LAST | {"vote": "y", "left": 0.0})
    page.keyboard.press("w")
    assert sent(page) == [["back", {"undo": False}]]


def test_of_an_order_backspace_takes_back_the_last_place(page):
    shown(page, "order", size=3, last=LAST | {"vote": "z", "ranks": [1, 2, 3]})
    page.keyboard.press("2")
    page.keyboard.press("Backspace")
    assert page.locator("#round .place").count() == 0
    page.keyboard.press("u")
    assert sent(page) == [["back", {"undo": True}]]
