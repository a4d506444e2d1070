"""A battle's flow in Chromium: one click to a question, the vote and why, names, one's own."""

from __future__ import annotations

import httpx
import pytest

from coupled_arena.core.prompts import read_library
from coupled_arena.core.settings import resource
from tests.patience import until
from tests.ui import voting_app
from tests.ui.apps.test_meant_votes import Voter, hears, stop
from tests.ui.fields import enter
from tests.ui.hostile_app import HOSTILE
from tests.ui.raw_client import NO_TLS, Visitor, differ
from tests.ui.server import serving_page

CHIPS = "#round .rationale .chip"
STATE = "#round .rationale [aria-live]"
BOX = "#round .rationale textarea"


@pytest.fixture(scope="module")
def url():
    with serving_page(voting_app.launch) as address:
        yield address


@pytest.fixture
def voter(url, visit):
    page = visit(url)
    page.wait_for_selector("#ask")
    somebody = Voter(page, url)
    somebody.ask()
    stop(somebody)
    return somebody


def rationales(url, table="rationales"):
    return httpx.get(f"{url}/rationales", verify=NO_TLS).json()[table]


def saved(page):
    page.locator(STATE, has_text="Saved.").wait_for()


def chosen(page):
    return page.locator(f"{CHIPS}[aria-pressed=true]").all_inner_texts()


def test_chips_and_a_comment_are_kept_from_the_vote_to_the_reveal_and_over_a_reload(voter):
    page, before = voter.page, rationales(voter.url)
    assert page.locator(".rationale").count() == 0
    voter.strike("a")
    words = page.locator(CHIPS).all_inner_texts()
    assert words[:2] == ["More correct", "Clearer"]
    page.locator(CHIPS).nth(1).click()
    saved(page)
    page.fill(BOX, HOSTILE)
    place = page.locator(BOX).bounding_box()["y"]
    page.keyboard.press("Tab")  # leaving the box sends it
    saved(page)
    assert rationales(voter.url) == before
    assert rationales(voter.url, "pending_rationales") == [[["clarity"], HOSTILE]]
    hears(page)
    page.get_by_role("button", name="Show the names now").click()
    page.wait_for_selector(".reveal")
    voter.meant.append(voter.recorded)
    assert rationales(voter.url) == [*before, [["clarity"], HOSTILE]]
    page.reload()
    page.wait_for_selector(".reveal")
    assert (chosen(page), page.input_value(BOX)) == (["Clearer"], HOSTILE)
    page.locator(CHIPS).nth(1).click()
    page.fill(BOX, "")
    page.get_by_role("button", name="Save", exact=True).click()
    # "Saved." may still be that of the chip.
    until(lambda: rationales(voter.url)[-1] == [[], ""])
    saved(page)
    assert page.evaluate("window.hacked") is None
    assert place > 0


def test_a_draft_survives_the_names_and_keys_belong_to_it(voter):
    """While somebody writes, the time to undo ends: the box keeps words, focus and place."""
    page = voter.page
    voter.strike("b")
    page.click(BOX)
    hears(page)
    page.keyboard.type("because n")  # N would show the names
    assert page.locator(".reveal").count() == 0
    page.evaluate(
        "document.querySelector('#round .ballot .primary').dispatchEvent("
        "new MouseEvent('click', {bubbles: true}))"
    )
    page.wait_for_selector(".reveal")
    page.keyboard.type(" and u")
    assert page.input_value(BOX) == "because n and u"
    assert page.evaluate("document.activeElement.matches('.rationale textarea')")
    page.keyboard.press("Escape")
    saved(page)
    assert rationales(voter.url)[-1] == [[], "because n and u"]


def test_undo_takes_them_along(voter):
    page, before = voter.page, rationales(voter.url)
    voter.strike("x")
    assert page.locator(CHIPS).first.inner_text() == "Not correct"
    page.locator(CHIPS).first.click()
    saved(page)
    page.keyboard.press("Escape")
    page.evaluate("document.querySelector('#round .round').focus()")
    voter.strike("u")
    page.wait_for_selector(".rationale", state="detached")
    assert rationales(voter.url, "pending_rationales") == []
    hears(page)
    voter.strike("t")
    assert page.locator(CHIPS).first.inner_text() == "Equally correct"
    assert chosen(page) == []
    assert rationales(voter.url) == before


# From an empty page to the names --------------------------------------------------------------


def wait_for_words(page, size):
    page.wait_for_selector(f"#round .answers.of-{size}")
    page.wait_for_function(
        """size => {
            const texts = [...document.querySelectorAll("#round .answer .text")]
                .map((node) => node.textContent);
            return texts.length === size && new Set(texts).size === size && !texts.includes("…");
        }""",
        arg=size,
    )


@pytest.fixture
def page(url, visit):
    """A page that shows texts as they were written."""
    opened = visit(f"{url}/votes")
    opened.evaluate("localStorage.setItem('coupled-arena-texts', 'exact')")
    opened.goto(url)
    opened.wait_for_selector(".starters .chip")
    return opened


def test_two_actions_lead_to_a_vote_and_the_category_stays(page):
    library = read_library(resource("data/prompts.jsonl"))
    maths = {prompt.text for prompt in library.of("maths")}
    page.get_by_role("button", name="maths").click()
    wait_for_words(page, 2)
    assert page.locator("#round .question").text_content() in maths
    page.keyboard.press("a")
    page.wait_for_selector("#round .count")
    hears(page)
    page.keyboard.press("n")
    page.wait_for_selector(".reveal")
    assert page.locator(".starters [aria-pressed=true]").all_inner_texts() == ["Maths"]
    hears(page)
    page.keyboard.press("n")  # the next question is of the same category
    page.wait_for_selector(".reveal", state="detached")
    wait_for_words(page, 2)
    assert page.locator("#round .question").text_content() in maths
    page.get_by_role("button", name="Surprise me").click()
    page.locator(".starters [aria-pressed=true]", has_text="Surprise me").wait_for()


def test_a_question_is_still_chosen_from_all_and_can_be_changed(page):
    sent = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.get_by_text("Question library and number of models").click()
    enter(page.locator("#library input"), "umbrella")
    page.locator("#library [role=option]", has_text="umbrella").click()
    box = page.locator("#question textarea")
    page.wait_for_function(
        "() => document.querySelector('#question textarea').value.includes('umbrella')"
    )
    assert [said for said in sent if "umbrella" in said] == []  # else a question asked now is lost
    box.press_sequentially(" Please.")
    page.click("#ask")
    page.locator("#round .question", has_text="Please.").wait_for()


@pytest.mark.parametrize(("width", "columns"), [(1440, 2), (390, 1)])
def test_four_answers_are_two_by_two_and_keys_are_named_like_the_cards(page, width, columns):
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_text("Question library and number of models").click()
    page.locator("#size").get_by_text("4 models").click()
    page.get_by_role("button", name="Surprise me").click()
    wait_for_words(page, 4)
    page.keyboard.press("s")
    page.locator("#round .ballot button", has_text="Stop").wait_for(state="detached")
    lefts = page.locator("#round .answer").evaluate_all(
        "cards => cards.map(card => Math.round(card.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == columns
    picks = page.locator("#round .pick")
    assert picks.evaluate_all("all => all.map(b => b.getAttribute('aria-keyshortcuts'))") == [
        *"ABCD"
    ]
    assert picks.locator("kbd").all_inner_texts() == [*"ABCD"]
    for key in ("d", "b", "3", "a"):
        page.keyboard.press(key)
    assert page.locator("#round .place").all_inner_texts() == [
        *("place 4", "place 2", "place 3", "place 1")
    ]
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_reveal_tells_how_the_pair_stands_and_ones_own_battles(page, url, visit):
    page.get_by_role("button", name="facts").click()
    wait_for_words(page, 2)
    asked = page.locator("#round .question").text_content()
    assert page.locator(".standings").count() == 0
    page.locator(".history summary").click()
    page.locator(".history", has_text="None yet").wait_for()
    page.keyboard.press("Escape")
    page.locator("#round .ballot button", has_text="B is better").click()
    page.wait_for_selector("#round .count")
    assert page.locator(".standings").count() == 0
    hears(page)
    page.locator("#round .ballot button", has_text="Show the names").click()
    page.wait_for_selector(".standings")
    first, second = page.locator("#round .name").all_inner_texts()
    line = page.locator(".standings li")
    assert line.text_content().startswith(f"{first} against {second}: ")
    href = line.locator("a").get_attribute("href")
    assert href == f"?tab=battles&a={first}&b={second}&source=people"
    own = page.locator(".history li")
    own.wait_for()
    assert f"You preferred {second} to {first}." in own.text_content()
    assert asked[:60] in own.text_content()
    battle = own.locator("a").get_attribute("href")
    assert battle.removeprefix("?battle=") in page.locator(".reveal dd").all_text_contents()
    stranger = visit(url)
    stranger.locator(".history summary").click()
    stranger.locator(".history", has_text="None yet").wait_for()


def test_reasons_from_outside_are_refused_in_one_line(url):
    """By another's cookie, a megabyte, control characters: nothing of it is stored."""
    owner, thief = Visitor(url), Visitor(url)
    view = owner.ask(stop=differ)
    output = owner.call(owner.dependency("vote", "round"), [None], {"ranks": [1, 2]})
    vote = output["data"][0]["recorded"]["vote"]
    assert view["turns"]
    before = httpx.get(f"{url}/rationales", verify=NO_TLS).json()
    handler = owner.dependency("explain", "round")
    refusals = [
        (thief, {"vote": vote, "criteria": ["style"]}, "You have no vote here"),
        (owner, {"vote": vote, "comment": "a" * 10**6}, "at most 500 characters"),
        (owner, {"vote": vote, "comment": "a\x00b"}, "control characters"),
        (owner, {"vote": vote, "criteria": ["beauty"]}, "no criterion 'beauty'"),
        (owner, {"vote": [vote], "criteria": ["style"]}, "You have no vote here"),
        (owner, ["style"], "You have no vote here"),
        (owner, None, "You have no vote here"),
    ]
    for visitor, said, reason in refusals:
        error = visitor.call(handler, [None], said)["error"]
        assert reason in error
        assert len(error) < 200
        assert "\n" not in error
    assert httpx.get(f"{url}/rationales", verify=NO_TLS).json() == before
    taken = owner.call(handler, [None], {"vote": vote, "criteria": ["style"]})["data"][0]
    assert taken["reasons"] == {"criteria": ["style"], "comment": ""}
