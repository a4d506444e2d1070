"""The paper on judges: each item from a table, from votes, from nothing; against plain counts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tests.stats.real_votes import FOLDER, needs_real_votes

LETTERS = np.array(list("ABCD"))
MODELS = {"best": 0.9, "good": 0.8, "fair": 0.6, "poor": 0.4}
JUDGES = {"strong": 0.85, "weak": 0.6}
PROMPTS = 120


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Answers of four models by letter, two judges that answer, too, and their probabilities."""
    rng, rows = np.random.default_rng(3), []
    for prompt in range(PROMPTS):
        truth = rng.choice(LETTERS)
        wrong = LETTERS[truth != LETTERS]
        said = {
            name: truth if rng.random() < share else rng.choice(wrong)
            for name, share in (MODELS | JUDGES).items()
        }
        rows += [
            {
                "model": model,
                "prompt": prompt,
                "answer": said[model],
                "truth": truth,
                "judge": said[judge],
                "judge_name": judge,
                "probability": 0.7 if said[model] == said[judge] else 0.1,
            }
            for judge in JUDGES
            for model in MODELS
        ]
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def made(call, tmp_path):
    def make(item, *options):
        out = tmp_path / "out"
        code, _, err = call(
            *("reproduce", "judge", item, "--out", out, "--figures", "html", "--json"), *options
        )
        assert code == 0, err
        return json.loads((out / f"judge-{item}.json").read_text())

    return make


def published(answer):
    return {row["what"]: (row["published"], row["made"]) for row in answer["published"]}


def by_hand(table, judge, model):
    """Return how often a model is right, how often the judge agrees with it, and ρ²."""
    frame = pd.read_csv(table)
    own = frame[(frame.judge_name == judge) & (frame.model == model)]
    s, t = (own.answer == own.truth).astype(float), (own.answer == own.judge).astype(float)
    return s.mean(), t.mean(), np.corrcoef(s, t)[0, 1] ** 2


def test_all_judges_and_models_in_one_figure(made, table):
    answer = made("figure-2", "--scores", table)
    (rows,) = answer["tables"].values()
    assert [(row["judge"], row["model"]) for row in rows] == [
        (judge, model) for judge in JUDGES for model in MODELS
    ]
    assert len([file for file in answer["files"] if file.endswith(".html")]) == 1
    for row in rows:
        b, score, rho_squared = by_hand(table, row["judge"], row["model"])
        assert (row["b"], row["judge_score"]) == pytest.approx((b, score), rel=1e-12)
        assert row["tau_max"] == pytest.approx(1 / (1 - rho_squared), rel=1e-9)
        assert row["tau_max_low"] <= row["tau_max"] <= row["tau_max_high"]
    frontier = "the same with a judge that agrees no more often than the model is right"
    assert published(answer) == {frontier: (0, None)}


def test_what_the_paper_states_of_mmlu_stands_beside_as_many_prompts(made, table, monkeypatch):
    monkeypatch.setattr("coupled_arena.papers.judge._PROMPTS", PROMPTS)
    ((stated, here),) = published(made("figure-2", "--scores", table)).values()
    assert (stated, here) == (0, 0)
    right = "share of prompts that the judge answers right"
    assert published(made("figure-1b", "--scores", table, "--judge", "weak"))[right] == (0.79, None)
    named = table.with_name("named.csv")
    named.write_text(table.read_text().replace("weak", "Meta-Llama-3-70B"))
    frame = pd.read_csv(named)
    own = frame[(frame.judge_name == "Meta-Llama-3-70B") & (frame.model == "best")]
    assert published(made("figure-1b", "--scores", named))[right] == (
        0.79,
        pytest.approx((own.truth == own.judge).mean()),
    )


def test_intervals_are_of_nine_in_ten_unless_somebody_says_so(made, table):
    usual, wider = (
        made("figure-2", "--scores", table, "--again", *more) for more in ([], ["--alpha", ".01"])
    )
    for one, other in zip(usual["tables"]["judges"], wider["tables"]["judges"], strict=True):
        # The interval is symmetric in artanh ρ; its width goes with the normal quantile, but for
        # the tables with fewer than three comparisons in a cell.
        widths = [
            np.ptp([np.arctanh(np.sqrt(1 - 1 / row[f"tau_max_{end}"])) for end in ("low", "high")])
            for row in (one, other)
        ]
        assert widths[1] / widths[0] == pytest.approx(2.575829 / 1.644854, rel=0.02)


def test_probabilities_beside_verdicts(made, table):
    answer = made("figure-4", "--scores", table, "--judge", "strong")
    (rows,) = answer["tables"].values()
    assert {row["proxy"] for row in rows} == {"verdict", "probability"}
    hard, soft = (
        {row["model"]: row["tau_max"] for row in rows if row["proxy"] == proxy}
        for proxy in ("verdict", "probability")
    )
    # These probabilities are a line through the verdicts, so that they say the same.
    assert hard == pytest.approx(soft, rel=1e-9)
    (both,) = published(answer).values()
    assert both[0] == 0


def test_ranks_by_a_judge(made, table):
    answer = made("figure-1b", "--scores", table, "--judge", "weak")
    (rows,) = answer["tables"].values()
    scores = {model: by_hand(table, "weak", model) for model in MODELS}
    for row in rows:
        b, score, _ = scores[row["model"]]
        assert row["true_rank"] == 1 + sum(other[0] > b for other in scores.values())
        assert row["judge_rank"] == 1 + sum(other[1] > score for other in scores.values())


def test_strictly_better_models(made, table, call, tmp_path):
    """The judge that answers says of a mended answer what it knows."""
    rows = made("figure-1a", "--scores", table, "--judge", "weak")["tables"]["ranks"]
    gains = sorted(row["b"] for row in rows)
    assert np.diff(gains) == pytest.approx(round(0.02 * PROMPTS) / PROMPTS, abs=1.01 / PROMPTS)
    graded = tmp_path / "graded.csv"
    frame = pd.read_csv(table)
    frame["judge"] = (frame.judge == frame.answer).astype(int)
    frame["truth"] = (frame.truth == frame.answer).astype(int)
    frame.drop(columns="answer").to_csv(graded, index=False)
    code, _, err = call("reproduce", "judge", "figure-1a", "--scores", graded)
    assert code == 1
    assert "grades answers and gives none itself" in err


def test_without_data_two_items_are_simulated(made, tmp_path):
    none = ("--db", tmp_path / "none.duckdb")
    better = made("figure-1a", *none)
    found = published(better)
    assert found["rank correlation of judge and truth"] == (-1, -1)
    assert found["share of prompts that the judge answers right"] == (
        0.84,
        pytest.approx(0.84, abs=1e-4),
    )
    assert "Simulated" in better["notes"][0]
    for row in better["tables"]["ranks"]:  # Proposition 1, up to whole prompts
        assert row["judge_score"] == pytest.approx(0.84 + 1 - row["b"], abs=2e-4)
    erring = made("figure-5", *none, "--sizes", "4000")
    error = 4 * np.sqrt(0.24 / 4000)
    assert published(erring)["share of prompts that the judge answers right"] == (
        0.6,
        pytest.approx(0.6, abs=error),
    )
    for row in erring["tables"]["best models"]:
        wanted = 0.6 * row["b"] + (1 - row["b"]) * 0.4 / 3
        assert row["judge_score"] == pytest.approx(wanted, abs=error)


def test_random_errors_on_real_answers(made, table):
    tables = made("figure-5", "--scores", table)["tables"]
    assert [row["model"] for row in tables["best models"]] == list(MODELS)
    assert tables["strictly better models"][-1]["model"] == "best"


@pytest.mark.slow
@needs_real_votes
def test_real_votes(made):
    votes = ("--votes", FOLDER / "human.json")
    judged = ("--verdicts", f"gpt-4={FOLDER / 'gpt-4-0125-preview.json'}")
    answer = made("figure-3", *votes, *judged)
    golden = json.loads((FOLDER / "golden_judge_audit_gpt4.json").read_text())
    # The paper has other models, of MT-Bench.
    assert published(answer)["models worth more than two labels"] == (0, None)
    rows = {row["model"]: row for row in answer["tables"]["judges"]}
    assert len(rows) == 20
    assert set(golden["models"]) < set(rows)
    people, judge = (
        pd.read_json(FOLDER / file, lines=True)
        for file in ("human.json", "gpt-4-0125-preview.json")
    )
    both = people.merge(judge, on="num", suffixes=("", "_judge"))
    # Nine pairs of answers have two votes: equal ones are one vote, others a tie.
    answers = ["question_id", "model_a", "model_b"]
    both = both.drop_duplicates([*answers, "winner"])
    both = both[~both.duplicated(answers, keep=False)]
    both = both[both.winner.isin(["model_a", "model_b"])]
    both = both[both.winner_judge.isin(["model_a", "model_b"])]
    for name in ("gpt-4", "koala-13b"):
        own = both[(both.model_a == name) | (both.model_b == name)]
        side = np.where(own.model_a == name, "model_a", "model_b")
        s, t = (own.winner == side).astype(float), (own.winner_judge == side).astype(float)
        assert rows[name]["n"] == len(s)
        assert rows[name]["rho_squared"] == pytest.approx(np.corrcoef(s, t)[0, 1] ** 2, rel=1e-9)


@pytest.mark.parametrize(
    ("item", "options", "said"),
    [
        ("figure-2", ["--scores", "{text}"], "cannot be read"),
        ("figure-2", ["--scores", "{empty}"], "no column model or prompt or truth or judge"),
        ("figure-2", ["--scores", "{table}", "--judge", "nobody"], "no judge 'nobody'"),
        ("figure-2", ["--scores", "{table}", "--key-from", "best"], "a table names its judges"),
        ("figure-2", ["--scores", "{table}", "--models", "x"], "no model 'x'"),
        ("figure-3", ["--db", "{none}"], "does not exist"),
        ("figure-2", ["--db", "{none}"], "does not exist"),
    ],
)
def test_rubbish_gets_one_line(call, table, tmp_path, item, options, said):
    files = {"text": tmp_path / "text.csv", "empty": tmp_path / "empty.csv"}
    files["text"].write_text('a,b\n"')
    files["empty"].write_text("x\n1\n")
    named = [each.format(**files, table=table, none=tmp_path / "none.duckdb") for each in options]
    code, _, err = call("reproduce", "judge", item, *named, "--out", tmp_path / "out")
    assert (code, len(err.splitlines())) == (1, 1)
    assert said in err
    assert not (tmp_path / "out").exists()
