"""Votes that are left out, on the leaderboard in Chromium: it says so, and shows both views."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import pytest

from coupled_arena.core.records import new_id
from coupled_arena.store.database import Store
from coupled_arena.store.tables.exclusions import Decision, Exclusion, exclude
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.ui.apps.test_board import VOTES, open_board
from tests.ui.server import EQUAL_MODELS, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("excluded")
    with Store.open(folder / "arena.duckdb") as store:
        with at_once(store) as batch:
            for n in range(30):
                battle = make_battle("left", "right", replies=(), prompts=())
                batch.add_battle(battle)
                ranks = (2, 1) if n % 3 else (1, 2)
                batch.cast(make_vote(battle, *ranks, voter="eve" if n % 3 == 1 else "ann"))
        rule = Exclusion(new_id(), "eve", None, None, Decision("a", "b", datetime.now(UTC)))
        store.write(partial(exclude, rule=rule))
    with serving(folder, EQUAL_MODELS) as running:
        yield running


def test_both_views(served, visit):
    page = open_board(visit, served.url)
    page.wait_for_function(f"{VOTES} === 20")
    hints = page.locator("#board .hint")
    assert "10 of 30 votes (33.3%) are excluded and left out." in hints.all_text_contents()[0]
    assert page.locator("#board tbody a").count() > 0
    page.get_by_label("Excluded votes count, too").check()
    page.wait_for_function(f"{VOTES} === 30")
    assert "and counted here all the same." in hints.all_text_contents()[0]
    # No list of battles counts them, so the numbers lead to none; models have their pages.
    assert page.locator("#board tbody a").count() == 2
    page.locator("#board-rank-sets").get_by_text("30 comparisons").first.wait_for()
    page.get_by_label("Excluded votes count, too").uncheck()
    page.wait_for_function(f"{VOTES} === 20")
