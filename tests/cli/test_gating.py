"""`gate --task`: models answer until it is known whether one is as good; what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from coupled_arena.analysis.gate.stored import read_standing
from coupled_arena.store.database import Store
from coupled_arena.store.tables import gates
from tests.small_models import SMALL_MODELS, save_small_models

RED, GREEN, BLUE = "small-red", "small-green", "small-blue"


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder)
    path = folder / "arena.toml"
    path.write_text(SMALL_MODELS)
    return path


@pytest.fixture
def gate(call, config, tmp_path):
    def run(*more, db="arena.duckdb"):
        where = "--config", config, "--db", tmp_path / db, "--json"
        code, out, error = call("gate", *more, *where)
        return code, json.loads(out) if out else None, error

    return run


def told(answer):
    """What is known of the candidates, without how it was drawn, and how fast."""
    return {name: each for name, each in answer.items() if name not in ("drawn", "costs")}


@pytest.mark.slow
def test_a_run_ends_once_it_is_known_and_what_it_stored_says_the_same(gate):
    """Equal models never part under coupling: each prompt is a tie."""
    asked = RED, GREEN, "--margin", "0.3", "--seed", "3"
    code, answer, error = gate(*asked, "--task", "quiz")
    assert answer, error
    assert (code, answer["candidates"][0]["verdict"]) == (0, "as good"), error
    known = answer["candidates"][0]["known_after"]
    assert known <= answer["drawn"]["battles"] < 300
    _, again, _ = gate(*asked, "--task", "quiz")
    assert again["drawn"]["battles"] == 0
    assert told(again) == told(answer)
    code, stored, _ = gate(*asked)
    assert (code, stored["candidates"]) == (0, answer["candidates"])


@pytest.mark.slow
def test_one_that_ended_early_goes_on_and_is_in_reports(gate, call, tmp_path):
    asked = RED, GREEN, BLUE, "--task", "quiz", "--margin", "0.01", "--answers", "2", "--seed", "3"
    code, first, _ = gate(*asked, "--most-prompts", "8")
    assert (code, [each["verdict"] for each in first["candidates"]]) == (4, ["cannot tell"] * 2)
    assert (first["drawn"]["battles"], first["candidates"][0]["prompts"]) == (16, 8)
    _, more, _ = gate(*asked, "--most-prompts", "12")
    assert (more["drawn"]["battles"], more["drawn"]["skipped"]) == (8, 16)
    _, whole, _ = gate(*asked, "--most-prompts", "12", db="other.duckdb")
    assert told(whole) == told(more)
    # A report has each candidate once, whichever run had more prompts, judged with the other.
    out = tmp_path / "report"
    call("report", "--db", tmp_path / "arena.duckdb", "--out", out)
    text = (out / "report.html").read_text(encoding="utf-8")
    assert re.findall(f"(small-.*) against {RED} on quiz</h3>", text) == [GREEN, BLUE]
    assert text.count("Each bound holds at 97.5%.") == 2
    assert text.count("All of this holds for the 2 candidates together") == 2
    assert "prompts lack" not in text
    # The runs were bounded, the gates are not: in the app they go on with all prompts of the quiz.
    found = stored_gates(tmp_path)
    assert [(each.gate.prompts, each.answered, each.over) for each in found] == [
        (300, 12, False)
    ] * 2


@pytest.mark.slow
@pytest.mark.parametrize("look", ["always", "once"])
def test_nobody_guesses_the_seed_and_the_same_command_goes_on(gate, look):
    """People may vote on the battles: who guesses the seed knows the sides."""
    asked = RED, GREEN, "--task", "quiz", "--margin", "0.01", "--look", look
    _, first, _ = gate(*asked, "--most-prompts", "4")
    _, more, _ = gate(*asked, "--most-prompts", "6")
    assert (first["drawn"]["battles"], first["drawn"]["skipped"]) == (4, 0)
    assert (more["drawn"]["battles"], more["drawn"]["skipped"]) == (2, 4)
    seed = more["drawn"]["experiment"]
    assert seed == first["drawn"]["experiment"]
    assert not seed.startswith("00000000")
    if look == "always":
        assert f"order of seed {int(seed, 16)}." in " ".join(first["findings"])
        _, read, _ = gate(RED, GREEN, "--margin", "0.01")  # without a seed: that of the run
        assert read["candidates"] == more["candidates"]
        _, wider, _ = gate(*asked[:5], "0.05", "--most-prompts", "6")
        assert (wider["drawn"]["battles"], wider["drawn"]["experiment"]) == (0, seed)
    _, other, _ = gate(*asked, "--most-prompts", "2", db="other.duckdb")
    assert other["drawn"]["experiment"] != seed
    _, chosen, _ = gate(*asked, "--most-prompts", "2", "--seed", "9")
    assert (chosen["drawn"]["battles"], chosen["drawn"]["experiment"]) == (2, f"{9:016x}")
    _, again, _ = gate(*asked, "--most-prompts", "2")
    assert again["drawn"]["experiment"] == seed  # anybody may guess 9


@pytest.mark.slow
def test_figures_are_written(gate, tmp_path):
    asked = RED, GREEN, BLUE, "--task", "quiz", "--margin", "0.3", "--most-prompts", "4"
    _, answer, _ = gate(*asked, "--plots", tmp_path / "plots")
    written = {path.stem for path in (tmp_path / "plots").iterdir()}
    assert {"gate-closing", "gate-closing-2", "gate-candidates", "gate-flips"} <= written
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        re.split(r"[\\/]", each)[-1] for each in answer["plots"]
    }


def stored_gates(folder):
    with Store.open(folder / "arena.duckdb", read_only=True) as store:
        with store.cursor() as cursor:
            found = gates.stored(cursor)
        return [read_standing(store, each) for each in found]


@pytest.mark.slow
def test_one_look_asks_all_prompts_and_time_ends_it(gate, tmp_path):
    asked = RED, GREEN, "--task", "quiz", "--margin", "0.5"
    _, once, _ = gate(*asked, "--look", "once", "--most-prompts", "40")
    assert once["drawn"]["battles"] == 40
    assert stored_gates(tmp_path) == []  # no report looks as often as it was decided
    code, answer, error = gate(*asked, "--minutes", "0", db="other.duckdb")
    assert (code, answer) == (4, None)
    assert "Cannot tell: answered prompts: 0. Give more --minutes." in error


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--task", "pairwise"), "pairwise has no scores"),
        (("--task", "quiz", "--by", "votes"), "--by has no use with --task"),
        (("--task", "quiz", "--scores", "runs.csv"), "--scores has no use with --task"),
        (("--most-prompts", "9"), "--most-prompts has no use without --task"),
        (("--task", "quiz", "--mode", "all"), "--mode coupled or independent"),
        (("--task", "quiz", "--temperature", "0.2,0.7"), "draws in one way"),
        (("--task", "gsm8k"), "Say with --data"),
        (("--task", "quiz", "--margin", "1"), "margin"),
        (("--task", "quiz", "--most-missing", "2"), "share that may be missing is between 0 and 1"),
        (("--task", "quiz", "--largest-group", "9"), "--largest-group has no use with --task"),
    ],
)
def test_what_has_no_use_is_refused(gate, more, said):
    code, _, error = gate(RED, GREEN, *more)
    assert code == 1
    assert said in error
    assert error.count("\n") == 1


def test_a_model_that_nobody_has_is_named(gate):
    code, _, error = gate(RED, "small-nobody", "--task", "quiz")
    assert code == 1
    assert "small-nobody" in error
