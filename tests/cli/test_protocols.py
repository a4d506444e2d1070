"""Benchmarks as somebody else puts them: system prompts, questions, beginnings of answers."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core.records import Mode
from coupled_arena.generation.turns import before_turn, messages
from coupled_arena.store.database import Store
from coupled_arena.tasks.gsm8k import Gsm8k
from coupled_arena.tasks.humaneval import HumanEval
from coupled_arena.tasks.sandbox import ProgramResult
from tests.cli.test_benchmark import ITEMS
from tests.cli.test_cli import EIGHT_BITS, FULL
from tests.tasks.test_sandbox import PROBLEM, TIGHT

MODELS = ["--models", f"{FULL},{EIGHT_BITS}"]
SUMS = [{"question": f"What is {n} + {n}?", "answer": f"#### {2 * n}"} for n in (2, 15)]
SYSTEM = "Reply with a single number.\nNothing else: ünï."
BEGUN = "For {problem} I say <|im_end|> 1"


def stored(db):
    with Store.open(db) as store:
        with store.cursor() as cursor:
            ids = [id for (id,) in cursor.execute("select battle from battles").fetchall()]
            marks = cursor.execute("select battle, place, score, answer from scores").fetchall()
        return [store.battle(id) for id in ids], {(id, place): rest for id, place, *rest in marks}


@pytest.fixture
def benchmark(call, demo_loaded, tmp_path):
    """Run the command on some rows; the battles of the store, and their scores by place."""

    def run(task, rows, *more, seeds=1):
        data, db = tmp_path / "rows.jsonl", tmp_path / "arena.duckdb"
        data.write_text("\n".join(map(json.dumps, rows)))
        words = ["--task", task, "--data", data, *MODELS, "--seeds", seeds, "--seed", 3, "--db", db]
        code, out, err = call("benchmark", *words, "--json", *more)
        assert code == 0, err
        return (json.loads(out), *stored(db))

    return run


def replayed(call, db, battles):
    for battle in battles:
        code, out, _ = call("replay", battle.id, "--db", db, "--json")
        assert (code, json.loads(out)["identical"]) == (0, True)


def test_words_of_ones_own_are_asked_scored_and_replayed(benchmark, call, demo_models, tmp_path):
    (tmp_path / "system.txt").write_text(SYSTEM + "\n", encoding="utf-8")
    words = ["--system", f"@{tmp_path / 'system.txt'}", "--answer-prefix", BEGUN]
    words += ["--question", "Compute {problem} {x}", "--max-new-tokens", 6]
    answer, battles, marks = benchmark("gsm8k", SUMS, *words)
    assert (answer["battles"], len(battles), len(marks)) == (4, 4, 8)
    assert {battle.mode for battle in battles} == {Mode.COUPLED, Mode.INDEPENDENT}
    own = {item.problem: item for item in Gsm8k().read(tmp_path / "rows.jsonl")}
    for battle in battles:
        (prompt,) = battle.prompts
        problem = prompt.text.removeprefix("Compute ").removesuffix(" {x}")
        begun = f"For {problem} I say <|im_end|> 1"
        assert (prompt.system, prompt.prefix) == (SYSTEM, begun)
        for reply in battle.replies:
            score, read = marks[battle.id, reply.place]
            # The 1 that was put there is the first digit of what the model goes on with.
            whole = Gsm8k().score(own[problem], f"I say 1{reply.text}")
            expected = whole if any(map(str.isdigit, reply.text)) else None
            assert (score, read) == ((expected.score, expected.read) if expected else (0, None))
        # A control token that somebody spells is words; the answer goes on from all of them.
        for name in battle.models:
            ids = demo_models[name].encode(messages(before_turn(battle, 0), 0, prompt))
            assert demo_models[name].vocabulary.text(ids).endswith(begun)
    replayed(call, tmp_path / "arena.duckdb", battles)


def test_programs_go_on_from_their_stub(benchmark, call, tmp_path):
    words = ["--max-new-tokens", 24, "--temperature", 0.2]
    _, battles, marks = benchmark("humaneval", [PROBLEM], *words)
    (item,) = HumanEval().read(tmp_path / "rows.jsonl")
    assert len(marks) == 4
    for battle in battles:
        (prompt,) = battle.prompts
        assert (prompt.system, prompt.prefix) == ("", item.prompt.prefix)
        assert prompt.prefix.endswith(f"```python\n{PROBLEM['prompt'].strip()}\n")
        for reply in battle.replies:
            program = PROBLEM["prompt"].strip() + "\n" + reply.text.partition("```")[0]
            ran = TIGHT.run([program], "", PROBLEM["test"], "f")
            if ran.outcome is ProgramResult.PASSED:  # else a lost indentation is forgiven
                assert marks[battle.id, reply.place][0] == 1
    replayed(call, tmp_path / "arena.duckdb", battles[:1])
    # The same model and noise, asked without the stub: another answer, and scored all the same.
    words = ["--max-new-tokens", 4, "--temperature", 0.2, "--answer-prefix", "Sure:\n```python"]
    words += ["--system", "You write Python."]
    _, battles, marks = benchmark("humaneval", [PROBLEM], *words)
    assert len(battles) == 4
    assert len(marks) == 8
    assert len({battle.prompts[0].prefix for battle in battles}) == 2


def test_prompts_for_pairwise_are_asked_in_other_words_too(benchmark, call, tmp_path):
    rows = [{"text": "Name a colour.", "system": "Shout.", "prefix": "It is"}]
    words = ["--system", "", "--question", "Please: {problem}", "--max-new-tokens", 4]
    _, battles, marks = benchmark("pairwise", rows, *words)
    asked = {(b.prompts[0].system, b.prompts[0].text, b.prompts[0].prefix) for b in battles}
    assert asked == {("", "Please: Name a colour.", "It is")}
    assert marks == {}
    replayed(call, tmp_path / "arena.duckdb", battles)


TWO = ITEMS[1:]
GRID = ["--temperature", "0.2,1", "--top-p", "0.5,1"]
BRIEF = ["--max-new-tokens", 3]  # the answers to these questions are words of one token


def test_a_sweep_is_one_run_and_each_sampling_a_row_of_its_own(benchmark, call, tmp_path):
    begun, battles, _ = benchmark("quiz", TWO, *GRID[:2], "--top-p", 1, *BRIEF, seeds=2)
    assert (begun["battles"], len(battles)) == (16, 16)
    # The rest of a larger plan.
    answer, battles, marks = benchmark("quiz", TWO, *GRID, *BRIEF, seeds=2)
    assert (answer["battles"], answer["skipped"], len(battles)) == (16, 16, 32)
    drawn = {(b.sampling.temperature, b.sampling.top_p) for b in battles}
    assert drawn == {(0.2, 0.5), (0.2, 1), (1, 0.5), (1, 1)}
    # One question and repetition has one seed under all samplings and both protocols.
    assert len({battle.seed for battle in battles}) == len(TWO) * 2
    of = {battle.id: battle for battle in battles}
    for row in answer["scores"]:
        mine = [
            score
            for (id, place), (score, _) in marks.items()
            if (of[id].models[place], of[id].mode) == (row["model"], row["mode"])
            and (of[id].sampling.temperature, of[id].sampling.top_p)
            == (row["temperature"], row["top_p"])
        ]
        assert (row["answers"], row["mean"]) == (4, pytest.approx(sum(mine) / 4))
    assert len(answer["scores"]) == 4 * 2 * 2
    db = tmp_path / "arena.duckdb"
    replayed(call, db, battles[::12])

    code, out, err = call("coupling", "--db", db)
    assert (code, out) == (1, "")
    assert "drawn in different ways" in err
    code, out, _ = call("coupling", "--db", db, "--by-sampling", "--json")
    swept = json.loads(out)["pairs"]
    assert (code, len(swept)) == (0, 4)
    for row in swept:
        words = ["--temperature", row.pop("temperature"), "--top-p", row.pop("top_p")]
        assert row.pop("sampler") == "gumbel"
        code, out, _ = call("coupling", "--db", db, *words, "--json")
        assert json.loads(out)["pairs"] == [row]
    code, out, _ = call("coupling", "--db", db, "--by-sampling", "--temperature", 1)
    assert out.split("\n")[0].split()[:2] == [
        "Top-p",
        "Pair",
    ]  # the temperature is one and the same


def test_inverse_transform_is_stored_replayed_and_told_apart(benchmark, call, tmp_path):
    benchmark("quiz", ITEMS, *BRIEF, seeds=2)
    answer, battles, _ = benchmark("quiz", ITEMS, "--sampler", "inverse", *BRIEF, seeds=2)
    assert (answer["battles"], len(battles)) == (12, 24)
    assert {row["sampler"] for row in answer["scores"]} == {"inverse"}
    inverse = [battle for battle in battles if battle.sampling.coupling == "inverse"]
    gumbel = [battle for battle in battles if battle.sampling.coupling == "token"]
    assert (len(inverse), len(gumbel)) == (12, 12)
    db = tmp_path / "arena.duckdb"
    replayed(call, db, inverse[::4])
    code, out, err = call("coupling", "--db", db)
    assert (code, out) == (1, "")
    assert "inverse sampler" in err
    code, out, _ = call("coupling", "--db", db, "--by-sampling", "--json")
    rows = {row["sampler"]: row["savings"] for row in json.loads(out)["pairs"]}
    assert rows.keys() == {"gumbel", "inverse"}
    for sampler, savings in rows.items():
        code, out, _ = call("coupling", "--db", db, "--sampler", sampler, "--json")
        assert json.loads(out)["pairs"][0]["savings"] == savings
    code, _, err = call("explain", inverse[0].id, "--db", db)
    assert (code, err.count("\n")) == (1, 1)
    assert "drawn by inverse transform" in err


def test_other_words_in_one_database_are_not_mixed(benchmark, call, tmp_path):
    benchmark("quiz", ITEMS, *BRIEF)
    answer, _, _ = benchmark("quiz", ITEMS, "--system", "Be brief.", *BRIEF)
    assert {row["answers"] for row in answer["scores"]} == {3}  # of these words only
    code, out, err = call("coupling", "--db", tmp_path / "arena.duckdb")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "3 questions of quiz were put in different words" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--temperature", "0.5;1"], "--temperature is a number, or several"),
        (["--top-p", "0.5,2"], "top_p"),
        (["--question", "The same for all?"], "The question needs {problem}"),
        (["--system", "@nowhere.txt"], "The text nowhere.txt cannot be read"),
    ],
)
def test_bad_words(call, tmp_path, words, told):
    data, db = tmp_path / "rows.jsonl", tmp_path / "arena.duckdb"
    data.write_text("\n".join(map(json.dumps, ITEMS)))
    code, out, err = call(
        "benchmark", "--task", "quiz", "--data", data, *MODELS, "--db", db, *words
    )
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err
    assert not db.exists()
