"""The live judge as visitors meet it: verdicts on the board, and a quiet line in an outage."""

from __future__ import annotations

import threading
import time

import pytest

from tests.judging.scripted import KEY, failure, scripted, verdict
from tests.patience import PATIENCE
from tests.ui.raw_client import Visitor
from tests.ui.server import EQUAL_MODELS, read, serving
from tests.ui.visiting import open_tab

NOTICE = "#judge-notice >> text=The judge ann does not answer at the moment."
VERDICTS = "document.querySelector('#board tbody tr')?.cells[4].textContent"


@pytest.fixture(scope="module")
def judge():
    with scripted(lambda _: verdict("A")) as server:
        yield server


def config(judge):
    return f"""
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 16
[battle]
coupled_share = 0  # of two equal models: identical answers every time
[judge]
name = "ann"
base_url = "{judge.url}"
key = "{KEY}"
patience = 0.5
{EQUAL_MODELS}
"""


def vote(url):
    """Vote on a round whose answers differ; return how long the vote took."""
    while (visitor := Visitor(url)).ask()["reveal"]:
        pass  # identical answers
    begun = time.monotonic()
    assert visitor.vote()
    return time.monotonic() - begun


def test_verdicts_follow_votes_and_an_outage_is_one_line(judge, visit, tmp_path):
    with serving(tmp_path, config(judge)) as served:
        page = visit(served.url)
        open_tab(page, "Leaderboard")
        vote(served.url)
        page.locator("#board-source").get_by_text("Judge").click()  # not on an empty board
        page.wait_for_function(f"{VERDICTS} === '1'")
        assert page.locator(NOTICE).count() == 0
        released = threading.Event()
        judge.script = lambda _: failure(503) if released.wait(PATIENCE) else verdict("A")
        assert vote(served.url) < PATIENCE / 2  # the judge does not answer yet
        released.set()
        page.wait_for_selector(NOTICE)
        assert KEY not in page.content()
        assert judge.url not in page.content()
        judge.script = lambda _: verdict("A")
        page.wait_for_function(f"{VERDICTS} === '2'")
        page.wait_for_selector(NOTICE, state="detached")
        page.close()
        assert served.stop() == 0
    orders = "select distinct battle, first_place from verdicts"
    assert len(read(served.db, orders)) == len(read(served.db, "select battle from verdicts"))
    assert KEY not in served.stderr.read_text()
    assert KEY.encode() not in served.db.read_bytes()
