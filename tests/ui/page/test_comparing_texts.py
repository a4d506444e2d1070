"""What one can do with answers: mark words that differ, keep the battle as a picture or a link."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image

from coupled_arena.battles.blind_view import TurnView
from tests.ui.conftest import new_page
from tests.ui.static_page import let_go, stages, static_page, tell

MARKED = """() => [...(CSS.highlights.get("only-here") ?? [])].map(String)"""


@pytest.fixture(scope="module")
def page(browser):
    opened = new_page(browser, "", {})
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.set_viewport_size({"width": 1440, "height": 900})
    static_page(opened)
    yield opened
    opened.context.close()


@pytest.fixture
def toggle(page):
    """The button, pressed if it was not; it is let go at the end."""
    yield page.get_by_role("button", name="Differences")
    let_go(page)
    tell(page, stages(name="over")["answered"])
    button = page.get_by_role("button", name="Differences")
    if button.get_attribute("aria-pressed") == "true":
        button.click()
    let_go(page)


def answered(*answers, name="words", stage="answered", **more):
    """Return a round with these answers."""
    view = stages(len(answers), name=name)[stage]
    return replace(view, turns=(TurnView("What then?", answers),), **more)


def marked(page):
    """Return the words that are marked, once the library is there."""
    page.wait_for_function(f"({MARKED})().length > 0")
    return page.evaluate(MARKED)


def test_words_that_only_one_answer_has_are_marked_and_counted(page, toggle):
    tell(page, answered("The quick brown fox jumps.", "The slow fox jumps, and runs away."))
    toggle.and_(page.locator("[aria-pressed=false]")).wait_for()
    assert page.evaluate(MARKED) == []
    toggle.click()
    assert marked(page) == ["quick brown", "slow", "and runs away"]
    assert toggle.get_attribute("aria-pressed") == "true"
    page.get_by_text("words that only this answer has (A: 2, B: 4).").wait_for()
    toggle.click()
    page.wait_for_function(f"({MARKED})().length === 0")


def test_a_word_that_any_other_answer_has_is_not_marked(page, toggle):
    tell(page, answered("one two three", "one two four", "one three five", name="three"))
    toggle.click()
    assert marked(page) == ["four", "five"]


def test_marks_follow_the_round_and_stay_away_while_answers_grow(page, toggle):
    tell(page, answered("left and up", "left and down", name="follow"))
    toggle.click()
    assert marked(page) == ["up", "down"]
    told = answered("left and up", "left and down", name="follow", stage="revealed")
    tell(page, told)
    page.get_by_role("region", name="The result").wait_for()
    assert page.evaluate(MARKED) == ["up", "down"]
    tell(page, answered("so", "no", name="next", running=True))
    toggle.wait_for(state="detached")
    assert page.evaluate(MARKED) == []
    tell(page, answered("so far", "no far", name="next"))
    assert marked(page) == ["so", "no"]


def test_texts_with_nothing_in_common_are_compared_in_time(page, toggle):
    """Beyond the bound of the comparison a word counts wherever it stands."""
    one = "\n".join([*(f"a{n}" for n in range(12_000)), "same"])
    other = "\n".join(["same", *(f"b{n}" for n in range(12_000))])
    tell(page, answered(one, other, name="long"))
    toggle.click()
    page.get_by_text("(A: 12000, B: 12000).").wait_for()


def test_equal_or_missing_answers_have_nothing_to_mark(page, toggle):
    for answers in (("so", "so"), ("", "")):
        tell(page, answered(*answers, name=str(answers)))
        toggle.wait_for(state="detached")


def test_a_battle_is_saved_as_a_picture(page, tmp_path):
    long = "A line that is long enough to be broken, and goes on. " * 40
    for size in (2, 3, 4):
        answers = (long, "Short.", "", "*" * 500)[:size]
        tell(page, answered(*answers, name=f"picture {size}", stage="revealed"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as picture").click()
        assert download.value.suggested_filename == "battle-bpicture.png".replace(
            "bpicture", f"bpicture {size}"[:8]
        )
        file = tmp_path / f"{size}.png"
        download.value.save_as(file)
        with Image.open(file) as image:
            assert image.width == 2400
            assert 600 < image.height < 3000
            assert len(image.convert("RGB").getcolors(1 << 24)) > 50  # there are letters
            edge = image.convert("L").crop((0, 0, image.width, 40))
            assert edge.getextrema() == (255, 255)


def test_the_link_of_a_battle_is_copied(page):
    tell(page, answered("so", "no", name="link", stage="revealed"))
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Link copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "http://127.0.0.1:9/?battle=blink"


def test_before_the_names_there_is_neither(page):
    for stage in ("asked", "answered", "recorded"):
        tell(page, answered("so", "no", name=stage, stage=stage))
        page.locator(".result").wait_for(state="detached")
        assert page.get_by_role("button", name="Save as picture").count() == 0
