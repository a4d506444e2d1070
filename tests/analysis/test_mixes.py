"""A board that is a mix of categories: what the command, Python and the store say of it."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.by_category import LiveCategories
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.api.checks import mix_of
from coupled_arena.core.choices import BoardSource, Cutoff
from coupled_arena.core.errors import ArenaError, StoreError
from coupled_arena.core.records import Prompt
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.tables.board_page import category_table
from coupled_arena.views.tables.leaderboard import board_answer
from coupled_arena.views.words.verdict import board_verdict
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote


@pytest.fixture(scope="module")
def store():
    rng = np.random.default_rng(4)
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for category in ("math", "code"):
                for a, b in (("ant", "bee"), ("ant", "cat"), ("bee", "cat")):
                    for number in range(40):
                        prompt = Prompt(f"{category} {a} {b} {number}", category=category)
                        battle = make_battle(a, b, replies=(), prompts=(prompt,))
                        batch.add_battle(battle)
                        voter = int(rng.integers(6))
                        likes = 0.5 + (0.3 if voter % 2 else -0.3) * (a == "ant")
                        ranks = (1, 2) if rng.random() < likes else (2, 1)
                        batch.cast(make_vote(battle, *ranks, voter=f"v{voter}"))
            battle = make_battle("ant", "dog", replies=(), prompts=(Prompt("m", category="math"),))
            batch.add_battle(battle)
            batch.cast(make_vote(battle, 1, 2, voter="v0"))
        yield opened


def of(store, *mix):
    estimates = read_estimates(store, Selection(), Method(mix=mix))
    return estimates, estimates.by_source[BoardSource.HUMAN]


def test_a_mix_of_equal_parts_is_the_board_where_both_have_as_many_votes(store):
    estimates, found = of(store, ("math", 1.0), ("code", 1.0))
    models = ("ant", "bee", "cat")
    whole = read_estimates(store, Selection(models=models)).by_source[BoardSource.HUMAN]
    assert found.models == whole.models == models
    np.testing.assert_allclose(found.theta, whole.theta, atol=1e-12)
    # Residuals are taken from the mean of each category, of 40 votes on a pair. The means differ by
    # d, by chance, which is (d / 2)² of a variance of 1/4: 1/80 of it, 1/5 at four standard errors.
    np.testing.assert_allclose(found.standard_error, whole.standard_error, rtol=0.1)
    assert found.tastes.voters == 6
    assert estimates.idle == ("dog",)
    assert int(estimates.votes.comparisons.sum()) // 2 == found.human == 240


def test_one_category_is_the_board_of_that_category(store):
    _, found = of(store, ("code", 3.0))
    alone = read_estimates(store, Selection(category="code")).by_source[BoardSource.HUMAN]
    np.testing.assert_allclose(found.theta, alone.theta)
    np.testing.assert_allclose(found.covariance, alone.covariance)


def test_the_answer_says_the_mix_and_no_plan(store):
    estimates, _ = of(store, ("math", 2.0), ("code", 1.0))
    board = leaderboard(estimates)
    assert board_answer(board)["mix"] == {"math": 2.0, "code": 1.0}
    assert board.fragility is None
    assert "more votes" not in board_verdict(board)


def test_a_category_that_is_not_there_is_said(store):
    with pytest.raises(StoreError, match=r"category maths.*code, math"):
        of(store, ("maths", 1.0))


def test_models_that_never_met_in_one_category_leave_nothing(store):
    estimates = read_estimates(
        store, Selection(models=("ant", "dog")), Method(mix=(("math", 1.0), ("code", 1.0)))
    )
    assert leaderboard(estimates).standings == ()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["math=2,code=1"], (("math", 2.0), ("code", 1.0))),
        (["math=2", "code=.5"], (("math", 2.0), ("code", 0.5))),
        ({"a, b": 1, "c": 0}, (("a, b", 1.0),)),
        (["x=y=1"], (("x=y", 1.0),)),
        (None, ()),
    ],
)
def test_a_mix_is_read(given, read):
    assert mix_of(given) == read


@pytest.mark.parametrize("given", ["math", "math=x", "math=-1", "=1", "math=nan", "math=inf"])
def test_what_is_no_mix_is_said(given):
    with pytest.raises(ArenaError, match="CATEGORY=WEIGHT"):
        mix_of([given])


def test_categories_are_boards_of_their_own_at_a_shared_level(store):
    estimates = read_estimates(store, Selection())
    live = LiveCategories(store)
    found = live.get(estimates, BoardSource.HUMAN, 0.1, Cutoff.MAX_T)
    assert [each.name for each in found.boards] == ["math", "code"]  # the one with most first
    (code,) = (each for each in found.boards if each.name == "code")
    alone = read_estimates(store, Selection(category="code"), draws=20_000)
    for row in leaderboard(alone, alpha=0.05).standings:
        assert code.places[row.model] == row.place
    table = category_table(leaderboard(estimates), found)
    assert table.count('class="heat"') == 7
    assert "\N{EN DASH}</td>" in table  # dog has no votes on code
    assert live.get(estimates, BoardSource.HUMAN, 0.1, Cutoff.MAX_T) is found


def test_prompts_in_several_categories_are_told():
    """Their votes are not independent, as the interval takes them to be."""
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for number in range(12):
                for category in ("math", "code") if number < 2 else (("math", "code")[number % 2],):
                    prompt = Prompt(f"prompt {number}", category=category)
                    battle = make_battle("ant", "bee", replies=(), prompts=(prompt,))
                    batch.add_battle(battle)
                    batch.cast(make_vote(battle, *((1, 2), (2, 1))[number % 3 == 0]))
        _, found = of(opened, ("math", 1.0), ("code", 1.0))
        assert found.warnings[-1].startswith("2 prompts are in several categories of the mix.")
        _, one = of(opened, ("math", 1.0))
        assert not [said for said in one.warnings if "several categories" in said]
