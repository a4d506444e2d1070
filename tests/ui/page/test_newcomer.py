"""One line leads a visitor who has never voted to the vote; it moves nothing, then goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.core.records import Source
from tests.ui.conftest import new_page
from tests.ui.static_page import buttons, stages, static_page, tell

HINT = "Read the answers and vote: then you see who wrote them."
SAID = "#round .said"
# Where heads of cards begin, and where the bar does.
PLACES = """() => [...document.querySelectorAll("#round .answer header, #round .bar")]
    .map((node) => node.getBoundingClientRect().y)"""
# Of the line: does it leave the bar, and which buttons does it lie over?
OUTSIDE = """() => {
    const box = (node) => node.getBoundingClientRect();
    const [line, bar] = [".said", ".bar"].map((name) => box(document.querySelector(name)));
    const over = [...document.querySelectorAll("#round .ballot button")].filter((node) => {
        const button = box(node);
        return line.left < button.right && button.left < line.right
            && line.top < button.bottom && button.top < line.bottom;
    }).map((node) => node.className);
    return line.top < bar.top || line.bottom > bar.bottom ? [...over, "outside"] : over;
}"""


@pytest.fixture
def page(browser):
    """A page of somebody who has never voted in this browser."""
    opened = new_page(browser, "", {})
    opened.set_viewport_size({"width": 1440, "height": 900})
    static_page(opened)
    yield opened
    opened.context.close()


def said(page):
    return page.locator(SAID).text_content()


def test_the_line_is_there_until_the_first_vote_of_this_browser(page):
    rounds = stages(name="first")
    tell(page, rounds["asked"])
    assert said(page) == ""  # a live region is read aloud when its words come, not with them
    for stage in ("answering", "answered"):
        tell(page, rounds[stage])
        assert said(page) == HINT
    tell(page, rounds["recorded"])
    assert said(page) == "Recorded: A is better."
    tell(page, rounds["answered"])  # it was undone
    assert said(page) == "Undone. Vote again."
    tell(page, stages(name="second")["answered"])
    assert said(page) == ""
    page.reload()
    tell(page, stages(name="third")["answered"])
    assert said(page) == ""


@pytest.mark.parametrize("source", [Source.IDENTICAL, None])
def test_what_a_visitor_did_not_choose_is_no_first_vote(page, source):
    revealed = stages(name="not mine")["revealed"]
    told = replace(revealed.reveal, source=source, vote="v" if source else None, ranks=(1, 1))
    tell(page, replace(revealed, reveal=told))
    tell(page, stages(name="mine")["answered"])
    assert said(page) == HINT


def test_it_gives_way_to_what_a_round_says_and_is_read_aloud_once(page):
    answering = stages(name="same")["answering"]
    alike = replace(answering, turns=(replace(answering.turns[0], answers=("One", "One")),))
    tell(page, answering)
    assert said(page) == HINT
    tell(page, alike)
    assert said(page).startswith("The same so far")
    tell(page, answering)
    assert said(page) == ""
    tell(page, stages(name="judge")["judging"])
    assert "reads" in said(page)


def test_whoever_annotates_has_none(page):
    for view in stages(stored=True, name="stored").values():
        tell(page, view)
        assert said(page) != HINT


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("size", [2, 3])
def test_nothing_moves_and_nothing_is_covered_as_it_comes_and_goes(page, language, size, width):
    """From the wait for words to the vote: every head, the bar and every button stay."""
    static_page(page, language)
    page.set_viewport_size({"width": width, "height": 844})
    places, boxes = [], {}
    for stage in ("asked", "answering", "answered", "recorded"):
        tell(page, stages(size, name=f"{size} {width} {language}")[stage])
        places.append(page.evaluate(PLACES))
        for each in buttons(page):
            if each["at"] not in ("judge", "mine"):  # they are in the head
                assert boxes.setdefault(each["at"], each["box"]) == each["box"]
        if stage != "recorded":
            assert page.evaluate(OUTSIDE) == []
        if stage == "answered":
            assert said(page)
    heads = {tuple(each[:-1]) for each in places[:3]}
    assert len(heads) == 1
    assert len({each[-1] for each in places}) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
