"""What visitors type on the real page: Enter sends it, and it neither votes nor gets lost."""

from __future__ import annotations

import pytest

from tests.ui.fields import enter
from tests.ui.visiting import (
    ANSWERS,
    QUESTION,
    STOP,
    ask,
    ask_and_stop,
    open_tab,
    revealed,
    stop,
)
from tests.ui.visiting import wait_for_words as words

QUESTION_BOX, MORE_BOX = "#question textarea", "#follow-up textarea"


@pytest.fixture
def page(app, visit):
    opened = visit(app.url)
    opened.wait_for_selector("#ask")
    return opened


def questions(page):
    return page.locator("#round .question").all_inner_texts()


def holds(page, box, text):
    """Wait until a box holds a text."""
    page.wait_for_function(
        "([box, text]) => document.querySelector(box).value === text", arg=[box, text]
    )


def test_a_press_of_the_mouse_stops_the_answers(talkative_app, visit):
    app, page = talkative_app, visit(talkative_app.url)
    page.wait_for_selector("#ask")
    ask(page)
    words(page)
    page.locator(STOP).hover()
    page.mouse.down()
    page.wait_for_timeout(150)
    page.mouse.up()
    page.wait_for_selector(STOP, state="detached")
    page.keyboard.press("t")
    vote = revealed(page)["Vote"]
    query = (
        "select list(finish) from votes join replies using (battle) where vote = ? group by vote"
    )
    assert "cancelled" in app.wait_for(query, vote)[0]


@pytest.mark.parametrize("box", [QUESTION_BOX, MORE_BOX])
def test_enter_sends_and_shift_enter_breaks_the_line(page, box):
    if box == MORE_BOX:
        ask_and_stop(page)
    page.locator(box).press_sequentially("Tell me")
    page.keyboard.press("Shift+Enter")
    page.locator(box).press_sequentially("a story")
    assert page.input_value(box) == "Tell me\na story"
    page.keyboard.press("Enter")
    page.locator("#round .question", has_text="Tell me a story").wait_for()
    assert page.locator("#round .question").last.text_content() == "Tell me\na story"
    holds(page, box, "")


def test_enter_that_ends_a_composition_does_not_send(page):
    """As an input method does it: the key goes to the composition, and no character comes."""
    page.locator(QUESTION_BOX).focus()
    keyboard = page.context.new_cdp_session(page)
    keyboard.send(
        "Input.imeSetComposition",
        dict.fromkeys(("selectionStart", "selectionEnd"), 1) | {"text": "日"},
    )
    key = {"key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    keyboard.send("Input.insertText", {"text": "日本"})
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **key})
    holds(page, QUESTION_BOX, "日本")
    assert questions(page) == []
    page.keyboard.press("Enter")
    page.locator("#round .question", has_text="日本").wait_for()


@pytest.mark.parametrize("box", ["#compare-question textarea", "#compare-seed textarea"])
def test_enter_sends_in_compare(page, box):
    open_tab(page, "Compare")
    enter(page.locator("#compare-question textarea"), "Tell me")
    page.locator("#compare-seed textarea").fill("7")
    page.locator(box).press("Enter")
    page.get_by_text("Seed 0000000000000007").wait_for()


def test_a_follow_up_keeps_the_box_and_what_is_typed_after_it(page):
    ask_and_stop(page)
    page.locator(MORE_BOX).press_sequentially("And then?")
    page.keyboard.press("Enter")
    page.keyboard.type("but-why?")
    # A machine types so fast after Enter that Gradio may send its first letters, too. No blanks:
    # where one comes last in what is sent, it is stripped.
    page.wait_for_function(
        """box => {
            const asked = [...document.querySelectorAll("#round .question")].slice(1);
            const all = asked.map((node) => node.textContent) + document.querySelector(box).value;
            return asked.length === 1 && all === "And then?but-why?";
        }""",
        arg=MORE_BOX,
    )
    words(page)
    page.keyboard.type(" a b t x")
    assert page.input_value(MORE_BOX).endswith("y? a b t x")
    assert page.query_selector(".reveal") is None


def test_a_follow_up_by_button_leaves_the_focus_with_the_answers(page):
    ask_and_stop(page)
    page.fill(MORE_BOX, "And then?")
    page.click("#continue")
    page.wait_for_function(f"{ANSWERS}.length === 4")
    assert (
        page.evaluate("document.activeElement.getAttribute('aria-label')")
        == "Answers and your vote"
    )


def test_who_goes_on_typing_after_enter_does_not_vote(page):
    page.locator(QUESTION_BOX).press_sequentially(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#round .question")
    page.keyboard.type("but why? a b t x")
    holds(page, QUESTION_BOX, "but why? a b t x")
    words(page)
    assert page.query_selector(".reveal") is None


def test_a_question_sent_by_enter_is_voted_on_by_key(page):
    page.locator(QUESTION_BOX).press_sequentially(QUESTION)
    page.keyboard.press("Enter")
    words(page)
    stop(page)
    page.click("#round .question")  # whoever presses the mouse has done with writing
    page.keyboard.press("t")
    page.wait_for_selector(".reveal")


def test_arrows_move_between_tabs_and_do_not_vote(page):
    ask_and_stop(page)
    page.get_by_role("tab", name="Battle", exact=True).focus()
    for key in ("ArrowRight", "ArrowLeft", "b", "a"):
        page.keyboard.press(key)
    open_tab(page, "Battle")
    assert page.query_selector(".reveal") is None
    page.locator("#round h2").click()
    for key in ("ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.query_selector(".reveal") is None
    page.keyboard.press("t")
    page.wait_for_selector(".reveal")


@pytest.mark.parametrize("key", ["n", "r"])
def test_the_next_question_leaves_a_draft_alone(page, key):
    ask_and_stop(page)
    page.keyboard.press("t")
    page.wait_for_selector(".reveal")
    page.locator(QUESTION_BOX).press_sequentially("Why do whales")
    page.keyboard.press("Escape")
    page.keyboard.press(key)
    page.wait_for_selector(".reveal", state="detached")
    words(page)
    assert (questions(page) == [QUESTION]) is (key == "r")
    assert page.input_value(QUESTION_BOX) == "Why do whales"
