"""The benchmark command on real models: scores, plan files, interruptions, bad input."""

from __future__ import annotations

import json
import random
import signal

import duckdb
import pytest

from coupled_arena.cli import main
from coupled_arena.store.database import Store
from tests.cli.test_cli import EIGHT_BITS, FULL, copied, start
from tests.conftest import loaded_already
from tests.patience import PATIENCE

ITEMS = [
    {
        "id": "a",
        "category": "sums",
        "question": "What is 1 + 1?",
        "prefix": "1 + 1 =",
        "answer": "2",
    },
    {
        "id": "b",
        "category": "sums",
        "question": "What is 7 + 5?",
        "prefix": "7 + 5 =",
        "answer": "12",
    },
    {
        "id": "c",
        "category": "opposites",
        "question": "What is the opposite of hot: cold or warm?",
        "prefix": 'The opposite of hot is "',
        "answer": "cold",
        "choices": ["cold", "warm"],
    },
]


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    path = tmp_path_factory.mktemp("items") / "quiz.jsonl"
    path.write_text("\n".join(map(json.dumps, ITEMS)))
    return path


def benchmark(items, db, *more):
    return [
        *("benchmark", "--task", "quiz", "--data", str(items), "--models", f"{FULL},{EIGHT_BITS}"),
        *("--seeds", "2", "--seed", "5", "--db", str(db), "--json", *map(str, more)),
    ]


@pytest.fixture(scope="module")
def scored(tmp_path_factory, items, demo_models):
    """A store of 12 battles; whoever changes it takes a copy."""
    db = tmp_path_factory.mktemp("scored") / "arena.duckdb"
    with loaded_already(demo_models), pytest.raises(SystemExit) as stopped:
        main(benchmark(items, db))
    assert not stopped.value.code
    return db


ROWS = """
    select battle, mode, prompt_id, place, model, text, tokens, metric, score, answer, seed
    from battles
    join turns using (battle)
    join replies using (battle, turn)
    left join scores using (battle, turn, place)
    order by battle, place
"""


def rows(db):
    with duckdb.connect(str(db), read_only=True) as connection:
        return connection.execute(ROWS).fetchall()


def test_every_answer_has_its_score(call, demo_loaded, scored, items, tmp_path):
    found = rows(scored)
    assert len(found) == 3 * 2 * 2 * 2
    right = {item["id"]: item["answer"] for item in ITEMS}
    for _, _, prompt, _, _, text, _, metric, score, answer, _ in found:
        assert metric == "quiz"
        assert score == (answer == right[prompt])
        assert answer is None or answer in text
    # The prefix opens the answer: nothing else than a number follows "1 + 1 =".
    assert all(row[9] for row in found if row[2] == "a")
    code, out, _ = call(*benchmark(items, copied(scored, tmp_path)))
    answer = json.loads(out)
    assert (code, answer["battles"], answer["skipped"]) == (0, 0, 12)
    for line in answer["scores"]:
        marks = [row[8] for row in found if (row[4], row[1]) == (line["model"], line["mode"])]
        assert (line["answers"], line["mean"]) == (6, pytest.approx(sum(marks) / 6))


def test_both_modes_share_a_seed_and_coupled_models_their_noise(scored):
    seeds = {(row[2], row[1]): set() for row in rows(scored)}
    for row in rows(scored):
        seeds[row[2], row[1]].add(row[10])
    for prompt in "abc":
        assert seeds[prompt, "coupled"] == seeds[prompt, "independent"]
        assert len(seeds[prompt, "coupled"]) == 2


def test_a_plan_file_holds_the_options(call, demo_loaded, scored, items, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'task = "quiz"\ndata = "{items}"\nmodels = ["{FULL}", "{EIGHT_BITS}"]\n'
        "seeds = 9\nseed = 5\n"
    )
    db = copied(scored, tmp_path)
    code, out, _ = call(
        "benchmark", "--plan", plan, "--seeds", 2, "--mode", "coupled", "--db", db, "--json"
    )
    assert (code, json.loads(out)["battles"], json.loads(out)["skipped"]) == (0, 0, 6)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--task", "gsm8k"], "Say with --data where the questions of gsm8k are"),
        (["--task", "gsm8k", "--data", "nowhere.jsonl"], "There is no file nowhere.jsonl"),
        (["--task", "mmlu", "--data", "QUIZ"], "line 1"),
        (["--task", "quiz", "--models", "A,B"], "'A'"),
        (["--task", "quiz", "--models", FULL], "Name at least two models"),
        (["--task", "quiz", "--plan", "PLAN"], "has no use for sedes"),
        (["--task", "quiz", "--plan", "nowhere.toml"], "The plan nowhere.toml cannot be read"),
        (["--task", "quiz", "--temperature", "-1"], "temperature"),
    ],
)
def test_bad_input(call, items, tmp_path, words, told):
    (tmp_path / "plan.toml").write_text("sedes = 3\n")
    places = {"QUIZ": items, "PLAN": tmp_path / "plan.toml"}
    words = [places.get(word, word) for word in words]
    models = [] if "--models" in words else ["--models", f"{FULL},{EIGHT_BITS}"]
    db = tmp_path / "arena.duckdb"
    code, out, err = call("benchmark", *words, *models, "--db", db)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err
    assert not db.exists()


@pytest.mark.slow
def test_two_jobs_on_one_store_do_not_meet(call, items, tmp_path):
    db = tmp_path / "arena.duckdb"
    with Store.open(db):
        process = start(*benchmark(items, db))
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "is in use" in err or "owns" in err


@pytest.mark.slow
def test_five_interruptions_change_no_row(call, items, tmp_path):
    whole, broken = tmp_path / "whole.duckdb", tmp_path / "broken.duckdb"
    rng, stops = random.Random(3), 0
    while stops < 5:
        process = start(*benchmark(items, broken, "--seeds", 10, "--at-once", 2))
        seen, wanted = "", rng.randint(1, 3)
        while seen.count("tokens/s") < wanted and (piece := process.stderr.read(10)):
            seen += piece
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, "it was done before it could be stopped"
        assert "Finished battles are stored" in err
        stops += 1
    for db in (broken, whole):
        code, _, _ = call(*benchmark(items, db, "--seeds", 10))
        assert code == 0
    assert rows(broken) == rows(whole)
    assert len(rows(whole)) == 3 * 10 * 2 * 2
