from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from coupled_arena.leaderboard import HeadToHead, LiveLeaderboard, read_leaderboard
from coupled_arena.records import Battle, Mode, Origin, Prompt, Sampling, Source, Vote, new_id
from coupled_arena.stats.win_rates import MissingVotes
from coupled_arena.store.database import Store


class CountingStore(Store):
    """A store that counts how often the votes are counted."""

    reads = 0

    def pair_counts(self, mode=None):
        self.reads += 1
        return super().pair_counts(mode)


@pytest.fixture
def store() -> Iterator[CountingStore]:
    with CountingStore.in_memory() as opened:
        yield opened


def vote(store, models, ranks, times=1, *, mode=Mode.COUPLED, **changes):
    for _ in range(times):
        battle = Battle(
            id=new_id(),
            models=tuple(models),
            mode=mode,
            seed=1,
            nonce=bytes(16),
            sampling=Sampling(),
            origin=Origin.ARENA,
            prompts=(Prompt("Why?"),),
            replies=(),
        )
        store.add_battle(battle)
        store.cast(Vote(new_id(), battle.id, "ann", tuple(ranks), **changes))


def test_an_empty_store_gives_an_empty_board(store):
    board = read_leaderboard(store)
    assert board.standings == ()
    assert board.head_to_head == ()
    assert board.messages == ()
    assert board.human_votes == 0


def test_standings_come_best_first_and_unknown_last(store):
    vote(store, "AB", (2, 1), 6)
    vote(store, "BA", (2, 1), 2)
    vote(store, "AB", (1, 1), 1)
    vote(store, "BA", (1, 1), 1, both_bad=True)
    vote(store, "AB", (1, 1), 2, source=Source.IDENTICAL)
    vote(store, "CA", (1, 2), 2)
    board = read_leaderboard(store)
    b, a, c = board.standings
    assert (b.model, a.model, c.model) == ("B", "A", "C")
    assert b.win_rate == pytest.approx(6 / 12)
    assert (b.wins, b.losses, b.ties, b.both_bad, b.identical) == (6, 2, 1, 1, 2)
    assert (b.human_votes, b.comparisons, b.opponents) == (10, 12, 1)
    assert b.low < b.win_rate < b.high
    assert a.win_rate == pytest.approx(2 / 12)
    assert a.human_votes == 12
    assert (c.win_rate, c.standard_error, c.low, c.high) == (None,) * 4
    assert c.human_votes == 2
    assert board.human_votes == 12
    assert board.identical == 2


def test_the_matrix_follows_the_standings(store):
    vote(store, "AB", (2, 1), 6)
    vote(store, "BA", (1, 1), 3)
    board = read_leaderboard(store)
    assert [standing.model for standing in board.standings] == ["B", "A"]
    assert board.head_to_head[0][1] == HeadToHead(wins=6, losses=0, ties=3)
    assert board.head_to_head[1][0] == HeadToHead(wins=0, losses=6, ties=3)
    assert board.head_to_head[0][1].win_rate == pytest.approx(2 / 3)
    assert board.head_to_head[0][1].score == pytest.approx(5 / 6)
    assert board.head_to_head[0][0].comparisons == 0
    assert board.head_to_head[0][0].win_rate is None


def test_missing_votes_are_asked_for_nearest_first(store):
    vote(store, "ABC", (1, 2, 3), 1)
    vote(store, "AB", (1, 2), 3)
    board = read_leaderboard(store)
    assert board.missing == (
        MissingVotes("A", "B", 1),
        MissingVotes("A", "C", 4),
        MissingVotes("B", "C", 4),
    )
    assert board.messages[1:] == (
        "1 more vote in A–B",
        "4 more votes in A–C",
        "4 more votes in B–C",
    )


def test_only_some_of_many_missing_pairs_are_named(store):
    vote(store, "ABCD", (1, 2, 3, 4))
    assert len(read_leaderboard(store).missing) == 6
    assert read_leaderboard(store).messages[-1] == "1 more pair without enough votes"


def test_modes_are_kept_apart_and_their_mixture_is_said(store):
    vote(store, "AB", (1, 2), 5)
    vote(store, "AB", (2, 1), 7, mode=Mode.INDEPENDENT)
    coupled = read_leaderboard(store, Mode.COUPLED)
    assert [s.win_rate for s in coupled.standings] == [1.0, 0.0]
    assert coupled.messages == ()
    both = read_leaderboard(store)
    assert both.standings[0].model == "B"
    assert both.human_votes == 12
    assert both.messages == ("This board mixes battles of different modes: coupled, independent.",)
    assert read_leaderboard(store, Mode.UNKNOWN).standings == ()


def test_alpha_widens_the_interval(store):
    vote(store, "AB", (1, 2), 5)
    assert read_leaderboard(store, alpha=0.01).standings[0].low < 0.5
    assert read_leaderboard(store, alpha=0.2).standings[0].low > 0.6


def test_a_board_is_computed_again_only_after_a_change(store):
    live = LiveLeaderboard(store)
    vote(store, "AB", (1, 2), 5)
    first = live.get(Mode.COUPLED)
    assert live.get(Mode.COUPLED) is first
    assert store.reads == 1
    live.get(Mode.INDEPENDENT)
    assert live.get(Mode.COUPLED) is first
    vote(store, "AB", (2, 1))
    second = live.get(Mode.COUPLED)
    assert second.standings[0].win_rate == pytest.approx(5 / 6)
    assert second.version == store.version() != first.version


def test_many_sessions_share_one_computation(store):
    live = LiveLeaderboard(store)
    vote(store, "AB", (1, 2), 5)
    with ThreadPoolExecutor(8) as pool:
        boards = list(pool.map(lambda _: live.get(Mode.COUPLED), range(64)))
    assert store.reads == 1
    assert all(board is boards[0] for board in boards)


def test_a_vote_during_the_computation_is_not_overlooked(store):
    """The board carries the version from before its votes were read."""
    vote(store, "AB", (1, 2), 5)
    live = LiveLeaderboard(store)
    read = store.pair_counts

    def pair_counts_then_vote(mode=None):
        rows = read(mode)
        store.pair_counts = read
        vote(store, "AB", (2, 1))
        return rows

    store.pair_counts = pair_counts_then_vote
    assert live.get(Mode.COUPLED).human_votes == 5
    assert live.get(Mode.COUPLED).human_votes == 6


def test_nothing_on_a_board_is_nan(store):
    vote(store, "ABC", (1, 2, 2))
    vote(store, "AB", (1, 2), 9)
    for standing in read_leaderboard(store).standings:
        for value in (standing.win_rate, standing.standard_error, standing.low, standing.high):
            assert value is None or not math.isnan(value)
