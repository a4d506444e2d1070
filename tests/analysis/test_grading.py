"""A judge that grades a benchmark's answers, from the command line to the audit."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.analysis.audit.grades import read_benchmark_estimates
from coupled_arena.analysis.audit.result import audit
from coupled_arena.cli import main
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Prompt, Score
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from tests.batches import at_once
from tests.judging.scripted import completion, scripted
from tests.store.conftest import make_battle

MODELS = ("able", "fair", "poor")
RATES = {"able": 0.8, "fair": 0.6, "poor": 0.3}
BOB = Selection(judge="bob")


def fill(store, prompts=40, seeds=2, seed=1):
    """Store answers "right n" and "wrong n", n being 0 or 1; return rows (model, prompt, text)."""
    rng = np.random.default_rng(seed)
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    rows = []
    with at_once(store) as batch:
        for q in range(prompts):
            hard = rng.normal(0, 0.2)
            for _ in range(seeds):
                for mode in (Mode.COUPLED, Mode.INDEPENDENT):
                    luck = rng.random() if mode is Mode.COUPLED else None
                    texts = [
                        f"{'right' if (luck or rng.random()) < RATES[m] + hard else 'wrong'} "
                        f"{rng.integers(2)}"
                        for m in MODELS
                    ]
                    battle = make_battle(
                        *MODELS,
                        mode=mode,
                        prompts=(Prompt(f"Question {q}?", f"q{q}", "even" if q % 2 else "odd"),),
                        seed=int(rng.integers(2**60)),
                    )
                    replies = [
                        replace(reply, text=text)
                        for reply, text in zip(battle.replies, texts, strict=True)
                    ]
                    marks = [
                        Score(0, i, "quiz", float(t[0] == "r"), t) for i, t in enumerate(texts)
                    ]
                    batch.add_battle(replace(battle, replies=tuple(replies)), marks)
                    rows += [(m, q, t, mode) for m, t in zip(MODELS, texts, strict=True)]
    return rows


def grade_of(question, answer):
    """Return what the scripted judge says: it errs on some questions, and once in no form."""
    number = int(question.removeprefix("Question ").removesuffix("?"))
    if number == 7:
        return None
    errs = (number + int(answer[-1])) % (4 if answer.startswith("right") else 3) == 0
    return answer.startswith("right") != errs


def grader(body):
    lines = body["messages"][1]["content"].splitlines()
    question, answer = (
        lines[next(i for i, line in enumerate(lines) if line.startswith(f"----- {name}")) + 1]
        for name in ("QUESTION", "ANSWER")
    )
    right = grade_of(question, answer)
    if right is None:
        return completion("I would rather not say.")
    return completion(json.dumps({"grade": "right" if right else "wrong"}))


def grade(db, server, *more):
    return ["judge", "--grade", "--judge", "bob", "--base-url", server.url, "--db", db, *more]


def run(*words):
    """Return what a command prints as JSON."""
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    assert not stopped.value.code
    return json.loads(printed.getvalue())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A graded store: its path, its rows, the answers to two runs of the command, the requests."""
    db = tmp_path_factory.mktemp("graded") / "arena.duckdb"
    with Store.open(db) as store:
        rows = fill(store)
    with scripted(grader) as server:
        first, again = (run(*grade(db, server, "--json")) for _ in range(2))
    return db, rows, first, again, len(server.asked)


@pytest.mark.slow
def test_each_distinct_answer_is_asked_about_once(graded):
    _, rows, first, again, asked = graded
    distinct = {(q, text) for _, q, text, _ in rows}
    assert first["verdicts"] == first["asked"] == asked == len(distinct)
    assert first["unreadable"] == len({text for _, q, text, _ in rows if q == 7})
    assert (again["asked"], again["skipped"], again["left"]) == (0, len(distinct), 0)


def reference(rows, model):
    """Return the audit's numbers of one model, from its rows."""
    pairs = np.array(
        [
            (text.startswith("right"), grade_of(f"Question {q}?", text))
            for m, q, text, _ in rows
            if m == model and q != 7
        ]
    )
    s, t = pairs.astype(float).T
    rho = np.corrcoef(s, t)[0, 1]
    return {
        "n": len(s),
        "b": s.mean(),
        "p": t[s == 1].mean(),
        "q": 1 - t[s == 0].mean(),
        "judge_bias": (t - s).mean(),
        "agreement": (s == t).mean(),
        "balanced_agreement": (t[s == 1].mean() + 1 - t[s == 0].mean()) / 2,
        "rho_squared": rho**2,
        "tau_max": 1 / (1 - rho**2),
    }


@pytest.mark.slow
def test_the_audit_agrees_with_the_rows(graded, call):
    db, rows, *_ = graded
    code, out, _ = call("audit", "--truth", "benchmark", "--db", db, "--json")
    answer = json.loads(out)
    assert (code, answer["judge"], answer["truth"]) == (0, "bob", "benchmark")
    assert [row["model"] for row in answer["models"]] == list(MODELS)
    for row in answer["models"]:
        assert {key: row[key] for key in reference(rows, row["model"])} == pytest.approx(
            reference(rows, row["model"]), abs=1e-12
        )
        assert row["bias_low"] < row["judge_bias"] < row["bias_high"]
        assert row["b_low"] < row["b"] < row["b_high"]
    assert answer["clusters"] == 39
    assert any("Unreadable" in warning for warning in answer["warnings"])


def test_filters_choose_answers(graded, call):
    db, rows, *_ = graded
    code, out, _ = call(
        *("audit", "--truth", "benchmark", "--mode", "coupled", "--category", "odd"),
        *("--models", "able,poor", "--db", db, "--json"),
    )
    wanted = [row for row in rows if row[3] is Mode.COUPLED and row[1] % 2 == 0]
    found = {row["model"]: row["b"] for row in json.loads(out)["models"]}
    assert code == 0
    assert found == pytest.approx({m: reference(wanted, m)["b"] for m in ("able", "poor")})


def test_intervals_add_up_the_answers_to_a_prompt(graded):
    db, rows, *_ = graded
    with Store.open(db, read_only=True) as store:
        found = read_benchmark_estimates(store, BOB)
    k = len(MODELS)
    sums = np.zeros((40, 2 * k))
    for model, q, text, _ in rows:
        if q == 7:
            continue
        m, expected = MODELS.index(model), reference(rows, model)
        s, t = text.startswith("right"), grade_of(f"Question {q}?", text)
        sums[q, m] += (s - expected["b"]) / expected["n"]
        sums[q, k + m] += (t - s - expected["judge_bias"]) / expected["n"]
    gram = sums.T @ sums * (39 / 38) ** 2
    assert found.means.clusters == 39
    np.testing.assert_allclose(found.means.covariance[:k, :k], gram[:k, :k], atol=1e-15)
    np.testing.assert_allclose(found.bias_variance, np.diag(gram)[k:], atol=1e-15)
    # Differences know that answers to one prompt rise and fall together.
    lead = audit(found).differences[0]
    assert (lead.model, lead.other) == ("able", "fair")
    assert lead.human_low < lead.human < lead.human_high


def test_words_speak_of_the_benchmark(graded, call):
    code, out, _ = call("audit", "--truth", "benchmark", "--db", graded[0])
    assert code == 0
    assert "With bob, 10 checked answers tell as much as" in out
    assert "Judge and benchmark say the same of" in out
    assert "people" not in out


def test_no_readable_grade_is_told_as_such(graded, call, tmp_path):
    asked = ("audit", "--truth", "benchmark", "--category", "odd", "--db")
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        fill(store, prompts=1)
    with scripted(lambda _: completion("I would rather not say.")) as server:
        code, out, _ = call(*grade(db, server, "--json"))
    asked_about = json.loads(out)["asked"]
    code, out, _ = call(*asked, db)
    assert code == 0
    assert "No quiz answer has a readable grade of bob." in out
    assert f"which do not count: {asked_about}." in out
    code, out, _ = call(*asked, db, "--json")
    answer = json.loads(out)
    assert (code, answer["comparisons"], answer["benchmark"]) == (0, 0, "quiz")
    code, _, _ = call("report", "--db", db, "--out", tmp_path / "made")
    assert code == 0
    page = (tmp_path / "made" / "report.html").read_text()
    assert "<h3>bob on quiz</h3>" in page
    assert "No quiz answer has a readable grade of bob." in page


def test_what_cannot_be_audited(graded, call, tmp_path):
    db = graded[0]
    empty = tmp_path / "arena.duckdb"
    with Store.open(empty):
        pass
    for words, told in (
        (["--db", empty], "use the judge command with --grade"),
        (["--db", db, "--judge", "ann"], "ann has graded no answers. Judges with grades: bob."),
        (["--db", db, "--metric", "mmlu"], "Choose scores with --metric: quiz."),
    ):
        code, out, err = call("audit", "--truth", "benchmark", *words)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert told in err


def test_a_grader_is_no_judge_of_pairs(graded, call):
    with scripted(grader) as server:
        words = [word for word in grade(graded[0], server) if word != "--grade"]
        code, _, err = call(*words)
    assert code == 1
    assert "another name with --judge" in err


def test_a_store_without_benchmark_scores_has_nothing_to_grade():
    with (
        Store.in_memory() as store,
        pytest.raises(ScoreError, match="run the benchmark command first"),
    ):
        read_benchmark_estimates(store, BOB)
