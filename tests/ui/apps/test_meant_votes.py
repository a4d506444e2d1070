"""Every press that is meant counts, and there is no vote that nobody meant: in Chromium.

What is done is drawn at random. A model of the page, a few lines long, says what each deed means;
page and database are held against it.
"""

from __future__ import annotations

import random
from uuid import uuid4

import httpx
import pytest

from tests.patience import until
from tests.ui import voting_app
from tests.ui.raw_client import NO_TLS
from tests.ui.server import serving_page
from tests.ui.visiting import ANSWERS

STAGE = """() => document.querySelector("#round .reveal") ? "told"
    : document.querySelector("#round .bar .count") ? "recorded" : "open" """
READY = """() => [...document.querySelectorAll("#round .ballot button")]
    .some((b) => b.textContent.startsWith("A is better") && b.ariaDisabled === "false")"""
SCREENS = [(1440, 900), (720, 450), (390, 844), (844, 390)]  # zoomed to 200 %; a phone, turned
BALLOT = {  # in the order of the buttons: the keys 1 to 4 count them
    "a": ("A is better", "[1, 2]", "false"),
    "t": ("Tie", "[1, 1]", "false"),
    "x": ("Both are bad", "[1, 1]", "true"),
    "b": ("B is better", "[2, 1]", "false"),
}
UNDO, NAMES, NEXT, AGAIN = (
    "Undo",
    "Show the names now",
    "Next question",
    "Same question, new models",
)
KEYS = {  # by stage: what each key presses
    "open": {
        **{key: label for key, (label, *_) in BALLOT.items()},
        **{str(place): label for place, (label, *_) in enumerate(BALLOT.values(), start=1)},
        "s": "Stop",
    },
    "recorded": {"u": UNDO, "Backspace": UNDO, "n": NAMES, "Enter": NAMES},
    "told": {"n": NEXT, "r": AGAIN},
}
MEANING = list(dict.fromkeys(key for keys in KEYS.values() for key in keys))
MEANINGLESS = ["ArrowLeft", "Control+a", "Alt+b", "Shift+T", "Meta+x", "Alt+2", "q", "0", "5"]
MEANINGLESS += [" ", "Home", "Z"]
HEARS = "() => document.querySelector('#round .bar') && !document.querySelector('#round .deaf')"


def hears(page):
    """Wait until the buttons that have come last take presses."""
    page.wait_for_function(HEARS)


@pytest.fixture(scope="module")
def url():
    """The address of a page whose votes can be undone for longer than a test takes."""
    with serving_page(voting_app.launch) as address:
        yield address


class Voter:
    """Somebody at a page, who notes down what they mean."""

    def __init__(self, page, url):
        self.page, self.url = page, url
        stored = httpx.get(f"{url}/votes", verify=NO_TLS).json()
        self.meant = stored["votes"]
        self.recorded = None
        self.stage = "open"
        self.deeds = []
        self.touch = page.context.new_cdp_session(page)

    def ask(self):
        """Ask a question and wait until it can be voted on."""
        before = self.page.locator("#round .commitment").all_text_contents()
        # Another one each time: an earlier round with this question may wait for its vote.
        self.page.fill("#question textarea", f"Which way is the whale {uuid4().hex}?")
        self.page.click("#ask")
        self.page.wait_for_function(
            """before => document.querySelector("#round .commitment")
                && document.querySelector("#round .commitment").textContent !== before""",
            arg=before[0] if before else None,
        )
        self.wait_until_open()

    def wait_until_open(self):
        self.page.wait_for_function(READY)
        hears(self.page)
        self.stage = "open"

    def does(self, label):
        """Note what pressing a button of this label means; wait until the page shows it."""
        votes = {name: vote for name, *vote in BALLOT.values()}
        if self.stage == "open" and label in votes:
            self.recorded, self.stage = votes[label], "recorded"
        elif self.stage == "recorded" and label == UNDO:
            self.recorded, self.stage = None, "open"
        elif self.stage == "recorded" and label == NAMES:
            self.meant.append(self.recorded)
            self.recorded, self.stage = None, "told"
        elif self.stage == "told" and label in (NEXT, AGAIN):
            self.wait_until_open()
        self.page.wait_for_function(f"stage => ({STAGE})() === stage", arg=self.stage)
        hears(self.page)

    def check(self):
        """Hold the database against what was meant."""
        stored = httpx.get(f"{self.url}/votes", verify=NO_TLS).json()
        # A vote that nobody meant may be stored some deeds after the one that cast it.
        assert stored["votes"] == self.meant, self.deeds[-8:]
        pending = [self.recorded] if self.recorded else []
        assert stored["pending_votes"] == pending, self.deeds[-8:]

    def strike(self, key):
        """Press a key of the keyboard."""
        hears(self.page)
        self.page.keyboard.press(key)
        self.deeds.append((self.stage, key))
        self.does(KEYS[self.stage].get(key))

    def buttons(self):
        """Return the buttons on show, by label, and where their middles are."""
        found = self.page.evaluate(
            """() => [...document.querySelectorAll("#round .ballot button")].map((button) => {
                const box = button.getBoundingClientRect();
                return [button.firstChild.textContent, box.x + box.width / 2,
                        box.y + box.height / 2];
            })"""
        )
        return {label: (x, y) for label, x, y in found}

    def press(self, label, by, milliseconds=100):
        """Press a button, as long as a hand does."""
        hears(self.page)
        self.deeds.append((self.stage, label, by))
        self.press_at(*self.buttons()[label], by, milliseconds)
        self.does(label)

    def press_at(self, x, y, by, milliseconds=100):
        if by == "mouse":
            self.page.mouse.move(x, y)
            self.page.mouse.down()
            self.page.wait_for_timeout(milliseconds)
            self.page.mouse.up()
            return
        point = [{"x": x, "y": y}]
        self.touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": point})
        self.page.wait_for_timeout(milliseconds)
        self.touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def turn(self, size):
        """Zoom, or turn the phone; the bar stays in sight."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.wait_for_function("size => innerWidth === size[0]", arg=size)
        self.check_bar()

    def check_bar(self):
        """All buttons are in the window, and nothing lies over them."""
        hit = self.page.evaluate(
            """() => [...document.querySelectorAll("#round .ballot button")].every((button) => {
                const box = button.getBoundingClientRect();
                const there = document.elementFromPoint(
                    box.x + box.width / 2, box.y + box.height / 2);
                return box.top >= 0 && box.bottom <= innerHeight && button.contains(there);
            })"""
        )
        assert hit, (self.page.viewport_size, self.buttons())

    def follow_up(self):
        """Ask on in the same round, and leave the box."""
        if self.stage == "open" and "Stop" not in self.buttons():
            turns = self.page.locator("#round .question").count()
            self.page.fill("#follow-up textarea", "And then?")
            self.page.press("#follow-up textarea", "Enter")
            self.page.wait_for_function(
                "n => document.querySelectorAll('#round .question').length > n", arg=turns
            )
            self.page.keyboard.press("Escape")
            self.wait_until_open()

    def write(self, text):
        """Write a draft in the box for questions, and leave it."""
        self.deeds.append((self.stage, "writes", text))
        self.page.locator("#question textarea").press_sequentially(text)
        self.page.keyboard.press("Escape")
        self.page.wait_for_function(f"stage => ({STAGE})() === stage", arg=self.stage)
        self.page.fill("#question textarea", "")
        self.page.keyboard.press("Escape")


@pytest.fixture(scope="module")
def page(url, stay):
    opened = stay(url, has_touch=True)
    opened.wait_for_selector("#ask")
    return opened


@pytest.fixture
def voter(url, page):
    """Somebody who has asked, on the page that these tests share; no vote is left open."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate("scrollTo(0, 0)")
    somebody = Voter(page, url)
    somebody.ask()
    yield somebody
    if page.evaluate(STAGE) == "recorded":
        hears(page)
        page.keyboard.press("u")
        page.wait_for_selector("#round .count", state="detached")
    somebody.touch.detach()


def stop(voter):
    if voter.stage == "open" and "Stop" in voter.buttons():
        voter.strike("s")
        voter.page.wait_for_function(
            "![...document.querySelectorAll('#round .ballot button')]"
            ".some(b => b.textContent.startsWith('Stop'))"
        )


def test_the_model_knows_every_key_that_a_button_shows(voter):
    shown = """() => [...document.querySelectorAll("#round .ballot button")].flatMap((button) =>
        button.getAttribute("aria-keyshortcuts").split(" ").map(
            (key) => [key.length > 1 ? key : key.toLowerCase(), button.firstChild.textContent]))"""
    for leads_on in ("1", "n", "n"):
        pressed = dict(voter.page.evaluate(shown))
        assert pressed
        assert pressed.items() <= KEYS[voter.stage].items()
        voter.strike(leads_on)
        voter.check()


def test_keys_without_a_meaning_do_not_vote(voter):
    for key in MEANINGLESS:
        voter.strike(key)
    voter.strike("x")  # a vote that came before it would be stored in its place
    voter.check()


@pytest.mark.parametrize(
    ("keys", "seed"), [(40, 1), *(pytest.param(200, n, marks=pytest.mark.slow) for n in (2, 3))]
)
def test_random_keys_vote_as_they_are_meant(voter, keys, seed):
    rng = random.Random(seed)
    for number in range(keys):
        deed = rng.random()
        if number % 20 == 7:
            voter.turn(rng.choice(SCREENS))
        if deed < 0.06:
            voter.write("".join(rng.choices("abtxunsr1234 ", k=6)))
        elif deed < 0.12:
            stop(voter)
            voter.follow_up()
        elif deed < 0.3:
            voter.strike(rng.choice(MEANINGLESS))
        else:
            voter.strike(rng.choice(MEANING))
        voter.check()
    assert len(voter.meant) > keys / 40


@pytest.mark.parametrize(
    ("presses", "seed"), [(20, 1), *(pytest.param(100, n, marks=pytest.mark.slow) for n in (2, 3))]
)
def test_random_presses_of_mouse_and_touch_vote_as_they_are_meant(voter, presses, seed):
    rng = random.Random(seed)
    for number in range(presses):
        if number % 5 == 3:
            voter.turn(rng.choice(SCREENS))
        if number % 10 == 6:
            stop(voter)
            voter.follow_up()
        by = rng.choice(["mouse", "touch"])
        if rng.random() < 0.2:  # beside the buttons: at an answer
            box = voter.page.locator("#round .answer header").first.bounding_box()
            voter.press_at(box["x"] + 40, box["y"] + 10, by)
            voter.does(None)
        else:
            voter.press(rng.choice(list(voter.buttons())), by)
        voter.check()
    assert len(voter.meant) > presses / 40


# Where the bar is -----------------------------------------------------------------------------

NOTE_PLACES = """() => {
    window.places = new Set();
    const note = () => {
        const bar = document.querySelector("#round .bar")?.getBoundingClientRect();
        if (bar) window.places.add(`${bar.top} ${bar.bottom - innerHeight}`);
        window.noting = requestAnimationFrame(note);
    };
    note();
}"""


@pytest.mark.parametrize("size", SCREENS[:3])
def test_the_bar_is_in_sight_and_does_not_move_while_answers_grow(voter, size):
    page = voter.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    voter.ask()
    page.evaluate(NOTE_PLACES)
    page.wait_for_function(f"() => {ANSWERS}[0].textContent.length > 300")
    places = page.evaluate("(cancelAnimationFrame(window.noting), [...window.places])")
    assert len(places) == 1, places
    assert abs(float(places[0].split()[1])) < 1  # its lower edge is the window's
    voter.check_bar()
    stop(voter)
    page.evaluate("document.querySelector('#round .answers').scrollIntoView({block: 'end'})")
    covered = """() => {
        const box = (node) => node.getBoundingClientRect();
        const cards = [...document.querySelectorAll("#round .answer")];
        const end = Math.max(...cards.map((card) => box(card).bottom));
        return end - box(document.querySelector("#round .bar")).top;
    }"""
    assert page.evaluate(covered) <= 0  # what is scrolled to is not under it


# What is said ---------------------------------------------------------------------------------


def said(page):
    return page.locator("#round").get_by_role("status").inner_text()


def test_what_was_recorded_is_said_once_and_not_each_second(voter):
    page = voter.page
    status = page.locator("#round").get_by_role("status")
    status.evaluate(
        """node => {
            window.heard = [];
            new MutationObserver(() => window.heard.push(node.textContent)).observe(
                node, {childList: true, subtree: true, characterData: true});
        }"""
    )
    voter.strike("a")
    assert said(page) == "Recorded: A is better. Answers stopped."
    count = page.locator("#round .count")
    before = count.inner_text()
    page.wait_for_function(
        "before => document.querySelector('#round .count').textContent !== before", arg=before
    )
    assert count.get_attribute("aria-hidden") == "true"
    assert page.get_by_role("button", name="Undo", exact=True).count() == 1
    voter.strike("u")
    assert said(page) == "Undone. Vote again. The answers stay stopped."
    assert page.evaluate("window.heard") == [
        "Recorded: A is better. Answers stopped.",
        "Undone. Vote again. The answers stay stopped.",
    ]
    voter.strike("x")
    assert said(page) == "Recorded: both are bad."
    assert page.locator("#round .name").count() == 0
    voter.strike("n")
    names = page.locator("#round .name").all_inner_texts()
    assert said(page) == f"Counted: both are bad. A is {names[0]}, B is {names[1]}."


def test_undo_keeps_the_order_of_three_answers(voter):
    page = voter.page
    page.get_by_text("Question library and number of models").click()
    page.locator("#size").get_by_text("3 models").click()
    before = page.inner_text("#round .commitment")
    page.fill("#question textarea", "Which of three?")
    page.click("#ask")
    page.wait_for_function(
        "before => document.querySelector('#round .commitment').textContent !== before", arg=before
    )
    page.wait_for_function(
        f"() => new Set({ANSWERS}.map((node) => node.textContent)).size === 3"
        f" && {ANSWERS}.every((node) => node.textContent !== '…')"
    )
    voter.strike("s")
    page.locator("#round .ballot button", has_text="Stop").wait_for(state="detached")
    for key in ("b", "3", "a", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#round .count")
    places = ["place 3", "place 1", "place 2"]
    assert page.locator("#round .place").all_inner_texts() == places
    assert said(page) == "Recorded: B, then C, then A."
    hears(page)
    page.keyboard.press("Backspace")
    page.wait_for_selector("#round .count", state="detached")
    assert page.locator("#round .place").all_inner_texts() == places
    for key in ("Backspace", "1", "Enter"):
        page.keyboard.press(key)
        hears(page)
    page.wait_for_selector("#round .count")
    voter.check_bar()
    page.keyboard.press("Enter")
    page.wait_for_selector(".reveal")
    stored = httpx.get(f"{voter.url}/votes", verify=NO_TLS).json()
    assert stored == {"votes": [*voter.meant, ["[3, 1, 2]", "false"]], "pending_votes": []}
    page.locator("#size").get_by_text("2 models").click()
    page.get_by_text("Question library and number of models").click()


def test_a_reload_keeps_the_vote_and_the_time_to_undo_it(url, visit):
    page = visit(url)
    page.wait_for_selector("#ask")
    voter = Voter(page, url)
    voter.ask()
    voter.strike("b")
    page.reload()
    page.wait_for_selector("#round .count")
    assert said(page) == "Recorded: B is better. Answers stopped."
    other = page.context.new_page()
    other.goto(url)
    other.wait_for_selector("#round .count")
    voter.strike("u")
    voter.check()
    other.keyboard.press("n")  # the other page does not know yet
    other.locator("#round .count").wait_for(state="detached")
    assert other.query_selector(".reveal") is None
    voter.check()
    other.close()


def test_the_names_come_by_themselves_when_the_time_is_over(visit):
    with serving_page(voting_app.launch_brief) as url:
        page = visit(url)
        page.wait_for_selector("#ask")
        voter = Voter(page, url)
        voter.ask()
        voter.strike("t")
        page.wait_for_selector(".reveal")
        voter.meant.append(voter.recorded)
        voter.recorded = None
        voter.check()
        page.keyboard.press("r")
        voter.wait_until_open()
        page.keyboard.press("a")
        page.wait_for_selector("#round .count")
        page.close()  # a closed page votes
        voter.meant.append(list(BALLOT["a"][1:]))
        until(lambda: httpx.get(f"{url}/votes", verify=NO_TLS).json()["votes"] == voter.meant)
