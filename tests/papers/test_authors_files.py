"""The authors' public files, as their notebooks read them: scores of MMLU, judged comparisons."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.coupled_generation import published
from coupled_arena.papers.coupled_generation.published import comparisons_store
from tests.papers.test_known import AUTHORS

MODELS = AUTHORS["Llama"]
QUESTIONS = ("What is it?", 'Why, "so"?\nReally?', "How much?")
HEADER = ["", "question", "model_a", "model_b", "seed_a", "seed_b", "winner"]


def compared(folder, header=HEADER, seeds=2):
    """Write both files of a family; return the rows of each."""
    rng = np.random.default_rng(4)
    folder.mkdir(exist_ok=True)
    written = {}
    for mode, own in (("coupled", 0), ("independent", 100_000)):
        rows = [
            [question, a, b, 500_000 + seed + own * i, 500_000 + seed + own * j]
            for question in QUESTIONS
            for seed in range(seeds)
            for i, a in enumerate(MODELS)
            for j, b in enumerate(MODELS)
            if i < j
        ]
        said = rng.choice(["A", "B", "Tie"], len(rows))
        written[mode] = [[*row, winner] for row, winner in zip(rows, said.tolist(), strict=True)]
        with (folder / f"{mode}_comparisons.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(header)
            # Each question's answers of one seed twice: the same winner said again is no copy.
            writer.writerows([at, *row] for at, row in enumerate(written[mode]))
    return written


@pytest.mark.slow
def test_win_rates_of_the_authors_files_by_plain_counts(call, tmp_path, monkeypatch):
    monkeypatch.setattr(published, "QUESTIONS", len(QUESTIONS))
    written = compared(tmp_path / "llama")
    code, _, err = call(
        *("reproduce", "coupled-generation", "figure-3", "--votes", tmp_path / "llama"),
        *("--figures", "html", "--out", tmp_path / "out", "--json"),
    )
    assert code == 0, err
    answer = json.loads((tmp_path / "out" / "coupled-generation-figure-3.json").read_text())
    for pair in answer["tables"]["pairs"]:
        for mode, rows in written.items():
            wins = [
                winner == ("A" if a == pair["model"] else "B")
                for _, a, b, *_, winner in rows
                if {a, b} == {pair["model"], pair["opponent"]}
            ]
            assert pair[mode] == pytest.approx(np.mean(wins), abs=1e-12)
    assert sum(row["made"] is not None for row in answer["published"]) == 39


def test_a_file_without_questions_says_what_it_looked_for(tmp_path):
    compared(tmp_path / "llama", header=["", "text", *HEADER[2:]])
    with pytest.raises(ArenaError, match="no column with the question"):
        comparisons_store(tmp_path / "llama")


def test_a_folder_without_one_protocol_is_named(tmp_path):
    compared(tmp_path / "llama")
    (tmp_path / "llama" / "independent_comparisons.csv").unlink()
    with pytest.raises(ArenaError, match=r"independent_comparisons\.csv"):
        comparisons_store(tmp_path / "llama")


@pytest.mark.parametrize("index", [False, True])
def test_scores_of_mmlu_with_and_without_numbers_of_rows(call, tmp_path, index):
    rng = np.random.default_rng(1)
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*([""] if index else []), "Noise", *MODELS[:2], "Subject"])
        for at in range(2 * 4 * 10):
            noise = "Coupled" if at < 40 else "Independent"
            subject = "law" if at % 40 < 20 else "college_computer_science"
            right = (rng.random(2) < 0.5).tolist()
            writer.writerow([*([at] if index else []), noise, *right, subject])
    code, out, err = call(
        *("coupling", "--scores", path, "--category", "college_computer_science", "--json")
    )
    assert code == 0, err
    (pair,) = json.loads(out)["pairs"]
    assert (pair["prompts"], pair["seeds"]) == (2, 10)
