"""Links of one's own on the command line, and what is said of one person's votes."""

from __future__ import annotations

import csv
import json
import re

import pytest

from coupled_arena.store.annotators import annotators_path, read_annotators
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from tests.store.conftest import make_vote
from tests.stored import fill


@pytest.fixture
def db(tmp_path):
    """A store on which Ann, who has a link, and somebody else have voted."""
    return tmp_path / "arena.duckdb"


def voted(db, call):
    """Give Ann a link, and store votes of hers and of another; return the token and her voter."""
    code, out, err = call("annotators", "add", "Ann", "--db", db, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["annotators"]
    (ann,) = read_annotators(annotators_path(db))
    with Store.open(db) as store:
        for n, battle in enumerate(fill(store, [f"Question {n}?" for n in range(12)])):
            store.cast(make_vote(battle, 1, 2, voter=ann.voter))
            store.cast(make_vote(battle, *((1, 2) if n % 3 else (2, 1)), voter="another"))
        snapshot(store, snapshot_path(db))
    return row["address"].rpartition("=")[2], ann.voter


def test_addresses(call, db):
    code, out, err = call("annotators", "add", "Ann", "Bob", "--count", 2, "--db", db)
    assert (code, err) == (0, "")
    line = r"http://127\.0\.0\.1:7860/\?annotator=[0-9a-f]{40}  (.*)"
    assert [re.fullmatch(line, each)[1] for each in out.splitlines()] == ["Ann", "Bob", "1", "2"]
    options = ("--url", "https://arena.example.org/ours", "--db", db)
    assert call("annotators", "add", "Cas", *options)[1].startswith(
        "https://arena.example.org/ours/?annotator="
    )
    code, out, err = call("annotators", "revoke", "Ann", "--db", db)
    assert (code, out, err) == (0, "", "Revoked: Ann\n")
    rows = json.loads(call("annotators", "--db", db, "--json")[1])["annotators"]
    assert {row["name"]: row["link"] for row in rows} == {
        **dict.fromkeys(("1", "2", "Bob", "Cas"), True),
        "Ann": False,
    }
    listed = call("annotators", "--db", db)[1]
    assert re.search(r"^[0-9a-f]{16}  \S+  revoked  Ann$", listed, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["add"], "give names, or --count"),
        (["add", "Ann", "--url", "arena.example.org"], "no address of a page"),
        (["add", "Ann", "--url", "https://a.org/?x=1"], "no address of a page"),
        (["revoke", "Zoe"], "no annotator 'Zoe'"),
    ],
)
def test_what_cannot_be_done_is_one_line(call, db, options, words):
    code, out, err = call("annotators", *options, "--db", db)
    assert (code, out) == (1, "")
    assert words in err
    assert err.count("\n") == 1
    assert call("annotators", "--db", db)[1] == "Nobody has a link.\n"


@pytest.mark.slow
def test_neither_names_nor_tokens_are_in_what_leaves(call, db, tmp_path):
    token, voter = voted(db, call)
    for format in ("jsonl", "csv", "arena"):
        assert call("export", "--out", tmp_path / format, "--format", format, "--db", db)[0] == 0
    files = [*(path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json")]
    assert {"arena.duckdb", "arena.snapshot.duckdb", "votes.csv"} <= {file.name for file in files}
    (ann,) = read_annotators(annotators_path(db))
    for file in files:
        found = file.read_bytes()
        assert not [s for s in (token, ann.token_hash, "Ann") if s.encode() in found], file
    assert voter in (tmp_path / "csv" / "votes.csv").read_text()
    assert not list(tmp_path.rglob("annotators.csv"))


@pytest.mark.slow
def test_names_where_they_are_asked_for(call, db, tmp_path):
    _, voter = voted(db, call)
    out = tmp_path / "out"
    options = ("--out", out, "--format", "csv", "--names", "--db", db)
    code, printed, err = call("export", *options)
    assert code == 0, err
    assert str(out / "annotators.csv") in printed
    with (out / "annotators.csv").open() as file:
        assert list(csv.DictReader(file)) == [{"voter": voter, "name": "Ann"}]
    copy = tmp_path / "copy.duckdb"
    code, printed, err = call("import", out, "--db", copy, "--json")
    assert (code, json.loads(printed)["rejected"]) == (0, []), err


@pytest.mark.slow
def test_a_board_of_one_person(call, db):
    _, voter = voted(db, call)
    for called in ("Ann", voter):
        code, out, err = call("leaderboard", "--voter", called, "--db", db, "--json")
        assert code == 0, err
        answer = json.loads(out)
        assert (answer["voter"], answer["human_comparisons"]) == (voter, 12)
    assert json.loads(call("leaderboard", "--db", db, "--json")[1])["human_comparisons"] == 24
    code, _, err = call("leaderboard", "--voter", "Zoe", "--db", db)
    assert (code, err) == (1, "Error: There are no votes by 'Zoe' here.\n")


def test_agreement(call, db):
    voted(db, call)
    code, out, err = call("agreement", "--db", db, "--json")
    assert code == 0, err
    answer = json.loads(out)
    counts = [answer[name] for name in ("annotators", "battles", "votes", "prompts")]
    assert counts == [2, 12, 24, 12]
    # They differ on 4 of 12 battles; the first answer is preferred 20 times, the second 4 times.
    assert answer["krippendorff_alpha"] == pytest.approx(1 - (4 / 12) / (2 * 20 * 4 / (24 * 23)))
    assert answer["low"] < answer["krippendorff_alpha"] < answer["high"]
    code, out, err = call("agreement", "--db", db)
    assert out.startswith("Krippendorff's alpha is -0.15 (95% interval")
