"""What visitors do on the page, and what they read there."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from tests.patience import until
from tests.ui.fields import enter

QUESTION = "Tell me a long story about a lighthouse keeper and a lost whale."


ANSWERS = "[...document.querySelectorAll('#round .answer .text')]"


STOP = "#round .ballot >> text=Stop"
# The votes of the leaderboard's rows, each counted for every model it is on.
BOARD_VOTES = """[...document.querySelectorAll('#board tbody tr')].reduce((sum, row) =>
    sum + Number(row.cells[row.cells.length - 6].textContent.replaceAll(',', '')), 0)"""


def open_exactly(url, visit):
    """Open the app as somebody who reads texts as they were written."""
    page = visit(f"{url}/healthz")
    page.evaluate("localStorage.setItem('coupled-arena-texts', 'exact')")
    page.goto(url)
    page.wait_for_selector("#ask")
    return page


def ask(page, question=QUESTION):
    page.fill("#question textarea", question)
    page.click("#ask")


def texts(page):
    return page.evaluate(f"{ANSWERS}.map(node => node.textContent)")


APART = f"new Set({ANSWERS}.slice(-size).map(node => node.textContent)).size"


def wait_for_words(page):
    """Wait until all answers have words, and not all of them the same ones.

    Answers that stay the same to their end reveal themselves: then the question is asked again.
    """
    long = f"{ANSWERS}.length && {ANSWERS}.every(t => t.textContent !== '…')"
    size = "const size = document.querySelectorAll('#round .answers:last-of-type .answer').length;"
    page.wait_for_function(
        f"() => {{ {size} return ({long}) && {APART} > 1 || document.querySelector('.reveal'); }}"
    )
    if page.query_selector(".reveal"):
        page.keyboard.press("r")
        page.wait_for_selector(".reveal", state="detached")
        wait_for_words(page)


def open_menu(page):
    """Open what is seldom wanted of a round."""
    page.locator("#round .menu > summary").click()


def hears(page):
    """Wait until the buttons that have come last take presses."""
    page.wait_for_function("() => !document.querySelector('#round .bar.deaf')")


def stop(page):
    """Press Stop if the answers have not ended by themselves meanwhile."""
    hears(page)
    page.evaluate(
        "[...document.querySelectorAll('#round .ballot button')]"
        ".find(button => button.textContent.startsWith('Stop'))?.click()"
    )
    wait_until_done(page)


def wait_until_done(page):
    page.wait_for_selector("#round .ballot")
    page.wait_for_selector(STOP, state="detached")


def ask_and_stop(page, question=QUESTION):
    """Leave a round that awaits its vote; stopped answers never count as identical."""
    ask(page, question)
    wait_for_words(page)
    stop(page)


def ask_until_open(page):
    """Ask until the finished answers differ."""
    ask(page)
    wait_until_open(page)


def wait_until_open(page):
    """Wait for answers; ask again until they differ, for identical ones reveal themselves."""
    wait_until_done(page)
    for _ in range(10):
        if not page.query_selector(".reveal"):
            return
        page.keyboard.press("r")
        page.wait_for_selector(".reveal", state="detached")
        wait_until_done(page)
    pytest.fail("ten rounds in a row had identical answers")


def revealed(page):
    """Return what the page tells after the vote, by its labels."""
    page.wait_for_selector(".reveal")
    terms, facts = page.locator(".reveal dt"), page.locator(".reveal dd")
    return dict(zip(terms.all_text_contents(), facts.all_text_contents(), strict=True))


VOTE = """select ranks, both_bad, early, models, mode from votes join battles using (battle)
    where vote = ?"""


def stored_vote(app, vote):
    return app.wait_for(VOTE, vote)


def open_tab(page, name):
    page.get_by_role("tab", name="Battle", exact=True).wait_for()
    page.get_by_role("tab", name=name, exact=True).click()  # a narrow page scrolls to it


def places(page):
    """Return the places given so far, by answer; None where there is none yet."""
    return page.locator("#round .answer").evaluate_all(
        "cards => cards.map(card => card.querySelector('.place')?.textContent ?? null)"
    )


def ask_three(page):
    """Leave a round of three answers of which no two have the same words: those would be level."""
    page.get_by_text("Question library and number of models").click()
    page.locator("#size").get_by_text("3 models").click()
    apart = f"new Set({ANSWERS}.map(node => node.textContent)).size === 3"
    written = f"{ANSWERS}.every(node => node.textContent !== '…')"
    ended = "!document.querySelector('#round .ballot').textContent.includes('Stop')"
    for number in range(20):
        question = f"{QUESTION} Take {number}."
        ask(page, question)
        page.locator("#round .question", has_text=question).wait_for()
        page.wait_for_function(f"() => ({ended}) || ({written}) && ({apart})")
        stop(page)
        if page.evaluate(apart):
            return
    pytest.fail("two of three answers were the same twenty times")


def compared(page, streams, mode, seed):
    """Compare two models; return note and texts when all has come."""
    until(streams.over)  # else its events might come on a stream that is open already
    before = len(streams.opened)
    enter(page.locator("#compare-question textarea"), QUESTION)
    page.locator("#compare-seed").locator("input, textarea").fill(seed)
    page.get_by_role("radio", name=mode).and_(page.locator(":visible")).check()
    page.click("#compare")
    page.wait_for_function("document.querySelector('#comparison .text')?.textContent.length")
    until(lambda: streams.over() and len(streams.opened) > before)
    answers = page.locator("#comparison .answer .text")
    return page.inner_text("#comparison .hint"), answers.all_inner_texts()


def shoot(page, folder, name):
    """Take a picture; fail if it is blank or the page scrolls sideways."""
    file = folder / f"{name}.jpeg"  # which takes half the time of a PNG
    page.screenshot(path=file, full_page=True)
    if os.environ.get("SHOTS"):
        shutil.copy(file, os.environ["SHOTS"])
    with Image.open(file) as image:
        grey = np.asarray(image.convert("L"), dtype=float)
    assert grey.std() > 4, f"{name} is blank"
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
    return grey


def shoot_both(page, folder, name):
    """Take pictures of a wide and of a narrow screen, which stays; return the first."""
    pictures = []
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        pictures.append(shoot(page, folder, f"{name}-{width}"))
    return pictures[0]


def violations(page):
    """Return rule, element and reason of what axe finds wrong, once nothing moves any more."""
    page.evaluate("Promise.allSettled(document.getAnimations().map((one) => one.finished))")
    found = Axe().run(page).response["violations"]
    return [(r["id"], n["target"], n["failureSummary"]) for r in found for n in r["nodes"]]
