"""Import and leaderboard on the command line: real votes against the golden file, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coupled_arena.core.records import Mode, Origin
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.stats.real_votes import FOLDER, golden, lines_of, needs_real_votes
from tests.store.conftest import make_battle, make_vote

JUDGE = FOLDER / "gpt-4-0125-preview.json"
GOLDEN = ("--ties", "loss")  # the golden file has no half wins


@pytest.fixture
def board(call):
    """Return the rows of a leaderboard by model, and the rest of the answer."""

    def read(db, *options):
        code, out, err = call("leaderboard", "--db", db, "--json", *options)
        assert code == 0, err
        answer = json.loads(out)
        return {row["model"]: row for row in answer["models"]}, answer

    return read


def same(rows, expected, cutoff=None):
    """Hold rows against the golden file's list in the order of its models."""
    models = golden()["models"]
    theta = [rows[model]["win_rate"] for model in models]
    assert theta == pytest.approx(expected["theta"], abs=1e-11)
    errors = [rows[model]["standard_error"] for model in models]
    assert errors == pytest.approx(expected["se"], abs=1e-11)
    if cutoff:
        sets = [[rows[model]["rank_low"], rows[model]["rank_high"]] for model in models]
        assert sets == expected["rank_sets"][cutoff]["0.05"]


def numbered(source, path, lines=None):
    """Write rows of a file without their questions: the golden file clusters nothing."""
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    kept = rows if lines is None else [rows[line] for line in sorted(lines)]
    path.write_text("".join(json.dumps(row | {"question_id": None}) + "\n" for row in kept))
    return path


@pytest.mark.slow
@needs_real_votes
def test_all_real_votes(call, board, tmp_path):
    db, models = tmp_path / "arena.duckdb", (*GOLDEN, "--models", ",".join(golden()["models"]))
    human = numbered(FOLDER / "human.json", tmp_path / "human.jsonl")
    assert call("import", human, "--db", db)[0] == 0
    judge = numbered(JUDGE, tmp_path / "judge.jsonl")
    assert call("import", judge, "--judge", "gpt-4", "--db", db)[0] == 0
    chi2 = (*models, "--cutoff", "chi2")
    every = golden()["all"]
    rows, answer = board(db, *chi2, "--weighting", "count")
    same(rows, every["human"]["count_corrected"], "chi2")
    assert answer["human_comparisons"] == every["n_rows"] == 14_947
    rows, _ = board(db, *chi2, "--covariance", "published")
    same(rows, every["human"]["count_published"], "chi2")
    rows, _ = board(db, *models, "--cutoff", "bonferroni")
    same(rows, every["human"]["stratified_within"], "bonferroni")
    rows, _ = board(db, *models, "--cutoff", "bonferroni", "--source", "judge")
    same(rows, every["gpt4"]["stratified_within"], "bonferroni")


@pytest.mark.slow
@needs_real_votes
@pytest.mark.parametrize("name", ["hash_n990", "balanced_n990_N5346"])
def test_few_real_votes_with_a_judge(call, board, tmp_path, name):
    human, alone = lines_of(name)
    files = {FOLDER / "human.json": human, JUDGE: [*human, *alone]}
    db = tmp_path / "arena.duckdb"
    for source, kept in files.items():
        chosen = numbered(source, tmp_path / "chosen.jsonl", kept)
        call("import", chosen, "--db", db, *(["--judge", "gpt-4"] if source == JUDGE else []))
    expected = golden()["ppr"][name]["gpt4"]
    rows, answer = board(db, *GOLDEN, "--judge", "gpt-4", "--cutoff", "bonferroni")
    same(rows, expected["stratified"], "bonferroni")
    assert answer["lambda"] == pytest.approx(expected["stratified"]["lam"], abs=1e-11)
    assert answer["human_comparisons"] == len(human)
    assert answer["judge_only_comparisons"] == len(alone)
    rows, answer = board(
        db, *GOLDEN, "--judge", "gpt-4", "--weighting", "count", "--cutoff", "chi2"
    )
    assert answer["lambda"] == pytest.approx(expected["lambda"]["paper"], abs=1e-11)
    same(rows, {"theta": expected["count"]["theta"], "se": expected["count"]["se_corrected"]})
    rows, _ = board(db, *GOLDEN, "--source", "human", "--weighting", "count")
    alone_ = expected["human_only_Dn"]
    same(rows, {"theta": alone_["theta"], "se": alone_["se_corrected"]})


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store of three models, two of which have met in both modes."""
    db = tmp_path_factory.mktemp("small") / "small.duckdb"
    rng = np.random.default_rng(2)
    with Store.open(db) as store, at_once(store) as batch:
        for i in range(40):
            battle = make_battle(
                "a", "b", mode=(Mode.COUPLED, Mode.INDEPENDENT)[i % 2], prompts=(), replies=()
            )
            batch.add_battle(battle)
            batch.cast(make_vote(battle, *[(1, 2), (2, 1), (1, 1)][rng.integers(3)]))
        batch.add_battle(make_battle("a", "c", origin=Origin.GENERATE, prompts=(), replies=()))
    return db


def test_a_small_store(call, board, small):
    rows, answer = board(small, "--bradley-terry")
    assert set(rows) == {"a", "b"}
    assert answer["without_votes"] == ["c"]
    assert rows["a"]["human_votes"] == 40
    assert (answer["source"], answer["weighting"], answer["cutoff"]) == (
        *("human", "stratified", "max-t"),
    )
    assert "mixes battles" in answer["warnings"][0]
    assert answer["warnings"][-1] == "No votes yet: c."
    assert not any("more votes" in warning for warning in answer["warnings"])
    compared = answer["coupled_against_independent"]
    assert {pair["model"] for pair in compared["pairs"]} == {"a", "b"}
    assert len(answer["bradley_terry"]["models"]) == 2
    code, out, _ = call("leaderboard", "--db", small, "--mode", "coupled")
    assert code == 0
    assert "20" in out
    assert "alpha 0.05" in out


def test_ties_as_half_a_win_and_sets_for_each_model_alone(call, board, small):
    rows, answer = board(small, "--ties", "loss", "--sets", "marginal")
    usual, before = board(small)
    assert (answer["ties"], answer["sets"]) == ("loss", "marginal")
    assert (before["ties"], before["sets"]) == ("half", "joint")
    for model, row in rows.items():
        assert row["win_rate"] == pytest.approx(row["wins"] / 40)
        assert usual[model]["win_rate"] == pytest.approx((row["wins"] + row["ties"] / 2) / 40)
        assert (row["rank_low"], row["rank_high"]) == (
            *(usual[model]["rank_low"], usual[model]["rank_high"]),
        )
    assert "a win for neither" in answer["warnings"][0]
    assert "for its model alone" in answer["warnings"][1]
    assert answer["verdict"].startswith("A model that you chose before you looked has")
    assert not any("neither" in warning or "alone" in warning for warning in before["warnings"])
    code, out, _ = call("leaderboard", "--db", small, "--covariance", "published")
    assert code == 0
    assert "sets joint, ties loss" in out
    for option in ("--ties", "--sets"):
        code, _, err = call("leaderboard", "--db", small, option, "some")
        assert code
        assert "'some' is not one of" in err


def test_an_empty_store(call, board, tmp_path):
    db = tmp_path / "empty.duckdb"
    Store.open(db).close()
    rows, answer = board(db)
    assert rows == {}
    assert answer["human_comparisons"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--alpha", "5"), "error level between 0 and 1"),
        (("--judge", "nobody"), "no judge 'nobody'"),
        (("--source", "ppr"), "no verdicts here"),
        (("--models", "a,zeta"), "No battle has zeta"),
    ],
)
def test_what_cannot_be_ranked_is_told_in_one_line(call, small, options, message):
    code, out, err = call("leaderboard", "--db", small, *options)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_wrong_usage(call, small):
    assert call("leaderboard", "--db", small, "--source", "people")[0] == 2
