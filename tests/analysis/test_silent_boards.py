"""Boards by every front door where a judge is silent, or verdicts alone are on other prompts."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.choices import BoardSource, JudgeScore
from coupled_arena.stats.ranking.verdict_shift import DIFFERENT
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.views.report.collect import ReportSettings, collect
from coupled_arena.views.words.leaderboard import board_warnings
from tests.boards import read_leaderboard

MODELS = ("ada", "bob", "cid")
SIDES = ("model_a", "model_b", "tie")
SILENT = "{} of 400 comparisons have no verdict of verdict: they count as they are."
ELSEWHERE = "Verdicts without a vote are on other comparisons than votes ("


def table(silent=0.3, shift=0.0, seed=1):
    """Return 400 votes and verdicts on 1,600 more; the judge repeats six of ten votes."""
    rng, rows = np.random.default_rng(seed), []
    for n in range(2000):
        a, b = rng.permutation(MODELS)[:2]
        lean = 0.4 * np.array([1, 1, 0.5])
        if n >= 400 and "cid" in (a, b):
            lean = lean + shift * (np.array([1, -1, 0]) if a == "cid" else np.array([-1, 1, 0]))
        vote = rng.choice(SIDES, p=lean)
        verdict = vote if rng.random() < 0.6 else rng.choice(SIDES, p=lean)
        lost = vote == ("model_b" if a == "cid" else "model_a") and "cid" in (a, b)
        if lost and rng.random() < silent:
            verdict = None
        row = {"model_a": a, "model_b": b, "prompt": f"Question {n}"}
        rows.append({**row, "winner": vote if n < 400 else None, "verdict": verdict})
    found = pd.DataFrame(rows)
    return found[found["winner"].notna() | found["verdict"].notna()]


def _same_places(answer, other):
    for one, row in zip(answer["models"], other["models"], strict=True):
        assert one["model"] == row["model"]
        for name in ("win_rate", "low", "high", "rank_low", "rank_high"):
            assert one[name] == pytest.approx(row[name], rel=1e-9), name


def test_a_table_with_blank_verdicts():
    votes = table()
    unjudged = int(votes["verdict"].isna().sum())
    board = ca.rank(votes)
    answer = board.to_dict()
    assert (answer["source"], answer["unjudged_votes"]) == ("ppr", unjudged)
    assert (
        answer["human_comparisons"]
        == sum(row["human_votes"] for row in answer["models"]) / 2
        == 400
    )
    assert SILENT.format(unjudged) in board.warnings
    people = ca.rank(votes, source="human").to_dict()["models"]
    wide = {row["model"]: row["standard_error"] for row in people}
    assert all(row["standard_error"] < wide[row["model"]] for row in answer["models"])
    check = answer["judge_only_check"]
    assert check["level"] == DIFFERENT
    assert not check["different"]


def test_without_verdicts_alone_the_board_is_peoples():
    votes = table()
    votes = votes[votes["winner"].notna()]
    board, people = ca.rank(votes), ca.rank(votes.drop(columns="verdict"))
    answer, other = board.to_dict(), people.to_dict()
    assert answer["source"] == "human"
    _same_places(answer, other)
    assert answer["judge_only_check"] is None
    assert "Verdicts of verdict add nothing here: this board counts votes alone." in board.warnings
    powered = ca.rank(votes, source="ppr").to_dict()
    assert powered["lambda"] == 0
    _same_places(powered, other)


def test_verdicts_on_other_prompts():
    votes = table(silent=0.0, shift=0.3)
    board = ca.rank(votes)
    answer = board.to_dict()
    assert (answer["source"], answer["lambda"]) == ("human", 0)
    check = answer["judge_only_check"]
    assert check["different"]
    assert (check["model"], check["contrasts"]) == ("cid", 2)
    assert check["p"] < 0.001
    assert check["shift"] > 0.1
    (said,) = (line for line in board.warnings if line.startswith(ELSEWHERE))
    assert "(cid +" in said
    assert "p < 0.001" in said
    powered = ca.rank(votes, source="ppr").to_dict()
    assert powered["models"] == answer["models"]
    assert powered["lambdas"] == [0]
    assert ca.rank(votes, source="ppr", covariance="published").to_dict()["lambda"] > 0


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The table as a file that is imported."""
    path = tmp_path_factory.mktemp("silent") / "votes.csv"
    table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def stored(file):
    """The store that it is imported into."""
    path = file.with_name("arena.duckdb")
    with Store.open(path) as store:
        import_files(store, [file])
    return path


@pytest.mark.slow
def test_import_and_the_command(stored, call):
    code, out, err = call("leaderboard", "--db", stored, "--judge", "verdict", "--json")
    assert code == 0, err
    answer, table_of = json.loads(out), ca.rank(table()).to_dict()
    unjudged = int(table()["verdict"].isna().sum())
    assert (answer["source"], answer["unjudged_votes"]) == ("ppr", unjudged)
    assert SILENT.format(unjudged) in answer["warnings"]
    assert answer["lambda"] == pytest.approx(table_of["lambda"], rel=1e-12)
    _same_places(answer, table_of)


@pytest.mark.parametrize("score", list(JudgeScore))
def test_all_ways_to_hear_a_judge_keep_all_votes(stored, score):
    with Store.open(stored, read_only=True) as store:
        for flips in ("tie", "abstain"):
            how = Selection("verdict", judge_score=score, flips=flips)
            board = read_leaderboard(store, how, source=BoardSource.PPR)
            assert board.estimate.human == 400
            assert any("have no verdict of verdict" in line for line in board_warnings(board))


def test_the_report_counts_them_too(stored):
    with Store.open(stored, read_only=True) as store:
        found = collect(store, "arena", ReportSettings(), datetime.now(UTC))
    boards = [board for board in found.boards if board.source is BoardSource.PPR]
    assert boards
    assert all(board.estimate.human == 400 for board in boards)
