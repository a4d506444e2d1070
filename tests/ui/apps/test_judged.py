"""The judge beside one's own vote, and in its place, as visitors meet it."""

from __future__ import annotations

import threading

import pytest

from coupled_arena.store.database import Store
from tests.judging.scripted import KEY, completion, failure, scripted, verdict
from tests.judging.test_real_server import transformers_serve
from tests.patience import PATIENCE, until
from tests.small_models import NAMES, SMALL_MODELS, save_small_models
from tests.stored import fill
from tests.ui.fields import enter
from tests.ui.hostile_app import HOSTILE
from tests.ui.raw_client import Visitor
from tests.ui.server import free_port, serving
from tests.ui.visiting import ask_until_open, open_menu, open_tab, revealed, wait_until_open

CONFIG = """
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 24
[judge]
name = "strict"
base_url = "{}"
key = "{}"
patience = 0.5
visitor_questions = 6
"""


RAWS = """select list(raw order by first_place) from verdicts where battle = ?
    having count(*) = 2"""


@pytest.fixture(scope="module")
def server():
    with scripted(lambda _: verdict("A")) as served:
        yield served


@pytest.fixture(scope="module")
def judged_app(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    config = CONFIG.format(server.url, KEY) + SMALL_MODELS
    with serving(folder, config) as served:
        yield served


@pytest.fixture(autouse=True)
def answering(server):
    server.script = lambda _: verdict("A")


@pytest.fixture
def page(judged_app, visit):
    return visit(judged_app.url)


def says(page, words):
    page.locator(".judge-says").get_by_text(words).wait_for()


def press(page, key):
    page.locator("#round").focus()
    page.keyboard.press(key)  # once the buttons hear, see `visit`


def battle_of(page):
    return revealed(page)["Battle"]


def test_its_verdict_in_each_order_appears_beside_ones_own(judged_app, server, page):
    server.script = lambda _: completion(HOSTILE) if len(server.asked) % 2 else verdict("B")
    server.asked.clear()
    ask_until_open(page)
    assert page.locator(".judged").count() == 0
    press(page, "b")
    told = revealed(page)
    page.get_by_text("strict has agreed with you on").wait_for()
    orders = page.locator(".judged .orders li").all_inner_texts()
    assert sorted(order.split(" shown")[0] for order in orders) == ["A", "B"]
    assert sum(order.endswith("nothing readable") for order in orders) == 1
    page.get_by_text("In its own words").click()
    page.locator(".judged .raw").first.wait_for()
    (said,) = judged_app.wait_for(RAWS, told["Battle"])
    open_menu(page)
    page.get_by_text("Formatted texts").click()  # exactly as they were written
    raws = page.locator(".judged .raw.exact")
    raws.first.wait_for()
    assert raws.evaluate_all("nodes => nodes.map(node => node.textContent)") == said
    assert HOSTILE in said
    assert page.evaluate("window.hacked") is None


def test_a_judge_decides_in_place_of_a_vote(judged_app, page):
    ask_until_open(page)
    press(page, "j")
    says(page, "The judge strict: a tie, because its two orders disagree.")
    told = revealed(page)
    assert "Vote" not in told
    page.get_by_text("its verdict is stored, and no vote of yours").wait_for()
    assert page.locator(".answer .name").count() == 2
    assert page.get_by_role("button", name="is better").count() == 0
    counts = "select count(*) from {} where battle = ?"
    until(lambda: judged_app.stored(counts.format("verdicts"), told["Battle"]) == [(2,)])
    assert judged_app.stored(counts.format("votes"), told["Battle"]) == [(0,)]
    assert judged_app.stored(counts.format("reveals"), told["Battle"]) == [(1,)]


def test_while_it_reads_the_page_says_so_through_a_reload_and_can_call_it_off(
    judged_app, server, visit
):
    released = threading.Event()
    server.script = lambda _: verdict("A") if released.wait(PATIENCE) else None
    page = visit(judged_app.url)
    ask_until_open(page)
    page.get_by_role("button", name="Let the judge decide").dblclick()
    page.get_by_text("The judge strict reads: 0 of 2 answers.").wait_for()
    page.reload()
    page.get_by_text("The judge strict reads: 0 of 2 answers.").wait_for()
    assert page.locator("#follow-up").is_hidden()
    page.get_by_role("button", name="Vote yourself instead").click()
    page.get_by_role("button", name="A is better").wait_for()
    press(page, "j")
    page.get_by_text("The judge strict reads: 0 of 2 answers.").wait_for()
    released.set()
    says(page, "The judge strict: a tie")
    assert revealed(page)


def test_where_it_fails_vote_and_page_are_as_they_were(judged_app, server, page):
    server.script = lambda _: failure(503)
    ask_until_open(page)
    before = page.locator("#round .answer .text").all_inner_texts()
    press(page, "j")
    page.get_by_text("The judge strict does not answer. The round is as it was").wait_for()
    assert page.locator("#round .answer .text").all_inner_texts() == before
    press(page, "a")
    told = revealed(page)
    assert judged_app.wait_for("select ranks from votes where vote = ?", told["Vote"]) == ([1, 2],)
    says(page, "The judge strict does not answer at the moment.")
    assert server.url not in page.content()
    server.script = lambda _: verdict("A")
    says(page, "The judge strict: a tie")


def test_in_compare_it_is_asked_at_a_click_and_nothing_is_stored(judged_app, server, page):
    open_tab(page, "Compare")
    enter(page.locator("#compare-question textarea"), "Which way?")
    page.click("#compare")
    button = page.get_by_role("button", name="Ask the judge strict")
    button.wait_for()
    before = judged_app.stored("select count(*) from verdicts")
    names = page.locator(".comparison header").all_inner_texts()
    server.script = lambda body: verdict("A")
    server.asked.clear()
    button.click()
    page.get_by_text("Comparisons are not stored").wait_for()
    says(page, "The judge strict: a tie, because its two orders disagree.")
    orders = page.locator(".judged .orders li").all_inner_texts()
    assert orders == [f"{name} shown first: {name} is better" for name in names]
    assert len(server.asked) == 2
    assert judged_app.stored("select count(*) from verdicts") == before
    server.script = lambda _: failure(401)
    page.click("#compare")
    button.click()
    says(page, "The judge strict does not answer. Compare again")


def test_only_its_visitor_may_press_and_bytes_tell_nothing_before(judged_app, server):
    released = threading.Event()
    server.script = lambda _: verdict("A") if released.wait(PATIENCE) else None
    visitor = Visitor(judged_app.url)
    while visitor.ask()["reveal"]:
        pass
    asked = len(server.asked)
    stranger = Visitor(judged_app.url, session=visitor.session)
    judge = visitor.dependency("judge", "round")
    assert "not open" in stranger.call(judge, [None], {"begin": True})["error"]
    for odd in (None, {}, {"begin": 1}, {"begin": False}, [], "begin", 7):
        visitor.call(judge, [None], odd)
    assert len(server.asked) == asked
    visitor.heard.clear()
    view = visitor.call(judge, [None], {"begin": True})["data"][0]
    assert view["judging"] == {"answered": 0, "questions": 2}
    path = view["judge"]["events"]
    assert stranger.http.get(path).status_code == 404
    assert "judge is reading" in visitor.vote()["error"]
    heard = bytes(visitor.heard)
    assert not [name for name in NAMES if name.encode() in heard]
    released.set()
    assert path.endswith("/deciding")
    assert b'"look":true' in visitor.get(path).replace(b" ", b"")  # also when it is over
    assert b'"look":true' in visitor.get(path).replace(b" ", b"")
    view = visitor.call(visitor.dependency("look", "round"), [None])["data"][1]
    assert view["reveal"]["vote"] is None
    assert "This battle is decided" in visitor.vote()["error"]


def test_a_visitor_may_ask_so_much_and_is_told_when(judged_app, server):
    visitor = Visitor(judged_app.url)
    judge, look = (visitor.dependency(event, "round") for event in ("judge", "look"))
    for _ in range(3):
        while visitor.ask(stop=None)["reveal"]:
            pass
        visitor.call(judge, [None], {"begin": True})
        until(lambda: visitor.call(look, [None])["data"][1]["reveal"])
    while visitor.ask()["reveal"]:
        pass
    asked = len(server.asked)
    for _ in range(3):
        assert "6 questions an hour" in visitor.call(judge, [None], {"begin": True})["error"]
    assert len(server.asked) == asked


def test_without_a_judge_one_line_says_how_to_have_one(app, visit):
    page = visit(app.url)
    ask_until_open(page)
    assert page.get_by_role("button", name="Let the judge decide").count() == 0
    press(page, "a")
    revealed(page)
    page.get_by_text("No model judges here").wait_for()


def test_on_stored_battles_it_says_what_it_thinks_and_decides_nothing(server, visit, tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        fill(store, [f"Which way is {n}?" for n in range(3)])
    config = CONFIG.format(server.url, KEY)
    with serving(tmp_path, config, "--annotate", "--reveal", "each") as served:
        page = visit(served.url)
        page.click("#start")
        page.get_by_role("button", name="A is better").wait_for()
        assert page.get_by_role("button", name="Let the judge decide").count() == 0
        visitor = Visitor(served.url)
        visitor.call(visitor.dependency("click", "start"), [])
        with pytest.raises(LookupError):  # nor is there a handler that could be called
            visitor.dependency("judge", "round")
        press(page, "a")
        says(page, "The judge strict: a tie, because its two orders disagree.")
        page.get_by_text("strict has agreed with you on 0 of 1 comparison").wait_for()


@pytest.mark.slow
def test_a_real_server_reads_both_orders_and_is_killed(visit, tmp_path):
    port, log = free_port(), tmp_path / "serve.log"
    save_small_models(tmp_path)
    weights = tmp_path / NAMES[0]
    config = CONFIG.format(f"http://127.0.0.1:{port}/v1", KEY) + SMALL_MODELS
    config = config.replace("patience", f'model = "{weights}"\nmax_tokens = 8\npatience')
    with transformers_serve(weights, port, log) as judge, serving(tmp_path, config) as served:
        page = visit(served.url)
        ask_until_open(page)
        press(page, "a")
        told = revealed(page)
        orders = page.locator(".judged .orders li")
        orders.nth(1).wait_for()
        (said,) = served.wait_for(RAWS, told["Battle"])
        page.get_by_text("In its own words").click()
        open_menu(page)
        page.get_by_text("Formatted texts").click()
        raws = page.locator(".judged .raw.exact")
        raws.nth(1).wait_for()
        shown = raws.evaluate_all("nodes => nodes.map(node => node.textContent)")
        assert shown == [raw or "(no words)" for raw in said]
        judge.kill()
        judge.join()
        press(page, "r")
        page.wait_for_selector(".reveal", state="detached")
        wait_until_open(page)
        press(page, "j")
        page.get_by_text("The judge strict does not answer. The round is as it was").wait_for()
        press(page, "b")
        told = revealed(page)
        assert served.wait_for("select ranks from votes where vote = ?", told["Vote"])[0] == [2, 1]
        says(page, "The judge strict does not answer at the moment.")
