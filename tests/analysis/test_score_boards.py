"""Boards of scores: whoever scores higher on a prompt wins it; and grades from logs."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.given_tables import store_of_scores
from coupled_arena.analysis.risk.scores import risk_scores_from_frame
from coupled_arena.core.errors import ArenaError, ScoreError
from tests.analysis.test_logs import TIME, lines, sample

MODELS = ("red", "green", "blue")
PROMPTS = 60


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A folder of runs of lm-evaluation-harness; scores are few numbers, so that some are equal."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(5)
    for place, model in enumerate(MODELS):
        inside = folder / model
        inside.mkdir()
        acc = rng.integers(0, 3, PROMPTS) / 2 + 0.5 * place
        graded = [rng.integers(0, 2, 2) for _ in range(PROMPTS)]
        rows = [
            sample(n, metrics=["f1", "exact", "grade"], f1=acc[n], exact=int(e), grade=int(g))
            for n, (e, g) in enumerate(graded)
        ]
        (inside / f"samples_sums_{TIME}.jsonl").write_text(lines(*rows))
    return folder


def scores_in(folder, metric):
    found = {}
    for path in folder.rglob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.parent.name] = [row[metric] for row in rows]
    return found


def test_a_win_rate_is_how_often_a_model_scores_higher(call, logs):
    scored = scores_in(logs, "f1")
    wins = dict.fromkeys(MODELS, 0.0)
    for one, other in permutations(MODELS, 2):
        pairs = list(zip(scored[one], scored[other], strict=True))
        won = sum((a > b) + (a == b) / 2 for a, b in pairs)
        wins[one] += won / len(pairs) / (len(MODELS) - 1)
        assert any(a == b for a, b in pairs)
    code, out, err = call("leaderboard", "--scores", logs, "--json")
    board = json.loads(out)
    assert (code, err, board["judge"], board["source"]) == (0, "", "f1", "judge")
    assert board["warnings"] == []  # no votes are asked for, where none would tell
    assert {row["model"]: row["win_rate"] for row in board["models"]} == pytest.approx(wins)
    assert {row["judge_verdicts"] for row in board["models"]} == {2 * PROMPTS}
    text = call("leaderboard", "--scores", logs)[1].splitlines()
    shown = [line.split()[-1] for line in text if "%  " in line]
    assert shown == [str(2 * PROMPTS)] * len(MODELS)
    frame = ca.rank(logs).to_frame().set_index("model")
    assert frame["win_rate"].to_dict() == pytest.approx(wins, abs=1e-12)
    two = {"one": logs / "red", "two": logs / "blue"}
    assert ca.rank(two, metric="exact").to_frame()["win_rate"].sum() == pytest.approx(1)
    by_paper = ca.rank(two, metric="exact", ties="loss").to_frame()
    assert by_paper["win_rate"].sum() < 1


def test_means_over_replies_count_and_rounding_makes_no_winner():
    rows = [("a", n, score) for n in range(9) for score in (0.1, 0.2)]
    rows += [("b", n, score) for n in range(9) for score in (0.0, 0.1 + 0.2)]
    rows += [(model, 9, 1e9) for model in "aabb"]  # what is small beside it counts elsewhere
    frame = pd.DataFrame(rows, columns=["model", "prompt", "loss"])
    scores = risk_scores_from_frame(frame)
    assert scores.repetitions == 2
    with store_of_scores(scores) as store, store.cursor() as cursor:
        found = cursor.execute("select distinct verdict from comparisons where judge_no > 0")
        assert found.fetchall() == [("tie",)]
    frame.loc[(frame["model"] == "b") & (frame["prompt"] < 9), "loss"] += 1e-6
    frame.loc[(frame["model"] == "b") & (frame["prompt"] == 9), "loss"] *= 2
    for lower, winner in (((), "second"), (("loss",), "first")):
        with store_of_scores(scores_of(frame, lower)) as store, store.cursor() as cursor:
            found = cursor.execute("select distinct verdict from comparisons where judge_no > 0")
            assert found.fetchall() == [(winner,)]


def scores_of(frame, lower):
    return risk_scores_from_frame(frame).turned(lower, ())


def test_what_cannot_be_compared_is_told():
    frame = pd.DataFrame({"model": [*"aaabbb"], "prompt": [1, 2, 3, 1, 2, 4], "acc": range(6)})
    with pytest.raises(ScoreError, match="a has no score on '4'"):
        store_of_scores(risk_scores_from_frame(frame))
    with pytest.raises(ScoreError, match="choose with --metric, of acc, f1"):
        store_of_scores(risk_scores_from_frame(frame.assign(f1=0)))


def test_two_metrics_of_logs_are_truth_and_judge(call, logs):
    code, out, err = call("audit", "--table", logs, "--metrics", "exact,grade", "--json")
    audited = json.loads(out)
    assert (code, err, audited["judge"]) == (0, "", "grade")
    truth, grades = scores_in(logs, "exact"), scores_in(logs, "grade")
    for row in audited["models"]:
        agreed = np.mean(np.equal(truth[row["model"]], grades[row["model"]]))
        assert row["agreement"] == pytest.approx(agreed)
        assert row["b"] == pytest.approx(np.mean(truth[row["model"]]))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["leaderboard", "--metric", "f1"], "--metric is about scores"),
        (["leaderboard", "--scores", "{logs}", "--mode", "coupled"], "--mode is for a store"),
        (["leaderboard", "--scores", "{logs}", "--models", "all"], "--models is for a store"),
        (["leaderboard", "--scores", "{logs}", "--metric", "wer"], "has no metric 'wer'"),
        (["leaderboard", "--scores", "{logs}/none"], "No such file"),
        (["audit", "--table", "{logs}"], "Give two metrics"),
        (["audit", "--table", "{logs}", "--metrics", "exact"], "Give two metrics"),
        (["audit", "--table", "{logs}", "--metrics", "f1,grade"], "not 1 or 0"),
        (["audit", "--metrics", "exact,grade"], "--metrics is about logs"),
    ],
)
def test_what_does_not_fit_is_one_line(call, logs, command, said):
    code, out, err = call(*(part.format(logs=logs) for part in command))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err


def test_in_python_metric_and_source_are_for_one_of_both():
    votes = pd.DataFrame({"model_a": ["a"], "model_b": ["b"], "winner": ["a"]})
    with pytest.raises(ArenaError, match="`metric` is about scores"):
        ca.rank(votes, metric="acc")
    scores = pd.DataFrame({"model": ["a", "b"] * 2, "prompt": [1, 1, 2, 2], "acc": [0, 1, 1, 0]})
    with pytest.raises(ArenaError, match="`source` is for votes: leave it out with scores"):
        ca.rank(scores, source="human")
    with pytest.raises(ArenaError, match="There is no file"):
        ca.rank([])
