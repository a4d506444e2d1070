"""A newcomer's first minute: ask, read, vote, see who it was, look at the board; four presses."""

from __future__ import annotations

import pytest

from coupled_arena.store.database import Store
from tests.small_models import NAMES, SMALL_MODELS
from tests.ui import test_audit
from tests.ui.server import serving
from tests.ui.visiting import hears, revealed, stored_vote, texts, violations, wait_for_words

_CONFIG = "snapshot_seconds = 0.2\n[sampling]\nmax_new_tokens = 6000\n" + SMALL_MODELS
HINT = "Read the answers and vote: then you see who wrote them."
MOST = 4  # presses: the question, the vote, the names, the board
# How much of an element lies inside the window, and nothing of the page over it.
IN_SIGHT = """node => {
    const box = node.getBoundingClientRect();
    const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.top >= 0 && box.bottom <= innerHeight && box.left >= 0
        && (node.contains(there) || there.contains(node));
}"""


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """An arena that has votes, and answers that nobody waits for to the end."""
    folder = tmp_path_factory.mktemp("minute")
    with Store.open(folder / "arena.duckdb") as store:
        test_audit.fill(store, NAMES[:2], "gpt")
    with serving(folder, _CONFIG, undo=60) as served:
        yield served


class Newcomer:
    """Somebody without a trace in this browser, who presses what is in sight."""

    def __init__(self, page):
        self.page = page
        self.presses = self.scrolls = 0
        assert page.evaluate("localStorage.length") == 0

    def press(self, thing):
        thing.wait_for()
        if not thing.evaluate(IN_SIGHT):
            self.page.evaluate("window.scrollTo(0, 0)")
            self.scrolls += 1
        assert thing.evaluate(IN_SIGHT), thing
        box = thing.bounding_box()
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.presses += 1

    def type(self, words):
        """Write a question; of the keys only the one that sends counts."""
        box = self.page.locator("#question textarea")
        self.press(box)
        box.press_sequentially(words)
        self.page.keyboard.press("Enter")
        self.presses += 1

    def sees_nothing_wrong(self):
        """Look at the page as it is: axe finds nothing, and nothing leads sideways."""
        assert violations(self.page) == []
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    def reads(self):
        """Read two answers while they are written, and nothing that says who writes."""
        page = self.page
        wait_for_words(page)
        begun = [len(text) for text in texts(page)]
        page.wait_for_function(
            """begun => [...document.querySelectorAll("#round .answer .text")]
                .every((node, at) => node.textContent.length > begun[at])""",
            arg=begun,
        )
        page.locator("#round .said", has_text=HINT).wait_for()
        heads = page.locator("#round .answer header")
        assert [heads.nth(at).evaluate(IN_SIGHT) for at in range(2)] == [True, True]
        assert page.locator("#round .name").count() == 0

    def votes(self):
        """Prefer A, and see who it was."""
        page = self.page
        hears(page)
        self.press(page.get_by_role("button", name="A is better"))
        page.locator("#round .said", has_text="Recorded: A is better").wait_for()
        self.sees_nothing_wrong()
        hears(page)
        self.press(page.get_by_role("button", name="Show the names now"))
        told = revealed(page)
        assert page.locator("#round .result").evaluate(IN_SIGHT)
        return told


# On a phone the result is where the tabs were: one goes back to the top of the page.
@pytest.mark.parametrize(("width", "height", "scrolls"), [(1440, 900, 0), (390, 844, 1)])
def test_a_newcomer_knows_who_it_was_and_who_leads_after_four_presses(
    arena, visit, width, height, scrolls
):
    page = visit(arena.url)
    page.set_viewport_size({"width": width, "height": height})
    somebody = Newcomer(page)
    page.locator(".starters .chip").first.wait_for()
    somebody.sees_nothing_wrong()
    somebody.press(page.get_by_role("button", name="Surprise me"))
    somebody.reads()
    somebody.sees_nothing_wrong()
    told = somebody.votes()
    somebody.sees_nothing_wrong()
    assert stored_vote(arena, told["Vote"])[0] == [1, 2]
    somebody.press(page.get_by_role("tab", name="Leaderboard"))
    places = page.locator("#board tbody tr")
    places.nth(1).wait_for()
    assert [places.nth(at).evaluate(IN_SIGHT) for at in range(2)] == [True, True]
    somebody.sees_nothing_wrong()
    assert (somebody.presses, somebody.scrolls) == (MOST, scrolls)


def test_a_question_of_ones_own_leads_to_the_names_after_as_many(arena, visit):
    page = visit(arena.url)
    somebody = Newcomer(page)
    page.locator(".starters .chip").first.wait_for()
    somebody.type("Why is the sea salt?")
    somebody.reads()
    assert page.locator("#round .question").text_content() == "Why is the sea salt?"
    somebody.votes()
    assert somebody.presses == MOST  # one of them for the box, and none for the board
    assert page.locator("#round .said", has_text=HINT).count() == 0
