from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.core.errors import VoteError
from coupled_arena.core.records import Source, new_id
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from tests.batches import at_once
from tests.counted import counted, pairwise, vote_count
from tests.stored import rows


def test_a_vote_is_kept_as_it_was_cast(store, new_battle, new_vote):
    battle = new_battle("a", "b", "c")
    store.add_battle(battle)
    vote = new_vote(battle, 1, 1, 1, both_bad=True, early=True, source=Source.IDENTICAL)
    store.cast(vote)
    kept = rows(
        store,
        "select vote, battle, voter, ranks, both_bad, source, early, "
        "cast_at at time zone 'UTC' from votes",
    )
    moment = vote.cast_at.replace(tzinfo=None)
    assert kept == [(vote.id, battle.id, "ann", [1, 1, 1], True, "identical", True, moment)]


def test_a_vote_may_be_changed_until_the_reveal(store, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2), reveal=False)
    store.cast(new_vote(battle, 1, 1), reveal=False)
    store.cast(new_vote(battle, 2, 1))
    assert vote_count(store) == 1
    assert counted(store) == [("alpha", "beta", "human", "second", 1)]
    assert len(rows(store, "from votes")) == 3
    with pytest.raises(VoteError, match="already revealed to you, so a vote would not be blind"):
        store.cast(new_vote(battle, 1, 2), reveal=False)
    assert counted(store) == [("alpha", "beta", "human", "second", 1)]


def test_a_reveal_concerns_only_its_voter(store, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    store.cast(new_vote(battle, voter="ann"))
    store.cast(new_vote(battle, voter="bob"))
    assert vote_count(store) == 2


@pytest.mark.parametrize("reveal", [True, False])
def test_casting_again_changes_nothing(store, new_battle, new_vote, reveal):
    battle = new_battle()
    store.add_battle(battle)
    vote = new_vote(battle)
    store.cast(vote, reveal=reveal)
    before = store.version()
    store.cast(replace(vote, cast_at=battle.created_at), reveal=reveal)
    assert store.version() == before
    assert rows(store, "select vote from votes") == [(vote.id,)]
    assert len(rows(store, "from reveals")) == reveal


def test_casting_again_may_reveal(store, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    vote = new_vote(battle)
    store.cast(vote, reveal=False)
    store.cast(vote)
    with pytest.raises(VoteError, match="already revealed"):
        store.cast(new_vote(battle))


def test_an_old_retry_does_not_supersede_a_newer_vote(store, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    old, new = new_vote(battle, 1, 2), new_vote(battle, 2, 1)
    for vote in (old, new, old):
        store.cast(vote, reveal=False)
    assert rows(store, "select vote from current_votes") == [(new.id,)]


@pytest.mark.parametrize(
    "change",
    [{"ranks": (2, 1)}, {"voter": "bob"}, {"ranks": (1, 1), "both_bad": True}],
    ids=str,
)
def test_an_id_is_never_given_to_another_vote(store, new_battle, new_vote, change):
    battle = new_battle()
    store.add_battle(battle)
    vote = new_vote(battle, 1, 2)
    store.cast(vote, reveal=False)
    with pytest.raises(VoteError, match="already cast under this id"):
        store.cast(replace(vote, **change))
    assert rows(store, "select voter, ranks from votes") == [("ann", [1, 2])]
    assert rows(store, "from reveals") == []


@pytest.fixture(scope="module")
def offered(new_battle):
    battle = new_battle()
    with Store.in_memory() as store:
        store.add_battle(battle)
        yield store, battle


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ranks": (1,)}, "ranks 1 models, the battle has 2"),
        ({"ranks": (1, 2, 3)}, "ranks 3 models, the battle has 2"),
        ({"ranks": ()}, "ranks 0 models"),
        ({"ranks": (2, 3)}, "best rank of a vote must be 1"),
        ({"ranks": (0, 1)}, "best rank of a vote must be 1"),
        ({"ranks": (1, -1)}, "best rank of a vote must be 1"),
        ({"both_bad": True}, "all replies bad"),
        ({"battle": "nowhere"}, "no battle 'nowhere'"),
    ],
    ids=str,
)
def test_a_vote_that_does_not_fit_is_refused(offered, new_vote, change, reason):
    store, battle = offered
    before = store.version()
    with pytest.raises(VoteError, match=reason):
        store.cast(replace(new_vote(battle), **change))
    assert store.version() == before
    assert rows(store, "from reveals") == []


ballots = st.lists(st.integers(2, 5), min_size=1, max_size=4).flatmap(
    lambda sizes: st.tuples(
        *(
            st.tuples(st.lists(st.integers(1, 4), min_size=k, max_size=k), st.booleans())
            for k in sizes
        )
    )
)


@settings(max_examples=15, deadline=None, database=None)
@given(ballots=ballots)
def test_pairs_say_what_records_say(offered, new_battle, new_vote, ballots):
    expected, (store, _) = [], offered
    with at_once(store) as batch:
        for drawn, both_bad in ballots:
            ranks = tuple(1 if both_bad else 1 + rank - min(drawn) for rank in drawn)
            battle = new_battle(*(f"m{place}" for place in range(len(ranks))), turns=0)
            batch.add_battle(battle)
            batch.cast(new_vote(battle, *ranks, both_bad=both_bad))
            expected += [
                (battle.id, battle.models[i], battle.models[j], outcome.value)
                for (i, j), outcome in pairwise(ranks, both_bad=both_bad).items()
            ]
    known = [id for id, *_ in expected]
    found = rows(
        store,
        "select battle, a.model, b.model, human::text from comparison_rows "
        "join models as a on a.model_no = model_a join models as b on b.model_no = model_b "
        f"where list_contains({known}, battle)",
    )
    assert sorted(found) == sorted(expected)


def cast_together(stores, all_votes):
    """Cast each vote from a thread of its own, at once; return what each was told."""
    barrier = threading.Barrier(len(all_votes))

    def cast(store, vote):
        barrier.wait()
        try:
            store.cast(vote)
        except VoteError as error:
            return str(error)
        return "counted"

    with ThreadPoolExecutor(len(all_votes)) as pool:
        return list(pool.map(cast, stores, all_votes))


@pytest.mark.slow
def test_of_votes_cast_at_once_by_one_voter_one_counts(tmp_path, new_battle, new_vote):
    path = tmp_path / "arena.duckdb"
    # A second Store on the same file does not share the first one's lock.
    with Store.open(path) as one, Store.open(path) as two:
        for _ in range(10):
            battle = new_battle()
            one.add_battle(battle)
            answers = cast_together([one, two] * 2, [new_vote(battle) for _ in range(4)])
            assert answers.count("counted") == 1
            assert sum("already revealed" in answer for answer in answers) == 3
        assert vote_count(one) == vote_count(two) == 10
        assert len(rows(one, "from votes")) == 10


@pytest.mark.parametrize("retry", [True, False])
def test_a_rival_that_commits_first_is_seen(tmp_path, monkeypatch, new_battle, new_vote, retry):
    path = tmp_path / "arena.duckdb"
    insert = votes.insert
    with Store.open(path) as store, Store.open(path) as other:
        battle = new_battle()
        store.add_battle(battle)
        vote = new_vote(battle)
        rival = vote if retry else replace(vote, id=new_id())

        def let_the_rival_pass(cursor, mine):
            monkeypatch.setattr(votes, "insert", insert)
            other.cast(rival)
            insert(cursor, mine)

        monkeypatch.setattr(votes, "insert", let_the_rival_pass)
        if retry:
            store.cast(vote)
        else:
            with pytest.raises(VoteError, match="already revealed"):
                store.cast(vote)
        assert rows(store, "select vote from votes") == [(rival.id,)]


@pytest.mark.slow
def test_eight_threads_lose_nothing(tmp_path, new_battle, new_vote):
    with Store.open(tmp_path / "arena.duckdb") as store:
        battle = new_battle()
        store.add_battle(battle)
        wanted = [new_vote(battle, voter=f"v{n}") for n in range(64)]

        def cast(vote):
            store.cast(vote)
            return store.version()[0], counted(store)[0][-1]

        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(cast, wanted))
        # Numbers follow commits: whoever sees vote n sees all votes before it.
        assert all(last <= counted for last, counted in seen)
        assert sorted(rows(store, "select vote from votes")) == sorted((v.id,) for v in wanted)
        assert store.version() == (64, 1, 0, 0)
