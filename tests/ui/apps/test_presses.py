"""Presses, keys, focus and selections while answers stream, in Chromium."""

from __future__ import annotations

import pytest

from tests.ui import streaming_app
from tests.ui.server import serving_page
from tests.ui.visiting import open_menu

TEXT = "#round .answer .text"
PARAGRAPH = f"{TEXT} p"
COMPARED = "#comparison .answer .text span:last-child"
COMMITMENT = "document.querySelector('#round .commitment').textContent"
STOP = "#round .ballot >> text=Stop"


@pytest.fixture(scope="module")
def url():
    """The address of a page whose answers grow at 10 Hz, see `streaming_app`."""
    with serving_page(streaming_app.launch) as address:
        yield address


@pytest.fixture(scope="module")
def page(url, stay):
    opened = stay(url)
    opened.wait_for_selector(STOP)
    return opened


@pytest.fixture
def begin(page):
    """Begin a round of so many answers on the page that tests share, as if nobody had used it."""

    def begun(size):
        before = page.evaluate(COMMITMENT)
        page.fill("#elsewhere textarea", "")
        page.click(f"#begin-{size}")
        page.wait_for_function(f"before => {COMMITMENT} !== before", arg=before)
        return page

    return begun


def grow(page, selector=TEXT, characters=60):
    """Wait until answers that are on show have grown by so many characters."""
    page.wait_for_function(
        """([selector, characters]) => {
            const length = document.querySelector(selector).textContent.length;
            window.begun ??= length;
            if (length < window.begun + characters) return false;
            delete window.begun;
            return true;
        }""",
        arg=[selector, characters],
    )


NOTE_PRESSES = """() => document.addEventListener("mousedown", (event) => {
    window.pressed = event.target.closest("button")?.firstChild.textContent ?? null;
}, true)"""
MIDDLE_OF = """label => {
    const buttons = [...document.querySelectorAll("#round .ballot button")];
    const box = buttons.find((b) => b.firstChild.textContent === label).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


def press(page, label, milliseconds):
    """Press a button with the mouse, as long as a hand does; growing answers do not move it."""
    page.mouse.move(*page.evaluate(MIDDLE_OF, label))
    page.mouse.down()
    page.wait_for_timeout(milliseconds)
    page.mouse.up()
    assert page.evaluate("window.pressed") == label


# Were every tenth press lost, thirty would all count once in twenty-four times.
@pytest.mark.parametrize("presses", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_presses_while_answers_stream_all_count(begin, presses):
    page = begin("2")
    page.evaluate(NOTE_PRESSES)
    for n in range(presses):
        before = page.evaluate(COMMITMENT)
        press(page, "Stop" if n % 2 else "B is better", 50 + 100 * n // presses)
        if n % 2 == 0:
            page.wait_for_function(f"before => {COMMITMENT} !== before", arg=before)
    page.wait_for_function(
        "text => document.querySelector('#arrived textarea').value === text",
        arg=f"{presses // 2} votes, {presses // 2} stops",
    )


@pytest.mark.parametrize("selector", [PARAGRAPH, COMPARED])
def test_a_selection_stays_while_answers_stream(begin, selector):
    page = begin(2)
    grow(page, selector)
    selected = page.evaluate(
        """selector => {
            const text = document.querySelector(selector).firstChild;
            getSelection().setBaseAndExtent(text, 4, text, 30);
            return getSelection().toString();
        }""",
        selector,
    )
    assert len(selected) == 26
    grow(page, selector)
    assert page.evaluate("getSelection().toString()") == selected


def test_a_selection_is_drawn_out_with_the_mouse_while_answers_stream(begin):
    page = begin(2)
    grow(page)
    box = page.locator(TEXT).first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 24)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 24, steps=3)
    page.wait_for_timeout(150)
    page.mouse.up()
    selected = page.evaluate("getSelection().toString()")
    assert selected
    grow(page)
    assert page.evaluate("getSelection().toString()") == selected


# Keys -----------------------------------------------------------------------------------------


def votes(page):
    return page.input_value("#arrived textarea")


def vote_counts(page, key="b"):
    """Press a key that votes, and see that it does: what was pressed before did not."""
    before = page.evaluate(COMMITMENT)
    page.keyboard.press(key)
    page.wait_for_function(f"before => {COMMITMENT} !== before", arg=before)


def in_panel(page):
    return page.evaluate("document.activeElement.closest('#round') !== null")


def test_a_new_question_brings_the_focus_to_the_answers(begin):
    page = begin(2)
    panel = page.get_by_role("region", name="Answers and your vote")
    assert panel.evaluate("node => node === document.activeElement")
    vote_counts(page)
    assert in_panel(page)


def test_keys_that_mean_something_else_do_not_vote(begin):
    page = begin(2)
    keys = ("ArrowLeft", "ArrowRight", "Control+b", "Alt+b", "Shift+B", "Meta+b", "Enter", " ")
    before = votes(page), page.evaluate(COMMITMENT)
    for key in keys:
        page.keyboard.press(key)
        grow(page, characters=15)
        assert (votes(page), page.evaluate(COMMITMENT)) == before, key
    grow(page)
    assert (votes(page), page.evaluate(COMMITMENT)) == before
    vote_counts(page)


def test_keys_do_not_vote_while_a_control_has_the_focus(begin):
    page = begin(2)
    before = page.evaluate(COMMITMENT)
    page.locator("#elsewhere textarea").press_sequentially("but why? bat")
    for selector in ("#begin-3", "#arrived textarea"):
        page.locator(selector).focus()
        page.keyboard.press("b")
    grow(page)
    assert page.evaluate(COMMITMENT) == before
    page.mouse.click(5, 5)  # beside everything: no control has the focus
    vote_counts(page)


def test_a_key_held_down_or_composing_does_not_vote(begin):
    page = begin(2)
    before = page.evaluate(COMMITMENT)
    page.evaluate(
        """() => {
            for (const more of [{repeat: true}, {isComposing: true}, {keyCode: 229}]) {
                const options = {key: "b", bubbles: true, ...more};
                document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
            }
        }"""
    )
    grow(page)
    assert page.evaluate(COMMITMENT) == before
    vote_counts(page)


def test_escape_leaves_a_box_for_the_keys(begin):
    page = begin(2)
    page.locator("#elsewhere textarea").press_sequentially("but why?")
    page.keyboard.press("Escape")
    assert in_panel(page)
    vote_counts(page)


def test_keys_can_be_switched_off_for_good(url, visit):
    page = visit(url)
    page.wait_for_selector(STOP)
    switch = page.locator("#round .keys input")
    assert switch.is_checked()
    page.locator("#round .menu > summary").focus()
    for key in ("Enter", "Tab", "Tab"):
        page.keyboard.press(key)
    assert switch.evaluate("node => node === document.activeElement")
    page.keyboard.press("Space")
    assert not switch.is_checked()
    assert page.locator("#round kbd").count() == 0
    before = page.evaluate(COMMITMENT)
    page.keyboard.press("b")
    page.reload()
    page.wait_for_selector(STOP)
    assert not switch.is_checked()
    page.keyboard.press("b")
    grow(page)
    assert page.evaluate(COMMITMENT) == before
    open_menu(page)
    switch.focus()
    page.keyboard.press("Space")
    assert switch.is_checked()
    vote_counts(page)


# Three answers --------------------------------------------------------------------------------


def test_nodes_and_focus_stay_while_answers_stream(begin):
    page = begin(3)
    kept = "#round .question, #round .answer, #round .answer *, #round .ballot *"
    for selector in (kept, "#comparison *"):
        page.evaluate(
            "s => document.querySelectorAll(s).forEach(node => { node.mine = true; })", selector
        )
    page.locator("#round .ballot button").nth(1).focus()
    grow(page)
    grow(page, COMPARED)
    for selector in (kept, "#comparison *"):
        nodes = page.locator(selector)
        assert nodes.count() > 5
        assert nodes.evaluate_all("nodes => nodes.every(node => node.mine)")
    assert page.evaluate("document.activeElement.innerText").startswith("Level with the last")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText").startswith("Undo")


def test_what_had_the_focus_leaves_it_in_the_panel(begin):
    page = begin(3)
    button = page.get_by_role("button", name="A is next best")
    button.focus()
    page.keyboard.press("Enter")  # the button goes: its answer has a place now
    page.wait_for_selector("#round .place-1")
    assert in_panel(page)


def test_answers_are_ordered_without_mouse_or_number_keys(begin):
    page = begin(3)
    for letter in "CAB":
        page.get_by_role("button", name=f"{letter} is next best").focus()
        page.keyboard.press("Space")
    assert page.locator("#round .place").all_inner_texts() == ["place 2", "place 3", "place 1"]
    before = page.evaluate(COMMITMENT)
    page.get_by_role("button", name="Submit this order").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"before => {COMMITMENT} !== before", arg=before)


# Answers with the same words ------------------------------------------------------------------


def test_two_answers_that_are_the_same_so_far_are_not_voted_on(begin):
    page = begin("2-same")
    before = votes(page), page.evaluate(COMMITMENT)
    assert page.locator("#round").get_by_role("status").inner_text().startswith("The same so far")
    for label in ("A is better", "Tie", "Both are bad", "B is better"):
        button = page.locator("#round .ballot button", has_text=label)
        assert button.get_attribute("aria-disabled") == "true"
        button.click(force=True)  # playwright would wait until it is enabled
        page.keyboard.press(label[0])
    page.keyboard.press("x")
    grow(page)
    assert (votes(page), page.evaluate(COMMITMENT)) == before
    page.locator("#round .ballot button", has_text="Stop").click()
    page.wait_for_function(
        "document.querySelector('#arrived textarea').value === '0 votes, 1 stops'"
    )


def test_two_of_three_with_the_same_words_share_a_place(begin):
    page = begin("3-same")
    note = page.locator("#round").get_by_role("status").inner_text()
    assert note == "A and B have the same words so far: they share the better of their places."
    before = page.evaluate(COMMITMENT)
    for key in ("2", "3", "1", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function(f"before => {COMMITMENT} !== before", arg=before)
    page.wait_for_function("document.querySelector('#ranks textarea').value === '[1, 1, 2]'")
