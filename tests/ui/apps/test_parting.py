"""Why answers parted, on the page: asked for at a click after the vote, and in Compare."""

from __future__ import annotations

import re

import pytest

from tests.ui.raw_client import Visitor, differ
from tests.ui.streams import Streams
from tests.ui.visiting import ask_until_open, compared, open_menu, open_tab, revealed

SORTED = """() => {
    const cells = document.querySelectorAll(".why tbody td:last-child");
    const noises = [...cells].map((cell) => Number(cell.textContent)).filter(Number.isFinite);
    return noises.length > 1 && noises.every((noise, at) => at === 0 || noise <= noises[at - 1]);
}"""


@pytest.fixture
def page(app, visit):
    return visit(app.url)


def test_the_draw_is_laid_open_after_the_vote_and_not_before(app, page):
    ask_until_open(page)
    why = page.get_by_role("button", name="Why did they part?")
    assert why.count() == 0
    page.keyboard.press("a")
    told = revealed(page)
    why.click()
    section = page.get_by_label("Why the answers parted")
    section.wait_for()
    words = " ".join(section.locator("p").all_inner_texts())
    assert re.search("in common the answers differ|From the first token on", words)
    names = page.locator(".answer .name").all_inner_texts()
    assert section.locator("thead th").all_inner_texts()[1:3] == names
    assert section.locator("tbody .chosen").count() == 2
    rows = section.locator("tbody th")
    noise = section.locator("thead th").last
    noise.get_by_role("button").click()
    page.wait_for_function(SORTED)
    sorted_so = rows.all_inner_texts()
    open_menu(page)
    page.get_by_label("Formatted texts").click()
    assert rows.all_inner_texts() == sorted_so  # the panel has drawn its rows again
    assert noise.get_attribute("aria-sort") == "descending"
    noises = len(section.locator("thead th").all_inner_texts()) - 3
    mode = app.wait_for("select mode from battles where battle = ?", told["Battle"])[0]
    assert noises == (1 if mode == "coupled" else 2)
    page.get_by_role("link", name="This battle among all").click()
    page.locator(".battles").get_by_text(told["Seed"]).wait_for()
    page.go_back()
    section.wait_for()  # the round is as it was left


def explained(visitor, turn):
    asked = {"turn": turn, "number": 7}
    output = visitor.call(visitor.dependency("part", "round"), [None], asked)
    (said,) = output["data"]
    assert list(said) == ["reason"]  # nothing else of the round: another may be on show by then
    assert said["reason"]["number"] == 7
    return said["reason"]


def test_it_is_told_after_the_vote_and_to_nobody_else(app, visitor):
    visitor.ask(stop=differ)
    assert explained(visitor, 0)["words"] == ["Vote first: the names are shown after your vote."]
    visitor.vote()
    assert explained(visitor, 0)["rows"]
    for turn in (1, -1, "0", None, [0], 10**30):
        assert "no turn" in explained(visitor, turn)["words"][0]
    stranger = Visitor(app.url, session=visitor.session)
    assert "not open" in explained(stranger, 0)["words"][0]


def test_in_compare_it_is_told_of_what_is_on_show(app, visit):
    page = visit("about:blank")
    streams = Streams(page)
    page.goto(app.url)
    open_tab(page, "Compare")
    streams.wait_for_tab()
    section = page.locator("#comparison").get_by_label("Why the answers parted")
    names = page.locator("#comparison .answer header")
    for mode, noises in [("coupled", 1), ("independent", 2)]:
        _, texts = compared(page, streams, mode, "0123456789abcdef")
        assert texts[0] != texts[1]
        assert section.count() == 0  # that of the last comparison has gone
        page.locator("#comparison").get_by_role("button", name="Why did they part?").click()
        section.wait_for()
        heads = section.locator("thead th").all_inner_texts()
        assert heads[1:3] == names.all_inner_texts()
        assert len(heads) == 3 + noises
        chosen = section.locator("tbody tr:has(.chosen) th").all_inner_texts()
        assert len(chosen) == 2
        said = " ".join(section.locator("p").all_inner_texts())
        assert ("its own noise" in said) == (mode == "independent")
        assert ("the same for both" in said) == (mode == "coupled")
        beginning = section.locator(".common")
        common = page.locator("#comparison .answer .common").first.text_content()
        assert common.startswith(beginning.text_content() if beginning.count() else "")
    open_tab(page, "Battle")
    open_tab(page, "Compare")
    assert section.is_visible()


def test_in_compare_nothing_is_told_of_another_session(app, visitor):
    part = visitor.dependency("part", "comparison")
    given = {"of": "a" * 32, "turn": 0, "number": 3}, {"of": None}, [1], None, "x"
    for asked, number in zip(given, (3, 0, 0, 0, 0), strict=True):
        (said,) = visitor.call(part, [None], asked)["data"]
        assert "compare again" in said["reason"]["words"][0]
        assert said["reason"]["number"] == number
