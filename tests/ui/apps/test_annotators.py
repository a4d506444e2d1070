"""Links of one's own: who votes, on which device, and what a wrong link does."""

from __future__ import annotations

import secrets

import httpx
import pytest

from coupled_arena.core.records import Finish
from coupled_arena.store.annotators import (
    add_annotators,
    annotators_path,
    read_annotators,
    revoke_annotators,
)
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.stored import MODELS, answered, plan
from tests.ui.apps.test_accessibility import violations
from tests.ui.raw_client import COOKIE, Visitor
from tests.ui.server import serving
from tests.ui.visiting import open_tab, revealed

HOSTILE = '<img src=x onerror="window.hacked=1"> **Ann**'
EARLY: dict[str, str] = {}  # the token of a link that is older than the app
VOTES = "select voter, count(*) from votes group by all order by all"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """An app over battles of which the first answers were cut, and where its annotators are."""
    folder = tmp_path_factory.mktemp("annotators")
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        for battle, prompt in plan([f"Question {n}?" for n in range(30)], MODELS[:2]).battles():
            whole = answered(battle, prompt)
            first, second = whole.replies
            cut = type(first)(0, 0, first.text, first.tokens, Finish.LENGTH)
            batch.add_battle(type(whole)(**{**vars(whole), "replies": (cut, second)}))
    EARLY["token"] = add_annotators(annotators_path(folder / "arena.duckdb"), ["Early"])["Early"]
    with serving(folder, "snapshot_seconds = 0.2\n", "--annotate", "--reveal", "each") as running:
        yield running, annotators_path(running.db)


def person(url, token):
    """Come by a link as somebody's browser does, on a device of its own."""
    visitor = Visitor(url)
    visitor.http.cookies.clear()
    entered = visitor.http.get("/", params={"annotator": token})
    assert entered.status_code == 303
    assert entered.headers["location"] == "./"
    assert "token" not in entered.text
    return visitor


def start(visitor):
    return visitor.call(visitor.dependency("click", "start"), [])["data"][1]


def voter_of(path, name):
    return next(row.voter for row in read_annotators(path) if row.name == name)


def test_one_person_on_two_devices(served):
    app, path = served
    token = add_annotators(path, ["Two devices"])["Two devices"]
    voter = voter_of(path, "Two devices")
    at_home, on_the_way = person(app.url, token), person(app.url, token)
    # At once: the same person has the same round, and one vote on it.
    assert start(at_home)["commitment"] == start(on_the_way)["commitment"]
    told = at_home.vote()
    assert "You have voted" in on_the_way.vote()["error"]
    start(on_the_way)
    assert on_the_way.vote()["battle"] != told["battle"]
    app.wait_for(f'select 1 from ({VOTES}) where voter = ? and "count_star()" = 2', voter)


def test_looking_at_a_link_changes_nothing(served):
    app, path = served
    token = add_annotators(path, ["Previewed"])["Previewed"]
    before = path.read_bytes()
    for ask in (httpx.get, httpx.head):
        answer = ask(f"{app.url}/?annotator={token}", follow_redirects=True)
        assert answer.status_code == 200
        first = answer.history[0].headers
        assert (first["cache-control"], first["referrer-policy"]) == ("no-store", "no-referrer")
    assert path.read_bytes() == before
    assert not app.stored("select 1 from votes where voter = ?", voter_of(path, "Previewed"))


@pytest.mark.parametrize(
    "guess", ["0" * 40, "", "'; drop table votes", "\u202e", "a" * 100_00, "%00", "G" * 40]
)
def test_a_guessed_link_is_refused_in_one_line(served, guess):
    app, _ = served
    refused = httpx.get(f"{app.url}/", params={"annotator": guess})
    assert refused.status_code == 404
    assert "not valid (any more). Ask its sender for a new one" in refused.text
    assert "set-cookie" not in refused.headers
    assert guess == "" or guess not in refused.text


def test_an_edited_link_is_nobodys(served):
    app, path = served
    token = add_annotators(path, ["Edited"])["Edited"]
    for edited in (token[:-1], token + "0", token.upper(), f"{(int(token, 16) ^ 1):040x}"):
        if edited != token:
            answer = httpx.get(f"{app.url}/", params={"annotator": edited})
            assert answer.status_code == 404


def voter_with(app, cookie):
    """Vote with this cookie; return who the vote is by, None where the cookie is refused."""
    forger = Visitor(app.url, cookies=False)
    forger.http.headers["cookie"] = f"{COOKIE}={cookie}"
    answer = forger.call(forger.dependency("click", "start"), [])
    if "error" in answer:
        assert "not valid (any more)" in answer["error"]
        return None
    return app.wait_for("select voter from votes where vote = ?", forger.vote()["vote"])[0]


def test_a_pseudonym_opens_nothing(served):
    """Exports have voters: who knows one must not be able to come as it."""
    app, path = served
    add_annotators(path, ["Known"])
    row = next(row for row in read_annotators(path) if row.name == "Known")
    for guess in (row.voter, row.token_hash, row.token_hash[:40]):
        assert httpx.get(f"{app.url}/", params={"annotator": guess}).status_code == 404
        assert voter_with(app, guess) != row.voter


def test_a_revoked_link(served):
    """Its holder is told, also in the middle; no vote of theirs counts as somebody else's."""
    app, path = served
    token = add_annotators(path, ["Leaving"])["Leaving"]
    holder = person(app.url, token)
    start(holder)
    first = holder.vote()
    next_one = holder.call(holder.dependency("next", "round"), [])["data"][1]
    assert next_one["reveal"] is None
    app.wait_for("select 1 from votes where vote = ?", first["vote"])
    counted = dict(app.stored(VOTES))
    revoke_annotators(path, ["Leaving"])
    assert "not valid (any more)" in holder.vote()["error"]
    assert "not valid (any more)" in holder.call(holder.dependency("click", "start"), [])["error"]
    refused = holder.http.get("/")
    assert refused.status_code == 404
    assert holder.http.get("/").status_code == 200  # somebody new
    assert holder.cookie != token
    assert httpx.get(f"{app.url}/", params={"annotator": token}).status_code == 404
    bystander = Visitor(app.url)
    start(bystander)
    told = bystander.vote()
    app.wait_for("select 1 from votes where vote = ?", told["vote"])
    after = dict(app.stored(VOTES))
    assert {voter: after[voter] for voter in counted} == counted
    assert len(after) == len(counted) + 1


def test_a_cookie_that_looks_like_a_link_is_no_voter(served):
    app, _ = served
    assert voter_with(app, secrets.token_hex(20)) is None


def test_a_link_in_a_browser(served, visit):
    """The token leaves the address bar; the page says who one is, and nobody else's page does."""
    app, path = served
    token = add_annotators(path, [HOSTILE])[HOSTILE]
    page = visit(f"{app.url}/?annotator={token}")
    page.wait_for_selector("#annotator p")
    assert page.inner_text("#annotator") == f"You vote as {HOSTILE}."
    assert page.url == f"{app.url}/"
    assert page.evaluate("window.hacked") is None
    assert token not in page.content()
    assert page.evaluate("document.cookie") == ""
    page.click("#start")
    page.wait_for_selector("#round .ballot")
    cuts = page.locator("#round .answer .cut > :last-child")
    assert cuts.all_inner_texts() == ["cut at 256 tokens"]
    page.keyboard.press("a")
    told = revealed(page)
    assert cuts.all_inner_texts() == ["cut at 256 tokens"]
    assert violations(page) == []
    row = app.wait_for("select voter from votes where vote = ?", told["Vote"])
    assert row == (voter_of(path, HOSTILE),)
    stranger = visit(app.url)
    open_tab(stranger, "Audit")
    stranger.wait_for_selector("#agreement h2")
    assert stranger.locator("#annotator").count() == 0
    assert "Ann" not in stranger.inner_text("body").replace("Annotat", "")


def test_a_round_of_the_arena_belongs_to_a_person(app):
    """The answers' own stream knows them, too; whoever knows the session alone is nobody."""
    path = annotators_path(app.db)
    visitor = person(app.url, add_annotators(path, ["Arena"])["Arena"])
    view = visitor.ask()
    assert view["turns"][0]["answers"]
    thief = Visitor(app.url, session=visitor.session)
    assert "not open" in thief.vote()["error"]
    told = visitor.vote([1, 1])
    row = app.wait_for("select voter from votes where vote = ?", told["vote"])
    assert row == (voter_of(path, "Arena"),)


def test_links_outlive_the_server(served):
    """Those that were made before it started hold; commands make and revoke the others here."""
    app, path = served
    visitor = person(app.url, EARLY["token"])
    start(visitor)
    told = visitor.vote()
    row = app.wait_for("select voter from votes where vote = ?", told["vote"])
    assert row == (voter_of(path, "Early"),)
