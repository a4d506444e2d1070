"""Whoever ranks verdicts of a judge that the file does not name can name the judge."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError
from tests.store.foreign_files import alpaca

FIRST, SECOND = "model_1", "model_2"


def pairs(*wins):
    """Return verdicts in both orders, as MT-Bench writes them: of each question both orders."""
    return [
        {
            "question_id": number,
            "model_1": "red",
            "model_2": "blue",
            "g1_winner": winner,
            "g2_winner": winner,
        }
        for number, winner in enumerate(wins)
    ]


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "pairs.jsonl"
    rows = pairs(*[FIRST] * 6, *[SECOND] * 3, "tie")
    found.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return found


def win_rates(found):
    return dict(found.to_frame()[["model", "win_rate"]].itertuples(index=False, name=None))


def test_verdicts_that_name_no_judge_are_those_of_the_one_named(path, call):
    with pytest.raises(ArenaError, match=r"verdicts of a judge \(MT-Bench pairs\): name it with"):
        ca.rank(path)
    expected = {"red": 0.65, "blue": 0.35}
    table = pd.read_json(path, lines=True)
    for given in (path, table):
        found = ca.rank(given, judge="gpt-4")
        assert win_rates(found) == pytest.approx(expected)
        assert (found.settings["source"], found.settings["judge"]) == ("judge", "gpt-4")
    _, out, error = call("leaderboard", "--scores", path, "--judge", "gpt-4", "--json")
    rows = {row["model"]: row["win_rate"] for row in json.loads(out)["models"]}
    assert rows == pytest.approx(expected), error


def test_it_ranks_as_after_an_import_with_the_same_judge(path, tmp_path, call):
    db = tmp_path / "arena.duckdb"
    call("import", path, "--judge", "gpt-4", "--db", db)
    stored = ca.leaderboard(ca.open(db), judge="gpt-4", source="judge")
    assert ca.rank(path, judge="gpt-4").to_dict()["models"] == stored.to_dict()["models"]


def test_a_judge_among_several_is_chosen(tmp_path):
    path = tmp_path / "annotations.json"
    rows = [
        {
            "instruction": f"Question {n}?",
            "generator_1": "red",
            "generator_2": "blue",
            "output_1": "left",
            "output_2": "right",
            "preference": preference,
            "annotator": judge,
        }
        for n in range(4)
        for judge, preference in (("strict", 1), ("lenient", 2))
    ]
    path.write_text(json.dumps(rows))
    with pytest.raises(ArenaError, match="choose one with `judge`"):
        ca.rank(path)
    assert win_rates(ca.rank(path, judge="strict")) == {"red": 1, "blue": 0}
    assert win_rates(ca.rank(path, judge="lenient")) == {"red": 0, "blue": 1}


def test_scores_have_no_judge():
    rows = [(model, prompt, 1) for model in ("red", "blue") for prompt in "12"]
    scores = pd.DataFrame(rows, columns=["model", "prompt", "right"])
    with pytest.raises(ArenaError, match="`judge` is for"):
        ca.rank(scores, judge="gpt-4")


VOTES = b"model_a,model_b,winner,prompt\nred,blue,a,caf\xe9\nred,blue,b,tea\n"
LINES = b'{"model_a": "red", "model_b": "blue", "winner": "a"}\n{"winner": "\xe9"}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("votes.csv", VOTES),
        ("votes.csv.gz", gzip.compress(VOTES, mtime=0)),
        ("votes.jsonl", LINES),
        ("votes.json", b'[{"model_a": "red", "model_b": "blue",\n"winner": "\xe9"}]'),
        ("pairs.jsonl", b'{"question_id": 1, "model_1": "red", "g1_winner": "tie"}\n{"\xe9": 1}\n'),
    ],
    ids=["csv", "gzip", "lines", "array", "other form"],
)
def test_a_byte_that_is_no_text_is_named_with_its_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ArenaError, match=r"line 2 is not valid UTF-8: save the file as UTF-8"):
        ca.rank(path)


@pytest.mark.parametrize("row", [0, 1500])
@pytest.mark.parametrize("column", ["model_b", "prompt"])
def test_a_frame_with_an_undecoded_byte_is_refused_with_a_line(row, column):
    votes = {"model_a": "red", "model_b": "blue", "winner": "a", "prompt": "Tea?"}
    table = pd.DataFrame([votes] * 1501, dtype=object)
    table.loc[row, column] = b"caf\xe9".decode(errors="surrogateescape")
    with pytest.raises(ArenaError, match=r"'\\udce9', a byte that is not valid UTF-8"):
        ca.rank(table)


def test_a_board_of_verdicts_alone_tells_the_mean_of_probabilities_that_it_rounds(tmp_path, call):
    path = tmp_path / "annotations.json"
    preferences = [1.9, 1.6, 1.45, 1.2, 2.0]
    path.write_text(json.dumps([alpaca(*each) for each in enumerate(preferences)]))
    found = ca.rank(path)
    second = found.to_frame().model[0]
    assert sum(win_rates(found).values()) == pytest.approx(1)
    [note] = [each for each in found.warnings if "probability" in each]
    mean = sum(each - 1 for each in preferences) / len(preferences)
    assert win_rates(found)[second] == pytest.approx(0.6)
    assert "The judge gave a probability for 4 of 5 verdicts." in note
    assert f"{second} {mean:.2%}" in note
    assert note in call("leaderboard", "--scores", path)[1]


def test_sure_verdicts_need_no_note(path):
    assert not any("probability" in each for each in ca.rank(path, judge="gpt-4").warnings)
