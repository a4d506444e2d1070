"""Why people preferred one model to another: counts by pair, intervals over voters, links."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from coupled_arena.analysis.reasons import ReasonShare, read_reasons, share_of
from coupled_arena.core import language
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import new_id
from coupled_arena.store.database import Store
from coupled_arena.store.queries import reasons
from coupled_arena.store.queries.battle_search import BattleFilter, page
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import votes
from coupled_arena.views.addresses import list_address, read_address
from coupled_arena.views.tables.reasons import reason_table
from tests.store.conftest import make_battle, make_vote


@pytest.fixture
def store():
    with Store.in_memory() as opened:
        yield opened


def vote(store, ranks, voter, *criteria):
    battle = make_battle("ant", "bee", replies=(), prompts=())
    store.add_battle(battle)
    cast = make_vote(battle, *ranks, voter=voter)
    store.cast(cast)
    if criteria:
        given = Rationale(new_id(), cast.id, criteria)
        store.write(partial(votes.give_reasons, rationale=given, voter=voter))
    return battle.id


def test_reasons_are_counted_among_wins_that_have_any(store):
    assert read_reasons(store, Selection()) == []
    first = vote(store, (1, 2), "ann", Criterion.CORRECTNESS, Criterion.CLARITY)
    vote(store, (1, 2), "bob", Criterion.CLARITY)
    vote(store, (2, 1), "bob", Criterion.STYLE)
    vote(store, (1, 2), "bob")  # without a reason
    vote(store, (1, 1), "ann", Criterion.SAFETY)  # a tie has no winner
    with store.cursor() as cursor:
        assert reasons.any_there(cursor)
    found = read_reasons(store, Selection())
    counted = [(each.winner, each.criterion, each.said, each.wins) for each in found]
    assert counted == [
        ("ant", Criterion.CLARITY, 2, 2),
        ("ant", Criterion.CORRECTNESS, 1, 2),
        ("bee", Criterion.STYLE, 1, 1),
    ]
    table = reason_table(found, 0.05)
    assert "More correct" in table
    assert "reason=correctness" in table
    wanted = read_address("?tab=battles&a=ant&b=bee&winner=ant&source=people&reason=correctness")
    assert wanted.wanted.reason is Criterion.CORRECTNESS
    with store.cursor() as cursor:
        assert [each.battle for each in page(cursor, wanted.wanted, "nothing")] == [first]


def test_the_newest_reasons_of_a_vote_stand(store):
    battle = make_battle("ant", "bee", replies=(), prompts=())
    store.add_battle(battle)
    cast = make_vote(battle, 1, 2, voter="ann")
    store.cast(cast)
    for criteria in ((Criterion.STYLE,), (Criterion.SAFETY,)):
        given = Rationale(new_id(), cast.id, criteria)
        store.write(partial(votes.give_reasons, rationale=given, voter="ann"))
    assert [each.criterion for each in read_reasons(store, Selection())] == [Criterion.SAFETY]


def test_counts_have_the_marks_of_the_pages_language():
    row = ReasonShare("ant", "bee", Criterion.STYLE, 1200, 2400, 900, 0.5, 0.45, 0.55)
    language.install("de")
    try:
        assert ">1.200/2.400<" in reason_table([row], 0.05)
    finally:
        language.install("en")


def test_one_voter_tells_nothing_of_others():
    assert share_of(np.array([3.0]), np.array([5.0]), 0.05) == (0.6, 0.0, 1.0)


def test_a_reason_is_an_address():
    wanted = BattleFilter(reason=Criterion.STYLE)
    assert read_address(list_address(wanted)).wanted == wanted


def _missed(runs, spread, rng):
    """Return how often an interval misses .6, of 25 voters with tastes around it."""
    missed = 0
    for _ in range(runs):
        own = rng.beta(0.6 * spread, 0.4 * spread, 25) if spread else np.full(25, 0.6)
        wins = rng.integers(1, 12, 25).astype(float)
        said = rng.binomial(wins.astype(int), own).astype(float)
        _, low, high = share_of(said, wins, 0.1)
        missed += not low <= 0.6 <= high
    return missed


@pytest.mark.parametrize("spread", [0, 2, 8])
def test_intervals_allow_for_votes_of_one_person_being_alike(spread):
    """So many misses of 2,000 come once in 10,000 runs; .025 is for shares of few voters."""
    missed = _missed(2000, spread, np.random.default_rng(spread))
    assert missed <= binom.ppf(0.9999, 2000, 0.125)
