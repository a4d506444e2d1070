"""A reload brings a round back to whoever opened it, and to nobody else."""

from __future__ import annotations

import json

import pytest

from tests.ui.apps import test_blindness as blindness
from tests.ui.raw_client import Visitor, differ
from tests.ui.visiting import QUESTION, ask, ask_and_stop, open_exactly, revealed, stop, texts
from tests.ui.visiting import wait_for_words as words

LENGTH = "document.querySelector('#round .answer .text').textContent.length"


@pytest.fixture
def page(app, visit):
    opened = visit(app.url)
    opened.wait_for_selector("#ask")
    return opened


def commitment(page):
    return page.text_content("#round .commitment")


def test_a_finished_round_is_continued_and_voted_on_after_a_reload(page):
    ask_and_stop(page)
    before = commitment(page), texts(page)
    page.reload()
    page.wait_for_selector("#round .ballot")
    assert (commitment(page), texts(page)) == before
    assert page.locator("#round .question").all_inner_texts() == [QUESTION]
    assert page.locator("#round .name").count() == 0
    page.fill("#follow-up textarea", "And then?")
    page.keyboard.press("Enter")
    page.locator("#round .question", has_text="And then?").wait_for()
    words(page)
    stop(page)
    page.reload()
    page.locator("#round .question", has_text="And then?").wait_for()
    page.keyboard.press("t")
    told = revealed(page)
    page.reload()
    assert revealed(page) == told
    page.keyboard.press("r")
    page.wait_for_selector(".reveal", state="detached")
    assert page.inner_text("#round .question") == QUESTION


def test_a_running_round_goes_on_after_a_reload(talkative_app, visit):
    page = open_exactly(talkative_app.url, visit)  # Markdown that grows takes its signs back
    ask(page)
    words(page)
    before = commitment(page), texts(page)
    page.reload()
    page.wait_for_selector("#round .ballot")
    after = commitment(page), texts(page)
    assert before[0] == after[0]
    assert all(b.startswith(a) for a, b in zip(before[1], after[1], strict=True))
    page.wait_for_function(f"length => {LENGTH} > length", arg=page.evaluate(LENGTH))
    stop(page)


def test_two_pages_of_one_visitor_have_rounds_of_their_own(app, page):
    ask_and_stop(page)
    other = page.context.new_page()
    other.goto(app.url)
    other.wait_for_selector("#round .ballot")
    assert commitment(other) == commitment(page)
    ask(other, "Which way is up?")
    other.locator("#round .question", has_text="Which way is up?").wait_for()
    words(other)
    stop(other)
    assert commitment(other) != commitment(page)
    other.keyboard.press("t")
    told = revealed(other)
    page.bring_to_front()
    page.keyboard.press("t")
    assert revealed(page)["Vote"] != told["Vote"]
    page.reload()
    assert revealed(page) == told
    assert page.inner_text("#round .question") == "Which way is up?"


def test_only_its_owner_gets_a_round_back_and_blind(app, visitor):
    blind = visitor.ask(stop=differ)
    app.wait_for("select 1 from battles where commitment = ?", blind["commitment"])
    resume = next(d for d in visitor.config["dependencies"] if d["api_name"] == "_resume")
    again = Visitor(app.url, session=visitor.session)
    for stranger in (again, Visitor(app.url, cookies=False, session=visitor.session)):
        told = json.dumps(stranger.call(resume, []))
        assert "turns" not in told
        assert blind["commitment"] not in told
    back = Visitor(app.url)
    back.http.cookies = visitor.http.cookies
    (_, view, _) = back.call(resume, [])["data"]
    assert view == blind | {"resumed": True}
    heard = blindness.text_of([bytes(back.heard)])
    assert [secret for secret in blindness.secrets_in(app) if secret in heard] == []
    assert view["reveal"] is None
    assert blindness.MENTIONED.findall(json.dumps(view, separators=(",", ":"))) == []
    assert back.vote([2, 1])["commitment"] == blind["commitment"]
    assert "You have voted" in visitor.vote()["error"]
