"""Where votes came from, and whose votes wait: what is kept, what counts, and what nobody gets."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections import Counter, defaultdict
from functools import partial

import pytest

from coupled_arena.analysis.voter_report import read_voters
from coupled_arena.battles.limits import Origins
from coupled_arena.core.records import Mode
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from coupled_arena.store.tables.exclusions import excluded
from coupled_arena.store.tables.guards import origin_shares, set_probation, voters_from
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote

ADDRESSES = ("192.0.2.7", "2001:db8:1:2::/64", "198.51.100.1")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store of 24 votes of six voters from three places, and what is called how."""
    with Store.open(tmp_path_factory.mktemp("kept") / "arena.duckdb") as store:
        origins = Origins()
        for n in range(24):
            battle = make_battle()
            store.add_battle(battle)
            vote = make_vote(battle, 1, 2, voter=f"voter {n % 6}")
            address = ADDRESSES[(n % 6) // 3 if n % 6 < 5 else 2]
            store.cast(vote, origin=origins.of(address))
        yield store, origins


@pytest.mark.slow
def test_shares_of_places(kept):
    store, origins = kept
    names = [origins.of(address) for address in ADDRESSES]
    with store.cursor() as cursor:
        found = origin_shares(cursor, 10)
        assert origin_shares(cursor, 1) == found[:1]
        assert voters_from(cursor, names[1]) == ["voter 3", "voter 4"]
        assert voters_from(cursor, "nowhere") == []
    assert {(row.origin, row.votes, row.voters, row.share) for row in found} == {
        (names[0], 12, 3, 0.5),
        (names[1], 8, 2, 8 / 24),
        (names[2], 4, 1, 4 / 24),
    }
    assert found == read_voters(store).origins


@pytest.mark.parametrize("undone", [True, False])
def test_a_vote_that_is_undone_leaves_no_trace_of_its_place(undone):
    with Store.in_memory() as store:
        battle = make_battle()
        store.add_battle(battle)
        vote = make_vote(battle, 1, 2)
        origin = Origins().of(ADDRESSES[0])
        store.write_along(votes.hold, votes.Casting(vote, origin=origin))
        if undone:
            store.write_along(votes.withdraw, vote.id)
        else:
            store.write_along(votes.promote, votes.Casting(vote))
        with store.cursor() as cursor:
            assert cursor.execute("select count(*) from origins").fetchall() == [(not undone,)]
            assert [each.check for each in examine(cursor) if each.wrong] == []


@pytest.mark.slow
def test_what_stands_for_an_address_is_its_keyed_hash_and_another_after_a_start(kept):
    _, origins = kept
    expected = hmac.new(origins._key, ADDRESSES[0].encode(), hashlib.sha256).hexdigest()[:16]
    assert origins.of(ADDRESSES[0]) == expected
    assert Origins().of(ADDRESSES[0]) != expected


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "arena", "flat", "flat-csv"])
def test_no_export_has_it(kept, tmp_path, kind):
    store, origins = kept
    for path in export(store, tmp_path / "out", kind):
        content = path.read_bytes()
        assert "origin" not in path.name
        assert not [a for a in ADDRESSES if origins.of(a).encode() in content]


def test_no_snapshot_has_it(kept):
    store, origins = kept
    path = snapshot_path(store.path)
    snapshot(store, path)
    with Store.open(path, read_only=True) as copy, copy.cursor() as cursor:
        assert cursor.execute("select count(*) from origins").fetchone() == (0,)
        assert cursor.execute("select count(*) from votes").fetchone() == (24,)
    assert read_voters(store).origins
    content = path.read_bytes()
    assert not [a for a in ADDRESSES if origins.of(a).encode() in content]
    with store.cursor() as cursor:
        tables = cursor.execute("select table_name from duckdb_tables()").fetchall()
        for (table,) in tables:
            rows = str(cursor.execute(f"from {table}").fetchall())
            assert not [address for address in ADDRESSES if address in rows]


@pytest.mark.slow
@pytest.mark.parametrize("least", [1, 3])
def test_votes_wait_until_their_voters_have_cast_enough(least):
    rng, cast, human = random.Random(least), Counter(), defaultdict(int)
    with Store.in_memory() as store:
        store.write(partial(set_probation, votes=least))
        for _ in range(24):
            battle = make_battle()
            store.add_battle(battle)
            voter = rng.choice("abcdefgh")
            store.cast(make_vote(battle, 1, 2, voter=voter))
            cast[voter] += 1
            with store.cursor() as cursor:
                rows = cursor.execute(
                    "select voter, count(*) from comparisons where human is not null group by all"
                ).fetchall()
                found = excluded(cursor)
            human = {name: n for name, n in cast.items() if n >= least}
            assert dict(rows) == human
            wait = sum(cast.values()) - sum(human.values())
            assert (found.votes, found.waiting) == (0, wait)
        with store.counting(excluded=True).cursor() as cursor:
            query = "select count(*) from comparisons where human is not null"
            assert cursor.execute(query).fetchone() == (24,)


def test_another_number_holds_for_all_and_imports_do_not_wait():
    with Store.in_memory() as store:
        with at_once(store) as batch:
            for n, voter in enumerate("aabbbc"):
                battle = make_battle(mode=Mode.UNKNOWN if n == 5 else Mode.COUPLED)
                batch.add_battle(battle)
                batch.cast(make_vote(battle, 1, 2, voter=voter))

        def counted():
            with store.cursor() as cursor:
                query = "select voter from comparisons where human is not null"
                return "".join(sorted(row[0] for row in cursor.execute(query).fetchall()))

        for least, left in ((3, "bbbc"), (2, "aabbbc"), (9, "c"), (0, "aabbbc")):
            store.write(partial(set_probation, votes=least))
            assert counted() == left
