"""The app as people use it, in Chromium."""

from __future__ import annotations

import json
from itertools import pairwise

import duckdb
import numpy as np
import pytest

from coupled_arena.core.vote_columns import VOTE_COLUMNS
from tests.ui import hostile_app
from tests.ui.hostile_app import HOSTILE
from tests.ui.server import serving_page
from tests.ui.streams import Streams
from tests.ui.visiting import (
    ANSWERS,
    QUESTION,
    STOP,
    ask,
    ask_and_stop,
    ask_three,
    compared,
    open_exactly,
    open_tab,
    places,
    revealed,
    shoot,
    shoot_both,
    stop,
    stored_vote,
    texts,
    wait_for_words,
    wait_until_done,
)


@pytest.fixture
def page(app, visit):
    return open_exactly(app.url, visit)


@pytest.fixture
def talkative_page(talkative_app, visit):
    return open_exactly(talkative_app.url, visit)


def test_answers_stream(talkative_page):
    page = talkative_page
    page.wait_for_selector("#round", state="attached")
    page.evaluate(
        """() => {
            window.seen = [];
            new MutationObserver(() => window.seen.push(
                [...document.querySelectorAll('#round .answer .text')].map(t => t.textContent)
            )).observe(document.querySelector('#round'), {
                subtree: true, childList: true, characterData: true,
            });
        }"""
    )
    ask(page)
    page.wait_for_function(
        """() => [0, 1].every(place => new Set(
            window.seen.map(pair => pair[place]).filter(text => text && text !== '…')
        ).size > 4)"""
    )
    stop(page)
    seen = [pair for pair in page.evaluate("window.seen") if len(pair) == 2]
    for answer in zip(*seen, strict=True):
        grown = sorted({text for text in answer if text != "…"}, key=len)
        assert len(grown) > 3
        assert all(longer.startswith(text) for text, longer in pairwise(grown))


@pytest.fixture(scope="module")
def hostile_url():
    """A page whose views are full of markup, see `hostile_app`."""
    with serving_page(hostile_app.launch) as url:
        yield url


def test_answers_are_shown_as_they_are(hostile_url, visit):
    page = visit(hostile_url)
    page.evaluate("localStorage.setItem('coupled-arena-texts', 'exact')")
    page.reload()
    contents = lambda selector: page.locator(selector).evaluate_all(  # noqa: E731
        "nodes => nodes.map(node => node.textContent)"
    )
    page.wait_for_selector("#round .text")
    page.wait_for_selector("#comparison .text")
    assert contents("#round .text") == [HOSTILE, f"second {HOSTILE}"]
    assert contents("#round .system") == [f"System prompt: {HOSTILE}"]
    assert contents("#round .commitment") == [f"Commitment {HOSTILE}"]
    assert contents("#comparison .text") == [HOSTILE * 3, HOSTILE]
    assert contents("#comparison .hint") == [HOSTILE]
    page.click("#again")
    page.wait_for_selector("#round .reveal")
    assert contents("#round .text") == [HOSTILE, f"second {HOSTILE}"]
    assert contents("#round .name") == [HOSTILE] * 2
    assert contents("#round .reveal dd") == [HOSTILE] * 5
    assert contents("#comparison header") == [HOSTILE] * 2
    assert page.locator("#round script, #round img, #comparison img, #comparison b").count() == 0
    assert page.evaluate("window.hacked") is None


def test_three_answers_are_ordered_by_clicks_and_keys(app, page):
    ask_three(page)
    cards = page.locator("#round .answer")
    cards.nth(2).click()
    cards.nth(0).click()
    assert places(page) == ["place 2", None, "place 1"]
    page.click("#round .ballot >> text=Undo")
    assert places(page) == [None, None, "place 1"]
    page.keyboard.press("Enter")  # not all are in order yet
    page.keyboard.press("Backspace")
    assert places(page) == [None, None, None]
    for key in ("b", "1", "=", "c"):
        page.keyboard.press(key)
    assert places(page) == ["place 2", "place 1", "place 2"]
    page.keyboard.press("Enter")
    told = revealed(page)
    assert places(page) == ["place 2", "place 1", "place 2"]
    ranks, both_bad, _, models, _ = stored_vote(app, told["Vote"])
    assert (ranks, both_bad) == ([2, 1, 2], False)
    assert page.locator("#round .name").all_inner_texts() == models
    assert len(set(models)) == 3


def test_three_answers_are_voted_on_by_clicks_alone(app, page):
    ask_three(page)
    for index in (2, 0, 1):
        page.locator("#round .answer").nth(index).click()
    page.click("#round .ballot >> text=Submit this order")
    assert stored_vote(app, revealed(page)["Vote"])[0] == [2, 3, 1]


def test_stopping_keeps_what_is_there_and_both_can_be_bad(talkative_app, talkative_page):
    app, page = talkative_app, talkative_page
    ask(page)
    wait_for_words(page)
    before = texts(page)
    stop(page)
    after = texts(page)
    assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
    page.keyboard.press("x")
    told = revealed(page)
    assert stored_vote(app, told["Vote"])[:3] == ([1, 1], True, False)
    assert texts(page) == after
    rows = app.stored("select finish from replies where battle = ?", told["Battle"])
    assert rows == [("cancelled",)] * 2


def test_an_early_vote_is_stored_as_early(talkative_app, talkative_page):
    app, page = talkative_app, talkative_page
    ask(page)
    wait_for_words(page)
    assert page.query_selector(STOP)
    page.keyboard.press("b")
    assert stored_vote(app, revealed(page)["Vote"])[:3] == ([2, 1], False, True)
    assert "before the answers had ended" in page.inner_text("#round .result")


def test_a_follow_up_continues_both_answers(app, page):
    ask_and_stop(page)
    first = texts(page)
    page.fill("#follow-up textarea", "And then?")
    page.click("#continue")
    page.wait_for_function(f"{ANSWERS}.length === 4 && {ANSWERS}.every(t => t.textContent !== '…')")
    wait_until_done(page)
    assert page.locator(".question").all_inner_texts() == [QUESTION, "And then?"]
    assert texts(page)[:2] == first
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("b")
    told = revealed(page)
    stored_vote(app, told["Vote"])  # the replies were stored before it
    rows = app.stored("select turn from replies where battle = ? order by all", told["Battle"])
    assert rows == [(0,), (0,), (1,), (1,)]


def test_compare_repeats_a_seed_and_marks_the_first_difference(app, visit):
    page = visit("about:blank")
    streams = Streams(page)
    page.goto(app.url)
    open_tab(page, "Compare")
    streams.wait_for_tab()
    note, first = compared(page, streams, "coupled", "0123456789abcdef")
    assert "0123456789abcdef" in note
    common = page.locator("#comparison .common").all_text_contents()
    marks = page.locator("#comparison mark").all_text_contents()
    assert len(first) == 2
    assert common[0] == common[1]
    assert marks[0] != marks[1]
    _, independent = compared(page, streams, "independent", "0123456789abcdef")
    assert independent != first
    assert compared(page, streams, "coupled", "0123456789abcdef") == (note, first)


@pytest.fixture(scope="module")
def voted(app, stay):
    """The tab that gives out data, and what was told after a vote."""
    page = stay(app.url)
    page.wait_for_selector("#ask")
    ask_and_stop(page)
    page.keyboard.press("t")
    told = revealed(page)
    open_tab(page, "Data")
    return page, told


def test_the_data_tab_lists_the_columns_of_votes(voted):
    page, _ = voted
    page.locator("#votes-from-elsewhere button").first.click()
    table = page.locator("#votes-from-elsewhere table")
    table.wait_for()
    shown = [cell.split(", ") for cell in table.locator("tr td:first-child").all_inner_texts()]
    assert shown == [list(column.names) for column in VOTE_COLUMNS]
    elsewhere = page.locator("#votes-from-elsewhere").inner_text()
    assert "exit code is 3 if some rows were rejected" in elsewhere


@pytest.mark.parametrize(
    ("label", "ending"), [("Parquet", "parquet"), ("JSON lines", "jsonl"), ("CSV", "csv")]
)
def test_data_downloads_hold_the_vote(voted, tmp_path, label, ending):
    page, told = voted
    page.get_by_label(label, exact=True).check()
    page.click("#make-files")
    names = [f"{table}.{ending}" for table in ("battles", "replies", "votes", "verdicts")]
    for name in names:
        link = page.locator(f"#files a[download='{name}']").first
        # Chromium drops, without a word, the eleventh of many quick downloads.
        if name == names[0]:
            with page.expect_download() as download:
                link.click()
            download.value.save_as(tmp_path / name)
        else:
            (tmp_path / name).write_bytes(page.request.get(link.get_attribute("href")).body())
    votes = duckdb.sql(f"select vote, battle from '{tmp_path / names[2]}'").fetchall()
    assert (told["Vote"], told["Battle"]) in votes
    seeds = duckdb.sql(f"select seed from '{tmp_path / names[0]}'").fetchall()
    assert (told["Seed"],) in seeds
    replies = duckdb.sql(f"select battle, text from '{tmp_path / names[1]}'").fetchall()
    assert sum(battle == told["Battle"] for battle, _ in replies) == 2


def test_data_downloads_arena_rows(voted, tmp_path):
    page, told = voted
    page.get_by_label("Chatbot Arena rows").check()
    page.click("#make-files")
    link = page.locator("#files a[download='arena.jsonl']")
    with page.expect_download() as download:
        link.first.click()
    download.value.save_as(tmp_path / "arena.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text().splitlines()]
    assert told["Battle"] in [row["battle"] for row in rows]


@pytest.mark.parametrize(
    ("label", "name"), [("Flat table, Parquet", "flat.parquet"), ("Flat table, CSV", "flat.csv")]
)
def test_data_downloads_one_flat_table(voted, tmp_path, label, name):
    page, told = voted
    page.get_by_label(label).check()
    page.click("#make-files")
    with page.expect_download() as download:
        page.locator(f"#files a[download='{name}']").first.click()
    download.value.save_as(tmp_path / name)
    rows = duckdb.sql(f"select vote, battle, seed, winner from '{tmp_path / name}'").fetchall()
    assert (told["Vote"], told["Battle"], told["Seed"], "tie") in rows


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen(app, visit, tmp_path, scheme):
    """In the light on two screens; in the dark, where they have the same places, on a wide one."""
    pictured = shoot_both if scheme == "light" else shoot
    page = visit(f"{app.url}/?__theme={scheme}", scheme=scheme)
    page.wait_for_selector("#ask")
    ask_and_stop(page)
    grey = pictured(page, tmp_path, f"battle-{scheme}")
    assert (np.median(grey) > 128) == (scheme == "light")
    page.keyboard.press("a")
    page.wait_for_selector(".reveal")
    pictured(page, tmp_path, f"reveal-{scheme}")
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board-pairs .js-plotly-plot .main-svg")
    pictured(page, tmp_path, f"leaderboard-{scheme}")
    for tab in ("Compare", "Data"):
        open_tab(page, tab)
        page.wait_for_selector({"Compare": "#compare", "Data": "#make-files"}[tab])
        pictured(page, tmp_path, f"{tab.lower()}-{scheme}")
