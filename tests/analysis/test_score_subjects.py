"""Tables of scores with a column of subjects, and what is said of columns that are no scores."""

from __future__ import annotations

import json

import pytest

from coupled_arena.store.database import Store
from tests.store.conftest import make_battle

SUBJECTS = ("college_computer_science", "virology")


def table(subject="Subject", **more):
    """Two prompts of each subject, two repetitions; models agree under coupling."""
    header = [subject, "Noise", "a", "b", *more]
    rows = [
        [name, noise, *(str((prompt + turn) % 2), str((prompt + turn + differ * turn) % 2))]
        for noise, differ in (("Coupled", 0), ("Independent", 1))
        for name in SUBJECTS
        for prompt in range(2)
        for turn in range(2)
    ]
    return "".join(
        ",".join([*row, *more.values()] if row is not header else row) + "\n"
        for row in (header, *rows)
    )


@pytest.fixture
def scores(tmp_path):
    def write(text, name="scores.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def answer(call, *arguments):
    code, out, err = call("coupling", *arguments, "--seeds", 2, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("name", ["Subject", "subject", "category", "Category"])
def test_coupling_by_subject(call, scores, name):
    path = scores(table(name))
    told = answer(call, "--scores", path, "--by-category")
    (pair,) = told["pairs"]
    assert (pair["model_a"], pair["model_b"], pair["prompts"]) == ("a", "b", 4)
    assert {name: pairs[0]["prompts"] for name, pairs in told["by_category"].items()} == {
        "college_computer_science": 2,
        "virology": 2,
    }
    (part,) = answer(call, "--scores", path, "--category", "virology")["pairs"]
    assert part == told["by_category"]["virology"][0]


def test_the_same_table_without_subjects_gives_the_same_numbers(call, scores):
    path = scores(table())
    plain = scores("".join(line.partition(",")[2] + "\n" for line in table().splitlines()), "p.csv")
    assert answer(call, "--scores", path)["pairs"] == answer(call, "--scores", plain)["pairs"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--category", "law"),
            "has no prompts of 'law'; it has college_computer_science, virology",
        ),
        (("--temperature", 1), "--temperature is for a store: leave it out with a table"),
    ],
)
def test_what_a_table_does_not_have(call, scores, options, complaint):
    code, _, err = call("coupling", "--scores", scores(table()), "--seeds", 2, *options)
    assert code == 1
    assert complaint in err


def test_a_table_without_subjects_has_no_categories(call, scores):
    plain = scores("".join(line.partition(",")[2] + "\n" for line in table().splitlines()))
    code, _, err = call("coupling", "--scores", plain, "--seeds", 2, "--by-category")
    assert code == 1
    assert "has no column Subject or Category" in err


def test_subjects_that_do_not_fit_the_repetitions(call, scores):
    """Rows of one prompt have one subject, and prompts have the same one in both protocols."""
    for wrong in (
        table().replace("virology,Coupled", "college_computer_science,Coupled", 1),
        table().replace("virology,Independent", "law,Independent"),
    ):
        code, _, err = call("coupling", "--scores", scores(wrong), "--seeds", 2)
        assert code == 1
        assert "a prompt has two subjects: " in err
        assert "--seeds" in err


def test_another_column_of_text_is_named_and_can_be_left_out(call, scores):
    path = scores(table(Source="college"))
    code, _, err = call("coupling", "--scores", path, "--seeds", 2)
    assert code == 1
    assert "line 2: 'college' in column 'Source' is not a score" in err
    assert "--models" in err
    assert len(answer(call, "--scores", path, "--models", "a,b")["pairs"]) == 1


@pytest.mark.slow
def test_risk_tells_a_subject_from_a_metric(call, scores):
    rows = [
        f"{model},{prompt},{SUBJECTS[prompt % 2]},{(prompt * (3 + place)) % 7}\n"
        for place, model in enumerate("ab")
        for prompt in range(20)
    ]
    path = scores("model,prompt,Subject,toxicity\n" + "".join(rows))
    code, out, err = call("risk", path, "--json", "--bootstraps", 50)
    assert code == 0, err
    assert json.loads(out)["models"] == ["a", "b"]
    noted = scores("model,prompt,note,toxicity\n" + "".join(rows))
    code, _, err = call("risk", noted, "--json", "--bootstraps", 50)
    assert code == 1
    assert "line 2: 'college_computer_science' in column 'note' is not a score" in err
    assert "--metrics" in err
    code, _, err = call("risk", noted, "--json", "--bootstraps", 50, "--metrics", "toxicity")
    assert code == 0, err


@pytest.fixture
def known(tmp_path):
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        store.add_battle(make_battle(id="one"))
    return db


def test_imported_scores_may_have_subjects(call, scores, known):
    path = scores("battle,model,Subject,toxicity\none,alpha,virology,0.5\n")
    code, out, err = call("import-scores", path, "--db", known, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["scores"], told["metrics"], told["rejected"]) == (1, ["toxicity"], [])
    path = scores("battle,model,note,toxicity\none,beta,good,0.5\n")
    code, out, _ = call("import-scores", path, "--db", known, "--json")
    (row,) = json.loads(out)["rejected"]
    assert row["reason"].startswith("'good' in column 'note' is not a score")
    assert "--metrics" in row["reason"]
    code, out, _ = call("import-scores", path, "--db", known, "--json", "--metrics", "toxicity")
    assert json.loads(out)["scores"] == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"battle,model,toxicity\none,alpha,0.5,7\n", "line 2: it has 4 columns, the first line 3"),
        (b"battle,model,toxicity\none,alph\xe4,0.5\n", "line 2: not valid UTF-8"),
        (b"battle|model|toxicity\none|alpha|0.5\n", "must have the columns battle and model"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_why(call, scores, known, content, complaint):
    code, _, err = call("import-scores", scores(content), "--db", known)
    assert code == 1
    assert complaint in err
