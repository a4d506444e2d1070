"""A board names no model that only a round has which nobody has voted on."""

from __future__ import annotations

from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.core.records import Origin
from coupled_arena.store.database import Store
from tests.store.conftest import make_battle, make_vote


def test_a_model_joins_the_board_with_its_first_vote_not_with_its_first_round():
    with Store.in_memory() as store:
        known, opened = make_battle("alpha", "beta"), make_battle("alpha", "gamma")
        store.add_battle(known)
        store.cast(make_vote(known, 1, 2))
        before = read_estimates(store)
        store.add_battle(opened)
        during = read_estimates(store)
        assert (before.idle, during.idle) == ((), ())
        store.cast(make_vote(opened, 2, 1))
        assert read_estimates(store).votes.models == ("alpha", "beta", "gamma")
        store.add_battle(make_battle("alpha", "delta", origin=Origin.GENERATE))
        assert read_estimates(store).idle == ("delta",)
