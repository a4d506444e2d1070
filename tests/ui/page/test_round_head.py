"""What stands where in a round: a menu for what is seldom wanted, the result above the answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.battles.blind_view import TurnView
from tests.ui.conftest import new_page
from tests.ui.static_page import let_go, stages, static_page, tell

BETWEEN = """() => {
    const parts = [...document.querySelector("#round .round").children];
    const answers = parts.findLastIndex((node) => node.matches(".answers"));
    return parts.slice(answers + 1).filter((node) => !node.matches(".bar")).map((n) => n.className);
}"""
ORDER = """names => names.map((name) => document.querySelector(`#round ${name}`)
    .getBoundingClientRect().top)"""
MENU = "#round .menu"


@pytest.fixture(scope="module")
def page(browser):
    opened = new_page(browser, "", {})
    opened.set_viewport_size({"width": 1440, "height": 900})
    static_page(opened)
    yield opened
    opened.context.close()


@pytest.fixture(autouse=True)
def calm(page):
    yield
    let_go(page)


def states(page):
    """Return icon and words of each answer's state."""
    return page.locator("#round .state").all_text_contents()


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("stored", [False, True])
def test_nothing_is_between_the_answers_and_the_vote(page, size, stored):
    for stage, view in stages(size, stored=stored, name=f"{size} {stored}").items():
        tell(page, view)
        if stage not in ("recorded", "revealed"):
            assert page.evaluate(BETWEEN) == [], stage


@pytest.mark.parametrize("height", [700, 1400])
def test_the_answers_reach_down_to_the_bar(page, height):
    page.set_viewport_size({"width": 1440, "height": height})
    tell(page, stages(name=f"reach {height}")["answered"])
    low, high = page.evaluate(
        """() => [document.querySelector("#round .newest").getBoundingClientRect().bottom,
            document.querySelector("#round .bar").getBoundingClientRect().top]"""
    )
    assert 0 <= high - low <= 16
    page.set_viewport_size({"width": 1440, "height": 900})


def test_the_menu_opens_by_keys_and_esc_closes_it(page):
    tell(page, stages(name="menu")["answered"])
    summary, inside = page.locator(f"{MENU} > summary"), page.locator(f"{MENU} .inside")
    assert not inside.is_visible()
    assert page.locator(f"{MENU} .commitment").text_content() == "Commitment menu"
    summary.focus()
    page.keyboard.press("Enter")
    assert inside.is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.reading input')")
    page.keyboard.press("Escape")
    assert not inside.is_visible()
    assert summary.evaluate("node => node === document.activeElement")
    page.keyboard.press("Space")
    page.locator("#round h2").click()  # elsewhere
    assert not inside.is_visible()


def test_a_press_on_a_switch_s_words_turns_it_and_the_menu_stays(page):
    """The words take no focus, so the round gets it; the page once crashed below the pointer."""
    tell(page, stages(name="pressed")["answered"])
    page.locator(f"{MENU} > summary").click()
    words = page.get_by_text("Formatted texts")
    box = page.locator("#round .reading input")
    assert box.is_checked()
    for checked in (False, True):
        words.click()
        let_go(page)
        assert box.is_checked() is checked
        assert words.is_visible()
    page.locator(f"{MENU} .commitment").click()  # takes no focus either
    let_go(page)
    assert words.is_visible()
    page.locator("#round .question").click()
    assert not words.is_visible()


def test_the_panel_s_focus_is_seen_at_its_headline(page):
    tell(page, stages(name="focus")["answered"])
    page.keyboard.press("Shift")  # as somebody with a keyboard
    page.evaluate("document.querySelector('#round .round').focus()")
    outlines = page.evaluate(
        """() => ["#round .round", "#round h2"].map((name) =>
            getComputedStyle(document.querySelector(name)).outlineStyle)"""
    )
    assert outlines == ["none", "solid"]
    named = page.get_by_role("region", name="Answers and your vote")
    assert named.evaluate("node => node === document.activeElement")


def test_each_card_says_how_its_answer_is(page):
    kinds = stages(name="states")
    tell(page, kinds["asked"])
    assert states(page) == ["✎being written"] * 2
    tell(page, replace(kinds["asked"], ahead=2))
    assert states(page) == ["…waits"] * 2
    tell(page, kinds["answered"])
    assert states(page) == ["✓done"] * 2
    (turn,) = kinds["answered"].turns
    ends = TurnView(turn.prompt, turn.answers, cut_at=(7, None), stopped=(False, True))
    tell(page, replace(kinds["revealed"], turns=(ends,)))
    assert states(page) == ["✂cut at 7 tokens", "■stopped"]
    ends = replace(ends, cut_at=(0, None), stopped=(False, False))
    tell(page, replace(kinds["revealed"], turns=(ends,)))
    assert states(page) == ["✂cut at the limit", "✓done"]


def test_the_result_is_above_the_answers_and_reasons_are_below(page):
    tell(page, stages(name="result")["revealed"])
    assert page.locator("#round h2").inner_text() == "Counted: A is better."
    result = page.get_by_role("region", name="The result")
    assert result.inner_text().startswith("A is ann, B is bob.")
    parts = ["h2", ".result", ".newest", ".rationale", ".part", ".reveal", ".bar"]
    tops = page.evaluate(ORDER, parts)
    assert tops == sorted(tops)
    assert page.locator("#round .commitment").count() == 0
    assert "result" in page.locator("#round .proof dd").all_text_contents()


def bar_says(page, visible):
    """Wait until the bar's line is seen or not; return what a screen reader is told of it."""
    page.wait_for_function(
        """visible => {
            const box = document.querySelector("#round .said").getBoundingClientRect();
            return (box.width > 1) === visible;
        }""",
        arg=visible,
    )
    return page.get_by_role("status").text_content()


def test_the_result_stands_once_where_one_looks_and_is_announced(page):
    view = stages(name="once")["revealed"]
    (turn,) = view.turns
    long = replace(turn, answers=("word\n" * 200, "other\n" * 200))
    tell(page, replace(view, turns=(long,)))
    said = "Counted: A is better. A is ann, B is bob."
    assert bar_says(page, visible=False) == said
    bar = page.locator("#round .bar").bounding_box()
    page.mouse.wheel(0, 2000)
    assert bar_says(page, visible=True) == said
    page.mouse.wheel(0, -4000)
    assert bar_says(page, visible=False) == said
    assert page.locator("#round .bar").bounding_box() == bar
    tell(page, stages(name="once more")["recorded"])
    assert bar_says(page, visible=True) == "Recorded: A is better."
