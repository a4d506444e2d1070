"""How close two models are, from the command line: figures, sources of answers, bad input."""

from __future__ import annotations

import json

import pytest

from tests.small_models import NAMES, catalog_of, save_other_spellings, save_small_models

RED, GREEN, BLUE = NAMES


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("closeness")
    save_small_models(folder)
    save_other_spellings(folder / BLUE)
    path = folder / "arena.toml"
    path.write_text(catalog_of(**{name: name for name in NAMES}, broken="nowhere"))
    (folder / "prompts.txt").write_text("What is a whale?\nName a colour.\n")
    return path


@pytest.fixture
def closeness(call, config, tmp_path):
    def run(*arguments):
        db = tmp_path / "arena.duckdb"
        return call("closeness", *arguments, "--config", config, "--db", db)

    return run


def fresh(config):
    return "--prompts", config.parent / "prompts.txt", "--max-new-tokens", 6


@pytest.mark.slow
def test_fresh_answers(closeness, config):
    code, out, err = closeness(RED, GREEN, *fresh(config), "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["model_a"], found["model_b"]) == (RED, GREEN)
    assert found["agreement_best"] == pytest.approx(1 - found["total_variation"])
    assert found["agreement_independent"] < found["agreement_coupled"] < found["agreement_best"]
    assert found["kl"] > 0 < found["kl_reverse"]
    assert (found["answers"], found["battles_observed"], found["positions"]) == (4, 2, 24)
    assert [row["first"] for row in found["by_position"]] == [0, 1, 4]
    assert found["settings"]["top_p"] == 0.95
    code, out, err = closeness(RED, GREEN, *fresh(config))
    assert code == 0, err
    assert "draw the same token with probability" in out
    assert "Best possible" in out


def test_answers_of_a_task_are_drawn_as_a_benchmark_draws_them(closeness):
    code, out, err = closeness(RED, GREEN, "--task", "quiz", "--most", 3, "--json")
    assert code == 0, err
    settings = json.loads(out)["settings"]
    assert (settings["temperature"], settings["top_k"], settings["top_p"]) == (0.7, 0, 1)
    assert json.loads(out)["answers"] == 6


def test_stored_answers(closeness, call, config, tmp_path):
    db = tmp_path / "arena.duckdb"
    made = call(
        *("generate", *fresh(config), "--models", f"{RED},{GREEN}", "--config", config),
        *("--db", db, "--temperature", 0.5, "--mode", "coupled"),
    )
    assert made[0] == 0, made
    code, out, err = closeness(RED, GREEN, "--json")
    assert code == 0, err
    assert json.loads(out)["settings"]["temperature"] == 0.5
    code, out, err = closeness(RED, GREEN, "--json", "--temperature", 0.9)
    assert code == 0, err
    assert "4 answers were drawn with other settings" in json.loads(out)["warnings"][0]
    code, out, err = closeness(RED, RED, "--json")
    found = json.loads(out)
    assert (code, found["total_variation"], found["agreement_coupled"]) == (0, 0, pytest.approx(1))
    code, _, err = closeness(RED, GREEN, "--max-new-tokens", 4)
    assert (code, "--max-new-tokens is for prompts" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((RED, "no-such-model"), "There is no model named 'no-such-model'"),
        ((RED, GREEN), "arena.duckdb"),  # there is none yet
        ((RED, BLUE, "FRESH"), "have different vocabularies"),
        ((RED, "broken", "FRESH"), "broken"),
        ((RED, GREEN, "--task", "gsm8k"), "Say with --data where"),
        ((RED, GREEN, "--data", "x"), "--data is for --task"),
        ((RED, GREEN, "FRESH", "--task", "quiz"), "--prompts or --task, not both"),
        ((RED, GREEN, "FRESH", "--temperature", "-1"), "temperature"),
        ((RED, GREEN, "FRESH", "--alpha", "5"), "--alpha is an error level"),
        ((RED, GREEN, "--prompts", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_bad_input_is_refused_in_one_line(closeness, config, arguments, complaint):
    given = [x for a in arguments for x in (fresh(config) if a == "FRESH" else (a,))]
    code, out, err = closeness(*given)
    (line,) = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert (code, out) == (1, "")
    assert complaint in line


def test_tokens_in_common_are_compared_where_they_are_asked_for(closeness, config):
    code, out, err = closeness(RED, BLUE, *fresh(config), "--coupling", "token", "--json")
    assert code == 0, err
    assert json.loads(out)["positions"] > 0


def test_a_store_without_answers_says_what_to_do(closeness, call, config, tmp_path):
    rows = tmp_path / "votes.csv"
    rows.write_text("prompt,model_a,model_b,winner,response_a,response_b\nhi,a,b,a,x,y\n")
    assert call("import", rows, "--db", tmp_path / "arena.duckdb")[0] == 0
    code, _, err = closeness(RED, GREEN)
    assert code == 1
    assert f"no stored answers of {RED} or {GREEN}" in err
    assert "--prompts" in err
