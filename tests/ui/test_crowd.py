"""Many visitors at once, and visitors who leave."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.patience import PATIENCE, until
from tests.ui.raw_client import QUESTION, Visitor, differ, has_words, speak
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
    with serving(tmp_path_factory.mktemp("narrow"), ONE_AT_A_TIME, unwatched=1) as served:
        yield served


def begin(visitor):
    """Ask; return the rest of the messages once there are words, None if the arena is busy."""
    visitor.join(visitor.dependency("click", "ask"), [QUESTION, 2])
    messages = visitor.listen()
    for message in messages:
        if message["msg"] == "process_completed":
            return None
        if has_words(message):
            return messages
    return None


def test_a_visitor_who_leaves_frees_the_engine(narrow_app):
    first, second, third = (Visitor(narrow_app.url) for _ in range(3))
    answers = begin(first)
    assert answers
    assert begin(second) is None
    assert b"The arena is busy" in second.heard
    answers.close()  # as a closed tab does: the connection is gone
    admitted = until(lambda: begin(second))
    assert begin(third) is None  # the second one's answers are being written now
    admitted.close()


def test_stopping_frees_the_engine(narrow_app):
    first, second = Visitor(narrow_app.url), Visitor(narrow_app.url)
    view = until(lambda: first.ask(stop=speak))
    assert not view["running"]
    answers = begin(second)
    assert answers
    answers.close()
