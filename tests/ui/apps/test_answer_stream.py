"""The stream of growing answers: blind, and whole whatever happens to the connection."""

from __future__ import annotations

import json
import re

import pytest
from transformers import AutoTokenizer

from coupled_arena.battles.blind_view import RoundView, TurnView
from coupled_arena.ui.parts import answer_stream
from tests.patience import until
from tests.small_models import NAMES
from tests.ui.coroutines import completed
from tests.ui.raw_client import Visitor, differ, speak
from tests.ui.visiting import ANSWERS, ask, revealed, stop
from tests.ui.visiting import wait_for_words as words

FOREVER = 1e6  # seconds
LOST = "#round >> text=The connection is lost"
REFUSED = "Failed to load resource: the server responded with a status of 502 (Bad Gateway)"


def messages(visitor):
    """Return all that a visitor has heard on streams of answers: what was said, and its id."""
    heard = visitor.heard.decode()
    pattern = r'^data: (\{"(?:answers|more)":.*\})\nid: ([\d-]+)$'
    return [(json.loads(said), id) for said, id in re.findall(pattern, heard, re.MULTILINE)]


def test_all_answers_grow_by_the_same_tokens_in_one_message(talkative_app):
    app, visitor = talkative_app, Visitor(talkative_app.url)
    view = visitor.ask(stop=lambda view: differ(view) and visitor.pieces > 3)
    (tokens,) = app.wait_for(
        """
        select list(tokens order by place) from replies join battles using (battle)
        where commitment = ? group by commitment
        """,
        view["commitment"],
    )
    tokenizer = AutoTokenizer.from_pretrained(app.config.parent / NAMES[0])

    def counts(tokens, length):
        """Return after how many tokens an answer has so many characters."""
        places = range(len(tokens) + 1)  # who is stopped may have heard all of one answer before
        return {n for n in places if len(tokenizer.decode(tokens[:n])) == length}

    told = messages(visitor)
    assert len(told) > 4
    for said, id in told[:-1]:  # the last one has the ends, too
        assert said.keys() in ({"answers", "ahead"}, {"more", "ahead"})
        assert len(said.get("answers") or said["more"]) == 2
        one, other = (counts(*each) for each in zip(tokens, map(int, id.split("-")), strict=True))
        assert one & other


def test_after_a_broken_connection_nothing_is_lost_or_doubled(talkative_app):
    visitor = Visitor(talkative_app.url)
    view = visitor.begin()
    witness = visitor.follow(view)  # so that the answers go on however long a connection takes
    next(witness)
    visitor.last_event = ""
    for _ in range(5):
        before = view["turns"]
        broken = visitor.follow(view, visitor.last_event)
        view = next(grown for grown in broken if grown["turns"] != before)
        broken.close()
    assert visitor.pieces > 3
    visitor.call(visitor.dependency("stop", "round"), [None])
    *_, resumed = visitor.follow(view, visitor.last_event)
    *_, afresh = visitor.follow(view | {"turns": [{**view["turns"][0], "answers": []}]})
    (whole,) = talkative_app.wait_for(
        """
        select list(text order by place) from replies join battles using (battle)
        where commitment = ? group by commitment
        """,
        view["commitment"],
    )
    assert resumed["turns"][0]["answers"] == afresh["turns"][0]["answers"] == whole


@pytest.mark.parametrize("last_event", ["0", "0-0-0", "-1-2", "a-b", "1" * 99, "²-²", "9-9-", ""])
def test_who_claims_to_have_heard_nonsense_hears_everything(talkative_app, last_event):
    visitor = Visitor(talkative_app.url)
    view = visitor.begin()
    headers = {"last-event-id": last_event.encode()}
    with visitor.http.stream("GET", view["events"], headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["x-accel-buffering"] == "no"
        assert stream.headers["cache-control"] == "no-cache"
        assert next(stream.iter_lines()).startswith('data: {"answers":')


class Still:
    """A round in which nothing is added, looked at four times."""

    closing = False

    def view(self, owner, round_id):
        return RoundView(2, (TurnView("Why?", ("a", "b")),), running=True, commitment="")

    async def watch(self, owner, round_id):
        for _ in range(4):
            yield self.view(owner, round_id)


@pytest.mark.parametrize(("silence", "signs"), [(0.0, 3), (FOREVER, 0)])
def test_a_stream_that_has_nothing_to_say_shows_that_it_is_there(monkeypatch, silence, signs):
    monkeypatch.setattr(answer_stream, "_SILENCE", silence)

    async def heard():
        return [said async for said in answer_stream._events(Still(), "eve", "", 0, None)]

    first, *still, last = completed(heard())
    assert first.startswith(b'data: {"answers":["a","b"],')
    assert still == [b": ping\n\n"] * signs
    assert last.startswith(b"event: end\n")


def test_asking_twice_before_there_are_words_is_asking_once(visitor):
    long = "whale " * 2500
    first = visitor.begin(long)
    assert not speak(first)
    again = visitor.begin(long)
    assert again["commitment"] == first["commitment"]
    assert visitor.begin("Another one.")["commitment"] != first["commitment"]


def test_a_page_that_gets_no_stream_asks_until_it_gets_one(talkative_app, visit):
    page = visit(talkative_app.url, expected=REFUSED)
    page.wait_for_selector("#ask")
    page.route("**/events", lambda route: route.fulfill(status=502))
    ask(page)
    page.wait_for_selector(LOST)
    words(page)
    page.unroute("**/events")
    page.wait_for_selector(LOST, state="detached")
    length = f"{ANSWERS}[0].textContent.length"
    page.wait_for_function(f"length => {length} > length + 200", arg=page.evaluate(length))
    stop(page)
    page.keyboard.press("t")
    assert revealed(page)["Vote"]


def test_a_look_that_is_lost_holds_up_no_other(talkative_app, visit):
    page = visit(talkative_app.url, expected=REFUSED)
    page.wait_for_selector("#ask")
    look = Visitor(talkative_app.url).dependency("look", "round")["id"]
    lost = []

    def lose(route):
        if lost or route.request.post_data_json["fn_index"] != look:
            route.continue_()
        else:
            lost.append(route)
            route.fulfill(json={"event_id": "of nobody"})

    page.route("**/events", lambda route: route.fulfill(status=502))
    page.route("**/queue/join*", lose)
    ask(page)
    until(lambda: page.wait_for_timeout(50) or lost)
    page.unroute("**/events")
    page.wait_for_selector(LOST, state="detached")
    stop(page)
    page.keyboard.press("t")
    assert revealed(page)["Vote"]
