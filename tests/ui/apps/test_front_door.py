"""The front door: what others install, started in an empty folder and visited in Chromium.

The models are those of the demo, and everything is as it comes but for short answers.
"""

from __future__ import annotations

import json
import re

import httpx
import pytest
from playwright.sync_api import TimeoutError as TooLate

from coupled_arena.store.transfer.snapshots import snapshot_path
from coupled_arena.ui.parts.panel import texts_path
from tests.installed import REPOSITORY
from tests.patience import until
from tests.ui.server import answers, free_port, read
from tests.ui.visiting import (
    BOARD_VOTES,
    QUESTION,
    VOTE,
    ask_until_open,
    open_tab,
    revealed,
    wait_for_words,
)

SHORT = {"COUPLED_ARENA_SAMPLING_MAX_NEW_TOKENS": "12", "COUPLED_ARENA_SNAPSHOT_SECONDS": "0.2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def url(installed, folder):
    """The address of the app."""
    port, told = free_port(), folder.with_suffix(".log")
    with told.open("w") as log:
        app = installed.start("serve", "--port", str(port), cwd=folder, log=log, **SHORT)

    def open_or_ended():
        assert app.poll() is None, told.read_text()
        return answers(f"http://127.0.0.1:{port}/config")

    try:
        until(open_or_ended)
        yield f"http://127.0.0.1:{port}"
    finally:
        app.kill()
        app.wait()


def test_the_page_has_its_scripts_and_styles(url):
    config = httpx.get(f"{url}/config").text
    for name in ("round.js", "compare.js", "figures.js", "arena.css"):
        text = (REPOSITORY / "assets" / name).read_text("utf-8")
        assert json.dumps(text, ensure_ascii=False)[1:-1] in config, name
    # Of what comes later the wheel has every file, and the page asks for it by this name.
    assert texts_path()[1:] in config
    assert httpx.get(f"{url}{texts_path()}").text == (REPOSITORY / "assets/texts.js").read_text()


def next_question(page):
    """Press the key; one that follows the reveal at once is taken for the end of a double press."""
    page.keyboard.press("n")
    try:
        page.wait_for_selector(".reveal", state="detached", timeout=10_000)
    except TooLate:
        return False
    return True


def test_a_round_is_voted_on_by_key_and_the_leaderboard_follows(url, folder, visit):
    page, board = visit(url), visit(url)
    page.wait_for_selector("#ask")
    open_tab(board, "Leaderboard")
    board.wait_for_selector("#board-said .headline:not(.waiting)")
    votes = board.evaluate(BOARD_VOTES)
    ask_until_open(page)
    commitment = page.text_content(".commitment").removeprefix("Commitment ")
    assert page.query_selector("#round .name") is None
    assert board.evaluate(BOARD_VOTES) == votes
    page.keyboard.press("a")
    page.wait_for_selector("#round .ballot >> text=Undo")
    assert page.query_selector("#round .name") is None
    assert board.evaluate(BOARD_VOTES) == votes
    page.keyboard.press("n")
    told = revealed(page)
    board.wait_for_function(f"{BOARD_VOTES} === {votes} + 2")  # one more for two models
    names = page.locator("#round .name").all_inner_texts()
    snapshot = snapshot_path(folder / "arena.duckdb")
    rows = until(lambda: snapshot.exists() and read(snapshot, VOTE, told["Vote"]))
    ranks, both_bad, early, models, mode = rows[0]
    assert (ranks, both_bad, early) == ([1, 2], False, False)
    assert names == models
    assert told["Commitment"] == commitment
    assert re.fullmatch("[0-9a-f]{16}", told["Seed"])
    assert f" {mode.capitalize()}: " in page.inner_text("#round .result")
    until(lambda: next_question(page))
    wait_for_words(page)
    assert page.inner_text(".question") != QUESTION
