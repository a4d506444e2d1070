"""Many visitors at once, and visitors who leave."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.patience import PATIENCE, until
from tests.ui.raw_client import QUESTION, Visitor, differ, speak
from tests.ui.server import EQUAL_MODELS, serving

CROWD = 8

# One battle at a time, whose answers would go on for minutes: the next visitor is let in only
# once the engine is free. At this temperature the end has 1 in 20,000 of the probability.
ONE_AT_A_TIME = f"""
[sampling]
max_new_tokens = 6000
temperature = 2
top_p = 1
[battle]
most_at_once = 1
most_waiting = 0
{EQUAL_MODELS}
"""


def test_eight_visitors_stream_at_once(talkative_app):
    app = talkative_app
    visitors = [Visitor(app.url) for _ in range(CROWD)]
    begun = threading.Barrier(CROWD)

    def watched(visitor):
        def enough(view):
            return differ(view) and visitor.pieces > 3 and begun.wait(PATIENCE) >= 0

        return visitor.ask(stop=enough)

    with ThreadPoolExecutor(CROWD) as pool:
        views = list(pool.map(watched, visitors))
    for visitor, view in zip(visitors, views, strict=True):
        assert not view["running"]
        assert all(view["turns"][0]["answers"])
        assert visitor.heard.count(b'"msg":"process_completed"') == visitor.posted
    assert len({view["commitment"] for view in views}) == CROWD
    together = "arithmetic['turn 0/most battles at once']::int"
    rows = [
        app.wait_for(f"select {together} from battles where commitment = ?", view["commitment"])
        for view in views
    ]
    assert max(rows) > (1,)


@pytest.fixture(scope="module")
def narrow_app(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("narrow"), ONE_AT_A_TIME) as served:
        yield served


def begin(visitor):
    """Ask; return the rest of the stream once there are words, None if the arena is busy."""
    if (view := visitor.begin()) is None:
        return None
    views = visitor.follow(view)
    assert any(map(speak, views))
    return views


def wait_in_line(visitor):
    """Ask; return the rest of the stream once there is a place in the queue."""
    views = visitor.follow(visitor.begin())
    assert any(view["ahead"] is not None for view in views)
    return views


def stop(visitor):
    visitor.join(visitor.dependency("stop", "round"), [None])


def test_a_visitor_who_leaves_frees_the_engine(narrow_app):
    first, second, third = (Visitor(narrow_app.url) for _ in range(3))
    answers = begin(first)
    assert answers
    assert begin(second) is None
    assert b"The arena is busy" in second.heard
    answers.close()  # as a closed tab does: the connection is gone
    admitted = until(lambda: begin(second))
    let_in = begin(third)  # the second one's answers are being written now
    admitted.close()
    assert let_in is None, f"{second.heard.decode()[-3000:]}\n{narrow_app.stderr.read_text()}"


def test_stopping_frees_the_engine(narrow_app):
    first, second = Visitor(narrow_app.url), Visitor(narrow_app.url)
    view = until(lambda: first.ask(stop=speak))
    assert not view["running"]
    answers = begin(second)
    assert answers
    answers.close()


def test_who_waits_sees_their_place(tmp_path, visit):
    """In words that are read aloud, after a reload too, until the answers begin."""
    with serving(tmp_path, ONE_AT_A_TIME.replace("most_waiting = 0", "most_waiting = 2")) as served:
        page = visit(served.url)  # before the first answers begin, which do not go on for ever
        page.wait_for_selector("#ask")
        first, second = Visitor(served.url), Visitor(served.url)
        streams = [begin(first), wait_in_line(second)]
        assert all(streams)
        page.fill("#question textarea", QUESTION)
        page.keyboard.press("Enter")
        status = page.locator("#round [role=status]")
        status.get_by_text("Waiting: 1 ahead of you.").wait_for()
        assert page.locator("#round .text").all_inner_texts() == ["…", "…"]
        page.reload()
        status.get_by_text("Waiting: 1 ahead of you.").wait_for()
        assert begin(Visitor(served.url)) is None
        stop(second)
        status.get_by_text("Waiting: you are next.").wait_for()
        stop(first)
        page.wait_for_function("[...document.querySelectorAll('#round .text')].some("
                               "node => node.textContent.length > 1)")  # fmt: skip
        assert "Waiting" not in status.inner_text()
        page.keyboard.press("s")
