"""Each button of a round has a place of its own, and is deaf until people can have seen it."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from tests.families import first_of
from tests.ui.conftest import new_page
from tests.ui.static_page import buttons, stages, static_page, tell

DEAF = 400  # milliseconds
FRAME = 20  # milliseconds in which a page whose time stands still draws, and comes back from it
MODES = {"two": (2, False), "three": (3, False), "four": (4, False)}
MODES |= {"stored two": (2, True), "stored three": (3, True)}
ORDERS = list(permutations(stages(), 2))


@pytest.fixture(scope="module", params=["en", "de"])
def spoken(browser, request):
    page = new_page(browser, "", {})
    static_page(page, request.param)
    yield page
    page.context.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("mode", MODES)
def test_no_button_ever_stands_where_another_one_stood(spoken, width, mode):
    spoken.set_viewport_size({"width": width, "height": 844})
    size, stored = MODES[mode]
    places, labels = {}, {}
    for view in stages(size, stored=stored, name=f"{mode} {width}").values():
        tell(spoken, view)
        for each in buttons(spoken):
            x, y, wide, high = box = tuple(map(round, each["box"]))
            assert not each["cut"], each
            assert x >= 0
            assert x + wide <= width
            if each["at"] in ("judge", "mine"):
                continue  # not in the bar: they stand beside each other, see below
            assert y + high <= 844
            assert min(wide, high) >= 44, each
            assert places.setdefault(each["at"], box) == box
            assert labels.setdefault(each["at"], each["label"]) == each["label"]
    assert len(places) >= (8 if stored else 9)
    boxes = list(places.values())
    for (ax, ay, aw, ah), (bx, by, bw, bh) in permutations(boxes, 2):
        assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


def test_what_lets_a_judge_decide_and_what_calls_it_off_stand_beside_each_other(spoken):
    spoken.set_viewport_size({"width": 390, "height": 844})
    both = stages(name="judged")
    tell(spoken, both["answered"])
    (judge,) = (each["box"] for each in buttons(spoken) if each["at"] == "judge")
    tell(spoken, both["judging"])
    (mine,) = (each["box"] for each in buttons(spoken) if each["at"] == "mine")
    assert mine[0] + mine[2] <= judge[0] + 1


# Deaf for a while -----------------------------------------------------------------------------


@pytest.fixture
def page(stopped_page):
    return stopped_page


@pytest.fixture
def at_rest(page):
    """A function that shows a round and waits until its buttons hear; returns them."""

    def rest(view):
        tell(page, view)
        page.clock.run_for(2 * DEAF)
        page.evaluate("window.sent.length = 0; document.activeElement.blur()")
        return buttons(page)

    return rest


def press_at(page, each):
    x, y, wide, high = each["box"]
    page.mouse.click(x + wide / 2, y + high / 2)


def sent(page):
    """Return what the page has sent since the last look, but questions why answers part."""
    return [each for each in page.evaluate("window.sent.splice(0)") if each[0] != "part"]


def meanings(every):
    """Return which place each key stands for."""
    return {each["key"]: each["at"] for each in every}


@pytest.mark.parametrize("size", first_of(2, 3))
@pytest.mark.parametrize(("first", "then"), ORDERS)
def test_presses_at_former_places_and_keys_do_nothing_after_a_change(
    page, at_rest, size, first, then
):
    """Whatever comes after whatever: only a button that stays as it was hears on."""
    for milliseconds in (0, 200, DEAF - 1):
        name = f"{size} {first} {then} {milliseconds}"
        before = at_rest(stages(size, name=name)[first])
        tell(page, stages(size, name=name)[then])
        now = buttons(page)
        page.clock.run_for(FRAME)
        page.clock.run_for(max(0, milliseconds - FRAME))
        same_turn = (first == "followed up") == (then == "followed up")
        stays = {each["at"] for each in now} if same_turn else set()
        for each in before:
            if each["at"] not in stays:
                press_at(page, each)
                page.keyboard.press(each["key"])
                if each["key"] in ("Backspace", "U"):
                    page.keyboard.press("Backspace")
                if each["at"] == "names":
                    page.keyboard.press("Enter")
        assert sent(page) == [], (first, then, milliseconds)


@pytest.mark.parametrize(
    ("stage", "key", "deed"),
    [
        ("answering", "s", "stop"),
        ("answering", "a", "vote"),
        ("answered", "b", "vote"),
        ("answered", "x", "vote"),
        ("answered", "j", "judge"),
        ("judging", "v", "judge"),
        ("recorded", "u", "undo"),
        ("recorded", "Backspace", "undo"),
        ("recorded", "n", "names"),
        ("recorded", "Enter", "names"),
        ("revealed", "n", "next"),
        ("revealed", "r", "again"),
    ],
)
@pytest.mark.parametrize("by", ["key", "mouse"])
def test_what_is_new_hears_after_its_while_and_not_before(page, at_rest, stage, key, deed, by):
    earlier = "revealed" if stage != "revealed" else "recorded"
    at_rest(stages(name=f"{stage} {key} {by}")[earlier])
    tell(page, stages(name=f"{stage} {key} {by}")[stage])
    if key in ("Backspace", "Enter") and by == "mouse":
        pytest.skip("the button has another key, too")
    (found,) = (e for e in buttons(page) if e["key"].lower() == key) if by == "mouse" else (None,)

    def press():
        if found:
            press_at(page, found)
        else:
            page.keyboard.press(key)
        return [name for name, _ in sent(page)]

    assert press() == []  # no frame has shown it yet
    page.clock.run_for(FRAME)
    assert press() == []
    page.clock.run_for(DEAF - 2 * FRAME)
    assert press() == []
    page.clock.run_for(2 * FRAME)
    assert press() == [deed]


def test_however_late_a_page_shows_a_button_it_is_deaf_from_then_on(page, at_rest):
    """The page is busy: the vote is there, but seconds pass until a frame shows it."""
    at_rest(stages(name="busy")["answered"])
    page.evaluate(
        """() => {
            window.frames_ = window.requestAnimationFrame;
            window.requestAnimationFrame = (draws) => { window.late = draws; };
        }"""
    )
    tell(page, stages(name="busy")["recorded"])
    page.clock.run_for(5000)
    page.keyboard.press("n")
    assert sent(page) == []
    page.evaluate("() => { window.requestAnimationFrame = window.frames_; window.late(); }")
    page.clock.run_for(DEAF - FRAME)
    page.keyboard.press("n")
    assert sent(page) == []
    page.clock.run_for(2 * FRAME)
    page.keyboard.press("n")
    assert sent(page) == [["names", None]]


def test_a_press_counts_from_where_it_began(page, at_rest):
    at_rest(stages(name="held")["answered"])
    tell(page, stages(name="held")["recorded"])
    page.clock.run_for(DEAF - FRAME)
    (names,) = (each for each in buttons(page) if each["at"] == "names")
    x, y, wide, high = names["box"]
    page.mouse.move(x + wide / 2, y + high / 2)
    page.mouse.down()
    page.clock.run_for(DEAF)
    page.mouse.up()
    assert sent(page) == []
    page.clock.run_for(DEAF)
    page.mouse.down()
    page.mouse.up()
    assert sent(page) == [["names", None]]


@pytest.mark.parametrize("milliseconds", [0, 100, 500])
@pytest.mark.parametrize("key", "atxb")
def test_who_votes_as_the_answers_end_is_heard(page, at_rest, key, milliseconds):
    """Stop goes; the buttons of the vote stay where they are and mean what they meant."""
    name = f"{key} {milliseconds}"
    at_rest(stages(name=name)["answering"])
    tell(page, stages(name=name)["answered"])
    page.clock.run_for(milliseconds)
    page.keyboard.press(key)
    assert [deed for deed, _ in sent(page)] == ["vote"]


def test_a_second_press_at_one_place_finds_nothing_there(page, at_rest):
    """Votes, Undo, names and the next question: however fast, nothing follows from the second."""
    name, order = "double", ("answered", "recorded", "revealed")
    for first, then in pairwise(order):
        for each in at_rest(stages(name=name)[first]):
            if each["at"] == "judge":
                continue
            at_rest(stages(name=name)[first])
            tell(page, stages(name=name)[then])
            page.clock.run_for(2 * DEAF)  # long after: the place is empty
            press_at(page, each)
            assert sent(page) == []


def test_cards_of_a_new_round_are_not_ordered_by_a_press_for_the_former_one(page, at_rest):
    at_rest(stages(3, name="former")["revealed"])
    tell(page, stages(3, name="new")["answered"])
    page.clock.run_for(FRAME)
    page.locator("#round .answer .text").nth(1).click(force=True)
    page.keyboard.press("b")
    assert page.locator("#round .place").count() == 0
    page.clock.run_for(DEAF)
    page.keyboard.press("b")
    page.locator("#round .answer .text").nth(2).click(force=True)
    assert page.locator("#round .place").all_inner_texts() == ["place 1", "place 2"]
