"""Why votes were cast: append only, the newest stands, and it goes wherever its vote goes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.core.rationales import (
    LONGEST_COMMENT,
    Criterion,
    Rationale,
    check_comment,
    check_criteria,
)
from coupled_arena.core.records import Source, new_id
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.restoring import restore
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from coupled_arena.store.transfer.targets import backup_target
from tests.patience import until
from tests.store.conftest import make_battle, make_vote

HOSTILE = '<img src=x onerror="window.hacked=1"> "quoted", \u202e é🐋\nsecond line'


def said(vote, *criteria, comment="", **changes):
    return replace(Rationale(new_id(), vote.id, criteria, comment), **changes)


def give(store, rationale, voter="ann"):
    store.write(partial(votes.give_reasons, rationale=rationale, voter=voter))


def standing(store):
    with store.cursor() as cursor:
        rows = cursor.execute(
            "select vote, criteria, comment from current_rationales order by vote"
        ).fetchall()
    return {vote: (criteria, comment) for vote, criteria, comment in rows}


def stored(store, table="rationales"):
    with store.cursor() as cursor:
        return cursor.execute(f"select count(*) from {table}").fetchall()[0][0]


@pytest.fixture
def voted(store):
    """A store, and a vote of ann's that counts."""
    battle = make_battle()
    vote = make_vote(battle)
    store.add_battle(battle)
    store.cast(vote)
    return store, vote


def test_the_newest_stands_and_none_is_rewritten(voted):
    store, vote = voted
    first = said(vote, Criterion.STYLE, comment="so")
    give(store, first)
    give(store, replace(first, id=new_id()))  # a retry
    assert stored(store) == 1
    # A clock that was put back changes nothing about which is the newer one.
    earlier = first.given_at - timedelta(days=1)
    give(store, said(vote, Criterion.CLARITY, given_at=earlier))
    assert (stored(store), standing(store)) == (2, {vote.id: (["clarity"], "")})
    give(store, said(vote))
    assert (stored(store), standing(store)) == (3, {vote.id: ([], "")})
    with store.cursor() as cursor:
        assert faults(cursor) == []


@pytest.mark.parametrize("voter", ["bob", ""])
def test_nobody_gives_reasons_for_the_vote_of_another(voted, voter):
    store, vote = voted
    with pytest.raises(VoteError, match="You have no vote here"):
        give(store, said(vote, Criterion.STYLE), voter)
    assert stored(store) == 0


def test_a_tie_that_nobody_was_asked_about_has_no_reasons(store):
    battle = make_battle()
    store.add_battle(battle)
    vote = make_vote(battle, 1, 1, source=Source.IDENTICAL)
    store.cast(vote)
    with pytest.raises(VoteError, match="You have no vote here"):
        give(store, said(vote, Criterion.STYLE))


@pytest.fixture
def held(store):
    """A store, and a vote of ann's that can be undone."""
    battle = make_battle()
    vote = make_vote(battle)
    store.add_battle(battle)
    store.write_along(votes.hold, votes.Casting(vote))
    return store, vote


def test_reasons_of_a_vote_that_can_be_undone_count_with_it(held):
    store, vote = held
    before = fingerprint(store)
    give(store, said(vote, Criterion.STYLE))
    give(store, said(vote, Criterion.SAFETY, comment="no"))
    assert (stored(store), stored(store, "pending_rationales")) == (0, 1)
    assert fingerprint(store) == before
    store.write_along(votes.promote, votes.Casting(vote))
    assert standing(store) == {vote.id: (["safety"], "no")}
    assert stored(store, "pending_rationales") == 0
    give(store, said(vote, Criterion.STYLE))
    assert standing(store) == {vote.id: (["style"], "")}


def test_an_undone_vote_takes_its_reasons_along(held):
    store, vote = held
    give(store, said(vote, Criterion.STYLE))
    store.write_along(votes.withdraw, vote.id)
    assert (stored(store), stored(store, "pending_rationales")) == (0, 0)
    with pytest.raises(VoteError, match="You have no vote here"):
        give(store, said(vote, Criterion.STYLE))


def test_reasons_that_were_taken_back_in_time_leave_nothing(held):
    store, vote = held
    give(store, said(vote, Criterion.STYLE))
    give(store, said(vote))
    store.write_along(votes.promote, votes.Casting(vote))
    assert (stored(store), stored(store, "pending_rationales")) == (0, 0)


# What a browser may send ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("a" * (LONGEST_COMMENT + 1), "at most 500 characters, this one has 501"),
        ("a" * 10**6, "this one has 1,000,000"),
        ("a\0b", "control characters"),
        ("\x1b[31mred", "control characters"),
        ("a\ud800", "control characters"),
        (None, "is a text"),
        (["a"], "is a text"),
    ],
)
def test_comments_that_are_refused(comment, reason):
    with pytest.raises(VoteError, match=reason):
        check_comment(comment)


def test_a_comment_is_kept_as_it_was_written():
    assert check_comment(f"  {HOSTILE}\r\n") == HOSTILE
    assert len(check_comment("🐋" * LONGEST_COMMENT)) == LONGEST_COMMENT
    assert check_comment("one\r\n\ttwo") == "one\n\ttwo"


@pytest.mark.parametrize("criteria", [None, "style", {"style": 1}, [1], [["style"]], ["x" * 10**6]])
def test_criteria_that_are_refused(criteria):
    with pytest.raises(VoteError) as refused:
        check_criteria(criteria)
    assert len(str(refused.value)) < 200


def test_criteria_are_each_there_once():
    assert check_criteria(["style", "clarity", "style"]) == (Criterion.CLARITY, Criterion.STYLE)


# Where they travel ----------------------------------------------------------------------------


@pytest.mark.slow
def test_copies_merge_in_either_order(voted, tmp_path):
    store, vote = voted
    first = said(vote, Criterion.STYLE, comment=HOSTILE)
    give(store, first)
    old = export(store, tmp_path / "old", "csv")
    second = said(vote, Criterion.CLARITY, given_at=first.given_at + timedelta(days=1))
    give(store, second)
    new = export(store, tmp_path / "new", "jsonl")
    (path,) = [path for path in new if path.stem == "rationales"]
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[1], "utf-8")
    for files in ([old, new], [new, old]):
        with Store.in_memory() as copy:
            added = [import_files(copy, each) for each in files]
            assert [each.rejected for each in added] == [(), ()]
            assert sum(each.rationales for each in added) == 2
            assert standing(copy) == {vote.id: (["clarity"], "")}
            assert import_files(copy, old).rationales == 0


def test_what_does_not_fit_is_rejected_and_named(voted, tmp_path):
    store, vote = voted
    give(store, said(vote, Criterion.STYLE))
    files = {path.stem: path for path in export(store, tmp_path, "jsonl")}
    row = json.loads(files["rationales"].read_text())
    rows = [
        row | {"rationale": "1", "vote": "nobody's"},
        row | {"rationale": "2", "voter": "bob"},
        row | {"rationale": "3", "criteria": ["beauty"]},
        row | {"comment": "another"},
    ]
    files["rationales"].write_text("".join(json.dumps(each) + "\n" for each in rows))
    done = import_files(store, [files["rationales"]])
    reasons = " ".join(each.reason for each in sorted(done.rejected, key=lambda each: each.line))
    for expected in (
        "there is no vote nobody's",
        "of another voter",
        "is not a list of correctness",
        "is known with other content",
    ):
        assert expected in reasons
    assert (len(done.rejected), done.rationales, stored(store)) == (4, 0, 1)


def test_reasons_of_a_vote_that_is_rejected_are_rejected_too(voted, tmp_path):
    """The store knows this vote as another one, so the reasons are not those of its voter."""
    store, vote = voted
    files = {path.stem: path for path in export(store, tmp_path, "jsonl")}
    row = json.loads(files["votes"].read_text()) | {"ranks": [2, 1]}
    files["votes"].write_text(json.dumps(row))
    why = {"rationale": "1", "vote": vote.id, "battle": vote.battle, "voter": vote.voter}
    why |= {"criteria": ["style"], "comment": "", "given_at": "2026-01-01T00:00:00Z"}
    files["rationales"].write_text(json.dumps(why))
    done = import_files(store, list(files.values()))
    assert [each.reason for each in done.rejected][-1] == "its vote was rejected"
    assert stored(store) == 0


def test_a_snapshot_has_those_that_count_and_brings_them_back(tmp_path):
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        counts, waits = make_battle(), make_battle()
        for battle in (counts, waits):
            store.add_battle(battle)
        vote, pending = make_vote(counts), make_vote(waits)
        store.cast(vote)
        store.write_along(votes.hold, votes.Casting(pending))
        give(store, said(vote, Criterion.STYLE, comment=HOSTILE))
        give(store, said(pending, Criterion.STYLE, comment="not yet"))
        snapshot(store, snapshot_path(db))
        assert stored(store, "pending_rationales") == 1
    db.unlink()
    restore(db)
    with Store.open(db) as store:
        assert standing(store) == {vote.id: (["style"], HOSTILE)}
        assert stored(store, "pending_rationales") == 0
        # A snapshot is not replaced by a database that lacks reasons.
        store.write(lambda cursor: cursor.execute("delete from rationales"))
        with pytest.raises(StoreError, match="it is kept"):
            snapshot(store, snapshot_path(db))


@pytest.mark.slow
def test_a_backup_brings_them_back(tmp_path):
    (tmp_path / "backup").mkdir()
    place = backup_target(tmp_path / "backup", None)
    with Store.open(tmp_path / "one.duckdb") as store:
        battle = make_battle()
        vote = make_vote(battle)
        store.add_battle(battle)
        store.cast(vote)
        backup = Backup(store, place, minutes=60)
        until(lambda: backup.age is not None)
        give(store, said(vote, Criterion.STYLE, comment=HOSTILE))  # its vote has been sent
        backup.close()
        assert len(list((tmp_path / "backup").rglob("chunk.json"))) == 2
        assert backup.trouble == ""
        before = fingerprint(store)
    with Store.open(tmp_path / "two.duckdb") as store:
        Backup(store, place, minutes=60).close()
        assert fingerprint(store) == before
        assert standing(store) == {vote.id: (["style"], HOSTILE)}


def test_a_fingerprint_knows_them_and_is_that_of_old_where_there_are_none(voted, tmp_path):
    store, vote = voted
    before = fingerprint(store)
    (empty,) = [path for path in export(store, tmp_path, "jsonl") if path.stem == "rationales"]
    assert empty.read_bytes() == b""
    give(store, said(vote, Criterion.STYLE))
    assert fingerprint(store) != before
