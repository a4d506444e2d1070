"""Each state of the page, wide and narrow, light and dark: axe-core finds nothing wrong.

Nor does any lead sideways. The apps are an arena before its first vote, with the example beside
it; one where people sign in and vote on stored battles; and one whose answers are cut.
"""

from __future__ import annotations

import pytest

from coupled_arena.core.passwords import hash_password
from coupled_arena.store.database import Store
from tests.small_models import SMALL_MODELS
from tests.stored import fill
from tests.ui import visiting
from tests.ui.fields import enter
from tests.ui.server import serving
from tests.ui.visiting import (
    QUESTION,
    ask,
    ask_and_stop,
    ask_three,
    ask_until_open,
    hears,
    open_menu,
    open_tab,
    revealed,
    wait_for_words,
)

# What goes by itself is seen in both themes before it is gone.
LOOKS = (1440, "light"), (390, "dark"), (390, "light"), (1440, "dark")
LONG = "snapshot_seconds = 0.2\n[sampling]\nmax_new_tokens = 6000\n"
PASSWORD = "correct horse"
SIGN_IN = '[access]\nsign_in = "password"\nusers = {{ ann = "{}" }}\n'


def faults(page):
    """Return what is wrong in each look; the page keeps the last one."""
    found = []
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            "dark => matchMedia('(prefers-color-scheme: dark)').matches === dark"
            " && (!document.querySelector('gradio-app')"
            " || document.body.classList.contains('dark') === dark)",
            arg=scheme == "dark",
        )
        found += [(width, scheme, *each) for each in visiting.violations(page)]
        page.wait_for_function(FITTING)
        found += [(width, scheme, *each) for each in page.evaluate(MUDDLED)]
        beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found += [(width, scheme, "leads sideways", beyond)] if beyond > 0 else []
    return found


# Tabs of an arena before its first vote, and of the example beside it ------------------------

FILLED = {
    "Leaderboard": "#board tbody tr",
    "As good as?": ".gate-verdict",
    "Past battles": ".battles[aria-busy=false] .found li",
    "Data": "#make-files",
    "Audit": "#audit-table tbody tr",
    "Coupling": "#coupling-curves .js-plotly-plot",
    "Risk": "#risk-table tbody tr",
    "Experiments": "#run-experiment",
}
UNFOLD = """() => {
    for (const node of document.querySelectorAll("details:not(.menu)")) node.open = true;
    for (const node of document.querySelectorAll("button.label-wrap:not(.open)")) {
        if (node.checkVisibility()) node.click();
    }
}"""
# Words of axes that lie on others, or beyond the edge of their figure.
MUDDLED = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) => {
    if (!plot.checkVisibility()) return [];
    const frame = plot.querySelector(".main-svg").getBoundingClientRect();
    const words = [...plot.querySelectorAll("[class$=tick] text")]
        .filter((one) => one.textContent.trim());
    const boxes = words.map((one) => one.getBoundingClientRect());
    const meet = (one, other) => Math.min(one.right, other.right) > Math.max(one.left, other.left)
        && Math.min(one.bottom, other.bottom) > Math.max(one.top, other.top) + 2;
    return words.flatMap((word, at) => [
        ...words.slice(at + 1).filter((_, next) => meet(boxes[at], boxes[at + 1 + next])),
        ...(boxes[at].left < frame.left || boxes[at].right > frame.right ? [plot] : []),
    ].map((one) => [plot.ariaLabel, word.textContent, one === plot ? "edge" : one.textContent]));
})"""
# A figure has the width of its place again some time after the window has changed.
FITTING = """() => [...document.querySelectorAll(".figure:has(.main-svg)")].every((figure) =>
    !figure.checkVisibility() || figure.querySelector(".js-plotly-plot").layout.width
    || Math.abs(figure.querySelector(".main-svg").clientWidth - figure.clientWidth) < 4)"""


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("arena"), LONG + SMALL_MODELS, undo=60) as served:
        yield served


@pytest.fixture(scope="module")
def empty_page(arena, stay):
    return stay(arena.url)


@pytest.mark.parametrize("name", [*FILLED, "Compare"])
def test_a_tab_without_data(empty_page, name):
    open_tab(empty_page, name)
    if name != "Compare":
        empty_page.wait_for_selector(".to-example:visible >> text=Look at an example")
    assert faults(empty_page) == []


@pytest.fixture(scope="module")
def example(arena, stay):
    """A page of the example, which has battles, verdicts, scores and runs of all kinds."""
    page = stay(f"{arena.url}/example/")
    page.wait_for_selector("#example-notice")
    return page


@pytest.mark.parametrize("name", FILLED)
def test_a_tab_with_data_and_all_that_folds_unfolded(example, name):
    open_tab(example, name)
    example.locator(FILLED[name]).first.wait_for(state="attached")
    example.evaluate(UNFOLD)
    for figure in example.locator(".figure:visible").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".main-svg").first.wait_for()
    assert faults(example) == []


@pytest.mark.parametrize(
    ("name", "link"),
    [("Leaderboard", "#board a[href*='model=']"), ("Past battles", ".found li > a")],
)
def test_a_page_of_its_own(example, name, link):
    open_tab(example, name)
    example.locator(link).first.click()
    example.locator(".battles dl").first.wait_for()
    example.evaluate(UNFOLD)
    assert faults(example) == []


def test_a_term_that_is_explained(example):
    open_tab(example, "Leaderboard")
    example.locator(FILLED["Leaderboard"]).first.wait_for()
    term = example.locator("#board th .term").first
    term.scroll_into_view_if_needed()
    example.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    term.click()  # a page that moves would take away what it says
    example.locator(".term-tip:popover-open").first.wait_for()
    assert faults(example) == []


def test_a_battle_of_the_example_and_its_result(example):
    open_tab(example, "Battle")
    example.click("#start")
    example.wait_for_selector("#round .ballot")
    assert faults(example) == []
    example.keyboard.press("x")  # of two answers or three
    example.locator("#round .said", has_text="Recorded").wait_for()
    example.keyboard.press("n")
    revealed(example)
    assert faults(example) == []


# A round ---------------------------------------------------------------------------------------


def empty(page):
    page.locator("#first-steps svg").nth(2).wait_for()


def unfolded(page):
    page.get_by_text("Question library and number of models").click()
    page.locator("#size").get_by_text("3 models").wait_for()
    page.locator(".history summary").click()
    page.locator(".history", has_text="None yet").wait_for()


def refused(page):
    page.click("#ask")
    page.get_by_test_id("toast-body").wait_for()


def anywhere(page):
    page.keyboard.press("Control+k")
    page.locator(".choices .choice").first.wait_for()


def written(page):
    ask(page)
    wait_for_words(page)
    page.locator("#round .said:not(:empty)").wait_for()


def menu(page):
    written(page)
    open_menu(page)
    page.locator("#round .commitment").wait_for()


def stopped(page):
    ask_and_stop(page)
    page.fill("#follow-up textarea", "And then?")


def differences(page):
    ask_and_stop(page)
    page.get_by_role("button", name="Differences").click()
    page.get_by_text("words that only this answer has").wait_for()


def half_in_order(page):
    ask_three(page)
    hears(page)
    page.keyboard.press("b")
    page.locator("#round .place").wait_for()


def recorded(page):
    ask_and_stop(page)
    page.keyboard.press("a")
    page.locator("#round .said", has_text="Recorded: A is better").wait_for()


def named(page):
    recorded(page)
    page.keyboard.press("n")
    revealed(page)


def proved(page):
    named(page)
    page.locator(".proof summary").click()
    page.get_by_text("SHA-256 of the nonce").wait_for()


def compared(page):
    open_tab(page, "Compare")
    enter(page.locator("#compare-question textarea"), QUESTION)
    page.click("#compare")
    page.locator("#comparison .answer .text", has_text=" ").nth(1).wait_for()


STATES = (
    *(empty, unfolded, refused, anywhere, written, menu, stopped, differences, half_in_order),
    *(recorded, named, proved, compared),
)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_state_of_an_arena(arena, visit, state):
    page = visit(arena.url)
    page.wait_for_selector("#ask")
    state(page)
    assert faults(page) == []


def test_answers_that_are_cut_and_why_they_parted(app, visit):
    page = visit(app.url)
    page.wait_for_selector("#ask")
    ask_until_open(page)
    page.keyboard.press("a")
    revealed(page)  # before, nothing is told of how an answer ended
    page.locator("#round .answer .cut").first.wait_for()
    page.get_by_role("button", name="Why did they part?").click()
    page.get_by_label("Why the answers parted").wait_for()
    assert faults(page) == []


# People who sign in and vote on stored battles -------------------------------------------------


def test_who_signs_in_votes_and_goes_on(visit, tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        fill(store, [f"Tell me a story about {n} whales." for n in range(4)])
    config = SIGN_IN.format(hash_password(PASSWORD))
    with serving(tmp_path, config, "--annotate", undo=60) as served:
        page = visit(served.url)
        page.locator("input[name=name]").wait_for()
        assert faults(page) == []
        page.fill("input[name=name]", "ann")
        page.fill("input[name=password]", PASSWORD)
        page.keyboard.press("Enter")
        page.locator("#start").wait_for()
        assert faults(page) == []
        page.click("#start")
        page.wait_for_selector("#round .ballot")
        assert faults(page) == []
        page.keyboard.press("x")
        page.locator("#round .said", has_text="Recorded before: ").wait_for()
        assert faults(page) == []
