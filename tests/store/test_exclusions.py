"""Votes that do not count: kept, told, taken back, and the same in every copy."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from coupled_arena.analysis.agreement import read_agreement
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Origin, Outcome, Source, new_id
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import judges
from coupled_arena.store.tables.exclusions import (
    Decision,
    Excluded,
    Exclusion,
    exclude,
    excluded,
    exclusions,
    include,
)
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.restoring import restore
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from coupled_arena.store.transfer.targets import BackupFolder
from coupled_arena.store.work_queues.battles import Backlog
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WHY = Decision('it\'s "rigged"\n, é', "the keeper", NOON + 9 * HOUR)


def rule(voter=None, since=None, until=None, **changes):
    return replace(Exclusion(new_id(), voter, since, until, WHY), **changes)


def leave_out(store, one):
    return store.write(partial(exclude, rule=one))


def take_back(store, one):
    store.write(partial(include, exclusion=one.id, decision=replace(WHY, reason="a mistake")))


def rows(store):
    """Return the comparisons, by names."""
    with store.cursor() as cursor:
        return cursor.execute(
            "select battle, a.model, b.model, judge_no, human, verdict, identical, voter "
            "from comparisons join battles using (battle_no) "
            "join models as a on a.model_no = model_a join models as b on b.model_no = model_b "
            "order by all"
        ).fetchall()


def whole(store):
    with store.cursor() as cursor:
        return faults(cursor)


def fill(store, voters=("ann", "bob", "eve")):
    """Three battles, one of three models: bob votes an hour after ann, and eve after bob."""
    store.write(lambda cursor: judges.bind(cursor, "judge", "strong", "abc", "{}"))
    for n, models in enumerate([("alpha", "beta"), ("beta", "alpha"), ("alpha", "beta", "alpha")]):
        battle = make_battle(*models, id=f"b{n}", experiment=None, origin=Origin.GENERATE)
        store.add_battle(battle)
        said = Verdict(new_id(), battle.id, "judge", 0, 1, Outcome.FIRST, "A")
        store.write(partial(judges.add_verdicts, verdicts=[said]))
        for voter in voters:
            hour = ("ann", "bob", "eve").index(voter)
            ranks = tuple(1 + (place + hour) % 2 for place in range(len(models)))
            made = make_vote(battle, *ranks, voter=voter, id=f"{n}{voter}")
            store.cast(replace(made, cast_at=NOON + hour * HOUR))
    return store


@pytest.fixture
def filled(store):
    return fill(store)


@pytest.mark.parametrize(
    ("one", "left"),
    [
        (rule("eve"), ("ann", "bob")),
        pytest.param(rule(since=NOON + HOUR), ("ann",), marks=pytest.mark.slow),
        pytest.param(rule(until=NOON + HOUR), ("bob", "eve"), marks=pytest.mark.slow),
        (rule(since=NOON + HOUR, until=NOON + 2 * HOUR), ("ann", "eve")),
        pytest.param(rule("bob", until=NOON + 2 * HOUR), ("ann", "eve"), marks=pytest.mark.slow),
        pytest.param(rule(since=NOON), (), marks=pytest.mark.slow),
    ],
)
def test_what_is_excluded_is_as_if_it_had_never_been_cast(filled, one, left):
    before = rows(filled)
    assert leave_out(filled, one) == 9 - 3 * len(left)
    everything = filled.counting(excluded=True)
    with Store.in_memory() as without:
        assert rows(filled) == rows(fill(without, left))
        assert rows(everything) == before
        with everything.cursor() as cursor, filled.cursor() as plain:
            share = Excluded(9 - 3 * len(left), 9)
            assert excluded(cursor) == excluded(plain) == share
        assert whole(filled) == []
        take_back(filled, one)
        assert rows(filled) == before
        assert whole(filled) == []
        with filled.cursor() as cursor:
            assert excluded(cursor).votes == 0
            assert cursor.execute("select count(*) from votes").fetchall() == [(9,)]


@pytest.mark.slow
def test_a_vote_counts_when_nothing_excludes_it_any_more(filled):
    one, other, before = rule("eve"), rule(since=NOON + 2 * HOUR), rows(filled)
    leave_out(filled, one)
    leave_out(filled, other)
    take_back(filled, one)
    assert rows(filled) != before
    take_back(filled, other)
    assert rows(filled) == before
    with filled.cursor() as cursor:
        assert [each.taken_back.reason for each in exclusions(cursor)] == ["a mistake"] * 2
        assert exclusions(cursor)[0].decision == WHY


def test_a_rule_covers_what_its_voter_casts_later_and_changes(filled):
    leave_out(filled, rule("eve", until=NOON + 9 * HOUR))
    seen = filled.version()
    late = make_battle("alpha", "beta", id="late")
    filled.add_battle(late)
    filled.cast(make_vote(late, voter="eve", cast_at=NOON + 3 * HOUR), reveal=False)
    assert filled.version() > seen
    assert [row[-1] for row in rows(filled) if row[0] == "late"] == [None]
    # What stands is the newest vote: an older one does not come back in its place.
    filled.cast(make_vote(late, 2, 1, voter="eve", cast_at=NOON + 9 * HOUR))
    assert [(row[4], row[-1]) for row in rows(filled) if row[0] == "late"] == [("second", "eve")]
    assert whole(filled) == []


def test_boards_and_agreement_follow_at_once(filled):
    def said(store):
        found = read_estimates(store, Selection(judge="judge"))
        agreed = read_agreement(store, Selection(), 0.05).found
        return found.votes.counts.tolist(), found.judged.labelled.sum(), agreed.votes

    before = said(filled)
    leave_out(filled, rule("eve"))
    with Store.in_memory() as without:
        assert said(filled) == said(fill(without, ("ann", "bob")))
    assert said(filled.counting(excluded=True)) == before
    with filled.cursor() as cursor:
        told = comparisons.relation(cursor, None).project("voter").distinct().fetchall()
    assert {voter for (voter,) in told} == {"ann", "bob"}


def test_ties_that_nobody_was_asked_about_go_with_their_voter_and_are_no_votes(store):
    battle = make_battle()
    store.add_battle(battle)
    store.cast(make_vote(battle, 1, 1, source=Source.IDENTICAL))
    leave_out(store, rule("ann"))
    assert [row[-2:] for row in rows(store)] == [(False, None)]
    with store.cursor() as cursor:
        assert excluded(cursor) == Excluded(0, 0)


@pytest.mark.parametrize(
    ("one", "why"),
    first_of(
        (rule(), "needs a voter or a time"),
        (rule("eve", NOON, NOON), "ends after it begins"),
        (rule("nobody"), "No vote is of this voter and time"),
        (rule(since=NOON + 9 * HOUR), "No vote is of this voter and time"),
        (rule("eve", decision=replace(WHY, reason=" ")), "Say why"),
        (rule("eve", decision=replace(WHY, made_by="")), "who decides"),
        keep=2,
    ),
)
def test_what_excludes_nothing_is_refused_and_leaves_nothing(filled, one, why):
    before = filled.version()
    with pytest.raises(StoreError, match=why):
        leave_out(filled, one)
    assert filled.version() == before


def test_only_what_stands_can_be_taken_back(filled):
    one = rule("eve")
    with pytest.raises(StoreError, match="is not known"):
        take_back(filled, one)
    leave_out(filled, one)
    take_back(filled, one)
    with pytest.raises(StoreError, match="was taken back before"):
        take_back(filled, one)


@pytest.mark.slow
def test_nobody_is_asked_again_because_a_vote_does_not_count(filled):
    with closing(Backlog(filled)) as backlog:
        before = backlog.progress("eve")
        leave_out(filled, rule("eve"))
        assert backlog.draw("eve", 1) is None
        assert backlog.progress("eve") == before


@pytest.mark.slow
def test_exports_say_it_and_bring_it_back(filled, tmp_path):
    kept, gone = rule("eve"), rule("bob", since=NOON)
    leave_out(filled, kept)
    leave_out(filled, gone)
    take_back(filled, gone)
    assert fingerprint(filled.counting(excluded=True)) == fingerprint(filled)
    files = {path.stem: path for path in export(filled, tmp_path, "jsonl")}
    votes = [json.loads(line) for line in files["votes"].read_text("utf-8").splitlines()]
    assert {vote["voter"] for vote in votes if vote["excluded"]} == {"eve"}
    assert len(votes) == 9
    for format in ("parquet", "jsonl", "csv"):
        files = export(filled, tmp_path, format)
        with Store.in_memory() as copy:
            done = import_files(copy, files)
            assert (done.rejected, done.exclusions) == ((), 2)
            assert (fingerprint(copy), rows(copy)) == (fingerprint(filled), rows(filled))
            assert import_files(copy, files).exclusions == 0
            assert whole(copy) == []


@pytest.mark.slow
def test_arena_rows_and_flat_tables_leave_out(filled, tmp_path):
    leave_out(filled, rule("eve"))
    for store, voters in [
        (filled, {"ann", "bob"}),
        (filled.counting(excluded=True), {"ann", "bob", "eve"}),
    ]:
        (arena,) = export(store, tmp_path, "arena")
        told = [json.loads(line)["judge"] for line in arena.read_text("utf-8").splitlines()]
        assert set(told) == voters
        (flat,) = export(store, tmp_path, "flat-csv")
        assert {"eve" in line for line in flat.read_text("utf-8").splitlines()[1:]} == (
            {True, False} if "eve" in voters else {False}
        )


@pytest.mark.slow
def test_copies_meet_whichever_decided(filled, tmp_path):
    one = rule("eve")
    with Store.in_memory() as copy:
        import_files(copy, export(filled, tmp_path, "parquet"))
        leave_out(copy, one)
        import_files(filled, export(copy, tmp_path, "parquet"))
        assert rows(filled) == rows(copy)
        take_back(filled, one)
        import_files(copy, export(filled, tmp_path, "parquet"))
        assert (rows(copy), fingerprint(copy)) == (rows(filled), fingerprint(filled))
        assert whole(copy) == []
        other = replace(one, voter="bob")
        copy.write(lambda cursor: cursor.execute("update exclusions set voter = 'bob'"))
        done = import_files(filled, export(copy, tmp_path, "parquet"))
        assert [wrong.reason for wrong in done.rejected] == [
            f"exclusion {other.id} is known with other content"
        ]


@pytest.mark.parametrize(
    ("change", "why"),
    first_of(
        ({"voter": None, "since": None, "until": None}, "neither voter nor time"),
        ({"since": "2026-03-02T00:00Z", "until": "2026-03-01T00:00Z"}, "ends before it begins"),
        ({"taken_back_at": "2026-03-02T00:00Z"}, "belong together"),
        ({"reason": ""}, "reason '' is not a name"),
    ),
)
def test_wrong_lines_are_rejected(filled, tmp_path, change, why):
    leave_out(filled, rule("eve", since=NOON))
    before = rows(filled)
    path = tmp_path / "exclusions.jsonl"
    export(filled, tmp_path, "jsonl")
    (row,) = map(json.loads, path.read_text("utf-8").splitlines())
    path.write_text(json.dumps({**row, "exclusion": "another", **change}) + "\n")
    done = import_files(filled, [path])
    assert (len(done.rejected), done.exclusions, rows(filled)) == (1, 0, before)
    assert why in done.rejected[0].reason


@pytest.mark.slow
def test_backups_and_snapshots_have_them(tmp_path):
    path, place = tmp_path / "arena.duckdb", BackupFolder(tmp_path / "backup")
    one = rule("eve")
    (tmp_path / "backup").mkdir()
    with Store.open(path) as store:
        for step in (lambda: fill(store), lambda: leave_out(store, one)):
            step()
            with closing(Backup(store, place, 10)):
                pass  # closed, it sends what is new
        take_back(store, one)
        with closing(Backup(store, place, 10)):
            leave_out(store, rule("bob"))
        snapshot(store, snapshot_path(path))
        said = rows(store), fingerprint(store)
    with Store.in_memory() as again, closing(Backup(again, place, 10)):
        assert (rows(again), fingerprint(again)) == said
    path.unlink()
    restore(path)
    with Store.open(path) as store:
        assert (rows(store), fingerprint(store)) == said
