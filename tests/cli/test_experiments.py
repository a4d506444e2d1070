"""The commands that try the statistics out: answers, figures, interruption, bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.store.database import Store
from tests.patience import PATIENCE
from tests.stored import fill as fill_battles

REPOSITORY = Path(__file__).resolve().parents[2]
MODELS = ("x", "y", "z")


def fill(db, judges=("gpt",)):
    """Store about 1,500 comparisons with votes, each in a prompt of its own, and verdicts."""
    rng = np.random.default_rng(6)
    rows = []
    for (a, b), h, g in product([(0, 1), (1, 0), (0, 2), (2, 1)], range(4), range(4)):
        rows += [(a, b, OUTCOMES[h], OUTCOMES[g])] * rng.poisson(40 if h == g else 15)
    with Store.open(db) as store, store.cursor() as cursor:
        for model in MODELS:
            cursor.execute("insert into models (model) values (?)", [model])
        for judge in judges:
            cursor.execute(
                "insert into judges values (?, nextval('judge_seq'), '', '', '')", [judge]
            )
        numbers = dict(cursor.execute("select model, model_no from models").fetchall())
        number = np.array([numbers[model] for model in MODELS])
        a, b, h, g = (np.array(column) for column in zip(*rows, strict=True))
        table = {"i": np.arange(len(rows)), "a": number[a], "b": number[b], "h": h, "g": g}
        cursor.register("rows", table)
        cursor.execute(
            f"""
            insert into comparisons by name
            select i as battle_no, i as prompt_no, judge as judge_no, 'coupled' as mode,
                a as model_a, b as model_b, h as human, if(judge > 0, g, null) as verdict,
                false as identical, 'ann' as voter, 'maths' as category, 'en' as language
            from rows cross join (select unnest(range({len(judges) + 1})) as judge)
            """
        )
    return db


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("votes") / "arena.duckdb")


def resampling(db, *more):
    common = ["resample", "--human", "60,120", "--total", 600, "--repeats", 10, "--db", db]
    return [str(x) for x in [*common, *more]]


def test_resample_says_how_few_votes_and_a_judge_do(call, db):
    code, out, _ = call(*resampling(db, "--balanced", "--alpha", "0.05,0.3", "--json"))
    answer = json.loads(out)
    assert code == 0
    assert (answer["judge"], answer["models"], answer["repeats"]) == ("gpt", list(MODELS), 10)
    keys = [(one["ranking"], one["human"], one["alpha"]) for one in answer["rankings"]]
    rankings = [("baseline", None), ("judge", None)]
    rankings += [(ranking, n) for n in (60, 120) for ranking in ("human", "ppr")]
    assert keys == [(*one, alpha) for one in rankings for alpha in (0.05, 0.3)]
    assert all(1 <= one["size"] <= 3 for one in answer["rankings"])
    assert len(answer["positions"]) == len(keys) * 3
    settings = ("total", "human", "alphas", "balanced", "covariance", "weighting", "cutoff", "seed")
    assert [answer[name] for name in settings] == [
        *(600, [60, 120], [0.05, 0.3], True, "corrected", "stratified", "max-t", 0)
    ]
    _, again, _ = call(*resampling(db, "--balanced", "--alpha", "0.05,0.3", "--json"))
    assert json.loads(again) == answer


def test_resample_takes_the_leaderboards_filters(call, db):
    filters = ["--models", "x,y", "--category", "maths", "--language", "en", "--mode", "coupled"]
    code, out, err = call(*resampling(db, *filters, "--judge", "gpt"))
    assert (code, err) == (0, "")
    assert "ppr" in out
    code, _, err = call(*resampling(db, "--mode", "independent"))
    assert (code, "no comparisons that have both" in err) == (1, True)


@pytest.mark.slow
def test_figures_are_pages_of_their_own(call, db, tmp_path):
    alphas = ["--alpha", "0.01,0.05,0.3", "--plots", tmp_path / "figures", "--json"]
    code, out, _ = call(*resampling(db, *alphas))
    assert code == 0
    pages = [Path(path) for path in json.loads(out)["plots"] if path.endswith(".html")]
    assert {page.stem for page in pages} == {
        *("resample-size-against-intersection", "resample-size-against-coverage"),
        *("resample-positions", "resample-rank-sets", "resample-by-number-of-votes"),
    }
    for page in pages:
        text = page.read_text()
        assert 'src="http' not in text
        assert "Plotly.newPlot" in text


@pytest.mark.parametrize("balanced", [True, False])
def test_sizes_come_from_the_store(call, tmp_path, balanced):
    """Beside 21 models of a benchmark, whose 253 pairs have nothing to draw."""
    path = fill(tmp_path / "arena.duckdb")
    with Store.open(path) as store:
        fill_battles(store, ["Sum 1?", "Sum 2?"], models=[f"bench-{i:02}" for i in range(21)])
    switch = ["--balanced"] if balanced else []
    code, out, err = call("resample", "--db", path, "--repeats", 3, "--json", *switch)
    assert code == 0, err
    answer = json.loads(out)
    assert answer["models"] == ["x", "y", "z"]
    groups = 3 if balanced else 1
    drawn, kept = (n // groups for n in (answer["total"], *answer["human"]))
    assert (answer["total"], *answer["human"]) == (groups * drawn, groups * kept)
    assert drawn > 200
    assert kept == drawn // 5


def test_some_sizes_can_be_chosen(call, db):
    code, out, err = call("resample", "--db", db, "--total", 600, "--repeats", 2, "--json")
    assert code == 0, err
    assert (json.loads(out)["total"], json.loads(out)["human"]) == (600, [120])


def test_simulate_takes_several_numbers_of_votes(call):
    size = ["--models", 3, "--judge-only", 300, "--repeats", 4, "--cutoff", "bonferroni", "--json"]
    code, out, err = call("simulate", *size, "--human", "60,120")
    assert code == 0, err
    several = json.loads(out)["simulations"]
    for n, one in zip((60, 120), several, strict=True):
        alone = json.loads(call("simulate", *size, "--human", n)[1])
        assert alone.pop("settings")["human"] == [n]
        assert one == alone
    code, out, _ = call("simulate", *size[:-1], "--human", "60,120")
    assert code == 0
    assert "60 votes\nRanking" in out


def test_simulate_with_judges_that_are_off(call):
    size = ["--models", 3, "--human", "60,120", "--judge-only", 300, "--judge-noise", "0.05,0.3"]
    code, out, err = call("simulate", *size, "--repeats", 4, "--json")
    assert code == 0, err
    found = [(one["human"], one["ranking"], one["noise"]) for one in json.loads(out)["noisy"]]
    rankings = [("human", None), *((r, u) for u in (0.05, 0.3) for r in ("judge", "ppr"))]
    assert found == [(n, *one) for n in (60, 120) for one in rankings]
    code, out, _ = call("simulate", *size, "--repeats", 4)
    assert code == 0
    assert "Overlap" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--human", ""], "--human needs a number"),
        (["--human", "60,120", "--watch", 20], "one number to --human"),
        (["--judge-noise", "0.1", "--ties", 0.3], "--ties is for other simulations"),
        (["--judge-noise", "0.1", "--tie-score", "half"], "--tie-score is for other simulations"),
        (["--judge-noise", "0.1", "--watch", 20], "--watch is for other simulations"),
        (["--judge-noise", "2"], "between 0 and 1"),
        (["--judge-noise", "0.1", "--human", 8], "25 votes at least"),
    ],
)
def test_simulate_says_what_does_not_go_together(call, options, told):
    code, _, err = call("simulate", *options)
    assert code == 1
    assert told in err
    assert len(err.splitlines()) == 1


def test_simulate_counts_coverage(call):
    size = ["--models", 3, "--human", 120, "--judge-only", 300, "--spread", 0]
    code, out, _ = call("simulate", *size, "--repeats", 20, "--alpha", 0.1, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["true_ranks"] == [[1, 3]] * 3
    assert (answer["tie_score"], answer["theta"]) == ("half", pytest.approx([0.5] * 3))
    found = [(one["ranking"], one["cutoff"]) for one in answer["rank_sets"]]
    assert found == list(product(["human", "ppr"], Cutoff))
    assert all(0.5 < one["coverage"] <= 1 for one in answer["rank_sets"])
    assert [one["ranking"] for one in answer["intervals"]] == ["human", "ppr"]
    assert (answer["alpha"], answer["repeats"], answer["world"]["design"]) == (0.1, 20, "balanced")


@pytest.mark.parametrize("options", [["--tie-score", "loss"], ["--covariance", "published"]])
def test_simulate_with_ties_as_losses(call, options):
    code, out, err = call("simulate", "--human", 120, "--repeats", 1, *options, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["tie_score"] == "loss"
    assert np.mean(answer["theta"]) == pytest.approx(0.4)


@pytest.mark.slow
def test_simulate_several_judges(call):
    size = ("--models", 3, "--human", 120, "--judge-only", 600, "--repeats", 40)
    widths = []
    for more in ([], ["--more-judges", "0.5"], ["--more-judges", "0.5,0.5"]):
        code, out, err = call("simulate", *size, *more, "--json")
        assert code == 0, err
        answer = json.loads(out)
        assert answer["world"]["more_judges"] == [0.5] * len(widths)
        widths += [one["width"] for one in answer["intervals"] if one["ranking"] == "ppr"]
    assert widths == sorted(widths, reverse=True)


def test_simulate_watches(call):
    size = ["--models", 3, "--human", 120, "--judge-only", 0, "--spread", 6, "--ties", 0]
    code, out, err = call("simulate", *size, "--watch", 30, "--repeats", 5, "--json")
    answer = json.loads(out)
    assert code == 0, err
    assert (answer["every"], answer["repeats"], answer["world"]["human"]) == (30, 5, 120)
    found = {(one["ranking"], one["cutoff"]): one for one in answer["watched"]}
    assert set(found) == set(product(["human", "ppr"], Cutoff))
    assert found["human", "any-time"]["coverage"] == 1
    assert found["human", "max-t"]["votes"] <= found["human", "any-time"]["votes"] <= 120
    code, out, _ = call("simulate", *size, "--watch", 30, "--repeats", 5)
    assert "Right at all looks" in out
    code, _, err = call("simulate", *size, "--watch", 121, "--repeats", 5)
    assert (code, "Of 120 votes one can look after each 1 to 120, not" in err) == (1, True)


def test_simulate_spends_votes(call):
    size = ["--models", 3, "--human", 120, "--repeats", 2]
    code, out, err = call("simulate", *size, "--watch", 30, "--pairing", "first", "--json")
    assert code == 0, err
    assert json.loads(out)["pairing"] == "first"
    for extra, reason in (
        ([], "--pairing places chooses after each look: name --watch, too."),
        (["--watch", 30, "--design", "voters"], "where votes share no prompts"),
    ):
        code, _, err = call("simulate", *size, "--pairing", "places", *extra)
        assert (code, reason in err) == (1, True), err


def test_simulate_clusters(call):
    code, out, _ = call("simulate", "--design", "clustered", "--repeats", 3, "--cutoff", "max-t")
    assert code == 0
    assert out.count("max-t") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--human", "601"], "601 of 600 comparisons cannot keep their vote."),
        (["--human", "some"], "--human is a number, or several separated by commas, not 'some'"),
        (["--alpha", "5"], "--alpha is an error level between 0 and 1, such as 0.05, not 5."),
        (["--alpha", ""], "at least one number of votes and one alpha"),
        (["--total", "9000"], "9000 cannot be drawn"),
        (["--total", "1350", "--balanced"], "x and z have only"),
        (["--total", "602", "--balanced"], "602 comparisons cannot be the same number"),
        (["--judge", "nobody"], "There is no judge 'nobody'. Judges here: gpt."),
        (["--models", "x,q"], "No battle has q."),
        (["--plots", "{db}"], "cannot be written"),
    ],
)
def test_bad_input_gets_one_clear_line(call, db, arguments, message):
    code, _, err = call(*resampling(db, *(argument.format(db=db) for argument in arguments)))
    assert code == 1
    assert message in err
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha", "1"], "--alpha is an error level"),
        (["--ties", "1.5"], "ties is a probability"),
        (["--human", "0"], "There must be a human comparison"),
        (["--judge-quality", "-1"], "judge_quality is a probability"),
        (["--more-judges", "0.5,2"], "Qualities of judges are probabilities"),
        (["--more-judges", ".5,.5,.5"], "at most 3 judges"),
        (["--more-judges", ".5", "--design", "voters"], "voters design has one judge"),
        (["--more-judges", ".5", "--watch", "20"], "watched has one judge"),
    ],
)
def test_truths_that_cannot_be(call, arguments, message):
    code, _, err = call("simulate", "--repeats", 2, *arguments)
    assert (code, len(err.strip().splitlines())) == (1, 1)
    assert message in err


def test_which_judge(call, tmp_path):
    none = fill(tmp_path / "none.duckdb", judges=())
    code, _, err = call(*resampling(none))
    assert (code, "There are no verdicts here" in err) == (1, True)
    two = fill(tmp_path / "two.duckdb", judges=("gpt", "claude"))
    code, _, err = call(*resampling(two))
    assert (code, err) == (1, "Error: Choose a judge with --judge: claude, gpt.\n")


@pytest.mark.slow
def test_ctrl_c_reports_what_is_finished():
    process = subprocess.Popen(
        [sys.executable, "-m", "coupled_arena", "simulate", "--repeats", "1000000", "--json"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1"},  # the bar of a terminal
    )
    try:
        seen = ""
        while not re.search(r"[1-9]\d*/1000000", seen):
            piece = process.stderr.read(20)
            assert piece, seen
            seen += piece
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 1
    done = json.loads(out)["repeats"]
    assert 0 < done < 1_000_000
    assert err.endswith(f"Error: Interrupted: the figures are of {done} of 1000000 repeats.\n")
