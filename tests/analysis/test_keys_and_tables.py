"""A model's answers as the key, grades from elsewhere, the majority of voters: plain loops."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Prompt, Score
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer.importing import import_files
from tests.batches import at_once
from tests.store.conftest import make_battle

MODELS = ("able", "fair", "judge")
RATES = {"able": 0.8, "fair": 0.5, "judge": 0.6}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A store of numbers as answers to gsm8k, and its rows (model, prompt, right, read)."""
    db, rng, rows = (
        tmp_path_factory.mktemp("answered") / "arena.duckdb",
        np.random.default_rng(4),
        [],
    )
    with Store.open(db) as store:
        store.write(lambda cursor: scores.declare(cursor, "gsm8k", source="benchmark"))
        with at_once(store) as batch:
            for q in range(40):
                for _ in range(1 + q % 3):
                    reads = [_read(q, m, rng) for m in MODELS]
                    prompt = Prompt(f"Question {q}?", f"q{q}", "even" if q % 2 else "odd")
                    battle = make_battle(
                        *MODELS,
                        mode=Mode.INDEPENDENT,
                        prompts=(prompt,),
                        seed=int(rng.integers(2**60)),
                    )
                    marks = [
                        Score(0, i, "gsm8k", float(read is not None and Fraction(read) == q), read)
                        for i, read in enumerate(reads)
                    ]
                    batch.add_battle(battle, marks)
                    rows += [
                        (m, q, mark.score == 1, read)
                        for m, mark, read in zip(MODELS, marks, reads, strict=True)
                    ]
    return db, rows


def _read(q, model, rng):
    """Return a number in one of several ways of writing it; the judge is silent on one prompt."""
    if (model == "judge" and q == 7) or rng.random() < 0.05:
        return None
    number = q if rng.random() < RATES[model] else q + int(rng.integers(1, 3))
    return str(number) if rng.random() < 0.5 else f"{number}.0"


def by_hand(rows, model):
    """Return the key protocol's rows: right, as the key says, share of the answers, prompt."""
    said = {}
    for m, q, _, read in rows:
        if m == "judge" and read is not None:
            said.setdefault(q, []).append(Fraction(read))
    pairs = []
    for m, q, right, read in rows:
        if m != model or q not in said:
            continue
        number = None if read is None else Fraction(read)
        most = max(Counter(said[q]).values())
        key = next(one for one in said[q] if said[q].count(one) == most)
        pairs.append((right, number == key, said[q].count(number) / len(said[q]), q))
    return np.array(pairs, dtype=float)


def test_key_from_a_model(answered, call):
    db, rows = answered
    code, out, err = call("audit", "--key-from", "judge", "--db", db, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["judge"], answer["truth"], answer["benchmark"]) == (
        "judge",
        "benchmark",
        "gsm8k",
    )
    assert [row["model"] for row in answer["models"]] == ["able", "fair"]
    silent = set(range(40)) - {q for m, q, _, read in rows if m == "judge" and read is not None}
    assert answer["orders"]["unreadable"] == len(silent) == 2
    for row, soft in zip(answer["models"], answer["soft"], strict=True):
        s, t, f, _ = by_hand(rows, row["model"]).T
        assert row["n"] == len(s)
        assert row["b"] == pytest.approx(s.mean(), rel=1e-12)
        assert row["judge_score"] == pytest.approx(t.mean(), rel=1e-12)
        assert row["rho"] == pytest.approx(np.corrcoef(s, t)[0, 1], rel=1e-9)
        assert soft["rho"] == pytest.approx(np.corrcoef(s, f)[0, 1], rel=1e-9)


@pytest.fixture(scope="module")
def both_modes(tmp_path_factory):
    """Two models that never agree when independent, and always when coupled."""
    db = tmp_path_factory.mktemp("modes") / "arena.duckdb"
    with Store.open(db) as store:
        store.write(lambda cursor: scores.declare(cursor, "gsm8k", source="benchmark"))
        with at_once(store) as batch:
            for q in range(30):
                for mode in (Mode.COUPLED, Mode.INDEPENDENT):
                    reads = (str(q), str(q) if mode is Mode.COUPLED or q % 2 else str(q + 1))
                    prompt = Prompt(f"Question {q}?", f"q{q}")
                    battle = make_battle("able", "key", mode=mode, prompts=(prompt,), seed=q)
                    marks = [
                        Score(0, place, "gsm8k", float(read == str(q)), read)
                        for place, read in enumerate(reads)
                    ]
                    batch.add_battle(battle, marks)
    return db


def test_keys_of_coupled_and_independent_answers_are_not_pooled(both_modes, call, tmp_path):
    def audited(*mode):
        code, out, err = call("audit", "--key-from", "key", "--db", both_modes, "--json", *mode)
        assert code == 0, err
        answer = json.loads(out)
        (row,) = answer["models"]
        return row["n"], row["judge_score"], answer["warnings"]

    n, agreed, warnings = audited()
    assert (n, agreed) == (30, pytest.approx(0.5))
    said = "Only answers of battles of the mode independent count"
    assert any(each.startswith(said) for each in warnings)
    assert audited("--mode", "independent")[:2] == (30, pytest.approx(0.5))
    n, agreed, warnings = audited("--mode", "coupled")
    assert (n, agreed) == (30, pytest.approx(1.0))
    assert not any(each.startswith("Only answers") for each in warnings)
    out = tmp_path / "out"
    command = ("reproduce", "judge", "figure-2", "--key-from", "key", "--db", both_modes)
    code, _, err = call(*command, "--out", out, "--figures", "html")
    assert code == 0, err
    made = json.loads((out / "judge-figure-2.json").read_text())
    ((row,),) = made["tables"].values()
    assert row["judge_score"] == pytest.approx(0.5)
    assert any(each.startswith(said) for each in made["notes"])


def test_a_key_of_coupled_answers_alone_is_taken(tmp_path, both_modes):
    """Where the key's model has answered in coupled battles only, these count."""
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        store.write(lambda cursor: scores.declare(cursor, "gsm8k", source="benchmark"))
        battle = make_battle("able", "key", mode=Mode.COUPLED, prompts=(Prompt("Q?", "q"),))
        with at_once(store) as batch:
            batch.add_battle(battle, [Score(0, place, "gsm8k", 1.0, "1") for place in (0, 1)])
    assert ca.audit(ca.open(db), key_from="key").to_frame().n.tolist() == [1]


def test_key_from_in_python_and_as_a_table(answered):
    """The same grades as a table of answers give the same numbers, but for shared battles."""
    db, rows = answered
    store = ca.open(db)
    found = ca.audit(store, key_from="judge")
    hand = [
        {"model": m, "prompt": q, "truth": int(s), "judge": int(t), "probability": f}
        for m in ("able", "fair")
        for s, t, f, q in by_hand(rows, m)
    ]
    table = ca.audit(pd.DataFrame(hand))
    exact = ["n", "b", "p", "q", "rho", "tau_max", "judge_bias"]
    pd.testing.assert_frame_equal(found.to_frame()[exact], table.to_frame()[exact])
    pd.testing.assert_frame_equal(
        found.to_frame("soft")[["rho", "tau_max"]], table.to_frame("soft")[["rho", "tau_max"]]
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key-from", "nobody"], "nobody has answered no gsm8k here. Models that have: able,"),
        (["--key-from", "judge", "--judge", "bob"], "name one"),
        (["--key-from", "judge", "--ties", "drop"], "ties is about votes"),
        (["--key-from", "judge", "--majority"], "majority is about votes"),
        (["--key-from", "judge", "--models", "judge"], "No other model"),
        (["--key-from", "judge", "--metric", "mmlu"], "Choose scores with --metric: gsm8k"),
        (["--key-from", "judge", "--category", "none"], "none in this selection"),
        (["--table", "x.csv"], "--db is for a store"),
    ],
)
def test_rubbish_gets_one_line(answered, call, options, said):
    code, _, err = call("audit", *options, "--db", answered[0])
    assert (code, len(err.splitlines())) == (1, 1)
    assert said in err


def test_programs_are_no_key(tmp_path, call):
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        store.write(lambda cursor: scores.declare(cursor, "humaneval", source="benchmark"))
        battle = make_battle("a", "b", prompts=(Prompt("Question?", "q"),))
        store.add_battle(battle, [Score(0, i, "humaneval", 1.0, "ended well") for i in (0, 1)])
    code, _, err = call("audit", "--key-from", "a", "--db", db)
    assert code == 1
    assert "programs" in err


ROWS = [
    {"model": m, "prompt": q, "truth": t, "judge": j}
    for m, q, t, j in [
        ("a", 1, 1, 1),
        ("a", 2, 0, 1),
        ("a", 3, "", 1),
        ("a", 4, "", 0),
        ("a", 5, 0, 0),
        ("b", 1, 1, ""),
        ("b", 2, 1, 1),
        ("b", 3, "", 1),
        ("b", 5, 0, 0),
    ]
]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_files_of_grades(tmp_path, call, ending):
    frame, path = pd.DataFrame(ROWS).astype(str), tmp_path / f"grades.{ending}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "json": lambda: frame.to_json(path, orient="records"),
        "parquet": lambda: frame.to_parquet(path),
    }[ending]()
    code, out, err = call("audit", "--table", path, "--json")
    assert code == 0, err
    answer = json.loads(out)
    rows = {row["model"]: row for row in answer["models"]}
    assert {m: (row["n"], row["judge_only"], row["b"]) for m, row in rows.items()} == {
        "a": (3, 2, pytest.approx(1 / 3)),
        "b": (2, 1, 0.5),
    }
    assert answer["orders"]["unreadable"] == 1
    assert answer["judge_only_comparisons"] == 3
    # λ = Cov / ((1 + n/N) Var f) = (1/9) / ((1 + 3/2) (2/9)); f falls by 2/3 - 1/2.
    assert rows["a"]["powered"] == pytest.approx(1 / 3 - 0.2 * (2 / 3 - 1 / 2))


def test_answers_instead_of_grades():
    letters = pd.DataFrame(
        [
            {"model": "a", "prompt": q, "answer": answer, "truth": truth, "judge": judge}
            for q, (answer, truth, judge) in enumerate(["AAA", "ABA", "ABB", "CBD", "BBA"])
        ]
    )
    (row,) = ca.audit(letters).to_dict()["models"]
    assert (row["both"], row["human_alone"], row["judge_alone"], row["neither"]) == (1, 1, 1, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="truth"), "no column truth; needed are model, prompt"),
        (lambda f: f.assign(truth="maybe"), "truth is 'maybe', not 1 or 0"),
        (lambda f: f.assign(truth=""), "no row with both a truth and a grade"),
        (lambda f: f.assign(judge=""), "no row with both a truth and a grade"),
        (lambda f: f.assign(model=""), "model is missing"),
        (lambda f: f.assign(probability=2), "probability is '2', not a number from 0 to 1"),
        (lambda f: f.assign(probability="often"), "probability is 'often'"),
        (lambda f: f.assign(judge_name=["x", "y"] * 4 + ["x"]), "Choose a judge"),
        (lambda f: f.iloc[:0], "no row with both"),
    ],
)
def test_tables_that_are_none(change, said):
    with pytest.raises(ArenaError) as refused:
        ca.audit(change(pd.DataFrame(ROWS)))
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_what_a_table_does_not_have():
    frame = pd.DataFrame(ROWS)
    with pytest.raises(ArenaError, match="`key_from` is for a store"):
        ca.audit(frame, key_from="a")
    with pytest.raises(ArenaError, match="no model 'x'; there are: a, b"):
        ca.audit(frame, models=["x"])
    with pytest.raises(ArenaError, match="no column 'category'"):
        ca.audit(frame, category="x")
    with pytest.raises(ArenaError, match=r"no judge 'y'\. Judges there: x"):
        ca.audit(frame.assign(judge_name="x"), judge="y")


VOTES = {  # by question: who votes how, with a shown first or second; and the judge
    1: (["ab:a", "ab:a", "ba:b"], "ab:a"),
    2: (["ab:a", "ba:b", "ba:a", "ab:b"], "ab:a"),  # undecided
    3: (["ab:tie", "ba:tie", "ab:b"], "ab:b"),  # most say tie
    4: (["ba:b"], "ba:tie"),
    5: (["ba:b", "ab:b"], "ab:b"),
    6: (["ab:b", "ab:b", "ab:tie (bothbad)"], "ba:a"),
    7: (["ab:a"], "ab:a"),
    8: (["ab:b"], "ab:b"),
}


@pytest.fixture
def voted(tmp_path):
    """A store of eight questions on which several people vote on the same two answers."""

    def row(question, text, voter):
        order, said = text.split(":")
        sides = dict(zip(order, ("model_a", "model_b"), strict=True))
        return {
            "question_id": question,
            "model_a": order[0],
            "model_b": order[1],
            "winner": sides.get(said, said),
            "judge": voter,
        }

    files = {name: tmp_path / f"{name}.jsonl" for name in ("people", "judge")}
    people = [row(q, t, f"v{n}") for q, (all, _) in VOTES.items() for n, t in enumerate(all)]
    judged = [row(q, t, "gpt") for q, (_, t) in VOTES.items()]
    for file, rows in zip(files.values(), (people, judged), strict=True):
        file.write_text("\n".join(map(json.dumps, rows)))
    db = tmp_path / "votes.duckdb"
    with Store.open(db) as store:
        import_files(store, [files["people"]])
        import_files(store, [files["judge"]], judge="gpt")
    return db


@pytest.mark.slow
def test_most_voters_are_one(voted, call):
    code, out, err = call("audit", "--majority", "--ties", "drop", "--db", voted, "--json")
    assert code == 0, err
    rows = {row["model"]: row for row in json.loads(out)["models"]}
    # Left: 1 (a, judge a), 5 (b, b), 6 (b, a), 7 (a, a), 8 (b, b).
    cells = ("both", "human_alone", "judge_alone", "neither")
    assert [rows["a"][cell] for cell in cells] == [2, 0, 1, 2]
    assert [rows["b"][cell] for cell in cells] == [2, 1, 0, 2]
    answer = ca.audit(ca.open(voted), majority=True).to_dict()
    assert answer["comparisons"] == len(VOTES)
    assert (answer["voters"], answer["people"]) == ("these", None)
    assert any(said.startswith("The majority of voters is one vote") for said in answer["warnings"])


@pytest.mark.slow
def test_no_majority_of_nothing(voted):
    store = ca.open(voted)
    with pytest.raises(ArenaError, match="no judge 'x'"):
        ca.audit(store, judge="x", majority=True)
    with pytest.raises(ArenaError, match="no vote and no verdict"):
        ca.audit(store, mode="coupled", majority=True)
