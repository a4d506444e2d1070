"""The tab of admins, in Chromium: by its address, and what an exclusion does to the board."""

from __future__ import annotations

import pytest

from coupled_arena.core.passwords import hash_password
from coupled_arena.store.database import Store
from tests.small_models import SMALL_MODELS
from tests.store.conftest import make_battle, make_vote
from tests.ui.fields import enter
from tests.ui.server import serving
from tests.ui.visiting import open_tab

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("admins")
    with Store.open(folder / "arena.duckdb") as store:
        for _ in range(8):
            battle = make_battle("small-red", "small-green")
            store.add_battle(battle)
            store.cast(make_vote(battle, 1, 2, voter="script"))
    hashed = hash_password(PASSWORD)
    access = f'sign_in = "password"\nusers = {{ ann = "{hashed}" }}\nadmins = ["ann"]\n'
    with serving(folder, f"[access]\n{access}{SMALL_MODELS}") as running:
        yield running


def test_an_admin_excludes_a_voter(served, visit):
    page = visit(served.url)
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask")
    page.goto(f"{served.url}/?tab=votes")
    page.locator("#votes-voters th[scope=row]", has_text="script").wait_for()
    assert page.locator("#address-note").count() == 0
    row = page.locator("#votes-voters tr", has=page.locator("th", has_text="script")).last
    row.get_by_role("button", name="Exclude").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("a script")
    dialog.get_by_role("button", name="Exclude").click()
    page.locator("#votes-rules").get_by_text("a script").wait_for()
    open_tab(page, "Leaderboard")
    assert "tab=leaderboard" in page.url
    page.get_by_text("8 of 8 votes (100.0%) are excluded").first.wait_for()
    open_tab(page, "Votes")
    assert "tab=votes" in page.url
    page.locator("#votes-rules").get_by_role("button", name="Take back").click()
    dialog.get_by_label("Reason").fill("no script after all")
    page.keyboard.press("Enter")
    page.locator("#votes-rules").get_by_role("button").wait_for(state="hidden")
    page.get_by_role("button", name="Exclude the votes of a time, or by name").click()
    enter(page.get_by_label("Voter, or origin"), "script")
    enter(page.locator("#exclude-reason textarea, #exclude-reason input").first, "again")
    page.click("#exclude")
    dialog.get_by_role("button", name="Exclude").click()
    page.locator("#votes-rules").get_by_text("again").wait_for()
