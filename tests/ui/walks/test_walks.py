"""What people do on the page, from end to end: one browser, one arena, started anew where a walk
needs it in another form.

The models are small, the judge is scripted, the database holds votes, verdicts and scores.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from coupled_arena.cli import main
from coupled_arena.core.passwords import hash_password
from coupled_arena.store.database import Store
from tests.analysis import test_coupling
from tests.judging.scripted import KEY, scripted, verdict
from tests.patience import new_context, until
from tests.small_models import NAMES, SMALL_MODELS
from tests.stored import fill
from tests.ui import test_audit
from tests.ui.fields import enter
from tests.ui.hostile_app import HOSTILE
from tests.ui.server import Served
from tests.ui.visiting import (
    BOARD_VOTES,
    QUESTION,
    ask,
    ask_and_stop,
    ask_three,
    hears,
    open_exactly,
    open_tab,
    places,
    revealed,
    stop,
    stored_vote,
    texts,
    violations,
    wait_for_words,
)

UNDO = 60.0  # seconds, the longest that there is
CONFIG = """
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 6000
[judge]
name = "strict"
base_url = "{}"
key = "{}"
{}
"""
PASSWORD = "correct horse"
SIGN_IN = '[access]\nsign_in = "password"\nusers = {{ ann = "{}" }}\n'


class Arena:
    """One app that can be started again, as it was or in another form."""

    def __init__(self, folder: Path, judge: str) -> None:
        self.folder = folder
        self.usual = CONFIG.format(judge, KEY, SMALL_MODELS)
        self.app = self.form = None
        self.become(self.usual)

    @property
    def url(self):
        return self.app.url

    def become(self, config, *options):
        """Serve in a form; nothing happens where that is so already."""
        if (config, options) != self.form:
            port = self.app.port if self.app else None
            self.end()
            self.app = Served(self.folder, config, *options, undo=UNDO, port=port)
            self.app.wait_until_open()
            self.form = config, options

    def end(self):
        if self.app:
            self.app.kill()
        self.form = None


@pytest.fixture(scope="module")
def any_arena(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    with Store.open(folder / "arena.duckdb") as store:
        test_audit.fill(store, NAMES[:2], "gpt")
        test_coupling.fill(store)
        fill(store, [f"Tell me a story about {n} whales." for n in range(6)])
    with scripted(lambda _: verdict("A")) as judge:
        arena = Arena(folder, judge.url)
        yield arena
        arena.end()


@pytest.fixture
def arena(any_arena):
    """The arena in its usual form, whatever the walk before did."""
    any_arena.become(any_arena.usual)
    return any_arena


@pytest.fixture
def page(arena, visit):
    """A page that shows texts as they were written."""
    return open_exactly(arena.url, visit)


@pytest.fixture
def patient(browser):
    """A page that may complain: its server goes away, or refuses."""
    context = new_context(browser)
    yield context.new_page()
    context.close()


def press(page, key, said):
    """Press a key once the buttons hear, and wait until the page has said so."""
    hears(page)
    page.keyboard.press(key)
    page.locator("#round .said", has_text=said).wait_for()


# A round --------------------------------------------------------------------------------------


def test_answers_stream_and_a_vote_that_was_undone_is_cast_anew(arena, page, visit):
    board = visit(arena.url)
    open_tab(board, "Leaderboard")
    board.wait_for_selector("#board-said .headline:not(.waiting)")
    board.wait_for_selector("#board tbody tr")
    votes = board.evaluate(BOARD_VOTES)
    ask(page)
    wait_for_words(page)
    early = texts(page)
    page.wait_for_function(
        "length => document.querySelector('#round .answer .text').textContent.length > length",
        arg=len(early[0]),
    )
    stop(page)
    assert all(late.startswith(begun) for begun, late in zip(early, texts(page), strict=True))
    commitment = page.text_content(".commitment").removeprefix("Commitment ")
    assert page.query_selector("#round .name") is None
    press(page, "a", "Recorded: A is better")
    press(page, "u", "Undone")
    press(page, "b", "Recorded: B is better")
    assert page.query_selector("#round .name") is None
    assert board.evaluate(BOARD_VOTES) == votes
    page.keyboard.press("n")
    told = revealed(page)
    board.wait_for_function(f"{BOARD_VOTES} === {votes} + 2")  # one more for two models
    ranks, both_bad, was_early, models, _ = stored_vote(arena.app, told["Vote"])
    assert (ranks, both_bad, was_early) == ([2, 1], False, False)
    assert page.locator("#round .name").all_inner_texts() == models
    assert told["Commitment"] == commitment


def test_reasons_stay_with_the_vote(arena, page):
    ask_and_stop(page)
    page.keyboard.press("a")
    page.locator("#round .rationale .chip", has_text="Clearer").click()
    page.locator("#round .rationale [aria-live]", has_text="Saved.").wait_for()
    page.locator("#round").focus()
    page.keyboard.press("n")
    told = revealed(page)
    query = "select criteria from rationales where vote = ?"
    assert arena.app.wait_for(query, told["Vote"]) == (["clarity"],)


def test_three_answers_are_put_in_order(arena, page):
    ask_three(page)
    for key in ("b", "1", "=", "c"):
        page.keyboard.press(key)
    assert places(page) == ["place 2", "place 1", "place 2"]
    page.keyboard.press("Enter")
    page.locator("#round .said", has_text="Recorded").wait_for()
    page.keyboard.press("n")
    told = revealed(page)
    assert stored_vote(arena.app, told["Vote"])[0] == [2, 1, 2]
    assert len(set(page.locator("#round .name").all_inner_texts())) == 3


def test_a_follow_up_and_a_reload_keep_the_round_and_its_names(arena, page):
    ask_and_stop(page)
    page.fill("#follow-up textarea", "And then?")
    page.keyboard.press("Enter")
    page.locator("#round .question", has_text="And then?").wait_for()
    wait_for_words(page)
    stop(page)
    before = texts(page)
    page.reload()
    page.locator("#round .question", has_text="And then?").wait_for()
    assert texts(page) == before
    assert page.query_selector("#round .name") is None
    press(page, "t", "Recorded")
    page.keyboard.press("n")
    told = revealed(page)
    assert stored_vote(arena.app, told["Vote"])[:2] == ([1, 1], False)


def test_what_is_typed_neither_runs_nor_votes(page):
    ask_and_stop(page, HOSTILE)
    assert page.locator(".question").text_content() == HOSTILE
    page.fill("#question textarea", "")
    page.locator("#question textarea").press_sequentially("abtxnrs =1")
    assert page.input_value("#question textarea") == "abtxnrs =1"
    assert page.query_selector("#round .said") is None or "Recorded" not in page.inner_text(
        "#round"
    )
    page.mouse.click(5, 5)  # beside everything: no box has the focus
    press(page, "t", "Recorded")
    page.keyboard.press("n")
    revealed(page)
    assert page.locator(".question").text_content() == HOSTILE
    assert page.locator("#round script, #round img, #round b").count() == 0
    assert page.evaluate("window.hacked") is None


# Tabs -----------------------------------------------------------------------------------------


def test_every_tab_shows_its_numbers_and_axe_finds_nothing(page):
    shown = {
        "Leaderboard": "#board-rank-sets .js-plotly-plot .main-svg",
        "As good as?": "#gate-start",
        "Audit": "#audit-table tbody tr",
        "Coupling": "#coupling-curves .js-plotly-plot",
        "Risk": "#risk-table tbody tr",
        "Experiments": "#run-experiment",
        "Compare": "#compare",
        "Past battles": ".battles[aria-busy=false] .found li",
        "Data": "#make-files",
    }
    names = page.get_by_role("tab")
    names.first.wait_for()
    assert set(names.all_inner_texts()) == {"Battle", *shown}
    for name, selector in shown.items():
        open_tab(page, name)
        page.locator(selector).first.wait_for()
        assert violations(page) == [], name


def test_compare_repeats_a_seed(page):
    open_tab(page, "Compare")
    enter(page.locator("#compare-question textarea"), QUESTION)
    seed = page.locator("#compare-seed").locator("input, textarea")
    said = []
    for _ in range(2):
        seed.fill("0123456789abcdef")
        page.click("#compare")
        page.wait_for_function(
            "() => [...document.querySelectorAll('#comparison .text')]"
            ".filter((node) => node.textContent.length > 200).length === 2"
        )
        page.get_by_role("button", name="Stop").and_(page.locator(":visible")).click()
        said.append([text[:200] for text in page.locator("#comparison .text").all_inner_texts()])
        page.reload()
        open_tab(page, "Compare")
        enter(page.locator("#compare-question textarea"), QUESTION)
    assert said[0] == said[1]


def test_a_vote_leads_to_its_battle_and_to_a_file(page, tmp_path):
    ask_and_stop(page)
    press(page, "a", "Recorded")
    page.keyboard.press("n")
    told = revealed(page)
    open_tab(page, "Data")
    page.get_by_label("CSV", exact=True).check()
    page.click("#make-files")
    with page.expect_download() as download:
        page.locator("#files a[download='votes.csv']").first.click()
    download.value.save_as(tmp_path / "votes.csv")
    rows = duckdb.sql(f"select vote, battle from '{tmp_path / 'votes.csv'}'").fetchall()
    assert (told["Vote"], told["Battle"]) in rows
    page.goto(f"{page.url.split('?')[0]}?battle={told['Battle']}")
    page.locator(".battles dl").first.wait_for()
    page.locator(".battles", has_text=QUESTION).first.wait_for()


# Other screens, other people -------------------------------------------------------------------


def test_on_a_phone_nothing_scrolls_sideways(arena, visit):
    page = visit(arena.url, viewport={"width": 390, "height": 844}, has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector("#ask")
    ask_and_stop(page)
    page.get_by_role("button", name="A is better").tap()
    page.locator("#round .said", has_text="Recorded: A is better").wait_for()
    hears(page)
    page.get_by_role("button", name="Show the names").tap()
    revealed(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board-rank-sets .js-plotly-plot .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_restart_keeps_the_vote_and_the_page(arena, patient):
    page = patient
    page.goto(arena.url)
    page.wait_for_selector("#ask")
    ask_and_stop(page)
    press(page, "a", "Recorded: A is better")
    page.fill("#question textarea", "Which way is up?")
    arena.end()
    page.wait_for_selector("#connection", state="attached")
    arena.become(arena.usual)
    page.wait_for_selector("#connection button")
    # A slow machine may come back when the time to undo is over, and the names are there.
    page.locator("#round", has_text="Recorded: A is better").or_(page.locator(".reveal")).wait_for()
    until(lambda: page.input_value("#question textarea") == "Which way is up?")


@contextmanager
def succeeding():
    """Let a command end this block, and nothing else, without an error."""
    with pytest.raises(SystemExit) as stopped:
        yield
    assert not stopped.value.code


def test_the_report_of_a_running_arena_opens_from_disk(arena, patient, tmp_path):
    until(arena.app.snapshot.exists)
    with succeeding():
        main(["report", "--db", str(arena.app.snapshot), "--out", str(tmp_path)])
    page = patient
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.plot .plotly').length > 0")
    assert all(name in page.inner_text("#leaderboard") for name in NAMES[:2])


# Other forms ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_judge_decides_in_a_german_arena(any_arena, visit):
    """A judge reads whole answers, so that they are short here."""
    any_arena.become('language = "de"\n' + any_arena.usual.replace("= 6000", "= 24"))
    page = visit(any_arena.url)
    page.get_by_role("button", name="Überraschen Sie mich").click()
    page.wait_for_selector("#round .deciding .at-judge[aria-disabled=false]")
    page.locator("#round").focus()
    page.keyboard.press("j")
    told = revealed(page)
    assert page.evaluate("document.documentElement.lang") == "de"
    page.get_by_text("Das Urteilsmodell strict: ein Unentschieden").wait_for()
    counts = "select count(*) from {} where battle = ?"
    until(lambda: any_arena.app.stored(counts.format("verdicts"), told["Duell"]) == [(2,)])
    assert any_arena.app.stored(counts.format("votes"), told["Duell"]) == [(0,)]


@pytest.mark.slow
def test_who_has_a_password_annotates_and_signs_out(any_arena, patient):
    """The vote is that of who has signed in; it tells no name, nor does any tab."""
    any_arena.become(any_arena.usual + SIGN_IN.format(hash_password(PASSWORD)), "--annotate")
    page = patient
    page.goto(any_arena.url)
    for password in ("wrong horse", PASSWORD):
        page.fill("input[name=name]", "ann")
        page.fill("input[name=password]", password)
        page.keyboard.press("Enter")
        if password != PASSWORD:
            page.get_by_text("The name or the password is wrong.").wait_for()
    page.click("#start")
    page.wait_for_selector("#round .ballot")
    assert page.locator("#round .name").count() == 0
    for done in ("1", "2"):  # a vote goes on, and lets the one before count
        press(page, "x", "Recorded before: ")  # of two answers or three
        page.wait_for_selector(f"#progress progress[value='{done}']", state="attached")
    newest = "select both_bad from votes order by seq desc limit 1"
    until(lambda: any_arena.app.stored(newest) == [(True,)])
    assert page.locator("#round .name").count() == 0
    assert page.get_by_role("tab").all_inner_texts() == ["Battle"]
    page.get_by_text("Sign out").click()
    page.wait_for_selector("input[name=password]")
