"""The battles behind the numbers, in Chromium: addresses, links, filters, and one battle opened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from coupled_arena.analysis.battles import read_battle
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Finish, Mode, Origin, Prompt, Reply
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from tests.batches import at_once, judge
from tests.patience import until
from tests.store.conftest import make_battle, make_vote
from tests.ui.hostile_app import HOSTILE
from tests.ui.raw_client import Visitor, differ
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.visiting import open_tab

COUNT = ".battles .headline"
FOUND = ".battles .found li"
ANN = "a11ce5b0b0c0ffee"
# Models that are equal part only where each has noise of its own.
CONFIG = """
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 48
[battle]
coupled_share = 0.0
"""
# Keeps a copy of what the server answers, as it comes.
OVERHEAR = """() => {
    const ask = window.fetch;
    window.heard = "";
    window.fetch = async (...given) => {
        const answer = await ask(...given);
        const copy = answer.clone().body.pipeThrough(new TextDecoderStream()).getReader();
        const read = ({ done, value }) => {
            if (done) return;
            window.heard += value;
            copy.read().then(read, () => {});
        };
        copy.read().then(read, () => {});
        return answer;
    };
}"""


def battle_of(number, text="", **changes):
    """Return an imported battle, the next one newer."""
    text = text or f"Question {number}?"
    replies = tuple(Reply(0, place, f"{text} {place}", (), Finish.STOP) for place in range(2))
    return make_battle(
        *("left", "right"),
        mode=[Mode.COUPLED, Mode.INDEPENDENT][number % 2],
        origin=Origin.GENERATE,
        prompts=(Prompt(text, None, ["art", "maths"][number % 3 == 0], "en"),),
        replies=replies,
        created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number),
        **changes,
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("battles")
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        for number in range(45):
            battle = battle_of(number, id=f"{number:032}")
            batch.add_battle(battle)
            ranks = [(1, 2), (2, 1), (1, 1)][number % 3]
            batch.cast(make_vote(battle, *ranks, voter=ANN), reveal=False)
            if number % 4 == 0:
                judge(batch, "gpt", battle, 0, 1, "first")
        batch.add_battle(battle_of(90, HOSTILE, id="hostile"))
        judge(batch, "gpt", batch.battles[-1], 1, 0, "first")
        batch.verdicts[-1] = batch.verdicts[-1].__class__(
            **{**vars(batch.verdicts[-1]), "raw": HOSTILE}
        )
        blind = make_battle("left", "right", id="blind", prompts=(Prompt("Who is it?"),))
        batch.add_battle(blind)
    with Store.open(folder / "arena.duckdb") as store:
        reasoned = read_battle(store, f"{0:032}", "rounds").record.votes[0].vote
        why = Rationale("r", reasoned, (Criterion.STYLE, Criterion.SAFETY), HOSTILE)
        store.write(lambda cursor: votes.give_reasons(cursor, why, ANN))
    with serving(folder, CONFIG + EQUAL_MODELS) as running:
        yield running


@pytest.fixture(scope="module")
def lasting(served, stay):
    opened = stay(f"{served.url}/?tab=battles")
    opened.wait_for_selector(FOUND)
    return opened


@pytest.fixture
def page(lasting):
    """A page that shows all battles."""
    go(lasting, "?tab=battles")
    return lasting


def go(page, address):
    """Follow an address as a link of the page does, and wait for what it shows."""
    page.evaluate(
        "to => window.dispatchEvent(new CustomEvent('arena:go', { detail: to }))", address
    )
    settle(page)


def settle(page):
    page.wait_for_selector(".battles[aria-busy=false]")


def where(page):
    return page.evaluate("window.location.search")


def test_a_number_on_the_board_opens_its_battles_and_back_returns(served, page):
    open_tab(page, "Leaderboard")
    assert where(page) == "?tab=leaderboard"
    page.wait_for_selector("#board tbody a")
    board = page.locator("#board tbody tr").first.locator("a")
    cells = {link.inner_text(): link.get_attribute("href") for link in board.all()}
    for text, address in cells.items():
        if "%" in text or "?model=" in address:
            continue
        page.locator(f'#board a[href="{address}"]').first.click()
        settle(page)
        assert where(page) == address
        assert page.locator(COUNT).inner_text().startswith(f"{text} comparisons, in {text}")
        page.go_back()
        page.wait_for_selector("#board tbody a", state="visible")
        assert where(page) == "?tab=leaderboard"
    page.go_forward()
    page.wait_for_selector(FOUND, state="visible")
    settle(page)
    said = page.locator(COUNT).inner_text()
    page.reload()
    page.wait_for_selector(FOUND)
    assert (where(page), page.locator(COUNT).inner_text()) == (address, said)


@pytest.mark.parametrize(
    ("figure", "at", "query"),
    [
        ("board-pairs", (0.75, 0.25), "?tab=battles&a=left&b=right&source=people"),
        ("board-rank-sets", None, "?tab=battles&a=left&source=people"),
    ],
)
def test_a_mark_of_a_figure_opens_its_battles(page, figure, at, query):
    go_to_board(page)
    page.wait_for_selector(f"#{figure} .js-plotly-plot .main-svg")
    area = page.locator(f"#{figure} .nsewdrag")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    if at is None:
        dot = page.locator(f"#{figure} .point").first.bounding_box()
        spot = {"x": dot["x"] + dot["width"] / 2, "y": dot["y"] + dot["height"] / 2}
    else:
        spot = {"x": box["x"] + at[0] * box["width"], "y": box["y"] + at[1] * box["height"]}
    page.mouse.move(**spot)
    page.wait_for_selector(f"#{figure} .hoverlayer .hovertext")  # plotly knows what is under it
    page.mouse.click(**spot)
    page.wait_for_selector(FOUND, state="visible")
    assert where(page) == query


def go_to_board(page):
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board tbody a")


def test_pairs_are_links_for_those_who_use_no_mouse(page):
    go_to_board(page)
    page.locator("#board-pair-table summary").press("Enter")
    for _ in ("Model", "left", "right", "the first pair"):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "15/45"
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator(COUNT).inner_text() == "45 comparisons, in 45 battles."
    page.get_by_role("link", name="neither won").click()
    settle(page)
    assert page.locator(COUNT).inner_text() == "15 comparisons, in 15 battles."


def test_a_link_can_be_opened_beside(page):
    first = page.locator(f"{FOUND} a").first
    with page.context.expect_page() as opened:
        first.click(modifiers=["Control"])
    beside = opened.value
    beside.wait_for_selector(".battles h2")
    assert where(page) == "?tab=battles"
    assert where(beside) == first.get_attribute("href")
    beside.close()


def test_filters_make_an_address(page):
    shown = page.locator(FOUND)
    assert page.locator(COUNT).inner_text() == "46 battles."
    page.get_by_label("Random numbers").select_option("coupled")
    page.wait_for_url("**/?tab=battles&mode=coupled")
    settle(page)
    assert page.locator(COUNT).inner_text() == "24 battles."
    page.get_by_label("Words in question").fill("tion 4?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?tab=battles&mode=coupled&text=tion+4%3F")
    settle(page)
    assert shown.locator("a").all_inner_texts() == ["Question 4?"]
    page.go_back()
    settle(page)
    assert page.get_by_label("Random numbers").input_value() == "coupled"
    assert page.get_by_label("Words in question").input_value() == ""
    assert shown.count() == 20
    if not page.get_by_label("Category").is_visible():
        page.get_by_text("More filters").click()
    page.get_by_label("Category").select_option("maths")
    settle(page)
    page.wait_for_url("**/?tab=battles&mode=coupled&category=maths")


def test_pages_follow_each_other(page):
    seen = []
    for _ in range(2):
        seen += page.locator(f"{FOUND} a").all_inner_texts()
        page.get_by_role("link", name="Older battles").click()
        settle(page)
    seen += page.locator(f"{FOUND} a").all_inner_texts()
    assert seen[1:] == [f"Question {number}?" for number in reversed(range(45))]
    assert page.get_by_role("link", name="Older battles").count() == 0
    page.get_by_role("link", name="Newest battles").click()
    settle(page)
    assert where(page) == "?tab=battles"


def test_hostile_texts_are_shown_as_they_are(page):
    go(page, "?battle=hostile")
    page.wait_for_selector(".battles h2")
    texts = page.locator(".battles .answer .text").evaluate_all(
        "all => all.map(x => x.textContent)"
    )
    assert texts == [f"{HOSTILE} 0", f"{HOSTILE} 1"]
    last = ".said tbody td:last-child"
    question, said = (
        page.locator(f".battles {one}").first.evaluate("node => node.textContent")
        for one in (".question", last)
    )
    assert question == said == HOSTILE
    go(page, f"?battle={0:032}")
    why = page.locator(f".battles {last}").first.evaluate("node => node.textContent")
    assert why == f"Better style, Safer\n{HOSTILE}"
    assert page.evaluate("window.hacked === undefined")
    go(page, "?tab=battles")
    assert page.locator(f"{FOUND} a").first.evaluate("node => node.textContent") == HOSTILE[:300]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("?tab=<script>window.hacked=1</script>", "This address names no known tab"),
        ("?battle=<img src=x onerror=window.hacked=1>", "There is no such battle here"),
        ("?battle=blind", "There is no such battle here, or people may still be asked"),
        ("?tab=battles&mode=${window.hacked=1}", "mode of this address is none of"),
        ("?tab=battles&a=%00{{window.hacked=1}}'", "No battle has"),
        (f"?tab=battles&text={'x' * 301}", "longer than 300 characters"),
    ],
)
def test_an_address_that_leads_nowhere_says_so(page, address, said):
    go(page, address)
    page.locator(".broken", has_text=said).wait_for()
    assert page.evaluate("window.hacked === undefined")


def test_a_round_that_is_over_is_shown_and_replayed_exactly(served, page):
    visitor = Visitor(served.url)
    visitor.ask(stop=differ)
    newest = "select battle from battles where origin = 'arena' and battle <> 'blind'"
    before = [id for (id,) in served.stored(newest)]
    for id in before:  # its names are not told yet, if it is stored at all
        go(page, f"?battle={id}")
        page.locator(".broken", has_text="There is no such battle").wait_for()
    reveal = visitor.vote([1, 1])
    battle = until(lambda: served.stored(f"{newest} and battle in (select battle from reveals)"))
    go(page, f"?battle={battle[0][0]}")
    page.wait_for_selector(".battles h2")
    assert reveal
    facts = page.locator(".battles dl").first.inner_text()
    assert page.locator(".battles h2 a").first.get_attribute("href") in (
        "?model=left",
        "?model=right",
    )
    ((seed,),) = served.stored(
        "select printf('%016x', seed) from battles where battle = ?", battle[0][0]
    )
    assert seed in facts
    assert page.locator(".battles code").inner_text() == f"coupled-arena replay {battle[0][0]}"
    page.get_by_role("button", name="Replay").click()
    page.locator(".battles .replay", has_text="Decoded again: identical.").wait_for()
    go(page, "?battle=hostile")
    page.get_by_role("button", name="Replay").click()
    page.locator(".battles .replay", has_text="it has no noise to replay").wait_for()


def drawn_again(visitor, asked):
    """Return what is told of a turn's parting to whoever sends this."""
    (said,) = visitor.call(visitor.dependency("part", "battles"), [], asked)["data"]
    return said["reason"]


def test_a_battle_says_why_its_answers_parted(served, page):
    visitor = Visitor(served.url)
    view = visitor.ask(stop=differ)
    query = "select battle from battles where commitment = ?"
    (battle,) = served.wait_for(query, view["commitment"])
    asked = {"of": battle, "turn": 0, "number": 5}
    hidden = drawn_again(visitor, asked)
    assert hidden["words"][0].startswith("There is no such battle here")
    assert hidden["rows"] == []
    assert hidden["number"] == 5
    visitor.vote([1, 1])
    until(lambda: drawn_again(visitor, asked)["rows"])
    go(page, f"?battle={battle}")
    common = page.locator(".battles .answer .common").all_text_contents()
    marks = page.locator(".battles .answer mark").all_text_contents()
    assert common[0] == common[1]
    assert len({*marks}) == len(marks)
    page.get_by_role("button", name="Replay").click()
    replayed = page.locator(".battles .replay", has_text="Decoded again: identical.")
    replayed.wait_for()
    why = page.locator(".battles").get_by_role("button", name="Why did they part?")
    why.click()
    section = page.locator(".battles").get_by_label("Why the answers parted")
    section.wait_for()
    assert section.locator("tbody .chosen").count() == 2
    assert sorted(section.locator("thead th").all_inner_texts()[1:3]) == ["left", "right"]
    beginning = section.locator(".common")
    assert common[0].startswith(beginning.text_content() if beginning.count() else "")
    assert replayed.is_visible()  # the answer to one question takes nothing of the other
    go(page, "?battle=hostile")
    assert section.count() == 0
    why.click()
    page.locator(".battles .why", has_text="it has no noise to replay").wait_for()
    go(page, f"?battle={battle}")
    section.locator("table").wait_for()  # known, and not asked for again


@pytest.mark.parametrize("asked", [None, "x", [1], {}, {"of": 3}, {"of": "blind", "turn": 0}])
def test_nothing_is_told_of_a_battle_that_is_not_shown(served, asked):
    said = drawn_again(Visitor(served.url), asked)
    assert said["words"][0].startswith("There is no such battle here")
    assert said == {"words": said["words"], "rows": [], "number": 0}


def test_a_tab_in_the_menu_of_a_phone_has_an_address(served, visit):
    page = visit(f"{served.url}/?tab=battles")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served.url}/?tab=audit")
    folded = page.locator(".section:has(#audit-table) > button.label-wrap:not(.open)")
    folded.click()  # on a phone each section is, at first
    page.locator("#audit-table a", has_text="12").first.click()
    page.wait_for_selector(FOUND)
    assert page.locator(COUNT).inner_text() == "12 comparisons, in 12 battles."
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_answers_that_come_in_another_order_are_told_apart(page):
    """Of many addresses at once the last is what is shown."""
    page.evaluate(
        """for (const name of ["art", "maths", "art", "maths"]) {
            const detail = `?tab=battles&category=${name}`;
            window.dispatchEvent(new CustomEvent("arena:go", { detail }));
        }"""
    )
    settle(page)
    page.locator(COUNT, has_text="16 battles.").wait_for()


@pytest.mark.slow
def test_an_answer_that_came_too_late_is_shown_when_it_is_asked_for_again(page):
    """Gradio does not tell the page's script of a value that equals the last one."""
    first, second = ("?tab=battles&category=art", "?tab=battles&category=maths")
    held = []

    def hold(route):
        if "category=maths" in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page.evaluate(OVERHEAR)
    # A stream that was open before is not overheard, and answers come by it until it ends.
    until(lambda: go(page, "?tab=battles") or page.evaluate("window.heard.includes('data: ')"))
    page.evaluate("window.heard = ''")
    page.route("**/queue/join*", hold)
    page.evaluate(
        """both => both.forEach((detail) =>
            window.dispatchEvent(new CustomEvent("arena:go", { detail })))""",
        [first, second],
    )
    page.wait_for_function("window.heard.includes('process_completed')")
    go(page, first)
    assert page.locator(COUNT).inner_text() == "30 battles."
    for route in held:
        route.continue_()
    page.unroute("**/queue/join*")
