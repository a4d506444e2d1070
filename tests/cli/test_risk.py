"""The risk command on tables by hand, by the contract, and on tables that make no sense."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from coupled_arena.stats.risk.mean_risk import Risk

LONG = """model,prompt,metric,score
a,1,truth,0
a,2,truth,1
a,3,truth,4
a,4,truth,4
a,5,truth,7
b,1,truth,2
b,2,truth,3
b,3,truth,3
"""
WIDE = """model,prompt,truth,toxicity
a,1,1,0.1
a,2,True,0.2
b,1,0,0.3
b,2,False,0.4
"""


@pytest.fixture
def write(tmp_path):
    def into(text):
        path = tmp_path / "scores.csv"
        path.write_text(text)
        return path

    return into


@pytest.fixture
def answer(call):
    def ask(*arguments):
        code, out, err = call("risk", *arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return ask


def test_a_table_by_hand(answer, write):
    found = answer(write(LONG), "--independent")
    assert found["models"] == ["a", "b"]
    assert found["metrics"] == ["truth"]
    for order, ratio in (("order1", 1 / 4), ("order2", 25 / 27)):
        violation = found[order]["violation"]
        assert np.ravel(violation) == pytest.approx([1 / 2, ratio, 1 - ratio, 1 / 2], abs=1e-12)
        assert found[order]["one_vs_all"] == pytest.approx([ratio, 1 - ratio], abs=1e-12)
    assert found["order1"]["ranking"] == ["a", "b"]
    assert found["order2"]["ranking"] == ["b", "a"]
    assert found["order1"]["ranks"] == [1, 1]  # three prompts decide nothing
    assert found["mean_risk"]["mean"] == pytest.approx([16 / 5, 8 / 3])
    assert set(found["mean_risk"]["models"]) == {risk.value for risk in Risk}
    semideviation = found["mean_risk"]["models"]["absolute_semideviation"]
    assert semideviation["risk"] == pytest.approx([(3.2 + 2.2) / 5, (2 / 3) / 3])
    assert semideviation["ranking"] == ["b", "a"]
    assert found["mean_win_rate"] == {"model": [1, 0], "sample": None}
    assert "by_metric" not in found
    warnings = " ".join(found["warnings"])
    assert "There are only 3 prompts" in warnings
    assert "Second order leaves 1 of 1 pairs undecided" in warnings


def test_long_and_wide_say_the_same(answer, write):
    with_more = "seed,metric,score,prompt,model\n"
    rows = list(csv.DictReader(WIDE.splitlines()))
    long = with_more + "".join(
        f"7,{name},{row[name]},{row['prompt']},{row['model']}\n"
        for row in rows
        for name in ("truth", "toxicity")
    )
    assert answer(write(WIDE)) == answer(write(long))


def test_repetitions_are_drawn_with_their_prompt(answer, write):
    text = "model,prompt,seed,metric,score\n" + "".join(
        f"{model},{q},{seed},x,{value + q + seed / 10}\n"
        for seed in range(3)
        for model, value in (("a", 0), ("b", 0.5))
        for q in range(4)
    )
    found = answer(write(text))
    assert (found["repetitions"], found["prompts"]) == (3, [4, 4])
    assert found["mean_risk"]["mean"] == pytest.approx([1.6, 2.1])
    assert found["mean_win_rate"]["sample"] == [0, 1]


@pytest.mark.slow
def test_portfolio_and_metrics(answer, write):
    found = answer(write(WIDE), "--lower-is-better", "toxicity")
    assert found["order1"]["violation"][0][1] == 0
    assert found["portfolio"] == "independent"
    assert list(found["by_metric"]) == ["truth", "toxicity"]
    for view in found["by_metric"].values():
        assert view["order1"]["violation"][0][1] == 0
    assert found["aggregated"]["ranks"]["mean_win_rate"] == [1, 2]
    higher = answer(write(WIDE))["by_metric"]["toxicity"]
    assert higher["order1"]["violation"][0][1] == 1
    alone = answer(write(WIDE), "--portfolio", "none")
    assert "order1" not in alone
    assert "mean_risk" not in alone
    assert list(alone["by_metric"]) == ["truth", "toxicity"]
    one = answer(write(WIDE), "--metrics", "toxicity")
    assert one["order1"] == higher["order1"]
    weighted = answer(write(WIDE), "--weights", "3,1")
    assert weighted["weights"] == [0.75, 0.25]
    assert answer(write(WIDE), "--weights", "1e308,1e308")["weights"] == [0.5, 0.5]
    # Shares not above: truth 1 and 1/2, toxicity 1/4 to 1.
    means = weighted["mean_risk"]["mean"]
    assert means[1] == pytest.approx(0.5**0.75 * (0.75**0.25 + 1) / 2)
    empirical = answer(write(WIDE), "--portfolio", "empirical", "--weights", "1,1")
    assert empirical["mean_risk"]["mean"] == [0, 0]
    assert any("no weights" in warning for warning in empirical["warnings"])


def test_clear_winners(answer, call, write):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200) + np.array([[0.0], [0.0], [2.0]])
    rows = (f"{m},{q},{scores[m, q]}\n" for m in range(3) for q in range(200))
    path = write("model,prompt,score\n" + "".join(rows))
    found = answer(path)
    for order in ("order1", "order2"):
        assert found[order]["ranking"] == ["2", "0", "1"]
        assert found[order]["ranks"] == [2, 2, 1]
        assert found[order]["absolute"]["ranks"] == [2, 2, 1]
        assert found[order]["relative"]["wins"] == [0, 0, 1 + 1]
    assert found["mean_win_rate"]["sample"] == [0, 0, 1]
    assert found["paired"]
    assert any("scores of 0 and 1 are identical" in warning for warning in found["warnings"])
    assert answer(path) == found
    code, out, _ = call("risk", path)
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines()[3:6]] == [
        ["2", "1", "1"],
        ["0", "2", "2"],
        ["1", "2", "2"],
    ]


def test_text_of_several_metrics(call, write):
    code, out, _ = call("risk", write(WIDE), "--alpha", 0.0001)
    assert code == 0
    for part in ("Ranks by portfolio", "Ranks by truth", "Ranks nearest to those by all metrics"):
        assert part in out
    assert "10,000 bootstrap samples cannot reject anything for 2 models" in out
    assert "All scores are the same of a, b" not in out
    assert "Truth: all scores of a, b are the same." in out


def test_options_that_warn(answer, write):
    for options, words in (
        (("--p-values", "approximate"), "approximate"),
        (("--p-values", "published"), "reproduce the paper"),
        (("--independent",), "same prompts but are compared as independent"),
    ):
        assert any(words in said for said in answer(write(WIDE), *options)["warnings"])


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("model,prompt,truth", "name,prompt,truth", "must name the columns model, prompt"),
        ("prompt,truth", "prompt,metric", "must name the columns model, prompt"),
        ("truth,toxicity", "truth,truth", "its own name"),
        ("truth,toxicity", "truth,", "must give each column"),
        ("a,2,True,0.2", "a,2,nan,0.2", "line 3: 'nan' in column 'truth' is not a score"),
        ("a,2,True,0.2", "a,2,inf,0.2", "line 3: 'inf' in column 'truth' is not a score"),
        ("a,2,True,0.2", "a,2,good,0.2", "line 3: 'good' in column 'truth' is not a score"),
        ("a,2,True,0.2", "a,2,True", "line 3 has 3 columns, the first line 4"),
        ("a,2,True,0.2", "a,2,,0.2", "Left out, for a score is missing: 1 prompt."),
        ("a,2,True,0.2", "a,2,,", "Left out, for a score is missing: 1 prompt."),
        ("a,2,True,0.2", "a,1,True,0.2", "a has 2 on prompt '1', but b has 1 on '1'"),
        ("a,2,True,0.2", "a,3,True,0.2", "a has no score on prompt '2'"),
        ("a,2,True,0.2", ",2,True,0.2", "line 3 has no model or no prompt"),
        ("a,2,True,0.2\n", "", "a has one prompt. Two are the least"),
        ("b,1,0,0.3\nb,2,False,0.4\n", "", "two models at least"),
        (WIDE, "", "must name the columns model, prompt"),
        (WIDE, "model,prompt,truth\n", "two models at least"),
        (WIDE, "model,prompt,metric,score\n", "There are no scores"),
        (WIDE, "model,prompt,metric,score\na,1,,2\n", "line 2 has no metric"),
    ],
)
def test_tables_that_make_no_sense(call, write, old, new, complaint):
    assert old in WIDE
    code, out, err = call("risk", write(WIDE.replace(old, new)))
    assert (code, out) == (1, "")
    assert complaint in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--metrics", "wit"), "There is no metric 'wit', only truth, toxicity"),
        (("--lower-is-better", "wit"), "There is no metric 'wit'"),
        (("--metrics", ","), "',' names nothing"),
        (("--weights", "inf,1"), "Weights must not be negative or infinite"),
        (("--weights", "1,-1"), "Weights must not be negative"),
        (("--weights", "1"), "There must be 2 weights"),
        (("--weights", "1,x"), "separated by commas, not '1,x'"),
        (("--alpha", 0), "--alpha is an error level between 0 and 1"),
        (("--tail-p", 0), "share of the tail"),
        (("--tail-p", 1.5), "share of the tail"),
        (("--threshold", 0.7), "threshold must be at most 0.5"),
    ],
)
def test_options_out_of_range(call, write, options, complaint):
    code, out, err = call("risk", write(WIDE), *options)
    assert (code, out) == (1, "")
    assert complaint in err


def test_mismatched_prompts_under_pairing(call, write):
    for options in ((), ("--paired",)):
        code, _, err = call("risk", write(LONG), *options)
        assert code == 1
        assert "b has no score on prompt '4'" in err
        assert "--independent" in err


def test_files_that_are_no_tables(call, tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"model,prompt,x\n\xff\xfe\x00\x81")
    for name, complaint in (
        ("absent.csv", "cannot be read as a CSV file"),
        ("binary.csv", "line 2 is not valid UTF-8"),
    ):
        code, _, err = call("risk", tmp_path / name)
        assert code == 1
        assert name in err
        assert complaint in err


def write_log(folder, *right):
    """Write a log of lm-evaluation-harness and return its path."""
    folder.mkdir()
    path = folder / "samples_sums_2026-11-20T10-11-12.131415.jsonl"
    empty = dict.fromkeys(("doc", "target", "arguments", "resps", "filtered_resps"))
    rows = [{"doc_id": n, **empty, "acc": score} for n, score in enumerate(right)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_logs_of_other_tools_are_ranked(call, answer, tmp_path):
    write_log(tmp_path / "a", 1, 1, 0)
    path = write_log(tmp_path / "b", 0, 0, 1)
    found = answer(tmp_path / "b", f"first={tmp_path / 'a'}")
    assert found["models"] == ["b", "first"]
    assert found["metrics"] == ["acc"]
    assert found["mean_risk"]["mean"] == pytest.approx([1 / 3, 2 / 3])
    assert answer(path, tmp_path / "a")["models"] == ["b", "a"]
    code, _, err = call("risk", tmp_path / "b", tmp_path / "gone.csv")
    assert code == 1
    assert "gone.csv is not there" in err
    code, _, err = call("coupling", "--scores", path)
    assert code == 1
    assert "is a log of lm-evaluation-harness, which does not say which answers were coupled" in err
    for folder in (tmp_path / "b", f"B={tmp_path / 'b'}"):
        code, _, err = call("coupling", "--scores", folder)
        assert (code, "holds logs of lm-evaluation-harness, which does not say" in err) == (1, True)


def test_logs_are_named_for_the_figures_of_the_paper_too(call, tmp_path):
    logs = [write_log(tmp_path / "a", 1, 1, 0), f"B={write_log(tmp_path / 'b', 0, 0, 1)}"]
    given = [part for log in logs for part in ("--scores", log)]
    out = ("--out", tmp_path / "out", "--figures", "html", "--json")
    code, text, err = call("reproduce", "risk", "figure-1", *given, *out)
    assert code == 0, err
    assert {row["model"] for row in json.loads(text)["tables"]["ranks"]} == {"a", "B"}
    code, _, err = call("reproduce", "judge", "figure-2", "--scores", logs[1], *out)
    assert code == 1
    assert "NAME=LOG is for logs of other tools" in err
